"""Parsing of times that people write (``06:30``, ``06:30 Europe/Berlin``, ``2026-11-22T06:30Z``) and of event timestamps.

A time without a zone is local. When the clocks go back, a time occurs twice: the next occurrence counts. When they go forward,
a time that is skipped moves later by as much. Leaf module.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

# "02:30", "02:30 Europe/Berlin", "02:30+01:00": how settings and options write times of day; nothing parses all three.
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d) ?(Z|[+-]\d\d:?\d\d|[A-Za-z][\w+-]*(?:/[\w+-]+)*)?", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def clock_of(text: str) -> time | None:
    """Return the time of day in ``text``, with its zone if one is given; None if ``text`` is not a time of day."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    try:
        return time(int(match[1]), int(match[2]), tzinfo=_zone(match[3] or ""))
    except (OSError, ValueError, LookupError):  # the zone is unknown, or no zone data is installed
        return None


def _zone(name: str) -> tzinfo | None:
    if name in {"", "Z", "UTC"}:
        return UTC if name else None
    if name[0] in "+-":
        offset = timedelta(hours=int(name[1:3]), minutes=int(name[-2:]))
        return timezone(-offset if name[0] == "-" else offset)
    return ZoneInfo(name)


def moment_after(text: str, now: datetime) -> datetime | None:
    """Return the moment that ``text`` names; of a time of day its next occurrence after ``now``.

    None if ``text`` is neither a time of day nor a date with a time.
    """
    if (clock := clock_of(text)) is not None:
        return next_at(clock, now)
    day, clock = text[:10], clock_of(text[11:])
    if clock is None or text[10] not in "T " or day[4::3] != "--":
        return None
    try:
        return datetime.combine(date.fromisoformat(day), clock).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def length_of(text: str) -> timedelta | None:
    """Return the length of time in ``text``: a whole number and ``s``, ``m``, ``h`` or ``d``; None if it is none."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isascii() or not number.isdigit() or len(number) > 9:
        return None
    return timedelta(**{_UNITS[unit]: int(number)})


def since(text: str, now: datetime) -> datetime | None:
    """Return the moment before ``now`` that ``text`` names: ``7d`` ago, ``2026-11-21`` or ``2026-11-21T06:30``; None if none.

    Without a zone it is local time.
    """
    text = text.strip()
    try:
        if (length := length_of(text)) is not None:
            return now - length
    except OverflowError:
        return None
    return None if clock_of(text) else moment_after(text if "T" in text or " " in text else f"{text}T00:00", now)


def next_at(clock: time, now: datetime) -> datetime:
    """Return the next moment after ``now`` at which the clock of ``clock``'s zone, or the local clock, shows that time."""
    today = now.astimezone(clock.tzinfo).date()
    # Each day is converted separately: the clocks may change between two days.
    moments = (moment for days in (0, 1) for moment in _moments(today + timedelta(days=days), clock))
    return next(moment for moment in moments if moment > now)


def _moments(day: date, clock: time) -> list[datetime]:
    """Return the moments at which the clock shows that time on that day; if it is skipped, the moment after the change."""
    both = sorted(datetime.combine(day, clock.replace(fold=fold)).astimezone(UTC) for fold in (0, 1))
    shown = [moment for moment in both if _clock_fields(moment.astimezone(clock.tzinfo).time()) == _clock_fields(clock)]
    return shown or both[1:]


def _clock_fields(clock: time) -> time:
    return clock.replace(tzinfo=None, fold=0)


def night_of(moment: datetime, zone: str = "") -> date:
    """Return the night that a moment belongs to, by the clock of ``zone`` ("": the local one): the day of its morning.

    A night lasts from noon to noon. Noon is as far from the start of any run at night as can be, so one that starts some minutes
    early or late stays in its night, midnight included. Summer time makes one night shorter and one longer, and nothing else.
    """
    return (moment.astimezone(_zone(zone)).replace(tzinfo=None) + timedelta(hours=12)).date()


def night_start(moment: datetime, zone: str = "") -> datetime:
    """Return the noon at which the night of a moment began. Values as in ``night_of``."""
    noon = datetime.combine(night_of(moment, zone) - timedelta(days=1), time(12), tzinfo=_zone(zone))
    return noon.astimezone(UTC)


def clock_at(at: str, zone: str = "") -> str:
    """Return the hour and minute of an event's time by the clock of ``zone`` ("": UTC): ``02:15``."""
    return moment_of(at).astimezone(_zone(zone or "UTC")).strftime("%H:%M")


def local_zone(moment: datetime) -> str:
    """Return the zone of this computer's clock at a moment: ``UTC``, ``+02:00``."""
    offset = moment.astimezone().isoformat(timespec="seconds")[19:]
    return "UTC" if offset == "+00:00" else offset


def is_zone(name: str) -> bool:
    """Return whether the clock of that name is known: ``Europe/Berlin``, ``UTC``, ``+02:00``."""
    return clock_of(f"12:00 {name}") is not None


def timestamp(moment: datetime) -> str:
    """Return an aware ``moment`` in the format of an event's ``at``: ``2026-11-21T02:15:00.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(at: str) -> datetime:
    """Return the aware UTC moment of an event's ``at``."""
    return datetime.fromisoformat(at.replace("Z", "+00:00"))
