"""PDF → page text: joins lines into paragraphs by their position and recognises headings by font size.

pdfium is not thread-safe, so all calls of it hold one lock.
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

from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed
from pipeline.text.normalise import normalised

MAX_PAGES = 2_000
_NEAR = 4_000  # characters within which a line follows the one before it

_PDFIUM = threading.Lock()
_EDGE_LINES = 2
_FEWEST_REPEATS = 3
_LARGER = 1.15
_WIDE_GAP = 1.35
_LONGEST_HEADING = 120
_BULLET = re.compile(r"[•◦▪‣∙●○■]\s*(\S.*)|[-–*]\s+(\S.*)")
_PAGE_NUMBER = re.compile(r"\W*(?:page\s*)?(?:\d{1,5}|[ivxl]{1,7})(?:\s*(?:/|of)\s*\d{1,5})?\W*\Z", re.IGNORECASE)
# pdfium marks the hyphen of a word it has joined with U+FFFE.
_HYPHENATED = re.compile(r"(\w{1,40})(?:\ufffe\s?|[-\u00ad\u0002]\n)([a-zß-ÿ]\w{0,40})")
_LEADERS = re.compile(r"(?:\. ?){5,}\s*\d*\Z")
_NUMBERED_EDGE = re.compile(r"\d{1,5}\s|.*\s\d{1,5}\Z")
_DATE = re.compile(r"D:(\d{4})(\d{2})(\d{2})")
_POOR_TITLE = re.compile(r"untitled|microsoft (?:word|powerpoint)|.*\.(?:docx?|tex|dvi|indd|pdf|pptx?)\Z", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[A-Z][^.!?]{2,80}\Z")
_TYPOGRAPHY = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', ")")


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a page: its font size and its height above the bottom edge, in points; 0 if unknown."""

    text: str
    size: float = 0.0
    height: float = 0.0


def read_pdf(data: bytes, name: str) -> Document:
    """Return the document in the PDF file ``data``; ``name`` is the title if the file has none.

    Raises:
        ReadFailed: the file cannot be parsed, needs a password, has more than ``MAX_PAGES`` pages, or has no text layer.
    """
    with _PDFIUM:
        pages, meta = _parsed(data)
    if not any(pages):
        raise ReadFailed("it has no text layer; run text recognition (OCR) on it first")
    page = PageText()
    bodies = list(_without_headers_and_footers(pages))
    if not any(bodies):
        bodies = pages
    _write_blocks(page, [line for lines in bodies for line in lines])
    declared = squash(meta.get("Title", ""))
    title = (
        declared if declared and not _POOR_TITLE.match(declared) else _title_by_size(bodies[0]) or page.opening_heading or name
    )
    made = _DATE.match(meta.get("CreationDate", ""))
    published = "-".join(made.groups()) if made else ""
    text = page.rendered(title)
    return Document(title, text, "application/pdf", squash(meta.get("Author", "")), published, sheets=_page_starts(bodies, text))


def _page_starts(bodies: Sequence[Sequence[_Line]], text: str) -> tuple[int, ...]:
    """Return where each page begins, as offsets in the ``normalised`` ``text``; one without text begins where the next does."""
    whole, at, starts = normalised(text.strip()), 0, dict[int, int]()
    for number, lines in enumerate(bodies):
        for line in lines:
            words = _beginning(line.text)
            if words and (found := whole.find(words, at, at + _NEAR + len(words))) >= 0:
                starts.setdefault(number, found)
                at = found + len(words)
    begins, latest = [], len(whole)
    for number in range(len(bodies) - 1, -1, -1):
        latest = starts.get(number, latest)
        begins.append(latest)
    return tuple(reversed(begins))


def _beginning(line: str) -> str:
    """A line without its last word, which may go on in the next line."""
    words = normalised(squash(line.translate(_TYPOGRAPHY))).split(" ")
    return " ".join(words[:-1] or words)


def _parsed(data: bytes) -> tuple[list[list[_Line]], dict[str, str]]:
    # Imported here because loading pdfium is slow, and a folder without a PDF does not need it.
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(data) as document:
            if len(document) > MAX_PAGES:
                raise ReadFailed(f"more than {MAX_PAGES} pages")
            return [list(_lines(document[number])) for number in range(len(document))], document.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise ReadFailed("it needs a password" if locked else f"the PDF cannot be parsed ({error})") from error


def _lines(sheet: Any) -> Iterator[_Line]:
    from pypdfium2 import raw

    layer = sheet.get_textpage()
    start = 0
    for text in layer.get_text_range().split("\n"):
        if line := text.strip():
            at = raw.FPDFText_GetCharIndexFromTextIndex(layer, start + text.index(line[0]))
            yield _Line(line, _size(layer, at), _height_on_page(layer, at))
        start += len(text) + 1


def _size(layer: Any, at: int) -> float:
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    scale = abs(matrix.d) if raw.FPDFText_GetMatrix(layer, at, matrix) and matrix.d else 1.0
    return float(raw.FPDFText_GetFontSize(layer, at)) * scale


def _height_on_page(layer: Any, at: int) -> float:
    from pypdfium2 import raw

    across, up = ctypes.c_double(), ctypes.c_double()
    return up.value if raw.FPDFText_GetCharOrigin(layer, at, across, up) else 0.0


