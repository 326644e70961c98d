"""Unites two versions of a note: the sides of a file with git's conflict marks, and what a person wrote in each of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from functools import reduce
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
    return reduce(_both, versions) if versions else UserText()


def _both(ours: UserText, theirs: UserText) -> UserText:
    lists = {name: _once((*ours.lists.get(name, ()), *theirs.lists.get(name, ()))) for name in {**ours.lists, **theirs.lists}}
    texts = {name: united_lines(ours.texts.get(name, ""), theirs.texts.get(name, "")) for name in {**ours.texts, **theirs.texts}}
    return UserText(_united_properties(ours.lines, theirs.lines), lists, texts)


def _once(entries: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(entries))


def united_lines(ours: str, theirs: str) -> str:
    """Return the lines of both texts in order; a line that both have is there once."""
    if not ours or not theirs or ours == theirs:
        return ours or theirs
    mine, other = _ended(ours), _ended(theirs)
    spare = Counter(mine)
    spare.subtract(other)
    found: list[str] = []
    for what, start, end, first, last in SequenceMatcher(None, mine, other, autojunk=False).get_opcodes():
        found += mine[start:end]
        if what != "equal":
            found += [line for line in other[first:last] if _is_lacking(line, spare)]
    return "".join(found)


def _is_lacking(line: str, spare: Counter[str]) -> bool:
    """Tell whether a line of the other version is still lacking, and take it for added then; blank lines always are."""
    spare[line] += 1
    return spare[line] <= 0 or not line.strip()


def _ended(text: str) -> list[str]:
    return [line + "\n" for line in text.removesuffix("\n").split("\n")]


def _united_properties(ours: str, theirs: str) -> str:
    mine, other = frontmatter.by_key(ours), frontmatter.by_key(theirs)
    for name, raw in other.items():
        if name not in mine:
            mine[name] = raw
        elif mine[name].split() != raw.split():
            mine |= _differing(name, mine[name], raw, mine)
    return "".join(mine.values())


def _differing(name: str, ours: str, theirs: str, taken: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """A property that has two values: a list becomes one list; of other values the second gets a name with a number."""
    mine, other = frontmatter.load(ours).get(name), frontmatter.load(theirs).get(name)
    if isinstance(mine, list) and isinstance(other, list):
        entries = dict.fromkeys(map(str, (*mine, *other)))
        yield name, f"{ours.partition(':')[0]}:\n" + "".join(f"  - {frontmatter.quoted(entry)}\n" for entry in entries)
        return
    names = (f"{name}_{number}" for number in count(2))
    free = next(new for new in names if new not in taken or frontmatter.load(taken[new]).get(new) == other)
    if free not in taken:
        yield free, frontmatter.renamed(theirs, free)
