"""A document as it was read, and the writer of its text: headings, paragraphs, items, rows and code in the page format.

The format is that of ``pipeline.text.page_format``. The writer guarantees two things:

- A paragraph is read back as a paragraph. A line that looks like a heading, fence, item or row gets one leading space.
  Quotes still match, because they are compared with white space normalised.
- Every heading below the title has an anchor that is unique in its page. It is percent-encoded as in an address, so that a
  hit's fragment and a block's anchor are the same string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from pipeline.errors import ReadFailed
from pipeline.text.normalise import clean, slug
from pipeline.text.words import UNSPACED

# A line break between two signs of a script without blanks, where a line was cut at any sign.
_BREAK_INSIDE = re.compile(f"(?<=[{UNSPACED}\u3000-\u303f\uff00-\uff60])\\s*\n\\s*(?=[{UNSPACED}])")
_LOOKS_LIKE_A_BLOCK = re.compile(r"```|- |\| |#{1,6} ")
_ENDS_LIKE_AN_ANCHOR = re.compile(r" \{#[^{}\s]+\}\Z")
_FRAGMENT_SIGNS = "!$&*+,;=:@/?-._~"
_DEEPEST_LEVEL = 6
MAX_BLOCKS = 200_000
_MOST_BEFORE_TITLE = 3


@dataclass(frozen=True, slots=True)
class Losses:
    """The account of a reading: words that a reader sees, words that are stored, words left out by reason, pages without text."""

    visible: int = 0
    stored: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    empty_pages: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document: ``text`` in the page format, ``published`` as an ISO 8601 date or "", ``language`` as it declares it.

    ``notices`` and ``sheets`` are as in ``ports``; ``extractor`` names what read it, with its version.
    """

    title: str
    text: str
    media_type: str
    author: str = ""
    published: str = ""
    language: str = ""
    notices: tuple[str, ...] = ()
    sheets: tuple[int, ...] = ()
    losses: Losses = field(default_factory=Losses)
    extractor: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    kind: Literal["heading", "paragraph", "item", "code", "row"]
    text: str
    level: int = 0
    anchor: str = ""


def usage_notices(name: str, value: str) -> tuple[str, ...]:
    """Return what a page or its server asks of programs under ``name``: ``noai``, ``noimageai``, ``tdm-reservation``."""
    if name == "tdm-reservation":
        return ("tdm-reservation",) if value.strip().startswith("1") else ()
    said = value.lower().replace(",", " ").split() if name in ("robots", "night-research") else []
    return tuple(dict.fromkeys(word for word in said if word in ("noai", "noimageai")))


def squash(text: str) -> str:
    """Return ``text`` cleaned and on one line, with each run of white space replaced by one space.

    A line break between two signs of a script without blanks is removed.
    """
    if "\n" in text and not text.isascii():
        text = _BREAK_INSIDE.sub("", text)
    return " ".join(clean(text).split())


