"""HTML data tables → rows of cell texts; the text of a cell that spans rows is repeated in each row."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from pipeline.documents.page_writer import squash

_LAYOUT = "pre, h1, h2, h3, h4"
_BREAKING = "p, div, li, dt, dd, tr"
_BOXES = frozenset(("note", "tip", "warning", "caution", "important"))
_WIDEST = 200
_LONGEST_SPAN = 1_000
_Spans = dict[int, tuple[str, int]]  # column → text of a cell that spans rows, and how many more rows it fills


def holds_data(table: LexborNode) -> bool:
    """Return whether ``table`` holds data, and is not used for page layout or as a box around other blocks."""
    around = table.parent
    boxed = around is not None and not _BOXES.isdisjoint((around.attributes.get("class") or "").split())
    return not boxed and table.css_first(_LAYOUT) is None and len(table.css("table")) == 1


def rows(table: LexborNode) -> Iterator[list[str]]:
    """Yield the cell texts of each row, rows of ``thead`` first."""
    for node in table.css(_BREAKING):
        node.insert_after(" ")
    spans: _Spans = {}
    for row in _in_order(table):
        texts, spans = _row_texts(row, spans)
        yield texts


def _in_order(table: LexborNode) -> list[LexborNode]:
    found = table.css("tr")
    return sorted(found, key=lambda row: 0 if row.parent is not None and row.parent.tag == "thead" else 1)


def _row_texts(row: LexborNode, above: _Spans) -> tuple[list[str], _Spans]:
    """Return the row's texts, with cells spanning into it from ``above`` filled in, and the cells that span below it."""
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    if len(cells) == 1 and not above:
        parts = cells[0].css("p")
        return [part.text(deep=True) for part in (parts if len(parts) > 1 else cells)], {}
    texts: list[str] = []
    below: _Spans = {}
    for cell in cells:
        _take_from_above(texts, above, below)
        text, high, is_head = squash(cell.text(deep=True)), _span(cell, "rowspan"), cell.tag == "th"
        for number in range(min(_span(cell, "colspan"), _WIDEST - len(texts))):
            text_here = text if number == 0 or is_head else ""
            if high > 1:
                below[len(texts)] = (text_here, high - 1)
            texts.append(text_here)
    _take_from_above(texts, above, below)
    return texts, below


def _take_from_above(texts: list[str], above: _Spans, below: _Spans) -> None:
    while (column := len(texts)) in above:
        text, left = above[column]
        if left > 1:
            below[column] = (text, left - 1)
        texts.append(text)


def _span(cell: LexborNode, name: str) -> int:
    text_here = (cell.attributes.get(name) or "1").strip()
    return max(1, min(int(text_here), _LONGEST_SPAN)) if text_here.isdecimal() and len(text_here) < 5 else 1
