"""What of a note is a person's, and what is the program's. Text in, text out; only ``asked_lines`` reads files.

Theirs are the texts of user blocks, properties that the program does not own, and further entries of ``tags``, ``aliases`` and
``cssclasses``. A user block::

    %% begin notes %%
    anything at all, kept byte for byte over every rebuild
    %% end notes %%

A marker is alone on its line. Markers inside a code fence are text. Malformed blocks (that do not end, end twice, are inside
another, or have the name of another) are an error, never repaired by a guess.

The rest is the program's, and signed by the note's last line, so that an edit is noticed::

    %% generated: q1vXk3Tz….b0Qe %%

It has four letters for each line that the program wrote: its CRC-32, cut to 24 bits, in base64. First come the properties and the
lines of the body without the texts of user blocks, then, after the dot, the entries of lists that a person may add to. So a
copy, a clone or a lost cache never makes a note look edited, and in a note that git has put together from two versions, each
line can be told to be from one of them. Blank lines, white space at the end of lines, the targets of links and the style in which
an editor writes properties do not count.

Git's conflict marks hold two versions of a note apart: ``sides`` returns both, ``united`` what a person wrote in either.

A person also speaks to the program in a note: with boxes that are ticked, a report's ``rating``, lines that begin with ``ask:``.
They are only read here; what is said is recorded by others.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from difflib import SequenceMatcher
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from pipeline.system.files import read_bytes
from pipeline.text.cleaning import one_line
from pipeline.vault.build_cache import markdown_files
from pipeline.vault.note import KINDS, OWN_TAGS, OWNED, SHARED_LISTS
from pipeline.vault.output import frontmatter
from pipeline.vault.output.frontmatter import Property, as_json

KEPT_HEADING = "## Kept from an earlier template"

# A line that is a marker of a block, or that opens or closes a fence of code, in which markers are text.
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MARKER = rf"[ \t]*%%[ \t]*(begin|end)[ \t]+({_NAME.pattern})[ \t]*%%[ \t]*\r?$"
_SIGN = re.compile(rf"^(?:{_MARKER}| {{0,3}}(`{{3,}}|~{{3,}})([^\n]*))", re.MULTILINE)

# The signature; the target of a wikilink, which does not count.
_LEAD = "%% generated: "
_LINE = re.compile(r"%% generated: ([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]*) %%[ \t]*\r?(?:\n|\Z)")
_TARGET = re.compile(r"\[\[[^\[\]|#\\\n]*(?=[#|\\\]])")
_SIGNED = sorted(OWNED - set(SHARED_LISTS))
_LETTERS = 4  # of each line


class BlocksMalformed(ValueError):
    """The markers of a note do not pair up; the text says which, and in which line of the note's body (from 1)."""


class Block(NamedTuple):
    """One block: its name, and where its text starts and ends in the body (the markers are outside)."""

    name: str
    start: int
    end: int