class PageText:
    """Collects the blocks of one page in order; empty blocks are left out.

    Raises:
        ReadFailed: more than ``MAX_BLOCKS`` blocks are added. No document written by people has so many.
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def _add(self, block: _Block) -> None:
        if len(self._blocks) >= MAX_BLOCKS:
            raise ReadFailed(f"more than {MAX_BLOCKS:,} paragraphs")
        self._blocks.append(block)

    def heading(self, level: int, text: str, anchor: str = "") -> None:
        """Add a heading. ``level`` counts from 1; ``anchor`` is its id in the original; if it is "", the text gives one."""
        if line := squash(text):
            self._add(_Block("heading", line, max(1, level), anchor))

    def paragraph(self, text: str) -> None:
        """Add a paragraph; its line breaks become spaces."""
        if line := squash(text):
            self._add(_Block("paragraph", line))

    def item(self, text: str) -> None:
        """Add a list item."""
        if line := squash(text):
            self._add(_Block("item", line))

    def row(self, cells: Iterable[str]) -> None:
        """Add a table row; a row with one cell becomes a list item."""
        lines = [squash(cell) for cell in cells]
        if len(lines) > 1 and any(lines):
            self._add(_Block("row", " | ".join(lines)))
        else:
            self.item(" ".join(lines))

    def code(self, text: str) -> None:
        """Add a code block; indentation and line breaks are kept, tabs become four columns."""
        lines = [line.rstrip() for line in clean(text).expandtabs(4).split("\n")]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            self._add(_Block("code", "\n".join(lines)))

    @property
    def first_heading(self) -> str:
        """The first heading's text, or ""."""
        return next((block.text for block in self._blocks if block.kind == "heading"), "")

    @property
    def is_at_start(self) -> bool:
        """Whether so few blocks are written that a heading that follows may be the document's title."""
        return len(self._blocks) <= _MOST_BEFORE_TITLE

    @property
    def opening_heading(self) -> str:
        """The first heading if it is at the start, else ""."""
        return next((block.text for block in self._blocks[: _MOST_BEFORE_TITLE + 1] if block.kind == "heading"), "")

    @property
    def headings(self) -> tuple[str, ...]:
        """The texts of all headings, in order."""
        return tuple(block.text for block in self._blocks if block.kind == "heading")

    @property
    def empty(self) -> bool:
        """Whether the page has no block other than headings."""
        return all(block.kind == "heading" for block in self._blocks)

    def rendered(self, title: str) -> str:
        """Return the page text under ``title``. A first heading equal to the title is left out."""
        head = squash(title)
        blocks = _without_title(self._blocks, head)
        levels = [block.level for block in blocks if block.kind == "heading"]
        lift = 2 - min(levels, default=2)
        return _title_line(head) + _rendered_blocks(blocks, lift)


def _without_title(blocks: Sequence[_Block], title: str) -> list[_Block]:
    at = next((i for i, block in enumerate(blocks) if block.kind == "heading"), None)
    if at is None or blocks[at].text.casefold() != title.casefold():
        return list(blocks)
    return [*blocks[:at], *blocks[at + 1 :]]


def _title_line(title: str) -> str:
    if not title:
        return ""
    # A reader of the format would take the end of such a title for its anchor, so the title gets a real one.
    return f"# {title} {{#{slug(title)}}}\n" if _ENDS_LIKE_AN_ANCHOR.search(title) else f"# {title}\n"


def _rendered_blocks(blocks: Iterable[_Block], lift: int) -> str:
    lines: list[str] = []
    before = ""
    anchors = _Anchors()
    for block in blocks:
        if not (block.kind == before and block.kind in ("item", "row")):
            lines.append("")
        lines.append(_rendered_block(block, lift, anchors))
        before = block.kind
    return "\n".join([*lines, ""])


def _rendered_block(block: _Block, lift: int, anchors: _Anchors) -> str:
    if block.kind == "heading":
        level = min(_DEEPEST_LEVEL, block.level + lift)
        return f"{'#' * level} {block.text} {{#{anchors.anchor_of(block)}}}"
    if block.kind == "item":
        return "- " + block.text
    if block.kind == "row":
        return f"| {block.text} |"
    if block.kind == "code":
        lines = (" " + line if line.startswith("```") else line for line in block.text.split("\n"))
        return "```\n" + "\n".join(lines) + "\n```"
    return " " + block.text if _LOOKS_LIKE_A_BLOCK.match(block.text) else block.text


class _Anchors:
    """Assigns each heading an anchor that is unique in the page."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def anchor_of(self, block: _Block) -> str:
        wanted = quote(block.anchor, safe=_FRAGMENT_SIGNS) if block.anchor else slug(block.text)
        anchor = wanted
        while anchor in self._used:
            self._used[wanted] += 1
            anchor = f"{wanted}-{self._used[wanted]}"
        self._used[anchor] = 1
        return anchor


def megabytes(size: int) -> int:
    """Return how many megabytes are begun by ``size`` bytes, at most 15: a manual of a thousand pages takes half a minute."""
    return min(1 + size // 1_000_000, 15)
