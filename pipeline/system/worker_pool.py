"""Processes that help this one: how many, how they come to be, and how they live."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext

# Events and states hold no circles; to look for some as often as Python does takes a third of the time of reading a log.
COLLECTION = (50_000, 20, 100)


def processors(most: int) -> int:
    """Return how many processors this process may use, ``most`` at most; not every system tells."""
    return min(most, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def spawning() -> SpawnContext:
    """Return what starts processes anew: a fork would copy whatever threads hold at that moment."""
    import multiprocessing

    return multiprocessing.get_context("spawn")


def begin() -> None:
    """Begin a process that helps: an interrupt is for the one that asks; when that one is gone, however it went, so is this one.

    A request to end it is obeyed: a pool of which another process died asks for that, and waits.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(*COLLECTION)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    import multiprocessing

    asking = multiprocessing.parent_process()
    if asking is not None:
        asking.join()
    os._exit(0)