def empty_block(name: str) -> str:
    """Return the two markers of a block, for a template's output.

    Raises:
        ValueError: the name is not of ``[a-z0-9_-]``.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a block's name is of a-z, 0-9, - and _; {name!r} is not")
    return f"%% begin {name} %%\n%% end {name} %%"


def find_blocks(body: str) -> tuple[Block, ...]:
    """Return the blocks of a note's body in order.

    Raises:
        BlocksMalformed: markers that do not pair up.
    """
    found: list[Block] = []
    opened, fence = ("", 0, 0), ""  # name, start and line of a block that has not ended; what opened a fence
    for sign in _SIGN.finditer(body):
        kind, name, opening, rest = sign.groups()
        number = body.count("\n", 0, sign.start()) + 1
        if fence:
            closes = opening and opening[0] == fence[0] and len(opening) >= len(fence) and not rest.strip()
            fence = "" if closes else fence
        elif opening:
            fence = opening if "`" not in rest or opening[0] == "~" else ""
        elif kind == "end" and opened[0] != name:
            raise BlocksMalformed(f"line {number}: “end {name}” without its “begin {name}”")
        elif kind == "end":
            found.append(Block(name, opened[1], sign.start()))
            opened = ("", 0, 0)
        elif opened[0]:
            raise BlocksMalformed(f"line {number}: “begin {name}” inside the block “{opened[0]}”")
        elif any(block.name == name for block in found):
            raise BlocksMalformed(f"line {number}: a second block “{name}”")
        else:
            opened = (name, min(sign.end() + 1, len(body)), number)
    if opened[0]:
        raise BlocksMalformed(f"line {opened[2]}: “begin {opened[0]}” without its end (or inside a code fence left open)")
    return tuple(found)


def texts(body: str) -> dict[str, str]:
    """Return the text of each block that holds more than white space.

    Raises:
        BlocksMalformed: markers that do not pair up.
    """
    return {block.name: body[block.start : block.end] for block in find_blocks(body) if body[block.start : block.end].strip()}


def filled(body: str, kept: Mapping[str, str]) -> str:
    """Return ``body`` with the texts put into its blocks; those whose block it lacks come last, under a heading of their own.

    Without texts that is what the program alone has written.

    Raises:
        BlocksMalformed: the markers of ``body`` do not pair up.
    """
    blocks = find_blocks(body)
    for block in reversed(blocks):
        if kept.get(block.name) or block.start < block.end:
            body = body[: block.start] + kept.get(block.name, "") + body[block.end :]
    homeless = [name for name in sorted(kept) if name not in {block.name for block in blocks}]
    if homeless:
        body = body.rstrip("\n") + f"\n\n{KEPT_HEADING}\n"
    return body + "".join(f"\n%% begin {name} %%\n{kept[name]}%% end {name} %%\n" for name in homeless)


def _entry(name: str, entry: str) -> bytes:
    return f"{name}: {entry}".encode("utf-8", "surrogateescape")


def significant(properties: Mapping[str, Any], body: str) -> list[bytes]:
    """Return the lines of a generated part that are signed."""
    lines = []
    for name in filter(properties.__contains__, _SIGNED):
        value = properties[name]
        for entry in value if isinstance(value, list | tuple) else [value]:  # git puts lists together line by line
            lines.append(_TARGET.sub("[[", f"{name}: {_comparable(entry)}").encode("utf-8", "surrogateescape"))
    text = _TARGET.sub("[[", body).replace("- [x] ", "- [ ] ").replace("- [X] ", "- [ ] ")  # a tick is no edit
    lines.extend(filter(None, map(bytes.rstrip, text.encode("utf-8", "surrogateescape").split(b"\n"))))
    return lines


def _comparable(value: object) -> str:
    """A property's value as text for comparing: dates as they are written, and one kind of number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(float(value))
    text = value.isoformat() if isinstance(value, date) else value
    return as_json(text if isinstance(text, str | bool | None) else str(text))


def letters_of(lines: Iterable[bytes]) -> str:
    """Return four letters for each line."""
    return urlsafe_b64encode(b"".join((crc32(line) & 0xFFFFFF).to_bytes(3) for line in lines)).decode()


def each(letters: str) -> list[str]:
    """Return the letters of each line."""
    return [letters[start : start + _LETTERS] for start in range(0, len(letters), _LETTERS)]


@dataclass(frozen=True, slots=True)
class UserText:
    """A person's additions: raw property lines, further list entries by key, texts by block."""

    lines: str = ""
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lines.strip() or self.texts or any(self.lists.values()))


