"""Retry policy: attempts, backoff, Retry-After and circuit limits, as numbers and pure functions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from random import Random

_SECONDS = re.compile(r"\d{1,400}(?:\.\d{1,20})?\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Policy:
    """The failure policy of one client. Times in seconds; attempts and failures are counts.

    ``attempts`` counts the first one too. The wait before attempt 2 is ``first_wait_s``, doubled each time up to
    ``longest_wait_s``, less a random part of up to half of it. A server's Retry-After is honoured up to ``retry_after_cap_s``;
    above it the service's circuit opens until then, ``longest_open_s`` at most, and the call fails. ``call_deadline_s`` bounds
    all attempts and waits of one call together. ``opens_after`` failed attempts in a row open the circuit for ``cool_down_s``.
    """

    attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    retry_after_cap_s: float = 60.0
    call_deadline_s: float = 300.0
    opens_after: int = 5
    cool_down_s: float = 60.0
    longest_open_s: float = 43_200.0

    def backoff(self, attempt: int, random: Random) -> float:
        """Return the wait in seconds after the failed attempt ``attempt`` (the first is 1)."""
        full = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return full * (1 - random.random() / 2)


# Of models and searches: a session that meets a dead server stays open, so more attempts would gain nothing.
SERVICES = Policy(attempts=2, opens_after=4)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it is absent or invalid.

    ``now`` is the time since the epoch, for a header with a date; a date in the past gives 0. A huge number gives infinity.
    """
    text = (value or "").strip()
    if _SECONDS.match(text):
        return float(text)
    try:
        asked = parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return max(0.0, asked)


def longer_wait(in_body: float | None, in_header: float | None) -> float | None:
    """Return the longer of two waits that a server asked for; negative values and NaN do not count."""
    asked = [wait for wait in (in_body, in_header) if wait is not None and not math.isnan(wait) and wait >= 0]
    return max(asked, default=None)
