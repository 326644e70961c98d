"""The writer of a document's text: headings, paragraphs, items, rows and code in the page format.

The format is that of ``pipeline.text.passages``. The writer guarantees two things:

- A paragraph is read back as a paragraph. A line that looks like a heading, fence, item or row gets one leading space.
  Quotes still match, because they are compared with white space normalised.
- Every heading below the title has an anchor that is unique in its page. It is percent-encoded as in an address, so that a
  hit's fragment and a block's anchor are the same string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from pipeline.errors import ReadFailed
from pipeline.text.cleaning import clean, slug
from pipeline.text.words import UNSPACED

# A line break between two signs of a script without blanks, where a line was cut at any sign.
_BREAK_INSIDE = re.compile(f"(?<=[{UNSPACED}\u3000-\u303f\uff00-\uff60])\\s*\n\\s*(?=[{UNSPACED}])")
_MARKS = ("```", "- ", "| ", *(f"{'#' * level} " for level in range(1, 7)))  # with which other blocks begin
_FRAGMENT_SIGNS = "!$&*+,;=:@/?-._~"
_DEEPEST_LEVEL = 6
MAX_BLOCKS = 200_000
_MOST_BEFORE_TITLE = 3


BlockKind = Literal["heading", "paragraph", "item", "code", "row"]


@dataclass(frozen=True, slots=True)
class _Block:
    kind: BlockKind
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
    """Collects the blocks of one page in order; empty blocks are left out."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def add(self, kind: BlockKind, text: str, level: int = 0, anchor: str = "") -> None:
        """Add a block. Code keeps its lines, tabs become four columns; any other is one line; a row is a ``row_text``.

        ``level`` of a heading counts from 1; ``anchor`` is its id in the original; if it is "", the text gives one.

        Raises:
            ReadFailed: more than ``MAX_BLOCKS`` blocks are added. No document written by people has so many.
        """
        if kind == "code":
            text = "\n".join(line.rstrip() for line in clean(text).expandtabs(4).split("\n")).strip("\n")
        elif kind != "row":
            text = squash(text)
        if text and len(self._blocks) >= MAX_BLOCKS:
            raise ReadFailed(f"more than {MAX_BLOCKS:,} paragraphs")
        if text:
            self._blocks.append(_Block(kind, text, max(1, level), anchor))

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
        """Return the page text under ``title``. A first heading and paragraphs that are equal to the title are left out."""
        head = squash(title)
        said, first = head.casefold(), next((block for block in self._blocks if block.kind == "heading"), None)
        others = [one for one in self._blocks if one is not first or one.text.casefold() != said]
        blocks = [one for one in others if one.kind != "paragraph" or one.text.casefold() != said] or others
        lift = 2 - min((block.level for block in blocks if block.kind == "heading"), default=2)
        # A reader of the format would take the end of such a title for its anchor, so the title gets a real one.
        like_an_anchor = head.endswith("}") and " {#" in head and not set(" {") & set(head.rpartition(" {#")[2])
        lines = [f"# {head} {{#{slug(head)}}}" if like_an_anchor else f"# {head}"] if head else []
        before = ""
        used: dict[str, int] = {}
        for block in blocks:
            if not (block.kind == before and block.kind in ("item", "row")):
                lines.append("")
            lines.append(_rendered(block, lift, used))
            before = block.kind
        return "\n".join([*lines, ""])


def row_text(cells: Iterable[str]) -> tuple[BlockKind, str]:
    """Return kind and text of the block for a table's row; a row with one cell is a list item."""
    lines = [squash(cell) for cell in cells]
    return ("row", " | ".join(lines)) if len(lines) > 1 and any(lines) else ("item", " ".join(lines))


def _rendered(block: _Block, lift: int, used: dict[str, int]) -> str:
    """Return a block as it is written; ``used`` counts the anchors, so that each heading has one of its own."""
    match block.kind:
        case "heading":
            wanted = quote(block.anchor, safe=_FRAGMENT_SIGNS) if block.anchor else slug(block.text)
            anchor = wanted
            while anchor in used:
                used[wanted] += 1
                anchor = f"{wanted}-{used[wanted]}"
            used[anchor] = 1
            return f"{'#' * min(_DEEPEST_LEVEL, block.level + lift)} {block.text} {{#{anchor}}}"
        case "item":
            return f"- {block.text}"
        case "row":
            return f"| {block.text} |"
        case "code":
            lines = (" " + line if line.startswith("```") else line for line in block.text.split("\n"))
            return "```\n" + "\n".join(lines) + "\n```"
        case _:
            return " " + block.text if block.text.startswith(_MARKS) else block.text


def megabytes(size: int) -> int:
    """Return how many megabytes are begun by ``size`` bytes, at most 15: a manual of a thousand pages takes half a minute."""
    return min(1 + size // 1_000_000, 15)