NOTHING = UserText()


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A note's file taken apart.

    ``body`` is without the signature: the letters of the ``lines`` of the generated part, and of the generated ``entries`` of
    shared lists.
    """

    raw: str
    properties: Mapping[str, Any]
    body: str
    lines: str
    entries: str

    @property
    def is_ours(self) -> bool:
        """Return whether the program once made this note, by its properties; those of imports had a kind of their own."""
        tags = _entries(self.properties.get("tags"))
        return self.properties.get("kind") in (*KINDS, "import") and any(tag.startswith("research/") for tag in tags)

    @property
    def generated(self) -> list[bytes]:
        """The lines of the generated part that are signed, as they are now; a box unticked by hand has its ``, noted`` again."""
        lines, signed = significant(self.properties, filled(self.body, {})), each(self.lines)
        noted = [line + NOTED.encode() for line in lines] if len(lines) == len(signed) else []
        for place, line in enumerate(noted):
            lines[place] = line if letters_of([line]) == signed[place] else lines[place]
        return lines

    @property
    def is_untouched(self) -> bool:
        """Return whether nobody edited the generated part; a note of before signatures counts as edited."""
        return self.lines != "" and self.lines == letters_of(self.generated)


def parse(text: str) -> OnDisk:
    """Return a note's file taken apart.

    Raises:
        ValueError: properties or block markers that cannot be followed.
    """
    raw, body = frontmatter.split(text)
    start, lines, entries = body.rfind(_LEAD), "", ""
    if start >= 0 and body[start - 1 : start] in ("", "\n") and (found := _LINE.match(body, start)):
        body, lines, entries = body[:start] + body[found.end() :], found[1], found[2]
    properties = frontmatter.load(raw)
    find_blocks(body)
    others = frontmatter.load(frontmatter.lines_of_others(raw, OWNED))
    if others.keys() != properties.keys() - OWNED:
        raise ValueError("the properties are not written as one key a line")
    return OnDisk(raw, properties, body, lines, entries)


def kept(disk: OnDisk, properties: Mapping[str, Any]) -> UserText:
    """Return what a person added to the note; ``properties`` are those that it is to have."""
    lists, signed = {}, each(disk.entries)
    for name in SHARED_LISTS:
        ours, entries = _entries(properties.get(name)), dict.fromkeys(_entries(disk.properties.get(name)))
        more = (entry for entry in entries if entry not in ours and letters_of([_entry(name, entry)]) not in signed)
        lists[name] = tuple(entry for entry in more if name != "tags" or not entry.startswith(OWN_TAGS))
    return UserText(frontmatter.lines_of_others(disk.raw, OWNED), lists, texts(disk.body))


def _entries(value: object) -> tuple[str, ...]:
    """A list property as its strings; people also write ``tags: a, b``, and Obsidian accepts it."""
    if isinstance(value, str):
        return tuple(part.strip().lstrip("#") for part in value.split(",") if part.strip())
    return tuple(str(entry) for entry in value if entry is not None) if isinstance(value, (list, tuple)) else ()


def compose(properties: Mapping[str, Property], body: str, additions: UserText = NOTHING) -> str:
    """Return a note's whole text: its properties and its body, whose blocks are empty, with a person's additions in them.

    Raises:
        BlocksMalformed: the template's own markers do not pair up.
    """
    whole, given = dict(properties), frontmatter.by_key(additions.lines)
    rating, said = whole.pop("rating", ""), frontmatter.load(given.get("rating", "")).get("rating")
    if rating and said != rating and said in (None, "useful", "wrong"):  # a person gave it, in this note before or elsewhere
        given["rating"] = "".join([f"rating: {rating}\n", *given.get("rating", "").splitlines(keepends=True)[1:]])
    for name, entries in additions.lists.items():
        if entries:
            whole[name] = (*_entries(whole.get(name)), *entries)
    head, text = frontmatter.emit(whole) + "".join(given.values()), filled(body, additions.texts)
    lines = letters_of(significant(properties, filled(text, {}) if additions.texts else text))
    own = letters_of(_entry(name, entry) for name in SHARED_LISTS for entry in _entries(properties.get(name)))
    return f"---\n{head}---\n\n{text}\n{_LEAD}{lines}.{own} %%\n"


# A conflict as git marks it, with the text before it or without, with one sign more in a note that both sides renamed; the
# innermost where a text with such marks was merged again.
_CONFLICT = re.compile(
    r"^<{7}(?P<renamed><)?(?: [^\n]*)?\n(?P<ours>(?:(?!<{7,8} )[^\n]*\n)*?)"
    r"(?:^\|{7}(?(renamed)\|)(?: [^\n]*)?\n(?:[^\n]*\n)*?)?"
    r"^={7}(?(renamed)=)\r?\n(?P<theirs>(?:(?!<{7,8} )[^\n]*\n)*?)"
    r"^>{7}(?(renamed)>)(?: [^\n]*)?(?:\n|\Z)",
    re.MULTILINE,
)


def sides(text: str) -> tuple[str, ...]:
    """Return the versions of a text that git's conflict marks hold apart, each once; the text alone if it has none."""
    if "<<<<<<<" not in text or not _CONFLICT.search(text):
        return (text,)
    versions = (_CONFLICT.sub(rf"\g<{side}>", text) for side in ("ours", "theirs"))
    return tuple(dict.fromkeys(one for version in versions for one in sides(version)))


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
        one, other = frontmatter.load(mine.get(name, raw)).get(name), frontmatter.load(raw).get(name)
        if one != other and isinstance(one, list) and isinstance(other, list):
            entries = "".join(f"  - {frontmatter.quoted(entry)}\n" for entry in dict.fromkeys(map(str, (*one, *other))))
            mine[name] = f"{mine[name].partition(':')[0]}:\n{entries}"
            continue
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        free = next(new for new in names if new not in mine or frontmatter.load(mine[new]).get(new) == other)
        mine.setdefault(free, raw if free == name else frontmatter.renamed(raw, free))
    return "".join(mine.values())


