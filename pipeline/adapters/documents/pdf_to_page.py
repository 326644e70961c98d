"""PDF → page text: lines joined into paragraphs by their place on the page, headings told by their size.

pdfium is not thread-safe: everything that touches it holds one lock.
"""

from __future__ import annotations

import ctypes
import re
import statistics
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from pipeline.adapters.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed

MAX_PAGES = 2_000

_PDFIUM = threading.Lock()
_EDGE_LINES = 2
_REPEATED = 3
_LARGER = 1.15
_GAP = 1.35
_LONGEST_HEADING = 120
_BULLET = re.compile(r"[•◦▪‣∙●○■]\s*(\S.*)|[-–*]\s+(\S.*)")
_PAGE_NUMBER = re.compile(r"\W*(?:page\s*)?(?:\d{1,5}|[ivxl]{1,7})(?:\s*(?:/|of)\s*\d{1,5})?\W*\Z", re.IGNORECASE)
# pdfium marks the hyphen of a word it has joined with U+FFFE.
_CUT = re.compile(r"(\w{1,40})(?:\ufffe\s?|[-\u00ad\u0002]\n)([a-zß-ÿ]\w{0,40})")
_LEADERS = re.compile(r"(?:\. ?){5,}\s*\d*\Z")
_NUMBERED_EDGE = re.compile(r"\d{1,5}\s|.*\s\d{1,5}\Z")
_DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_POOR_TITLE = re.compile(r"untitled|microsoft (?:word|powerpoint)|.*\.(?:docx?|tex|dvi|indd|pdf|pptx?)\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[A-Z][^.!?]{2,80}\Z")
_TYPOGRAPHY = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_ENDED = (".", "!", "?", ":", ";", "”", '"', ")")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line: its font's height, and its distance from the page's foot, in points; zero when not known."""

    text: str
    size: float = 0.0
    foot: float = 0.0


def read_pdf(data: bytes, name: str) -> Document:
    """Return the document in ``data``.

    Raises:
        ReadFailed: it cannot be parsed, is locked by a password, is too long, or has no text layer.
    """
    with _PDFIUM:
        pages, meta = _opened(data)
    if not any(pages):
        raise ReadFailed("it has no text layer: a scan must go through text recognition first")
    page = PageText()
    kept = list(_without_edges(pages))
    if not any(kept):
        kept = pages
    _write(page, [line for lines in kept for line in lines])
    declared = squash(meta.get("Title", ""))
    title = declared if declared and not _POOR_TITLE.match(declared) else _largest(kept[0]) or page.first_heading or name
    made = _DATE.match(meta.get("CreationDate", ""))
    published = "-".join(made.groups()) if made else ""
    return Document(title, page.finished(title), "application/pdf", squash(meta.get("Author", "")), published)


def _opened(data: bytes) -> tuple[list[list[_Line]], dict[str, str]]:
    # Imported here: loading pdfium takes longer than all else that a folder without a PDF needs.
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(data) as document:
            if len(document) > MAX_PAGES:
                raise ReadFailed(f"more than {MAX_PAGES} pages")
            return [list(_lines(document[number])) for number in range(len(document))], document.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise ReadFailed("it is locked by a password" if locked else f"it is no PDF that can be read ({error})") from error


def _lines(sheet: Any) -> Iterator[_Line]:
    from pypdfium2 import raw

    layer = sheet.get_textpage()
    start = 0
    for text in layer.get_text_range().split("\n"):
        if line := text.strip():
            at = raw.FPDFText_GetCharIndexFromTextIndex(layer, start + text.index(line[0]))
            yield _Line(line, _size(layer, at), _foot(layer, at))
        start += len(text) + 1


def _size(layer: Any, at: int) -> float:
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    scale = abs(matrix.d) if raw.FPDFText_GetMatrix(layer, at, matrix) and matrix.d else 1.0
    return float(raw.FPDFText_GetFontSize(layer, at)) * scale


def _foot(layer: Any, at: int) -> float:
    from pypdfium2 import raw

    across, up = ctypes.c_double(), ctypes.c_double()
    return up.value if raw.FPDFText_GetCharOrigin(layer, at, across, up) else 0.0


def _without_edges(pages: Sequence[Sequence[_Line]]) -> Iterator[list[_Line]]:
    """Yield the pages without the headers and footers that repeat and without page numbers."""
    body = _usual_size([line for lines in pages for line in lines])
    seen = Counter(key for lines in pages for key in {_alike(line.text) for line in _edges(lines)})
    often = max(_REPEATED, len(pages) // 2)
    for lines in pages:
        edges = [line for line in _edges(lines) if len(pages) > 1 and round(line.size) <= body]
        gone = {id(line) for line in edges if _is_edge(line.text, seen[_alike(line.text)], often)}
        yield [line for line in lines if id(line) not in gone and not _LEADERS.search(line.text)]


def _is_edge(text: str, seen: int, often: int) -> bool:
    return seen >= often or bool(_PAGE_NUMBER.match(text)) or (seen > 1 and bool(_NUMBERED_EDGE.match(text)))


def _largest(lines: Sequence[_Line]) -> str:
    """Return the run of lines in the first page's largest letters, or "" when all are of one size."""
    sizes = {round(line.size) for line in lines}
    if len(sizes) < 2:
        return ""
    run = next(list(group) for size, group in groupby(lines, key=lambda line: round(line.size)) if size == max(sizes))
    title = squash(" ".join(line.text for line in run))
    return title if len(title) <= _LONGEST_HEADING else ""


