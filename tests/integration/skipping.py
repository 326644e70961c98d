"""An event loop whose time skips what nobody does anything in, so that minutes of waiting pass in milliseconds.

While anything moves (a socket, a thread, a process that is ``awaited_for_real``), time goes as it does. When nothing has moved
for ``QUIET_S``, it skips to the next timer. Server and client must share the loop: then nothing can be on its way outside of it.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

QUIET_S = 0.004


class SkippingLoop(asyncio.SelectorEventLoop):
    """``skips`` are the waits that were skipped so far, in seconds; ``skipped`` is their sum."""

    def __init__(self) -> None:
        self.skips: list[float] = []
        self.skipped = 0.0
        self._outside = 0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return time.monotonic() + self.skipped

    def skip(self, seconds: float) -> None:
        self.skips.append(seconds)
        self.skipped += seconds

    @property
    def may_skip(self) -> bool:
        """Whether nothing outside of the loop is being waited for."""
        return self._outside == 0

    @contextmanager
    def awaited_for_real(self) -> Iterator[None]:
        """Let time go as it does meanwhile."""
        self._outside += 1
        try:
            yield
        finally:
            self._outside -= 1

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._outside += 1
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, _future: asyncio.Future[Any]) -> None:
        self._outside -= 1


class _Skipping(selectors.DefaultSelector):
    """Waits for ``QUIET_S`` at most, then skips the rest of the wait."""

    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= QUIET_S or not self._loop.may_skip:
            return super().select(timeout)
        ready = super().select(QUIET_S)
        if not ready:
            self._loop.skip(timeout - QUIET_S)
        return ready
