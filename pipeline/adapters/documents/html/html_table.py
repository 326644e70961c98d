"""HTML tables of data → rows of cells: a cell that spans rows or columns is filled in where it reaches."""

from __future__ import annotations

from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from pipeline.adapters.documents.page_writer import squash

_LAYOUT = "pre, h1, h2, h3, h4"
_BREAKING = "p, div, li, dt, dd, tr"
_BOXES = frozenset(("note", "tip", "warning", "caution", "important"))
_WIDEST = 200
_LONGEST_SPAN = 1_000
_Hanging = dict[int, tuple[str, int]]  # by column: the text of a cell that reaches further down, and for how many rows


def holds_data(table: LexborNode) -> bool:
    """Tell whether a table is one of rows and cells, not a frame around other blocks."""
    around = table.parent
    boxed = around is not None and not _BOXES.isdisjoint((around.attributes.get("class") or "").split())
    return not boxed and table.css_first(_LAYOUT) is None and len(table.css("table")) == 1


def rows(table: LexborNode) -> Iterator[list[str]]:
    """Yield the texts of a table's rows, those of its head first."""
    for node in table.css(_BREAKING):
        node.insert_after(" ")
    hanging: _Hanging = {}
    for row in _in_order(table):
        texts, hanging = _filled(row, hanging)
        yield texts


def _in_order(table: LexborNode) -> list[LexborNode]:
    found = table.css("tr")
    return sorted(found, key=lambda row: 0 if row.parent is not None and row.parent.tag == "thead" else 1)


def _filled(row: LexborNode, above: _Hanging) -> tuple[list[str], _Hanging]:
    """Return the row's texts with those that reach down into it from ``above``, and what reaches below it."""
    cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
    if len(cells) == 1 and not above:
        parts = cells[0].css("p")
        return [part.text(deep=True) for part in (parts if len(parts) > 1 else cells)], {}
    texts: list[str] = []
    below: _Hanging = {}
    for cell in cells:
        _take(texts, above, below)
        text, high, is_head = squash(cell.text(deep=True)), _span(cell, "rowspan"), cell.tag == "th"
        for number in range(min(_span(cell, "colspan"), _WIDEST - len(texts))):
            said = text if number == 0 or is_head else ""
            if high > 1:
                below[len(texts)] = (said, high - 1)
            texts.append(said)
    _take(texts, above, below)
    return texts, below


def _take(texts: list[str], above: _Hanging, below: _Hanging) -> None:
    while (column := len(texts)) in above:
        text, left = above[column]
        if left > 1:
            below[column] = (text, left - 1)
        texts.append(text)


def _span(cell: LexborNode, name: str) -> int:
    said = (cell.attributes.get(name) or "1").strip()
    return max(1, min(int(said), _LONGEST_SPAN)) if said.isdecimal() and len(said) < 5 else 1
