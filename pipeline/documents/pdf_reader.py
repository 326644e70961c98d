"""PDF → page: signs with their boxes become lines, lines columns, columns paragraphs, headings and rows.

pdfium gives the signs in the order in which they were drawn. Where they stand decides instead: lines of scripts that run to the
left are put together from the right, columns are read one after the other, turned pages are turned back.
"""

from __future__ import annotations

import ctypes
import math
import re
import statistics
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice, pairwise
from typing import Any

from pipeline.documents.page_writer import PageText, row_text, squash
from pipeline.errors import ReadFailed
from pipeline.ports import Page
from pipeline.text.cleaning import normalised
from pipeline.text.words import word_count

MAX_PAGES = 2_000
MAX_SIGNS = 60_000  # of one page
_NEAR = 4_000  # characters within which a line follows the one before it
_EDGE_ROWS = 2
_AROUND = ".,:;|()[]-–—·•"  # words at the edge of a page
_LARGER, _WIDE_GAP = 1.15, 1.35
_LONGEST_HEADING = 120
_THIN = 3.0  # points: the most that a rule is wide
_MOST_RULES = 400  # of one page
_GUTTER = 1.4  # a gap between columns or cells, in font sizes
_BULLETS = "•◦▪‣∙●○■·–*-"
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "”", '"', ")", "。", "！", "？", "۔", "؟")
_HYPHENS = "-\u00ad\u2010\u2011\u0002\ufffe"  # pdfium marks the hyphen of a word that it has joined with U+FFFE or U+0002
_TYPOGRAPHY = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0x00A0: " "}
# Page numbers as they are printed: "7", "page 7", "vii", "7 / 20". They stand in no place that a parser could name.
_PAGE_NUMBER = re.compile(r"\W*(?:page\s*)?(?:\d{1,5}|[ivxl]{1,7})(?:\s*(?:/|of)\s*\d{1,5})?\W*\Z", re.IGNORECASE)
_FILE_NAMES = (".doc", ".docx", ".tex", ".dvi", ".indd", ".pdf", ".ppt", ".pptx", ".html")


_Sign = tuple[float, float, float, float, str]  # left, right, height, size, sign


@dataclass(frozen=True, slots=True)
class _Line:
    """Signs side by side: from ``left`` to ``right``, ``height`` above the lower edge, in points. ``cells``: parts of a row."""

    text: str
    left: float
    right: float
    height: float
    size: float
    cells: tuple[str, ...] = ()


