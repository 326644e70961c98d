"""A note's Markdown as a tree of blocks with Obsidian's signs: links, embeds, comments, tags, highlights, formulas, callouts.

CommonMark with tables, tasks and deletions is read by pyromark, whose events say where in the text they are from. In running text
a NUL, which no text holds otherwise, stands before what was escaped: it is no sign of Obsidian's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyromark
from pyromark import Options

_ESCAPED = "\0"
_OPTIONS = (
    Options.ENABLE_TABLES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_WIKILINKS
    | Options.ENABLE_MATH
)
# Obsidian's own signs, which no library reads.
_SIGNS = re.compile(r"(?<![\0=])==(?!=)|(?<!\0)%%|(?<!\S)#[^\W_]*[\w/-]*")
_NO_TAG = re.compile(r"#[\d/]*")
_CALLOUT = re.compile(r"\[!([\w-]{1,40})\]([+-]?)[ \t]*")
_BLOCK_ID = re.compile(r"(?:\A|\s)\^([A-Za-z0-9-]{1,100})[ \t]*\Z")
_TEX = frozenset("\\^_{")  # what tells a formula from two sums of money
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰ", "0123456789abcdefgh")
_SIGN = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+[ᵃᵇᶜᵈᵉᶠᵍʰ]?")  # how the vault writes the number of a citation
# In the words of a link a vault has look-alikes of these signs; few fonts have them.
_PLAIN_SIGNS = str.maketrans("＄＃", "$#")
_DEEPEST = 40  # what is nested deeper stands in the block or element around it
_COMMENT = "<!---->"  # stands for a comment of some lines while the Markdown is read
_BLOCKS = {"Paragraph": "p", "Item": "li", "CodeBlock": "pre", "TableHead": "tr", "TableRow": "tr"}
_SPANS = {"Emphasis": "em", "Strong": "strong", "Strikethrough": "s"}


@dataclass(frozen=True, slots=True)
class Wikilink:
    """A wikilink: the note's name ("" for this note), heading or ``^block`` or "", and the words or ""; or an embed."""

    target: str
    place: str
    words: str
    embed: bool = False

    @property
    def shown(self) -> str:
        """The words to show."""
        parts = (self.target,) if self.block else (self.target, *self.place.split("#"))
        return self.words.translate(_PLAIN_SIGNS) or " > ".join(filter(None, parts)) or self.place

    @property
    def block(self) -> str:
        """The block id, "" when the link leads to no block."""
        return self.place[1:] if self.place.startswith("^") else ""

    @property
    def sign(self) -> str:
        """The sign of a citation, such as ``12`` or ``12a`` for a link shown as ¹² or ¹²ᵃ that leads to a block; else ""."""
        return self.words.translate(_SUPERSCRIPTS) if self.block and _SIGN.fullmatch(self.words) else ""

    @property
    def number(self) -> str:
        """The number in a citation's sign, "" for any other link."""
        return self.sign.rstrip("abcdefgh")


def wikilink(inside: str, *, embed: bool = False) -> Wikilink:
    """Parse the text between ``[[`` and ``]]``. In a table the bar is escaped."""
    address, _, words = inside.partition("|")
    target, _, place = address.removesuffix("\\").partition("#")
    return Wikilink(target.strip(), place.strip(), words.strip(), embed)


class Leaf(NamedTuple):
    """Text that holds no other signs: ``kind`` is ``code``, ``math`` or ``tag``."""

    kind: str
    content: str


class Span(NamedTuple):
    """Running text within an element. ``tag`` is its name: ``em``, ``mark`` …, ``a`` or ``img``, which have an address."""

    tag: str
    items: list[Any]
    address: str = ""


Item = str | Leaf | Span | Wikilink
Items = list[Item]  # running text; a line's end is a line feed


@dataclass(slots=True)
class Block:
    """A block. ``tag`` is an element's name, ``text`` for an item's first words, ``callout`` or ``comment``.

    ``items`` is its own running text, of a callout the title; ``code`` what ``pre`` holds. ``id`` is Obsidian's name of it,
    ``anchor`` the one on the page. ``value`` is a list's first number, a callout's kind, a cell's alignment, a fence's language;
    ``mark`` how a callout folds (``+``, ``-`` or ""), or a task's state (``x`` or a space).
    """

    tag: str
    value: str = ""
    mark: str = ""
    blocks: list[Block] = field(default_factory=list)
    items: Items = field(default_factory=list)
    code: str = ""
    id: str = ""
    anchor: str = ""


def tree(text: str) -> list[Block]:
    """Return the blocks of a note's text without its properties."""
    return _Builder("\n".join(_without_comments(text.replace("\0", "\ufffd").split("\n")))).blocks()


