"""Writing the page format of ``pipeline.text.page_format``: what each kind of document is turned into.

Two promises. What is added as a paragraph is read back as a paragraph: a line that looks like a heading, a fence, an item
or a row gets one leading space, which takes its meaning away and leaves every quote verbatim (quotes are compared with white
space normalised). And every heading below the title has an anchor, unique in its page and written as it stands in an
address, so that a hit's fragment and a block's anchor are the same string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from pipeline.errors import ReadFailed
from pipeline.text.normalise import clean, slug

_MARKED = re.compile(r"```|- |\| |#{1,6} ")
_ANCHORED = re.compile(r" \{#[^{}\s]+\}\Z")
_IN_FRAGMENTS = "!$&*+,;=:@/?-._~"
_DEEPEST = 6
MAX_BLOCKS = 200_000


@dataclass(frozen=True, slots=True)
class Document:
    """A document as read: ``text`` in the page format, ``published`` as ISO 8601 or ""."""

    title: str
    text: str
    media_type: str
    author: str = ""
    published: str = ""


@dataclass(frozen=True, slots=True)
class _Draft:
    kind: Literal["heading", "paragraph", "item", "code", "row"]
    text: str
    level: int = 0
    anchor: str = ""


def squash(text: str) -> str:
    """Return ``text`` cleaned, on one line, with one space for any white space."""
    return " ".join(clean(text).split())


class PageText:
    """Collects the blocks of one page in order. What is empty is left out.

    Raises:
        ReadFailed: on adding more than ``MAX_BLOCKS``, which no document written by people has.
    """

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []

    def _add(self, draft: _Draft) -> None:
        if len(self._drafts) >= MAX_BLOCKS:
            raise ReadFailed(f"more than {MAX_BLOCKS:,} paragraphs")
        self._drafts.append(draft)

    def heading(self, level: int, text: str, anchor: str = "") -> None:
        """Add a heading; ``level`` counts from 1; ``anchor`` is the original's id, or "" for one made of the text."""
        if line := squash(text):
            self._add(_Draft("heading", line, max(1, level), anchor))

    def paragraph(self, text: str) -> None:
        """Add a paragraph; its line breaks become spaces."""
        if line := squash(text):
            self._add(_Draft("paragraph", line))

    def item(self, text: str) -> None:
        """Add a list item."""
        if line := squash(text):
            self._add(_Draft("item", line))

    def row(self, cells: Iterable[str]) -> None:
        """Add a table row; a row of one cell is a list item."""
        lines = [squash(cell) for cell in cells]
        if len(lines) > 1 and any(lines):
            self._add(_Draft("row", " | ".join(lines)))
        else:
            self.item(" ".join(lines))

    def code(self, text: str) -> None:
        """Add a block of code; its white space is kept."""
        lines = [line.rstrip() for line in clean(text).expandtabs(4).split("\n")]
        while lines and not lines[0]:
            lines.pop(0)
        while lines and not lines[-1]:
            lines.pop()
        if lines:
            self._add(_Draft("code", "\n".join(lines)))

    @property
    def first_heading(self) -> str:
        """The first heading's text, or ""."""
        return next((draft.text for draft in self._drafts if draft.kind == "heading"), "")

    @property
    def headings(self) -> tuple[str, ...]:
        """The texts of all headings, in order."""
        return tuple(draft.text for draft in self._drafts if draft.kind == "heading")

    @property
    def empty(self) -> bool:
        """Whether there is nothing but headings."""
        return all(draft.kind == "heading" for draft in self._drafts)

    def finished(self, title: str) -> str:
        """Return the page's text, opened by its title; a first heading that says the same is left out."""
        head = squash(title)
        drafts = _without_title(self._drafts, head)
        levels = [draft.level for draft in drafts if draft.kind == "heading"]
        lift = 2 - min(levels, default=2)
        return _title_line(head) + _joined(drafts, lift)


def _without_title(drafts: Sequence[_Draft], title: str) -> list[_Draft]:
    at = next((i for i, draft in enumerate(drafts) if draft.kind == "heading"), None)
    if at is None or drafts[at].text.casefold() != title.casefold():
        return list(drafts)
    return [*drafts[:at], *drafts[at + 1 :]]


def _title_line(title: str) -> str:
    if not title:
        return ""
    # A title that ends like an anchor would lose its end; with an anchor of its own it does not.
    return f"# {title} {{#{slug(title)}}}\n" if _ANCHORED.search(title) else f"# {title}\n"


def _joined(drafts: Iterable[_Draft], lift: int) -> str:
    lines: list[str] = []
    before = ""
    anchors = _Anchors()
    for draft in drafts:
        if not (draft.kind == before and draft.kind in ("item", "row")):
            lines.append("")
        lines.append(_line(draft, lift, anchors))
        before = draft.kind
    return "\n".join([*lines, ""])


def _line(draft: _Draft, lift: int, anchors: _Anchors) -> str:
    if draft.kind == "heading":
        level = min(_DEEPEST, draft.level + lift)
        return f"{'#' * level} {draft.text} {{#{anchors.one_for(draft)}}}"
    if draft.kind == "item":
        return "- " + draft.text
    if draft.kind == "row":
        return f"| {draft.text} |"
    if draft.kind == "code":
        return "```\n" + "\n".join(_inert(line, "```") for line in draft.text.split("\n")) + "\n```"
    return " " + draft.text if _MARKED.match(draft.text) else draft.text


def _inert(line: str, mark: str) -> str:
    return " " + line if line.startswith(mark) else line


class _Anchors:
    """Gives out anchors, none twice."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def one_for(self, draft: _Draft) -> str:
        wanted = quote(draft.anchor, safe=_IN_FRAGMENTS) if draft.anchor else slug(draft.text)
        anchor = wanted
        while anchor in self._given:
            self._given[wanted] += 1
            anchor = f"{wanted}-{self._given[wanted]}"
        self._given[anchor] = 1
        return anchor