def _without_headers_and_footers(pages: Sequence[Sequence[_Line]]) -> Iterator[list[_Line]]:
    """Yield the pages without repeated headers and footers, page numbers and leader lines of a table of contents."""
    body = _usual_size([line for lines in pages for line in lines])
    seen = Counter(key for lines in pages for key in {_without_digits(line.text) for line in _edges(lines)})
    often = max(_FEWEST_REPEATS, len(pages) // 2)
    for lines in pages:
        edges = [line for line in _edges(lines) if len(pages) > 1 and round(line.size) <= body]
        dropped = {id(line) for line in edges if _is_repeated_or_numbered(line.text, seen[_without_digits(line.text)], often)}
        yield [line for line in lines if id(line) not in dropped and not _LEADERS.search(line.text)]


def _is_repeated_or_numbered(text: str, seen: int, often: int) -> bool:
    return seen >= often or bool(_PAGE_NUMBER.match(text)) or (seen > 1 and bool(_NUMBERED_EDGE.match(text)))


def _title_by_size(lines: Sequence[_Line]) -> str:
    """Return the first run of lines in the largest font, or "" if all lines have one size or the run is too long."""
    sizes = {round(line.size) for line in lines}
    if len(sizes) < 2:
        return ""
    run = next(list(group) for size, group in groupby(lines, key=lambda line: round(line.size)) if size == max(sizes))
    title = squash(" ".join(line.text for line in run))
    return title if len(title) <= _LONGEST_HEADING else ""


def _edges(lines: Sequence[_Line]) -> list[_Line]:
    return [*lines[:_EDGE_LINES], *lines[_EDGE_LINES:][-_EDGE_LINES:]]


def _without_digits(text: str) -> str:
    return re.sub(r"\d+", "#", squash(text).casefold())


def _write_blocks(page: PageText, lines: Sequence[_Line]) -> None:
    """Add ``lines`` to ``page`` as headings, items and paragraphs."""
    shape = _Typography.of(lines)
    words = {word.casefold() for line in lines for word in re.findall(r"\w[\w-]*\w", line.text)}
    for group in _paragraphs(lines, shape):
        text = _joined_lines([line.text for line in group], words)
        level = shape.heading_level(group[0], text)
        bullet = _BULLET.match(text)
        if level:
            page.heading(level, text)
        elif bullet:
            page.item(bullet[1] or bullet[2])
        else:
            page.paragraph(text)


@dataclass(frozen=True, slots=True)
class _Typography:
    """Typical values of one document: body font size and line distance in points, length of a full line, heading sizes."""

    size: float
    gap: float
    length: float
    larger: tuple[float, ...]

    @classmethod
    def of(cls, lines: Sequence[_Line]) -> _Typography:
        """Compute the values from ``lines`` (at least one)."""
        size = _usual_size(lines)
        body = [line for line in lines if round(line.size) == size]
        gaps = [a.height - b.height for a, b in pairwise(body) if 0 < a.height - b.height < 5 * size]
        larger = {float(round(line.size)) for line in lines if line.size > _LARGER * size}
        longest = sorted(len(line.text) for line in body)[-max(1, len(body) // 3) :]
        return cls(
            size, statistics.median(gaps) if gaps else 0.0, statistics.median(longest), tuple(sorted(larger, reverse=True))
        )

    def begins_paragraph(self, before: _Line, after: _Line) -> bool:
        """Return whether ``after`` begins a new paragraph."""
        gap = before.height - after.height
        if _BULLET.match(after.text) or round(before.size) != round(after.size):
            return True
        if before.size > _LARGER * self.size:
            return not 0 < gap < 2 * before.size
        if gap > _WIDE_GAP * self.gap > 0:
            return not after.text[:1].islower() or before.text.endswith(_SENTENCE_ENDS) or gap > 2 * self.gap
        return before.text.endswith(_SENTENCE_ENDS) and (gap < 0 or len(before.text) < 0.75 * self.length)

    def heading_level(self, line: _Line, text: str) -> int:
        """Return the heading level of ``text``, counted from 1, or 0 if it is no heading."""
        if len(text) > _LONGEST_HEADING or not any(letter.isalpha() for letter in text):
            return 0
        rounded = float(round(line.size))
        if rounded in self.larger:
            return 1 + min(self.larger.index(rounded), 4)
        if (numbered := _NUMBERED.match(text)) and not text.endswith(_SENTENCE_ENDS):
            return len(self.larger) + 1 + numbered[1].count(".")
        return 0


def _usual_size(lines: Sequence[_Line]) -> int:
    weights: Counter[int] = Counter()
    for line in lines:
        weights[round(line.size)] += len(line.text)
    return max(sorted(weights), key=lambda size: weights[size], default=0)


def _paragraphs(lines: Sequence[_Line], shape: _Typography) -> Iterator[list[_Line]]:
    group: list[_Line] = []
    for line in lines:
        if group and shape.begins_paragraph(group[-1], line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _joined_lines(lines: Sequence[str], words: set[str]) -> str:
    """Join lines. A word split at a line end keeps its hyphen only if ``words`` holds the hyphenated form."""
    text = "\n".join(lines).translate(_TYPOGRAPHY)
    return squash(_HYPHENATED.sub(lambda cut: cut[1] + ("-" if f"{cut[1]}-{cut[2]}".casefold() in words else "") + cut[2], text))