def _edges(lines: Sequence[_Line]) -> list[_Line]:
    return [*lines[:_EDGE_LINES], *lines[_EDGE_LINES:][-_EDGE_LINES:]]


def _alike(text: str) -> str:
    return re.sub(r"\d+", "#", squash(text).casefold())


def _write(page: PageText, lines: Sequence[_Line]) -> None:
    """Write ``lines`` as headings, items and paragraphs."""
    shape = _Shape.of(lines)
    words = {word.casefold() for line in lines for word in re.findall(r"\w[\w-]*\w", line.text)}
    for group in _groups(lines, shape):
        text = _joined([line.text for line in group], words)
        level = shape.heading_level(group[0], text)
        bullet = _BULLET.match(text)
        if level:
            page.heading(level, text)
        elif bullet:
            page.item(bullet[1] or bullet[2])
        else:
            page.paragraph(text)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What is usual in one document: the body's font size, the distance of its lines, their length; the larger sizes."""

    size: float
    gap: float
    length: float
    larger: tuple[float, ...]

    @classmethod
    def of(cls, lines: Sequence[_Line]) -> _Shape:
        """Measure ``lines`` (one at least)."""
        size = _usual_size(lines)
        body = [line for line in lines if round(line.size) == size]
        gaps = [a.foot - b.foot for a, b in pairwise(body) if 0 < a.foot - b.foot < 5 * size]
        larger = {float(round(line.size)) for line in lines if line.size > _LARGER * size}
        longest = sorted(len(line.text) for line in body)[-max(1, len(body) // 3) :]
        return cls(
            size, statistics.median(gaps) if gaps else 0.0, statistics.median(longest), tuple(sorted(larger, reverse=True))
        )

    def parted(self, before: _Line, after: _Line) -> bool:
        """Tell whether a new paragraph begins with ``after``."""
        gap = before.foot - after.foot
        if _BULLET.match(after.text) or round(before.size) != round(after.size):
            return True
        if before.size > _LARGER * self.size:
            return not 0 < gap < 2 * before.size
        if gap > _GAP * self.gap > 0:
            return not after.text[:1].islower() or before.text.endswith(_ENDED) or gap > 2 * self.gap
        return before.text.endswith(_ENDED) and (gap < 0 or len(before.text) < 0.75 * self.length)

    def heading_level(self, line: _Line, text: str) -> int:
        """Return the level of the heading that ``text`` is, from 1, or 0."""
        if len(text) > _LONGEST_HEADING or not any(letter.isalpha() for letter in text):
            return 0
        rounded = float(round(line.size))
        if rounded in self.larger:
            return 1 + min(self.larger.index(rounded), 4)
        if (numbered := _NUMBERED.match(text)) and not text.endswith(_ENDED):
            return len(self.larger) + 1 + numbered[1].count(".")
        return 0


def _usual_size(lines: Sequence[_Line]) -> int:
    weights: Counter[int] = Counter()
    for line in lines:
        weights[round(line.size)] += len(line.text)
    return max(sorted(weights), key=lambda size: weights[size], default=0)


def _groups(lines: Sequence[_Line], shape: _Shape) -> Iterator[list[_Line]]:
    group: list[_Line] = []
    for line in lines:
        if group and shape.parted(group[-1], line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _joined(lines: Sequence[str], words: set[str]) -> str:
    """Join lines; a word cut at a line's end keeps its hyphen when the document writes it with one elsewhere."""
    text = "\n".join(lines).translate(_TYPOGRAPHY)
    return squash(_CUT.sub(lambda cut: cut[1] + ("-" if f"{cut[1]}-{cut[2]}".casefold() in words else "") + cut[2], text))
