"""Plain text and reStructuredText → page text: paragraphs parted by blank lines, headings where a line is plainly one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.documents.pagetext import Document, PageText, squash

_UNDERLINE = re.compile(r"([=\-~^\"'`#*+:.])\1{2,}\s*\Z")
_UNDERLINES = "=-~^\"'`#*+:."
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?[ \t]{1,4}([A-Z][^.!?:;,]{2,70})\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*•–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(\S.*)")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]{1,100}\| )?([\w:-]{1,50})::[ \t]*(.*)")
_ROLE = re.compile(r":[a-zA-Z][\w:.+-]{0,40}:`([^`]{1,300})`")
_TARGETED = re.compile(r"`([^`<>]{1,300}?)\s*<[^`<>]{1,500}>`__?")
_LITERAL = re.compile(r"``([^`\n]{1,300})``|`([^`\n]{1,300})`_{0,2}")
_CODE_DIRECTIVES = frozenset(("code-block", "code", "sourcecode", "parsed-literal", "highlight", "doctest", "testcode", "math"))
_LONGEST_CAPITALS = 60


def read_text(source: str, name: str, *, markup: bool = False) -> Document:
    """Return the document in ``source``; ``markup``: it is reStructuredText, whose marks are taken away."""
    page = PageText()
    reader = _Reader(page, markup)
    for paragraph in _paragraphs(source.expandtabs(8)):
        reader.take(paragraph)
    title = page.first_heading or name
    return Document(title, page.finished(title), "text/x-rst" if markup else "text/plain")


def _paragraphs(source: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in source.replace("\f", "\n\n").split("\n"):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


class _Reader:
    """Takes one run of lines after the other; remembers what the last one announced."""

    def __init__(self, page: PageText, markup: bool) -> None:
        self._page = page
        self._markup = markup
        self._levels: list[str] = []
        self._code_follows = False
        self._ignored = False

    def take(self, lines: list[str]) -> None:
        """Write the blocks of ``lines``, which stand without a blank line between."""
        if self._markup and (self._literal(lines) or self._directive(lines)):
            return
        lines = self._headings(lines)
        if not lines:
            return
        self._code_follows = self._markup and lines[-1].endswith("::")
        if len(lines) == 1 and self._is_heading(lines[0].strip()):
            return
        for kind, text in _runs(lines):
            (self._page.item if kind == "item" else self._page.paragraph)(self._plain(text))

    def _literal(self, lines: list[str]) -> bool:
        """Tell whether ``lines`` belong to what was announced: code, or a directive that says nothing to a reader."""
        if not lines[0].startswith(" "):
            self._code_follows = self._ignored = False
        if self._code_follows:
            self._page.code("\n".join(lines))
        return self._code_follows or self._ignored

    def _directive(self, lines: list[str]) -> bool:
        if not lines[0].lstrip().startswith(".. "):
            return False
        found = _DIRECTIVE.match(lines[0].lstrip())
        self._code_follows = bool(found and found[1] in _CODE_DIRECTIVES)
        self._ignored = not found or found[1] in ("toctree", "index", "image", "figure", "contents", "include")
        if found and not self._code_follows and not self._ignored:
            self._page.paragraph(self._plain(" ".join([found[2], *(line.strip() for line in lines[1:] if line[:1] == " ")])))
        return True

    def _headings(self, lines: list[str]) -> list[str]:
        """Write the headings that are told by a line under them (and over them); return what is left."""
        if len(lines) > 2 and _UNDERLINE.match(lines[0]) and lines[0] == lines[2]:
            self._write(lines[0][0] * 2, lines[1])
            return lines[3:]
        left: list[str] = []
        for line in lines:
            if left and _underlines(line, left[-1]) and len(left) == 1:
                self._write(line[0], left.pop())
            else:
                left.append(line)
        return left

    def _write(self, mark: str, text: str) -> None:
        if mark not in self._levels:
            self._levels.append(mark)
        self._page.heading(1 + self._levels.index(mark), self._plain(text))

    def _is_heading(self, line: str) -> bool:
        numbered = _NUMBERED.match(line)
        if not numbered and not _is_capitals(line):
            return False
        depth = numbered[1].count(".") if numbered else 0
        self._page.heading(len(self._levels) + 1 + depth, line)
        return True

    def _plain(self, text: str) -> str:
        if not self._markup:
            return text
        text = _TARGETED.sub(r"\1", _ROLE.sub(lambda found: found[1].lstrip("~!"), text))
        return _LITERAL.sub(lambda found: found[1] or found[2], text).replace("::", ":").replace("**", "")


def _underlines(line: str, title: str) -> bool:
    """Tell whether ``line`` draws a line of about the title's length under it."""
    length = len(title.strip())
    return bool(_UNDERLINE.match(line)) and length < 150 and len(line.strip()) >= max(3, length - 2)


def _is_capitals(line: str) -> bool:
    letters = [letter for letter in line if letter.isalpha()]
    short = len(line) <= _LONGEST_CAPITALS and len(letters) >= 4 and line[-1] not in ".,;:!?"
    return short and line == line.upper() and line != line.lower() and 2 * len(letters) > len(line)


def _runs(lines: list[str]) -> Iterator[tuple[str, str]]:
    kind, run = "paragraph", [""]
    for line in lines:
        if found := _ITEM.match(line):
            yield kind, squash(" ".join(run))
            kind, run = "item", [found[1]]
        else:
            run.append(line)
    yield kind, squash(" ".join(run))