def _without_comments(lines: list[str]) -> Iterator[str]:
    """The lines with a sign in the place of each comment that begins a line and ends one; without an end, all is one."""
    fence, hidden = "", False
    for line in lines:
        bare = line.lstrip(" >\t")
        count = line.count("%%")
        if hidden:
            hidden = not count
        elif not fence and bare.startswith("%%") and (count == 1 or (count == 2 and bare.rstrip().endswith("%%"))):
            hidden = count == 1
            yield line[: len(line) - len(bare)] + _COMMENT
        else:
            run = bare[: len(bare) - len(bare.lstrip(bare[:1]))] if bare.startswith(("```", "~~~")) else ""
            if not fence:
                fence = run
            elif run.startswith(fence) and not bare[len(run) :].strip():
                fence = ""
            yield line


class _Builder:
    """Builds the tree from pyromark's events."""

    def __init__(self, text: str) -> None:
        self._data = text.encode("utf-8", "replace")
        self._open = [Block("body")]
        self._spans: list[Span] = []
        self._ids: set[str] = set()

    def blocks(self) -> list[Block]:
        within: object = None  # the place of a wikilink, whose words are taken as they are written
        for event, place in pyromark.events_with_range(self._data.decode(), options=_OPTIONS):
            name, value = _named(event)
            start, end = place["start"], place["end"]
            if within:
                within = None if within == place and (name, value) in (("End", "Link"), ("End", "Image")) else within
            elif name == "Start":
                within = place if self._start(*_named(value), self._data[start:end]) else None
            elif name == "End":
                self._end(_named(value)[0])
            elif name == "Text" and self._open[-1].tag == "pre":
                self._open[-1].code += value.replace("\u200b", "")  # which a note's code has where a plugin would obey it
            elif name == "Text":
                escaped = self._data[start] == ord("&") or (start and self._data[start - 1] == ord("\\"))
                self._add(f"{_ESCAPED}{value}" if escaped and value else value)
            elif name in {"SoftBreak", "HardBreak"}:
                self._add("\n")
            elif name == "Code":
                self._add(Leaf("code", value.replace("\u200b", "")))
            elif name in {"InlineMath", "DisplayMath"}:
                formula = (len(value) == 1 or not _TEX.isdisjoint(value)) and not self._data[start - 1 : start].isalnum()
                self._add(Leaf("math", value) if formula else self._data[start:end].decode())
            elif name == "TaskListMarker":
                self._open[-1].mark = "x" if value else " "
            elif name == "Rule":
                self._open[-1].blocks.append(Block("hr"))
            else:  # HTML is shown as it is written
                self._add(value)
        return self._open[0].blocks

    def _add(self, item: Item) -> None:
        """Add to the running text that is open."""
        block = self._open[-1]
        if not self._spans and block.tag == "li":  # a tight list has its items' words in no paragraph
            if not block.blocks or block.blocks[-1].tag != "text":
                block.blocks.append(Block("text"))
            block = block.blocks[-1]
        items = self._spans[-1].items if self._spans else block.items
        if isinstance(item, str) and items and isinstance(items[-1], str):
            items[-1] += item
        else:
            items.append(item)

    def _start(self, name: str, more: Any, raw: bytes) -> bool:
        """Open a block or an element of text; return whether it is a wikilink, which is done with."""
        if name in _SPANS:
            single = name == "Strikethrough" and not raw.startswith(b"~~")
            self._spans.append(Span("" if single else _SPANS[name], []))
        elif name in {"Link", "Image"} and "WikiLink" in more["link_type"]:
            written = raw.decode()
            inside = written.lstrip("!")[2:-2]
            self._add(written if set(inside) & set("[]\n") else wikilink(inside, embed=written.startswith("!")))
            return True
        elif name in {"Link", "Image"}:
            address = ("mailto:" if more["link_type"] == "Email" else "") + more["dest_url"]
            self._spans.append(Span("a" if name == "Link" else "img", [], address))
        else:
            self._end_words()
            block = Block(_BLOCKS.get(name, name.lower()))
            if name == "Heading":
                block.tag = f"h{str(more['level'])[-1]}"
            elif name == "List":
                block.tag, block.value = ("ul", "") if more is None else ("ol", str(more))
            elif name == "CodeBlock" and isinstance(more, dict):
                block.value = more["Fenced"].strip()
            elif name == "Table":
                block.value = " ".join(more).lower()
            elif name == "TableCell":
                block.value = self._open[-2].value.split()[len(self._open[-1].blocks)].replace("none", "")
                block.tag = "td" if self._open[-2].blocks else "th"
            self._open.append(block)
        return False

    def _end(self, name: str) -> None:
        if name in _SPANS or name in {"Link", "Image"}:
            span = self._spans.pop()
            if span.tag and len(self._spans) < _DEEPEST:
                self._add(span._replace(items=_with_signs(span.items, inside=True)))
            else:
                for item in span.items if span.tag else ("~", *span.items, "~"):
                    self._add(item)
            return
        self._end_words()
        block = self._open.pop()
        siblings = self._open[-1].blocks
        if block.tag == "htmlblock":
            block.items = [item.strip() for item in block.items if isinstance(item, str)]
            block.tag = "comment" if block.items == [_COMMENT] else "p"
        elif block.tag == "blockquote" and block.blocks:
            _as_callout(block)
        elif block.tag == "table":
            head, *rows = block.blocks
            block.blocks = [Block("thead", blocks=[head]), *([Block("tbody", blocks=rows)] if rows else [])]
        if len(self._open) > _DEEPEST and block.tag in {"blockquote", "ul", "ol", "li"}:
            siblings += block.blocks
        elif block.tag == "callout" or not self._end_line(block, block, siblings[-1] if siblings else None):
            siblings.append(block)

    def _end_words(self) -> None:
        """The words of an item of a tight list end where another block begins, or the item ends."""
        block = self._open[-1]
        if block.blocks and block.blocks[-1].tag == "text" and self._end_line(block.blocks[-1], block, None):
            del block.blocks[-1]

    def _end_line(self, block: Block, holder: Block, before: Block | None) -> bool:
        """Read Obsidian's signs, give the id at the end to ``holder``, or ``before`` if it is alone; return whether it was."""
        last = block.items[-1] if block.items else None
        found = _BLOCK_ID.search(last) if isinstance(last, str) and "^" in last else None
        if found and isinstance(last, str):
            block.items[-1:] = [last[: found.start()]] if found.start() else []
            named = holder if block.items else before
            if named and found[1] not in self._ids:
                self._ids.add(found[1])
                named.id = found[1]
        block.items = _with_signs(block.items)
        return bool(found) and not block.items


