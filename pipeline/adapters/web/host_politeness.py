"""Politeness towards hosts: one request to a host at a time, with a pause between requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class HostPoliteness:
    """Grants turns at hosts. ``pause_s`` is the minimum time in seconds between two turns at one host."""

    def __init__(self, pause_s: float, clock: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._pause_s = pause_s
        self._clock = clock
        self._sleep = sleep
        self._locks: dict[str, asyncio.Lock] = {}
        self._ended: dict[str, float] = {}

    @asynccontextmanager
    async def turn(self, host: str, pause_s: float = 0.0) -> AsyncIterator[None]:
        """Wait for the host's turn and its pause (the longer of ``pause_s`` and the usual one), and hold the turn."""
        async with self._locks.setdefault(host, asyncio.Lock()):
            if host in self._ended:
                wait = self._ended[host] + max(self._pause_s, pause_s) - self._clock()
                if wait > 0:
                    await self._sleep(wait)
            try:
                yield
            finally:
                self._ended[host] = self._clock()
