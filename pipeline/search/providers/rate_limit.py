"""Rate limits of search providers, read from reply headers or set by a provider's terms, and the pacing of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pipeline.net.calls import loop_time

T = TypeVar("T")

LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate that a reply allows. ``gap_s``: seconds between requests; ``pause_s``: seconds until the next may be sent."""

    gap_s: float = 0.0
    pause_s: float = 0.0


def pace_of(headers: Mapping[str, str]) -> Pace:
    """Return the pace that the ``x-ratelimit-*`` headers allow; a header holds one number per window; others are ignored.

    A spent window that takes longer than ``LONGEST_PAUSE`` to reset is a quota: it gives no pause, and the next reply is judged.
    """
    policy = [_window(part) for part in headers.get("x-ratelimit-policy", "").split(",")]
    left = _numbers(headers.get("x-ratelimit-remaining", ""))
    resets = _numbers(headers.get("x-ratelimit-reset", ""))
    spent = [reset for rest, reset in zip(left, resets, strict=False) if rest <= 0 and reset <= LONGEST_PAUSE]
    gaps = [seconds / limit for limit, seconds in policy if limit > 0 and 0 < seconds <= LONGEST_PAUSE]
    return Pace(max(gaps, default=0.0), max(spent, default=0.0))


def _window(part: str) -> tuple[float, float]:
    limit, _, seconds = part.partition(";w=")
    return next(iter(_numbers(limit)), 0.0), next(iter(_numbers(seconds)), 0.0)


def _numbers(listed: str) -> list[float]:
    parts = [part.strip() for part in listed.split(",")]
    return [float(part) if part.isascii() and part.isdigit() and len(part) < 16 else float("inf") for part in parts if part]


class Pacer:
    """Starts the calls of one provider one after another, with a gap. Belongs to one event loop; times are in seconds.

    Until a call has succeeded, and always with ``one_at_a_time``, a call waits for the previous one to end: so a wrong key is
    tried once, however many calls wait.
    """

    def __init__(
        self,
        gap_s: float = 0.0,
        *,
        one_at_a_time: bool = False,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap_s = gap_s
        self._one_at_a_time = one_at_a_time
        self._clock = clock
        self._sleep = sleep
        self._lock = asyncio.Lock()
        self._succeeded = False
        self._free_at = 0.0

    @property
    def gap_s(self) -> float:
        """The gap between two starts, in seconds."""
        return self._gap_s

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run ``work`` when it is its turn."""
        async with self._lock:
            await self._wait()
            if self._one_at_a_time or not self._succeeded:
                try:
                    result = await work()
                finally:
                    self._free_at = max(self._free_at, self._clock() + self._gap_s)
                self._succeeded = True
                return result
        return await work()

    def slow_down(self, pace: Pace) -> None:
        """Apply the pace that a reply allows; it never shortens the gap."""
        self._gap_s = max(self._gap_s, pace.gap_s)
        self._free_at = max(self._free_at, self._clock() + pace.pause_s)

    async def _wait(self) -> None:
        wait = self._free_at - self._clock()
        if wait > 0:
            await self._sleep(wait)
        self._free_at = max(self._free_at, self._clock() + self._gap_s)
