"""Times that other programs wrote, as the log writes them: RFC 3339 in UTC with milliseconds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from pipeline.text.times import timestamp

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?)? ?(Z|z|UTC|[+-]\d\d:?\d\d)?(?: UTC| [A-Z]{3,5}| m=[-+.\d]+)*"
)
_ZERO_YEAR = "0001-01-01"  # how Go writes a time that was never set


def time_of(text: str) -> str:
    """Return a time that was never set, or is empty, as ""; a time without a zone is taken for UTC.

    Raises:
        ValueError: it is no time.
    """
    found = _TIME.fullmatch(text.strip())
    if not text.strip() or (found and found[1] == _ZERO_YEAR):
        return ""
    if not found:
        raise ValueError("is no time")
    day, minute, second, fraction, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z", "z", "UTC") else zone
    moment = datetime.fromisoformat(f"{day}T{minute or '00:00'}{second or ':00'}.{(fraction or '0')[:6]:0<6}{zone}")
    try:
        return timestamp(moment.astimezone(UTC))
    except OverflowError:
        raise ValueError("is out of the calendar") from None
