"""Tables with a row or a column for each date, as measurements: each numeric column, or row, measures one thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.text.quantities.amounts import quantities_in
from pipeline.text.quantities.dates import Day
from pipeline.text.quantities.measurements import LABELS, Measurement, day_named, has_one_reading

MOST_CELLS = 4_000
_BLANK = frozenset({"", "-", "–", "—", "n/a", "n. a.", "na", "?", ".", "…"})
# Columns of words that do not say what a row is about.
_REMARKS = frozenset(
    {"note", "notes", "remark", "remarks", "comment", "comments", "source", "sources", "reference", "references"}
)


def table_measurements(rows: Sequence[Sequence[str]]) -> tuple[Measurement, ...]:
    """Return the measurements of a table; ``rows`` are its cells, the header first. () if it has no row and no column of dates.

    Rows with dates may differ in numbers alone: where they also name what they are about, each row may be about something else.
    """
    if len(rows) < 2 or len(rows[0]) < 2 or sum(map(len, rows)) > MOST_CELLS or any(len(row) != len(rows[0]) for row in rows):
        return ()
    upright = tuple(_by_rows(rows))
    return upright or tuple(_by_rows([list(column) for column in zip(*rows, strict=True)]))


def _by_rows(rows: Sequence[Sequence[str]]) -> Iterator[Measurement]:
    header, *body = rows
    days = [day_named(row[0]) for row in body]
    if any(day is None for day in days) or not all(_is_measured(header, body, place) for place in range(1, len(header))):
        return
    for place in range(1, len(header)):
        for day, row in zip(days, body, strict=True):
            if found := _cell(header, place, row, day):
                yield found


def _is_measured(header: Sequence[str], body: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column holds numbers, or words that say nothing about what the row is about."""
    cells = {row[place].strip() for row in body}
    return header[place].casefold().strip(" *_") in _REMARKS or len(cells) == 1 or all(map(_is_number, cells))


def _is_number(cell: str) -> bool:
    return cell.casefold() in _BLANK or re.match(r"[^\w]*(?:[A-Z]{3} )?\d", cell) is not None


def _cell(header: Sequence[str], place: int, row: Sequence[str], day: Day | None) -> Measurement | None:
    """One cell as a measurement; None if it is empty, if it is more than a number, or if its column names things."""
    name = " ".join(header[place].strip(" *_").split())
    amounts = quantities_in(row[place]).amounts
    words = {word.casefold() for word in re.findall(r"[^\W\d_]+", name)}
    if not words or words & LABELS or len(amounts) != 1 or not has_one_reading(amounts[0]):
        return None
    start, end = amounts[0].place
    rest = row[place][:start] + row[place][end:]
    if not end or re.search(r"[\w<>≤≥/-]", rest.replace(amounts[0].noun, "", 1) if amounts[0].noun else rest):
        return None
    corner = " ".join(header[0].strip(" *_").split()).casefold()
    return Measurement(f"|{corner}|{name.casefold()}", name, day, amounts[0], row[place].strip())
