"""A clock that only sleeping moves, and a record of what was slept."""

from __future__ import annotations


class Clock:
    """Call it for the time in seconds."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert 0 <= seconds < float("inf")
        self.slept.append(seconds)
        self.now += seconds
