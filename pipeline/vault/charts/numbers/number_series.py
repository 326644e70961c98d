"""One quantity at several dates, found in the quotes that sessions took from sources.

Two numbers are joined only if the same words stand around them, apart from number and date, under the same heading of the same
source, or of sources whose addresses differ in a date alone, such as yearly reports. In a table, if they have the same column. A
number without a date is joined only with what the same source said there when it was read on other days. A series that gives two
values for one date is none: what it joins is not one quantity.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import groupby

from pipeline.text.quantities.dated_tables import table_measurements
from pipeline.text.quantities.dates import Day
from pipeline.text.quantities.measurements import DATE, NUMBER, Measurement, count_words, sentence_measurement
from pipeline.text.quantities.units import UNITS
from pipeline.text.sentences import split_sentences
from pipeline.vault.output.page_markdown import blocks_of, cells
from pipeline.vault.session_card import Quoted, Reading

FEWEST_DATES, MOST_POINTS, MOST_SERIES = 3, 60, 4
_DIGIT = re.compile(r"\d")
_DATED = re.compile(r"[12]\d{3}")  # a date in a series has a year
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)(?:[-_/.]\d\d(?!\d)){0,2}")
_NUMBER = re.compile(r"[$€£¥]?\d[\d.,'’]*(?:st|nd|rd|th)?\s?(?:%|[^\W\d_]+\b)?")
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CHF": "CHF "}


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a date, in the series' unit. ``shown`` is the number as the source writes it, ``fact`` the quote's id.

    ``day`` is ``2019``, ``2019-05`` or ``2019-05-03``.
    """

    day: str
    value: Decimal
    shown: str
    url: str
    fact: str

    @property
    def ordinal(self) -> int:
        """The day's number in the calendar; of a month and a year, of its first day."""
        year, month, day = (*map(int, self.day.split("-")), 1, 1)[:3]
        return date(year, month, day).toordinal()


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity: the words for it, its unit ("" for none, or where each number has another) and its points by date.

    ``by_reading``: the dates are the days on which the source was read, because it gives none.
    """

    label: str
    unit: str
    points: tuple[Point, ...]
    by_reading: bool


@dataclass(frozen=True, slots=True)
class _Found:
    """A measurement with the quote and the reading that it comes from."""

    reading: Reading
    quoted: Quoted
    said: Measurement
    label: str


def series_of(readings: Iterable[Reading], answers: Collection[str]) -> tuple[Series, ...]:
    """Return the series in quotes of these readings, given in order of time: those with most points first, four at most.

    A series has values for three dates or more, not all equal, in units that can be compared. One of its quotes must be among
    ``answers``, the ids of the facts that the answer to the question cites.
    """
    if not answers:
        return ()
    groups: dict[tuple[str, ...], list[_Found]] = defaultdict(list)
    for key, found in _measured(tuple(reading for reading in readings if reading.shown)):
        groups[key].append(found)
    made = filter(None, (_series(found) for found in groups.values() if any(one.quoted.fact in answers for one in found)))
    best = sorted(made, key=lambda one: (-len(one.points), one.label, one.points[0].url))
    return tuple({one.points: one for one in best}.values())[:MOST_SERIES]


def _measured(readings: Sequence[Reading]) -> Iterator[tuple[tuple[str, ...], _Found]]:
    """Yield the measurements that may belong to a series, each with what it must share with the others."""
    sentences, tables = _texts(readings)
    for reading, quoted, rows in tables:
        for said in table_measurements(rows):
            yield ("table", *_place(reading, quoted), said.words), _Found(reading, quoted, said, _titled(said.label, quoted))
    for reading, quoted, sentence in sentences:
        if measured := sentence_measurement(sentence):
            yield from _of_sentence(reading, quoted, measured)


def _of_sentence(reading: Reading, quoted: Quoted, said: Measurement) -> Iterator[tuple[tuple[str, ...], _Found]]:
    where = _place(reading, quoted) if said.day else (reading.page.url, _masked(quoted.heading))
    if count_words(said.words) > 1:
        yield ("dated" if said.day else "read", *where, said.words), _Found(reading, quoted, said, said.label)
    elif said.day and (about := quoted.lead or quoted.heading):
        # "2019: 5 million": the line that introduces the list says what it is
        yield ("listed", *where, _masked(about), said.words), _Found(reading, quoted, said, about.rstrip(": "))


def _titled(label: str, quoted: Quoted) -> str:
    return f"{quoted.heading}: {label}" if quoted.heading and quoted.heading.casefold() != label.casefold() else label


def _place(reading: Reading, quoted: Quoted) -> tuple[str, str]:
    """The address and the heading, without the dates in them."""
    return _masked(reading.page.url), _masked(quoted.heading)


def _masked(text: str) -> str:
    return _YEAR.sub(DATE, " ".join(text.casefold().split()))


_Sentence = tuple[Reading, Quoted, str]
_Table = tuple[Reading, Quoted, list[list[str]]]


def _texts(readings: Sequence[Reading]) -> tuple[list[_Sentence], list[_Table]]:
    """Return the sentences that are often enough there but for their digits, and all tables.

    Reading the numbers of every sentence would take longer than all the rest of a note. So a sentence without a year is left out
    unless its page was read often enough for the days of reading to be the dates.
    """
    often_read = {url for url, number in Counter(reading.page.url for reading in readings).items() if number >= FEWEST_DATES}
    sentences: list[tuple[str, _Sentence]] = []
    tables: list[_Table] = []
    for reading in readings:
        telling = _DIGIT if reading.page.url in often_read else _DATED
        for quoted in reading.quotes:
            if "| " in quoted.text and _DIGIT.search(quoted.text):
                tables += [(reading, quoted, rows) for rows in _tables(quoted)]
            if telling.search(quoted.text):
                sentences += [(_rough(one), (reading, quoted, one)) for one in _sentences(quoted, telling)]
    often = Counter(rough for rough, _ in sentences)
    return [one for rough, one in sentences if often[rough] >= FEWEST_DATES], tables


def _rough(sentence: str) -> str:
    return _NUMBER.sub(NUMBER, _MONTH.sub(NUMBER, sentence.casefold().rstrip(".;! ")))


def _sentences(quoted: Quoted, telling: re.Pattern[str]) -> Iterator[str]:
    for block in blocks_of(quoted.text):
        if block.kind == "item":
            yield block.text
        elif block.kind == "paragraph":
            yield from filter(telling.search, split_sentences(block.text))


def _tables(quoted: Quoted) -> Iterator[list[list[str]]]:
    header = [cells(quoted.lead)] if quoted.lead.startswith("| ") else []
    for kind, rows in groupby(blocks_of(quoted.text), key=lambda block: block.kind):
        if kind == "row":
            yield [*header, *(cells(row.text) for row in rows)]


def _series(found: Sequence[_Found]) -> Series | None:
    """Return what was found as a series; None if it is none."""
    by_reading = found[0].said.day is None
    by_day = _by_reading(found) if by_reading else _by_date(found)
    days = sorted(by_day or ())
    if by_day is None or not FEWEST_DATES <= len(days) <= MOST_POINTS or len({day.count("-") for day in days}) > 1:
        return None
    chosen = [by_day[day] for day in days]
    scaled = _in_one_unit([one.said for one in chosen])
    if scaled is None or len(set(scaled[0])) < 2:
        return None
    return Series(chosen[-1].label, scaled[1], tuple(map(_point, days, scaled[0], chosen)), by_reading)


def _point(day: str, value: Decimal, found: _Found) -> Point:
    return Point(day, value, found.said.shown, found.reading.page.url, found.quoted.fact)


def _by_date(found: Sequence[_Found]) -> dict[str, _Found] | None:
    """Return the latest reading of each date; None if two sources, or one reading, give it different values."""
    chosen: dict[str, _Found] = {}
    for one in found:
        day = _day_words(one.said.day) if one.said.day else ""
        before = chosen.get(day)
        again = before and before.reading.session != one.reading.session and before.reading.page.url == one.reading.page.url
        if before and not again and before.said.amount.values != one.said.amount.values:
            return None
        if before is None or again:
            chosen[day] = one
    return chosen


def _by_reading(found: Sequence[_Found]) -> dict[str, _Found] | None:
    """Return the latest reading of each day; None if a session found different values in one reading."""
    by_session: dict[str, _Found] = {}
    for one in found:
        before = by_session.setdefault(one.reading.session, one)
        if before.said.amount.values != one.said.amount.values:
            return None
    return {one.reading.page.at[:10]: one for one in by_session.values()}


def _day_words(day: Day) -> str:
    return "-".join([f"{day.year:04}", *(f"{part:02}" for part in (day.month, day.day) if part)])


def _in_one_unit(said: Sequence[Measurement]) -> tuple[list[Decimal], str] | None:
    """Return the values in one unit, and its words; None if they cannot be compared.

    Without a unit, the words around the numbers are the same already; in a table, the column is.
    """
    amounts = [one.amount for one in said]
    if len({amount.dimension for amount in amounts}) > 1:
        return None
    bare = [min(amount.bare) for amount in amounts]
    sizes = [frozenset(value / number for value in amount.values) for amount, number in zip(amounts, bare, strict=True) if number]
    last = next((amount for amount in reversed(amounts) if min(amount.bare)), None)
    if last is None:
        return None
    if len(set(sizes)) <= 1:
        return bare, _unit(last.unit, last.dimension, last.noun)
    if any(len(size) > 1 for size in sizes):
        return None  # KB and MB may be of 1,000 or of 1,024
    size = min(last.values) / min(last.bare)
    return [min(amount.values) / size for amount in amounts], _unit(last.unit, last.dimension, last.noun)


def _unit(spelling: str, dimension: str, noun: str) -> str:
    if not dimension:
        return noun
    sign = _SIGNS.get(dimension.partition("/")[0], "") if spelling in UNITS or len(spelling) == 3 else ""
    per = dimension.partition("/")[2]
    return f"{sign or spelling}/{per}" if per else sign or spelling
