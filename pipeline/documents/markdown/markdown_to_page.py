"""Markdown → page text: a line-by-line block reader in linear time, with frontmatter and Obsidian's comments."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import frontmatter
import yaml

from pipeline.documents.markdown.markdown_inline import without_marks
from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed

_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONTMATTER = 64_000
_MOST_CELLS = 200
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_ID = re.compile(r"\{#([^{}\s]+)[^{}]*\}\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*\Z")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)")
_DELIMITER = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*(?::?-+:?\s*)?)*\Z")
_QUOTED = re.compile(r"(?: {0,3}>[ \t]?)+")
_CALLOUT = re.compile(r"\[![\w|-]+\][+-]?[ \t]*")
_LINK_DEFINITION = re.compile(r" {0,3}\[[^\[\]\n]{1,200}\]:[ \t]*\S")
_DESCRIPTION = re.compile(r" {0,3}:[ \t]+(\S.*)")
_BLOCK_ID = re.compile(r"(?:[ \t]+|\A)\^(?=[\w-]*[A-Za-z])[A-Za-z0-9-]{2,60}[ \t]*\Z")
_COMMENT = re.compile(r"(`[^`\n]*`)|%%.*?%%")
_POOR_NAME = re.compile(r"(?:index|readme|untitled.*|[\W\d_]*)\Z", re.IGNORECASE)
_CELL_BAR = re.compile(r"(?<!\\)\|")


def read_markdown(source: str, name: str) -> Document:
    """Return the document in ``source``; ``name`` is the title if it has none. Invalid frontmatter is ignored.

    Raises:
        ReadFailed: it is a note that this program generated, which must not be a source of its own research.
    """
    properties, body = _split_frontmatter(source)
    if _is_generated_note(properties):
        raise ReadFailed("it is a note that this program generated")
    page = PageText()
    if aliases := _property(properties, "aliases"):
        page.paragraph(f"Also known as: {aliases}.")
    reader = _Reader(page, _without_comments(body))
    reader.read()
    title = _property(properties, "title") or reader.title or (page.first_heading if _POOR_NAME.match(name) else "") or name
    published = next((found for key in ("date", "published", "created") if (found := _property(properties, key))), "")
    return Document(title, page.rendered(title), "text/markdown", _property(properties, "author"), published)


def _is_generated_note(properties: dict[str, Any]) -> bool:
    """Return whether the properties are those of a generated note: a kind, and the tag of that kind."""
    kind, tags = properties.get("kind"), properties.get("tags")
    return isinstance(kind, str) and isinstance(tags, list) and f"research/{kind}" in tags


def _split_frontmatter(source: str) -> tuple[dict[str, Any], str]:
    found = _FRONTMATTER.match(source)
    if not found:
        return {}, source
    body = source[found.end() :]
    if len(found[1]) > _LONGEST_FRONTMATTER:
        return {}, body
    try:
        properties, _ = frontmatter.parse(found[0])
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return {}, body
    return properties, body


def _property(properties: dict[str, Any], key: str) -> str:
    value = properties.get(key)
    if isinstance(value, list):
        return ", ".join(squash(str(entry)) for entry in value if isinstance(entry, str | int | float))
    if isinstance(value, date):
        return value.isoformat()
    return squash(str(value)) if isinstance(value, str | int | float) else ""


def _without_comments(source: str) -> str:
    parts: list[str] = []
    start = 0
    while (opened := source.find("<!--", start)) >= 0 and (closed := source.find("-->", opened)) >= 0:
        parts.append(source[start:opened])
        start = closed + 3
    return "".join([*parts, source[start:]])


def _without_hidden(lines: list[str]) -> list[str]:
    """Return ``lines`` without Obsidian's comments (``%%`` to ``%%``, on one line or several); ``%%`` in code stays."""
    kept: list[str] = []
    in_comment: list[str] | None = None  # the lines of an open comment; they are kept if it is never closed
    fence = ""
    for line in lines:
        found = _FENCE.match(line) if in_comment is None else None
        if fence or found:
            closes = fence and line.strip().startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence or (found[1] if found else "")
            kept.append(line)
        elif in_comment is not None:
            in_comment.append(line)
            if "%%" in line:
                kept.append(line.partition("%%")[2])
                in_comment = None
        elif "%%" in line and (bare := _COMMENT.sub(lambda found: found[1] or "", line)).count("%%") == 1 and "`" not in bare:
            kept.append(bare.partition("%%")[0])
            in_comment = ["%%" + bare.partition("%%")[2]]
        else:
            kept.append(_COMMENT.sub(lambda found: found[1] or "", line) if "%%" in line else line)
    return [*kept, *(in_comment or [])]