def read_pdf(data: bytes, name: str) -> Page:
    """Return the document in the PDF file ``data``; ``name`` is the title if the file has none.

    Raises:
        ReadFailed: the file cannot be parsed, needs a password, has more than ``MAX_PAGES`` pages, or has no text layer.
    """
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(data) as document:
            if len(document) > MAX_PAGES:
                raise ReadFailed(f"more than {MAX_PAGES} pages")
            pages = [_in_reading_order(_lines(document[number])) for number in range(len(document))]
            meta = document.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise ReadFailed("it needs a password" if locked else f"the PDF cannot be parsed ({error})") from error
    if not any(pages):
        raise ReadFailed("it has no text layer; run text recognition (OCR) on it first")
    bodies = list(_without_headers_and_footers(pages))
    if not any(bodies):
        bodies = pages
    page = PageText()
    lines = [line for lines in bodies for line in lines]
    shape = _Typography.of(lines)
    words = {word.strip(".,;:()").casefold() for line in lines for word in line.text.split()[1:-1]}  # none that a line's end cuts
    groups: list[list[_Line]] = []
    for line in lines:
        if groups and not shape.begins_paragraph(groups[-1][-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    for group in groups:
        joined = _joined_lines([line.text for line in group], words)
        if group[0].cells:
            page.add(*row_text(group[0].cells))
        elif level := shape.heading_level(group[0], joined):
            page.add("heading", joined, level)
        elif _is_item(joined):
            page.add("item", joined[1:])
        else:
            page.add("paragraph", joined)
    declared = squash(meta.get("Title", ""))
    named = declared.lower().endswith(_FILE_NAMES) or declared.lower().startswith(("untitled", "microsoft "))
    title = ("" if named else declared) or page.opening_heading or name
    made = meta.get("CreationDate", "").removeprefix("D:")[:8]
    text = page.rendered(title)
    stored, visible = (
        sum(word_count(line.text.replace(". .", "")) for lines in part for line in lines) for part in (bodies, pages)
    )
    dropped = {"headers, footers, table of contents": visible - stored} if visible > stored else {}
    published = f"{made[:4]}-{made[4:6]}-{made[6:]}" if len(made) == 8 and made.isdecimal() else ""
    author = squash(meta.get("Author", "")).removeprefix("anonymous")
    return Page(
        "", title, text, "application/pdf", author, published, sheets=_page_starts(bodies, text),
        visible=visible, stored=stored, dropped=dropped, empty_pages=sum(not lines for lines in pages),
    )  # fmt: skip


# -- signs to lines -------------------------------------------------------------------------------------------------------------


def _lines(sheet: Any) -> list[_Line]:
    """Return the rows of ruled tables and the pieces of other lines of a page, as wide as no gap parts them; in no order."""
    from pypdfium2 import raw

    text_page = sheet.get_textpage()
    layer, count = text_page.raw, min(text_page.count_chars(), MAX_SIGNS)
    sign_at, box_at, origin_at = raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox, raw.FPDFText_GetCharOrigin
    box, across, up = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    angles = (raw.FPDFText_GetCharAngle(layer, at) for at in range(0, count, max(1, count // 40)))
    turns = Counter(round(angle / (math.pi / 2)) % 4 for angle in angles)
    turn = turns.most_common(1)[0][0] if turns else 0
    grids = _grids(sheet) if count and not turn else []
    outside: list[_Sign] = []
    inside: dict[tuple[int, int], dict[int, list[_Sign]]] = {}  # grid and row → column → signs
    before, column = None, 0
    for at in range(count):
        code = sign_at(layer, at)
        if code in (0, 10, 13) or not box_at(layer, at, box):
            continue
        origin_at(layer, at, across, up)
        left, right, low, high, height = box.left, box.right, box.bottom, box.top, up.value
        if turn:  # the page is turned back by so many quarters
            x, y = across.value, height
            left, right, low, high, height = (
                (-high, -low, left, right, x),
                (-right, -left, -high, -low, -y),
                (low, high, -right, -left, -x),
            )[turn - 1]
        sign = left, right, height, high - low, " " if chr(code).isspace() else chr(code)
        middle, center = (low + high) / 2, (left + right) / 2
        for number, (levels, rows) in enumerate(grids):
            row = bisect(levels, middle) - 1
            if levels[0] < middle < levels[-1] and len(rows[row]) > 2 and rows[row][0] < center < rows[row][-1]:
                columns = inside.setdefault((number, row), {})
                if before is None or not -1 < left - before[1] < 0.16 * sign[3] or abs(height - before[2]) > 1 or code == 32:
                    column = bisect(rows[row], center) - 1  # a word may reach into the next cell
                columns.setdefault(column, []).append(sign)
                break
        else:
            outside.append(sign)
        before = sign
    lines = _pieces(outside)
    for (number, row), cells in inside.items():
        found = {column: sorted(_pieces(signs), key=lambda one: -one.height) for column, signs in cells.items()}
        first = next((piece for pieces in found.values() for piece in pieces), None)
        if first is not None:
            edges = grids[number][1][row]
            texts = (" ".join(one.text for one in found.get(column, ())) for column in range(len(edges) - 1))
            lines.append(replace(first, left=edges[0], right=edges[-1], cells=tuple(texts)))
    return lines


def _grids(sheet: Any) -> list[tuple[list[float], list[list[float]]]]:
    """Return the ruled tables of a page: where their rows part, and where each row's cells do, from below and from the left.

    Rules are thin paths, or the edges of boxes; those that touch belong together. A drawing of very many paths is no table.
    """
    from pypdfium2 import raw

    rules: list[tuple[float, float, float, float]] = []
    for path in islice(sheet.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=2), _MOST_RULES):
        left, low, right, high = path.get_bounds()
        if right - left < _THIN or high - low < _THIN:
            rules.append((left, low, right, high))
        else:
            rules += [(left, low, left, high), (right, low, right, high), (left, low, right, low), (left, high, right, high)]
    groups: list[list[tuple[float, float, float, float]]] = []
    for rule in rules if len(rules) < _MOST_RULES else ():
        left, low, right, high = rule[0] - _THIN, rule[1] - _THIN, rule[2] + _THIN, rule[3] + _THIN
        touched = [group for group in groups if any(a < right and left < c and b < high and low < d for a, b, c, d in group)]
        groups = [group for group in groups if group not in touched] + [[rule, *(one for group in touched for one in group)]]
    grids = []
    for group in groups:
        upright = [one for one in group if one[3] - one[1] > 2 * _THIN and one[2] - one[0] < _THIN]
        levels = _parted((one[1] + one[3]) / 2 for one in group if one[2] - one[0] > 2 * _THIN and one[3] - one[1] < _THIN)
        middles = [(low + high) / 2 for low, high in pairwise(levels)]
        rows = [_parted((one[0] + one[2]) / 2 for one in upright if one[1] < at < one[3]) for at in middles]
        if sum(len(row) > 2 for row in rows) > 1:
            grids.append((levels, rows))
    return grids


def _parted(places: Iterable[float]) -> list[float]:
    """Return places in order, those that nearly coincide once."""
    parted: list[float] = []
    for place in sorted(places):
        if not parted or place - parted[-1] > _THIN:
            parted.append(place)
    return parted


def _pieces(signs: Sequence[_Sign]) -> list[_Line]:
    """Return the pieces of lines that signs make in the order in which they were drawn."""
    runs: list[list[_Sign]] = []
    end_left = end_right = end_height = usual = 0.0  # of the latest sign; ``usual`` is the size of the largest one of its line
    for sign in signs:
        left, right, height, size, _ = sign
        usual = max(size, usual)
        near = abs(height - end_height) <= 0.35 * usual
        if not (near and (-3 < (left - end_right) / (usual or 1) < _GUTTER or -3 < (end_left - right) / (usual or 1) < _GUTTER)):
            if sign[4] == " ":
                continue
            runs.append([])
            usual = size
        if runs:
            runs[-1].append(sign)
        end_left, end_right, end_height = left, right, height
    return _joined_runs([line for line in map(_line, runs) if line.text.strip()])


def _line(run: list[_Sign]) -> _Line:
    height, size = statistics.median(sign[2] for sign in run), sorted(sign[3] for sign in run)[len(run) * 4 // 5]
    solid = [sign for sign in run if sign[4] != " "] or run
    return _Line(_text_of(run, size), min(sign[0] for sign in solid), max(sign[1] for sign in solid), height, size)


def _text_of(run: list[_Sign], size: float) -> str:
    """Put a line's signs in order: by place, from the right where most letters belong to a script that is written so."""
    to_left = sum(map(_is_to_left, (sign[4] for sign in run))) * 2 > sum(sign[4].isalpha() for sign in run) > 0
    if to_left:  # pdfium's own blanks have no width, and stand where they would in a line from left to right
        in_order = sorted((sign for sign in run if sign[1] > sign[0]), key=lambda sign: -sign[1])
    else:
        reach = 0.12 * size  # some letters reach to the left of where they are drawn, beyond the blank before them
        in_order = sorted(run, key=lambda sign: sign[0] - reach * (sign[0] == sign[1]))
    signs: list[str] = []
    before: _Sign | None = None
    for sign in in_order:
        if before is not None and (before[0] - sign[1] if to_left else sign[0] - before[1]) > 0.16 * size:
            signs.append(" ")
        signs.append(sign[4])
        before = sign
    text = "".join(signs)
    if to_left:  # numbers and words of other scripts go from left to right
        runs = groupby(text, key=lambda sign: not _is_to_left(sign) and (sign.isalnum() or sign in ".,:/%-"))
        text = "".join("".join(run)[::-1] if goes_right else "".join(run) for goes_right, run in runs)
    return unicodedata.normalize("NFC", " ".join(text.translate(_TYPOGRAPHY).split()))


def _is_to_left(sign: str) -> bool:
    return unicodedata.bidirectional(sign) in ("R", "AL", "NSM", "AN")


def _joined_runs(pieces: list[_Line]) -> list[_Line]:
    """Join pieces that stand side by side without a wide gap: a line may be drawn in several steps."""
    joined: list[_Line] = []
    for piece in sorted(pieces, key=lambda one: (-round(one.height), one.left)):
        before = joined[-1] if joined else None
        if (
            before is not None
            and abs(before.height - piece.height) < 0.35 * piece.size
            and -0.5 * piece.size < piece.left - before.right < _GUTTER * piece.size
        ):
            to_left = any(map(_is_to_left, before.text[:20])) and any(map(_is_to_left, piece.text[:20]))
            blank = " " if piece.left - before.right > 0.16 * piece.size else ""
            text = f"{piece.text}{blank}{before.text}" if to_left else f"{before.text}{blank}{piece.text}"
            size = before.size if len(before.text) > len(piece.text) else piece.size
            joined[-1] = _Line(text, before.left, max(before.right, piece.right), before.height, size)
        else:
            joined.append(piece)
    return joined


# -- lines to columns -----------------------------------------------------------------------------------------------------------


def _in_reading_order(lines: list[_Line], depth: int = 0) -> list[_Line]:
    """Return lines column by column; lines across all columns part what is above from what is below them."""
    gutter = _gutter(lines) if depth < 4 else None
    if gutter is None:
        return _rows(lines)
    ordered: list[_Line] = []
    band: list[_Line] = []
    for line in (*sorted(lines, key=lambda one: -one.height), None):
        if line is not None and not line.left < gutter < line.right:
            band.append(line)
            continue
        sides = [[one for one in band if one.right <= gutter], [one for one in band if one.left >= gutter]]
        if sum(any(map(_is_to_left, one.text[:20])) for one in band) * 2 > len(band):
            sides.reverse()
        for side in sides:
            ordered += _in_reading_order(side, depth + 1)
        band = []
        ordered += [line] if line is not None else []
    return ordered


def _gutter(lines: Sequence[_Line]) -> float | None:
    """Return where a page parts into two columns of text: few lines cross the place, and both sides are words, not cells."""
    if len(lines) < 6:
        return None
    first, last = min(line.left for line in lines), max(line.right for line in lines)
    best: tuple[int, float, float] | None = None
    starts = sorted({round(line.left, 0) for line in lines})
    for start in starts:
        at = start - 2.0
        left, right = [one for one in lines if one.right <= at], [one for one in lines if one.left >= at]
        crossing = len(lines) - len(left) - len(right)
        if not 0.2 < (at - first) / max(1.0, last - first) < 0.8 or min(len(left), len(right)) < 3 or crossing > 0.4 * len(lines):
            continue
        if min(statistics.median(word_count(one.text) for one in side) for side in (left, right)) < 3:
            continue
        wide = min(one.left for one in right) - max(one.right for one in left)
        if best is None or (crossing, -wide) < best[:2]:
            best = crossing, -wide, at
    return best[2] if best else None


def _rows(lines: Sequence[_Line]) -> list[_Line]:
    """Return lines from top to bottom; pieces at one height are cells of a row if those of a neighbour stand below them."""
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda one: (-one.height, one.left)):
        raised = 0.45 * max(line.size, rows[-1][0].size) if rows else 0.0  # the mark of a note stands so high above its line
        if rows and abs(rows[-1][0].height - line.height) < raised and not (line.cells or rows[-1][0].cells):
            rows[-1].append(line)
        else:
            rows.append([line])
    found: list[_Line] = []
    for at, row in enumerate(rows):
        row.sort(key=lambda one: one.left)
        if sum(any(map(_is_to_left, one.text[:20])) for one in row) * 2 > len(row):
            row.reverse()
        text = " ".join(one.text for one in row)
        beside = [rows[near] for near in (at - 1, at + 1) if 0 <= near < len(rows)]
        in_table = len(row) > 1 and any(_is_aligned(row, other) for other in beside)
        cells = row[0].cells or (tuple(one.text for one in row) if in_table else ())
        whole = max(row, key=lambda one: len(one.text))
        found.append(
            replace(whole, text=text, left=min(one.left for one in row), right=max(one.right for one in row), cells=cells)
        )
    return found


def _is_aligned(row: Sequence[_Line], other: Sequence[_Line]) -> bool:
    """Return whether the pieces of two lines begin, end or have their middle below each other, within three points."""
    pairs = zip(sorted(row, key=lambda one: one.left), sorted(other, key=lambda one: one.left), strict=False)
    return len(row) == len(other) and all(
        min(abs(a.left - b.left), abs(a.right - b.right), abs(a.left + a.right - b.left - b.right) / 2) < _THIN for a, b in pairs
    )


# -- lines to blocks ------------------------------------------------------------------------------------------------------------


def _page_starts(bodies: Sequence[Sequence[_Line]], text: str) -> tuple[int, ...]:
    """Return where each page begins, as offsets in the ``normalised`` ``text``; one without text begins where the next does."""
    whole, at, starts = normalised(text.strip()), 0, dict[int, int]()
    for number, lines in enumerate(bodies):
        for line in lines:
            words = normalised(squash(line.cells[0] if line.cells else line.text)).split(" ")
            words_before_break = " ".join(words[:-1] or words)
            if words_before_break and (found := whole.find(words_before_break, at, at + _NEAR + len(words_before_break))) >= 0:
                starts.setdefault(number, found)
                at = found + len(words_before_break)
    begins, latest = [], len(whole)
    for number in range(len(bodies) - 1, -1, -1):
        latest = starts.get(number, latest)
        begins.append(latest)
    return tuple(reversed(begins))


def _without_headers_and_footers(pages: Sequence[Sequence[_Line]]) -> Iterator[list[_Line]]:
    """Yield the pages without running headers and footers, page numbers and leader lines of a table of contents.

    Running is what stands at the edge of most pages in the same words and numbers, but for the page's own number; and a row that
    only the page's number tells from other rows, or from words without a number. All other rows are content, and end the edge. At
    the head of the first page what is running stays: a letterhead is said nowhere else.
    """
    body = _usual_size([line for lines in pages for line in lines])
    often, edges = max(3, len(pages) // 2), list(map(_edges, pages))
    rows = [(at, _words(row)) for at, sides in enumerate(edges) for row in chain(*sides)]
    shifts = Counter(shift for _, shift in {(at, number - at) for at, words in rows for number in _numbers(words)})

    def without_own_number(words: tuple[str, ...], at: int) -> tuple[str, ...]:
        for place, word in enumerate(words):
            if any(shifts[number - at] >= often for number in _numbers((word,))):
                return (*words[:place], "", *words[place + 1 :])
        return words

    seen = Counter(key for _, key in {(at, without_own_number(words, at)) for at, words in rows})
    said = {_words([line]) for lines in pages for line in lines}
    for at, (lines, sides) in enumerate(zip(pages, edges, strict=True)):
        dropped = set[int]()
        for side in sides if len(pages) > 1 else ():
            for row in side:
                words = _words(row)
                key, numbers = without_own_number(words, at), _numbers(words)
                in_step = any(shifts[number - at] > 1 or number == at + 1 for number in numbers)
                is_number = in_step or (not numbers and "/" not in words[0])
                is_number = is_number and bool(_PAGE_NUMBER.match(" ".join(words)))
                others = tuple(filter(None, key))
                is_numbered = "" in (key[0], key[-1]) and (others in said or not any(map(str.isdigit, "".join(others))))
                is_running = seen[key] >= often or is_numbered or ("" in key and seen[key] > 1)
                if not (is_number or is_running) or any(round(line.size) > body for line in row):
                    break
                if at or is_number or side is sides[1]:
                    dropped.update(map(id, row))
        # Dots up to the number of a page: a line of a table of contents.
        leads = {id(line) for line in lines if line.text.rstrip("0123456789 ").replace(" ", "").endswith(".....")}
        yield [line for line in lines if id(line) not in dropped | leads]


def _edges(lines: Sequence[_Line]) -> tuple[list[list[_Line]], list[list[_Line]]]:
    """Return what stands side by side at the head and at the foot of a page, from its edge inwards."""
    by_height = sorted(lines, key=lambda line: (-round(line.height), line.left))
    rows = [list(row) for _, row in groupby(by_height, key=lambda line: round(line.height))]
    return rows[:_EDGE_ROWS], rows[_EDGE_ROWS:][: -_EDGE_ROWS - 1 : -1]


def _words(row: Sequence[_Line]) -> tuple[str, ...]:
    """Return what stands in a row in words; a number and the number of all pages are two, a month and its year are one."""
    found = list[str]()
    for word in " ".join(" ".join(line.cells) or line.text for line in row).casefold().split():
        found += [word] if _is_year(word.strip(_AROUND).rpartition("/")[2]) else word.replace("/", " / ").split()
    return tuple(word.strip(_AROUND) or word for word in found)


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and 1900 <= int(word) < 2100


def _numbers(words: Sequence[str]) -> set[int]:
    """Return the numbers that may be a page's own; no years, which yearly statements count up from page to page."""
    return {int(word) for word in words if word.isdecimal() and len(word) < 6 and not _is_year(word)}


def _is_item(text: str) -> bool:
    return text[:1] in _BULLETS and (text[1:2] == " " or (text[:1] not in "–*-·" and len(text) > 1)) and bool(text[1:].strip())


@dataclass(frozen=True, slots=True)
class _Typography:
    """Typical values of one document: body font size and line distance in points, width of a full line, heading sizes."""

    size: float
    gap: float
    width: float
    larger: tuple[float, ...]

    @classmethod
    def of(cls, lines: Sequence[_Line]) -> _Typography:
        """Compute the values from ``lines`` (at least one)."""
        size = _usual_size(lines)
        body = [line for line in lines if round(line.size) == size]
        gaps = [a.height - b.height for a, b in pairwise(body) if 0 < a.height - b.height < 5 * size]
        larger = {float(round(line.size)) for line in lines if line.size > _LARGER * size}
        widest = sorted(line.right - line.left for line in body)[-max(1, len(body) // 3) :]
        return cls(size, statistics.median(gaps) if gaps else 0.0, statistics.median(widest), tuple(sorted(larger, reverse=True)))

    def begins_paragraph(self, before: _Line, after: _Line) -> bool:
        """Return whether ``after`` begins a new paragraph."""
        gap = before.height - after.height
        if before.cells or after.cells or _is_item(after.text) or round(before.size) != round(after.size):
            return True
        if before.size > _LARGER * self.size:
            return not 0 < gap < 2 * before.size
        if gap > _WIDE_GAP * self.gap > 0:
            return not after.text[:1].islower() or before.text.endswith(_SENTENCE_ENDS) or gap > 2 * self.gap
        indented = 0.8 * self.size < after.left - before.left < 4 * self.size and gap > 0
        ends = before.text.endswith(_SENTENCE_ENDS)
        return ends and (gap < 0 or before.right - before.left < 0.75 * self.width or indented)

    def heading_level(self, line: _Line, text: str) -> int:
        """Return the heading level of ``text``, counted from 1, or 0 if it is no heading."""
        if len(text) > _LONGEST_HEADING or not any(letter.isalpha() for letter in text):
            return 0
        rounded = float(round(line.size))
        return 1 + min(self.larger.index(rounded), 4) if rounded in self.larger else 0


def _usual_size(lines: Sequence[_Line]) -> int:
    weights: Counter[int] = Counter()
    for line in lines:
        weights[round(line.size)] += len(line.text)
    return max(sorted(weights), key=lambda size: weights[size], default=0)


def _joined_lines(lines: Sequence[str], words: set[str]) -> str:
    """Join lines. A word split at a line end keeps its hyphen if ``words`` holds it so, or its parts and not the whole."""
    text = ""
    for line in lines:
        goes_on = line[:1].isalpha() and (not line[:1].isupper() or (line[:2].isupper() and text[-3:-1].isupper()))
        if text[-1:] in _HYPHENS and text[-2:-1].isalpha() and goes_on:
            head, tail = text[:-1].rsplit(None, 1)[-1].casefold(), line.split(None, 1)[0].rstrip(".,;:()").casefold()
            is_whole = f"{head}{tail}" in words or not {head.strip("("), tail} <= words
            text = (text[:-1] if f"{head}-{tail}" not in words and is_whole else f"{text[:-1]}-") + line
        else:
            text = f"{text}\n{line}" if text else line
    return squash("".join("-" if sign in "\ufffe\x02" else sign for sign in text))