NOTED = ", noted"
# A box as the report's template writes it (", noted" stands behind a tick that is recorded), and the link to a quote above it.
BOX = re.compile(r"^[> ]*- \[(?P<tick>[ xX])\] (?P<rating>useful|wrong)(?P<noted>, noted)?\s*$", re.MULTILINE)
_QUOTE = re.compile(r"#\^(q-[A-Za-z0-9-]+)")
# A question, also as an item or a task of a list; what tells in a file's bytes that it may have one.
_ASKED = re.compile(r"^[ \t]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?ask:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_LARGEST = 5_000_000  # bytes of a note
_LONGEST = 2_000  # characters of a question


class AskedLine(NamedTuple):
    """A question in a note's own block; ``note`` is the note's id, such as ``report:…`` or ``topic:…``."""

    note: str
    text: str


def asked_lines(vault: Path) -> list[AskedLine]:
    """Return the questions in all notes that have an id of ours, by path and place; each text once a note.

    A note that cannot be read, or whose blocks do not pair up, has none: the build says so.
    """
    found: dict[AskedLine, None] = {}
    for path, look in sorted(markdown_files(vault)):
        with suppress(OSError, ValueError):
            data = read_bytes(vault / path, look.size, follow=False) if look.size <= _LARGEST else b""
            if b"ask:" not in data.lower():  # nearly always
                continue
            head, body = frontmatter.split(data.decode())
            if name := frontmatter.id_in(head):
                said = (line[1] for text in texts(body).values() for line in _ASKED.finditer(text))
                found |= {AskedLine(name, words): None for line in said if (words := one_line(line, _LONGEST))}
    return list(found)


def rating_of(text: str) -> str:
    """Return what a note's property ``rating`` calls its report: useful, wrong, or "" for anything else."""
    with suppress(ValueError):  # the build leaves such a note alone, and says so
        if (found := frontmatter.load(frontmatter.split(text)[0]).get("rating")) in ("useful", "wrong"):
            return str(found)
    return ""


def marked(text: str) -> Iterator[tuple[str, str]]:
    """Yield the block id of each passage with a change that is not recorded yet, and the rating: useful, wrong or "".

    A box that was written again without a tick and its ``, noted`` is one whose tick was taken back, as the signature says.
    """
    start, block, boxes, signed = 0, "", [*BOX.finditer(text)], list[bytes]()
    with suppress(ValueError):  # the build leaves such a note alone, and says so
        signed = [line for line in parse(text).generated if BOX.match(line.decode("utf-8", "surrogateescape"))]
    for place, box in enumerate(boxes):
        found = _QUOTE.findall(text, start, box.start())
        start, block = box.end(), found[-1] if found else block
        noted = signed[place].endswith(NOTED.encode()) if len(signed) == len(boxes) else box["noted"]
        if block and (box["tick"] != " ") != bool(noted):
            yield block, box["rating"] if box["tick"] != " " else ""
