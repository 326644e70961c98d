"""An event loop on a virtual clock: time stands still while anything can be done, and jumps to the next timer when nothing can.

What is handed to a thread is done at once, in its place. So a run is a function of its seed.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """``now`` is the virtual time in seconds."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Executor | None, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # its type names an unpacking of tuples
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except StopIteration as error:
            future.set_exception(RuntimeError(f"a call in a thread ended in {error!r}"))
        except BaseException as error:  # noqa: BLE001 - it is handed on, whatever it is
            future.set_exception(error)
        return future


class _Jumping(selectors.SelectSelector):
    """Waits for nothing: no socket is ever waited for, so a wait only moves the clock."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("everything waits for something, and nothing is under way")
        self._loop.now += max(0.0, timeout)
        return []
