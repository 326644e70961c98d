"""Unites two versions of a note: the sides of a file with git's conflict marks, and what a person wrote in each of them."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import count

from pipeline.vault.output import frontmatter
from pipeline.vault.output.user_text import UserText

_LENGTHS = range(12, 6, -1)  # of git's marks: a conflict inside a conflict has shorter ones
_CONFLICTS = {
    length: re.compile(
        rf"^<{{{length}}}(?: [^\n]*)?\n(?P<ours>(?:(?!<{{{length}}} )[^\n]*\n)*?)"
        rf"(?:^\|{{{length}}}(?: [^\n]*)?\n(?:[^\n]*\n)*?)?"
        rf"^={{{length}}}\r?\n(?P<theirs>(?:(?!<{{{length}}} )[^\n]*\n)*?)"
        rf"^>{{{length}}}(?: [^\n]*)?(?:\n|\Z)",
        re.MULTILINE,
    )
    for length in _LENGTHS
}


def sides(text: str) -> tuple[str, ...]:
    """Return the versions of a text that git's conflict marks hold apart, each once; the text alone if it has none."""
    if "<<<<<<<" not in text:
        return (text,)
    for length, pattern in _CONFLICTS.items():
        if f"{'<' * length} " in text and pattern.search(text):
            versions = (pattern.sub(rf"\g<{side}>", text) for side in ("ours", "theirs"))
            return tuple(dict.fromkeys(one for version in versions for one in sides(version)))
    return (text,)


def united(*versions: UserText) -> UserText:
    """Return one text with everything that a person wrote in any of the versions, each line once.

    Properties with different values are both kept, the second under a name with a number.
    """
    lines, lists, texts = "", dict[str, tuple[str, ...]](), dict[str, str]()
    for one in versions:
        lines = _united_properties(lines, one.lines)
        lists |= {name: tuple(dict.fromkeys((*lists.get(name, ()), *entries))) for name, entries in one.lists.items()}
        texts |= {name: united_lines(texts.get(name, ""), text) for name, text in one.texts.items()}
    return UserText(lines, lists, texts)


def united_lines(ours: str, theirs: str) -> str:
    """Return the lines of both texts in order; a line that both have is there once."""
    if not ours or not theirs or ours == theirs:
        return ours or theirs
    mine, other = ([f"{line}\n" for line in text.removesuffix("\n").split("\n")] for text in (ours, theirs))
    spare = Counter(mine)
    spare.subtract(other)
    found: list[str] = []
    for what, start, end, first, last in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        found += mine[start:end]
        for line in other[first:last] if what != "equal" else ():
            spare[line] += 1  # what is lacking is added; blank lines always are
            found += [line] if spare[line] <= 0 or not line.strip() else []
    return "".join(found)


def _united_properties(ours: str, theirs: str) -> str:
    """The raw lines of both; a list that has two values becomes one list, of other values the second gets another name."""
    mine = frontmatter.by_key(ours)
    for name, raw in frontmatter.by_key(theirs).items():
        if mine.setdefault(name, raw).split() == raw.split():
            continue
        one, other = frontmatter.load(mine[name]).get(name), frontmatter.load(raw).get(name)
        if isinstance(one, list) and isinstance(other, list):
            entries = "".join(f"  - {frontmatter.quoted(entry)}\n" for entry in dict.fromkeys(map(str, (*one, *other))))
            mine[name] = f"{mine[name].partition(':')[0]}:\n{entries}"
            continue
        names = (f"{name}_{number}" for number in count(2))
        free = next(new for new in names if new not in mine or frontmatter.load(mine[new]).get(new) == other)
        mine.setdefault(free, frontmatter.renamed(raw, free))
    return "".join(mine.values())
