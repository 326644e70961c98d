"""Dates in running text: ``2019-04-03``, ``3 April 2019``, ``April 3, 2019``, ``3.4.2019``; English, German, French, Spanish."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import combinations

_MONTHS = (
    "january jan januar jänner janvier enero",
    "february feb februar février febrero",
    "march mar märz mars marzo",
    "april apr avril abril",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet julio",
    "august aug août agosto",
    "september sept sep septembre septiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre diciembre",
)
_NUMBER_OF = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_MONTH = rf"(?P<month>{'|'.join(sorted(_NUMBER_OF, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?P<year>[12]\d{3})(?![\w%]|[.,]\d)"
_FORMS = tuple(
    re.compile(rf"(?<![\w.,/-]){form}", re.IGNORECASE)
    for form in (
        r"(?P<year>[12]\d{3})-(?P<month>0\d|1[0-2])(?:-(?P<day>[0-3]\d))?(?![\w-]*\d)(?=T\d|\b)",
        rf"{_DAY},? (?:of |de )?{_MONTH},? (?:de )?{_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        rf"{_MONTH},? {_YEAR}",
        r"(?P<day>\d{1,2})(?P<sign>[./])\s?(?P<month>\d{1,2})(?P=sign)\s?(?P<year>[12]\d{3})\b",
        rf"{_DAY} (?:of |de )?{_MONTH}(?!\w)",
        rf"{_MONTH} {_DAY}(?![\w%]|[.,]?\d)",
    )
)
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Day:
    """A date; a part that is not given is 0. ``swapped``: day and month may be the other way round. ``shown``: as written."""

    year: int
    month: int
    day: int
    shown: str
    swapped: bool = False

    def is_within(self, other: Day) -> bool:
        """Return whether ``other`` says all that this date says."""
        orders = [(other.month, other.day), *([(other.day, other.month)] if other.swapped or self.swapped else [])]
        same_year = self.year in (0, other.year)
        return same_year and any(self.month in (0, month) and self.day in (0, day) for month, day in orders)

    def as_date(self) -> date | None:
        """Return the date if all its parts are given and the calendar has it, else None."""
        try:
            return date(self.year, self.month, self.day)
        except ValueError:
            return None


def dates_in(text: str) -> tuple[list[Day], str]:
    """Return the dates in a text, and the text with blanks in their places. A year alone counts as a number."""
    found: list[Day] = []
    for form in _FORMS:
        for match in list(form.finditer(text)):
            if (day := _day(match)) is not None:
                found.append(day)
                text = text[: match.start()] + " " * (match.end() - match.start()) + text[match.end() :]
    return found, text


def _day(match: re.Match[str]) -> Day | None:
    parts = match.groupdict()
    named = (parts.get("month") or "").casefold().rstrip(".")
    if "sign" not in parts and not named.isdigit() and not match["month"][0].isupper() and named in {"may", "mar", "mars"}:
        return None  # "may" and "mar" are words
    month = int(named) if named.isdigit() else _NUMBER_OF[named]
    year, day = int(parts.get("year") or 0), int(parts.get("day") or 0)
    swapped = "sign" in parts and month <= 31 and day <= 12
    valid = day <= 31 and (1 <= month <= 12 or ("sign" in parts and 1 <= day <= 12 and month <= 31))
    return Day(year, month, day, match[0].strip(), swapped or month > 12) if valid else None


def spans_between(days: Iterable[Day]) -> Iterator[tuple[str, Decimal]]:
    """Yield the times between each two dates, as dimension and size: in seconds for full dates, in months and in whole years."""
    for one, other in combinations((day for day in days if day.year), 2):
        if one.month and other.month:
            yield "month", Decimal(abs(12 * (one.year - other.year) + one.month - other.month))
        yield "month", Decimal(12 * abs(one.year - other.year))
        if (first := one.as_date()) and (second := other.as_date()):
            yield "time", Decimal(abs((first - second).days) * _SECONDS_A_DAY)
