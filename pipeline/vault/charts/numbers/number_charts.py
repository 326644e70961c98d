"""The numbers of a report or a question over time: a drawing of each series, and its points with their sources as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.vault.charts.numbers.number_chart import day_words, number_chart
from pipeline.vault.charts.numbers.number_series import Series
from pipeline.vault.notes.note_parts import quote_link, source_link
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Plain
from pipeline.vault.vault_model import SourceNotePlace


@dataclass(frozen=True, slots=True)
class NumberRow:
    """A point as a row: its date in words, the number as the source writes it, and the link to the quote."""

    day: str
    shown: str
    source: Link


@dataclass(frozen=True, slots=True)
class NumberChart:
    """A series in a note: its words, the link to its drawing, its sources and its points; ``by_reading`` as in ``Series``."""

    label: str
    drawing: Link
    sources: tuple[Link, ...]
    rows: tuple[NumberRow, ...]
    by_reading: bool


def number_drawings(note_path: str, found: Sequence[Series]) -> Iterator[Plain]:
    """Yield the drawings of the series that the note at ``note_path`` shows."""
    for number, series in enumerate(found, start=1):
        yield Plain(_path(note_path, number), number_chart(series))


def number_views(sources: Mapping[str, SourceNotePlace], note_path: str, found: Sequence[Series]) -> tuple[NumberChart, ...]:
    """Return the series as the note at ``note_path`` shows them."""
    return tuple(_view(sources, _path(note_path, number), series) for number, series in enumerate(found, start=1))


def _path(note_path: str, number: int) -> str:
    return f"charts/{note_path.rpartition('/')[2]}-numbers-{number}.svg"


def _view(sources: Mapping[str, SourceNotePlace], path: str, series: Series) -> NumberChart:
    rows = tuple(
        NumberRow(day_words(point.day), point.shown, quote_link(sources[point.url], point.fact)) for point in series.points
    )
    named = tuple(source_link(sources[url]) for url in dict.fromkeys(point.url for point in series.points))
    return NumberChart(series.label, Link(path, f"{series.label} over time"), named, rows, series.by_reading)