class _Reader:
    """Reads line by line; the lines of a paragraph or an item are collected until another block begins.

    ``title`` is the first heading if it is of level 1 or the document begins with it, else "".
    """

    def __init__(self, page: PageText, source: str) -> None:
        self._page = page
        self._lines = _without_hidden(source.split("\n")) if "%%" in source else source.split("\n")
        self._at = 0
        self._pending: list[str] = []
        self._in_item = False
        self._after_blank = True
        self._term = ""
        self._has_content = False
        self.title = ""

    def read(self) -> None:
        """Write all blocks."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            self._read_line(line)
            self._after_blank = not line.strip()
        self._end_block()

    def _read_line(self, line: str) -> None:
        if not line.strip():
            if not self._in_item:
                self._end_block()
        elif fence := _FENCE.match(line):
            self._end_block()
            self._page.code("\n".join(self._fenced(fence[1])))
        elif self._after_blank and not self._in_item and line.startswith(("    ", "\t")):
            self._page.code("\n".join([line, *self._while(lambda next_: not next_.strip() or next_.startswith(("    ", "\t")))]))
        else:
            self._read_text(_unquoted(line))

    def _read_text(self, text: str) -> None:
        if heading := _HEADING.match(text):
            self._end_block()
            self._heading(len(heading[1]), text[heading.end() :])
        elif self._pending and not self._in_item and (under := _UNDERLINE.match(text)):
            title, self._pending = " ".join(self._pending), []
            self._heading(1 if under[1][0] == "=" else 2, title)
        elif _RULE.match(text) or _LINK_DEFINITION.match(text) or not text.strip():
            self._end_block()
        elif item := _ITEM.match(text):
            self._end_block()
            self._in_item, self._pending, self._term = True, [item[1]], ""
        elif (description := _DESCRIPTION.match(text)) and (self._term or (len(self._pending) == 1 and not self._in_item)):
            self._begin_description(description[1])
        elif self._begins_table(text):
            self._table(text)
        else:
            self._gather(text)

    def _begin_description(self, text: str) -> None:
        """Begin an item for a term and its description; one term may have several descriptions."""
        if not self._in_item:
            self._term, self._pending = self._pending[0], []
        self._end_block()
        self._in_item, self._pending = True, [f"{self._term}: {text}"]

    def _gather(self, text: str) -> None:
        if self._in_item and self._after_blank and not text.startswith((" ", "\t")):
            self._end_block()
        self._pending.append(text.strip())

    def _begins_table(self, text: str) -> bool:
        following = self._lines[self._at] if self._at < len(self._lines) else ""
        return text.lstrip().startswith("|") or ("|" in text and "|" in following and _is_delimiter(following))

    def _table(self, first: str) -> None:
        self._end_block()
        for line in [first, *self._while(lambda next_: "|" in next_)]:
            if not _is_delimiter(line):
                self._page.row(without_marks(cell) for cell in _CELL_BAR.split(line.strip().strip("|"), _MOST_CELLS))

    def _heading(self, level: int, text: str) -> None:
        text = text.strip()
        bare = text.rstrip("#")
        text = bare.strip() if bare[-1:] in (" ", "\t", "") else text
        own = _ID.search(text[-300:])
        words = without_marks(_BLOCK_ID.sub("", text[: text.rindex("{#")] if own else text))
        if not self.title and (level == 1 or not self._has_content):
            self.title = squash(words)
        self._has_content = True
        self._page.heading(level, words, own[1] if own else "")

    def _fenced(self, fence: str) -> list[str]:
        lines = self._while(lambda line: not line.strip().startswith(fence) or bool(line.strip().strip(fence[0])))
        self._at += 1
        return lines

    def _while(self, holds: Callable[[str], bool]) -> list[str]:
        start = self._at
        while self._at < len(self._lines) and holds(self._lines[self._at]):
            self._at += 1
        return self._lines[start : self._at]

    def _end_block(self) -> None:
        text, self._pending = without_marks(_BLOCK_ID.sub("", " ".join(self._pending))), []
        self._has_content = self._has_content or bool(text)
        if self._in_item:
            self._page.item(text)
        else:
            self._page.paragraph(text)
        self._in_item = False


def _unquoted(line: str) -> str:
    quoted = _QUOTED.match(line)
    return _CALLOUT.sub("", line[quoted.end() :], count=1) if quoted else line


def _is_delimiter(line: str) -> bool:
    return len(line) < 1_000 and bool(_DELIMITER.match(line.strip()))
