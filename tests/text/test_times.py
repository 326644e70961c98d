"""Times of day and moments as people write them, over the nights on which the clocks change."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

import pytest

from pipeline.text.times import clock_of, moment_after, moment_of, next_at, timestamp
from tests.fakes import START
from tests.nights import NOW


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The local clock is that of Berlin, by a rule, so that no zone file is needed."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    clock.tzset()
    yield
    monkeypatch.undo()
    clock.tzset()


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("text", "offset_h"),
    [("06:30Z", 0), ("06:30 UTC", 0), ("06:30+02:00", 2), ("06:30 -0330", -3.5), ("06:30 Europe/Berlin", 1), ("06:30", None)],
)
def test_a_time_of_day_may_name_its_zone(text: str, offset_h: float | None) -> None:
    found = clock_of(text)
    assert found is not None
    assert (found.hour, found.minute) == (6, 30)
    offset = datetime.combine(NOW.date(), found).utcoffset()
    assert offset == (None if offset_h is None else timedelta(hours=offset_h))


@pytest.mark.parametrize(
    "text", ["", "6:30", "24:00", "06:60", "06:30 Nowhere/City", "06:30+25:00", "06:30 ../x", "now", "06:30:00"]
)
def test_what_is_no_time_of_day_is_refused(text: str) -> None:
    assert clock_of(text) is None
    assert moment_after(text, NOW) is None


def test_the_next_time_that_a_clock_shows_lies_within_a_day() -> None:
    moment = next_at(time(6, 30), NOW)
    assert timedelta(0) < moment - NOW <= timedelta(days=1)
    assert moment.astimezone().strftime("%H:%M:%S") == "06:30:00"
    assert next_at(time(6, 30), moment) - moment == timedelta(days=1)


@pytest.mark.parametrize(
    ("now", "text", "moment"),
    [
        (utc(2026, 3, 28, 21), "06:30", utc(2026, 3, 29, 4, 30)),  # put forward during the night
        (utc(2026, 10, 24, 21), "06:30", utc(2026, 10, 25, 5, 30)),  # put back
        (utc(2026, 3, 28, 21), "02:30", utc(2026, 3, 29, 1, 30)),  # does not come: 03:30 of the new time
        (utc(2026, 10, 24, 21), "02:30", utc(2026, 10, 25, 0, 30)),  # comes twice
        (utc(2026, 10, 25, 0, 45), "02:30", utc(2026, 10, 25, 1, 30)),
        (utc(2026, 10, 25, 1, 45), "02:30", utc(2026, 10, 26, 1, 30)),
        (utc(2026, 11, 21, 2), "2026-11-22T06:30", utc(2026, 11, 22, 5, 30)),
        (utc(2026, 11, 21, 2), "2026-11-22 06:30 -01:00", utc(2026, 11, 22, 7, 30)),
        (utc(2026, 11, 21, 2), "2026-11-20T06:30Z", utc(2026, 11, 20, 6, 30)),
    ],
)
def test_a_moment_is_what_the_clock_on_the_wall_shows(now: datetime, text: str, moment: datetime) -> None:
    assert moment_after(text, now) == moment


def test_times_are_written_in_utc_with_milliseconds_and_read_back() -> None:
    assert timestamp(START) == "2026-11-21T02:15:00.000Z"
    assert moment_of(timestamp(START)) == START
