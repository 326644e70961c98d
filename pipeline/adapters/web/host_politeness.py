"""Politeness: one connection to a host at a time, and a pause after each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class HostPoliteness:
    """Gives out turns at hosts. ``pause_s`` is the least time between the end of one turn and the next at that host."""

    def __init__(self, pause_s: float, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._sleep = sleep
        self._locks: dict[str, asyncio.Lock] = {}
        self._ended: dict[str, float] = {}

    @asynccontextmanager
    async def at(self, host: str, pause_s: float = 0.0) -> AsyncIterator[None]:
        """Hold the host's only turn, once its pause (or the longer one asked for here) is over."""
        async with self._locks.setdefault(host, asyncio.Lock()):
            if host in self._ended:
                wait = self._ended[host] + max(self._pause_s, pause_s) - self._clock()
                if wait > 0:
                    await self._sleep(wait)
            try:
                yield
            finally:
                self._ended[host] = self._clock()