def _named(event: Any) -> tuple[str, Any]:
    """The name of an event, or of what it starts, and what more it says."""
    return event.popitem() if isinstance(event, dict) else (event, None)


def _as_callout(block: Block) -> None:
    """A quote that begins with ``[!kind]`` is a callout; the rest of that line is its title."""
    items = block.blocks[0].items
    start = items[0] if items and block.blocks[0].tag == "p" else None
    found = _CALLOUT.match(start) if isinstance(start, str) else None
    if not found or not isinstance(start, str):
        return
    block.tag, block.value, block.mark = "callout", found[1].lower(), found[2]
    block.items, block.blocks[0].items = [start[found.end() :], *items[1:]], []
    for number, item in enumerate(block.items):
        if isinstance(item, str) and "\n" in item:
            title, _, following = item.partition("\n")
            block.blocks[0].items = [*filter(None, [following]), *block.items[number + 1 :]]
            block.items[number:] = [title]
            break
    if not block.blocks[0].items:
        del block.blocks[0]


def _with_signs(items: Items, *, inside: bool = False) -> Items:
    """Running text with tags and highlights in the place of their signs, and without comments."""
    made: Items = []
    opened: dict[str, int] = {}  # where the first sign of a pair stands
    for number, item in enumerate(items):
        if not isinstance(item, str):
            made.append(item)
            continue
        done = 0
        for found in _SIGNS.finditer(item):
            sign, before, after = found[0], item[done : found.start()], item[found.end() :]
            is_tag = sign.startswith("#")
            if is_tag and (_NO_TAG.fullmatch(sign) or not (found.start() or (number == 0 and not inside))):
                continue
            made += [before] if before else []
            done = found.end()
            if is_tag:
                made.append(Leaf("tag", sign.strip("#/")))
            elif sign in opened and (sign == "%%" or not before[-1:].isspace()):
                place = opened[sign]
                made[place:] = [Span("mark", made[place + 1 :])] if sign == "==" else []
                opened = {other: at for other, at in opened.items() if at < place}
            else:
                if sign == "%%" or after[:1].strip():
                    opened[sign] = len(made)
                made.append(sign)
        made += [item[done:]] if item[done:] else []
    return made


def plain(items: Items) -> str:
    """Return the words of running text, without the numbers of citations."""
    words = ""
    for item in items:
        if isinstance(item, str):
            words += item.replace(_ESCAPED, "").replace("\n", " ")
        elif isinstance(item, Wikilink):
            words += "" if item.number or item.embed else item.shown
        else:
            words += plain(item.items) if isinstance(item, Span) else item.content
    return words
