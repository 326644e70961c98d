"""How fast a provider may be asked: from its own headers, or from a gap that its terms name."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pipeline.adapters.http.clock import loop_time

T = TypeVar("T")

LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """What a reply's headers allow. ``gap_s``: seconds between requests; ``pause_s``: seconds until the next one may be sent."""

    gap_s: float = 0.0
    pause_s: float = 0.0


def pace_of(headers: Mapping[str, str]) -> Pace:
    """Read ``X-RateLimit-*`` (lower case): lists with one number for each window, or single numbers; what is unclear is ignored.

    A window that is spent and opens again later than in a minute is a quota: no pause helps, the next reply will say so.
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
    """Lets calls of one provider start one after another, a gap apart. Belongs to one event loop; times in seconds.

    ``alone``: a call waits until the one before has ended, as does every call until the first has been answered well: so a
    wrong key is tried once, however many calls wait.
    """

    def __init__(
        self,
        gap_s: float = 0.0,
        *,
        alone: bool = False,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap_s = gap_s
        self._alone = alone
        self._clock = clock
        self._sleep = sleep
        self._lock = asyncio.Lock()
        self._answered = False
        self._free_at = 0.0

    @property
    def gap_s(self) -> float:
        """The gap between two starts, in seconds."""
        return self._gap_s

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do ``work`` when it is its turn."""
        async with self._lock:
            await self._wait()
            if self._alone or not self._answered:
                try:
                    found = await work()
                finally:
                    self._free_at = max(self._free_at, self._clock() + self._gap_s)
                self._answered = True
                return found
        return await work()

    def told(self, pace: Pace) -> None:
        """Take in what a reply said; a gap that the provider's terms name is never shortened."""
        self._gap_s = max(self._gap_s, pace.gap_s)
        self._free_at = max(self._free_at, self._clock() + pace.pause_s)

    async def _wait(self) -> None:
        wait = self._free_at - self._clock()
        if wait > 0:
            await self._sleep(wait)
        self._free_at = max(self._free_at, self._clock() + self._gap_s)
