"""Markdown of another program as Markdown that does nothing in a vault: every word is made inert, links show their address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pipeline.text.normalise import clean
from pipeline.vault.output.escaping import Inert, fenced, inert
from pipeline.vault.output.prose import prose

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEEPEST = 4  # levels of lists
_LEVEL = 3  # of the highest heading: a note has a title and headings of its own


def foreign_markdown(text: str) -> Inert:
    """Return a foreign Markdown text for a note: headings, paragraphs, lists, tables, quotes and code; nothing else."""
    return Inert("\n".join(_Writer(_reader().parse(clean(text))).lines()).strip("\n"))


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt  # only now: a build of a vault without imports needs none of it

    return MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable("table")


class _Writer:
    """Writes the blocks of one text. ``_lists`` are the open lists, each with its next number, 0 for bullets."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._lists: list[int] = []
        self._item = False
        self._quoted = 0
        self._heading = 0
        self._row: list[str] | None = None

    def lines(self) -> Iterator[str]:
        """Yield the lines of the Markdown."""
        for token in self._tokens:
            for line in self._of(token):
                yield f"{'> ' * min(self._quoted, 2)}{line}".rstrip()

    def _of(self, token: Token) -> Iterator[str]:
        match token.type:
            case "heading_open":
                self._heading = min(int(token.tag[1:]) + _LEVEL - 1, 6)
            case "bullet_list_open" | "ordered_list_open":
                self._lists.append(int(token.attrGet("start") or 1) if token.type.startswith("ordered") else 0)
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                yield from [] if self._lists else [""]
            case "list_item_open":
                self._item = True
            case "blockquote_open":
                self._quoted += 1
            case "blockquote_close":
                self._quoted -= 1
                yield ""
            case "fence" | "code_block":
                yield from (*fenced(token.content.rstrip("\n")), "")
            case "hr" | "html_block":
                yield ""
            case "inline":
                yield from self._text(token)
            case _:
                yield from self._table(token)

    def _text(self, token: Token) -> Iterator[str]:
        words = _words(token)
        if self._row is not None:
            self._row.append(str(prose(words, cell=True)) or " ")
        elif self._heading:
            yield from (f"{'#' * self._heading} {inert(words) or '…'}", "")
            self._heading = 0
        elif self._lists:
            yield self._listed(words)
        else:
            yield from (str(prose(words)), "")

    def _listed(self, words: str) -> str:
        indent = "    " * (min(len(self._lists), _DEEPEST) - 1)
        sign = "  "
        if self._item:
            sign = f"{self._lists[-1]}. " if self._lists[-1] else "- "
            self._lists[-1] += 1 if self._lists[-1] else 0
        self._item = False
        return f"{indent}{sign}{prose(words) or '…'}"

    def _table(self, token: Token) -> Iterator[str]:
        if token.type == "tr_open":
            self._row = []
        elif token.type == "tr_close" and self._row is not None:
            yield f"| {' | '.join(self._row)} |"
            self._cells, self._row = len(self._row), None
        elif token.type == "thead_close":
            yield f"|{' --- |' * self._cells}"
        elif token.type == "table_close":
            yield ""


def _words(token: Token) -> str:
    """The words of a paragraph, with the marks for bold, emphasis and code; the address of a link stands behind its words."""
    parts: list[str] = []
    for child in token.children or ():
        match child.type:
            case "text":
                parts.append(child.content)
            case "code_inline":
                parts.append(f"`{child.content}`")
            case "softbreak" | "hardbreak":
                parts.append(" ")
            case "strong_open" | "strong_close":
                parts.append("**")
            case "em_open" | "em_close":
                parts.append("*")
            case "link_close":
                parts.append(_address(token, child))
            case "image":
                parts.append(f"{child.content or 'image'} ({child.attrGet('src') or ''})")
    return "".join(parts)


def _address(token: Token, close: Token) -> str:
    opened = [child for child in (token.children or ()) if child.type == "link_open" and child.level == close.level]
    before = [child for child in opened if (token.children or []).index(child) < (token.children or []).index(close)]
    href = str(before[-1].attrGet("href") or "") if before else ""
    return f" ({href})" if href else ""
