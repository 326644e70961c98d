"""The monotonic clock for waits and deadlines."""

from __future__ import annotations

import asyncio


def loop_time() -> float:
    """Return the running event loop's time in seconds, as ``asyncio.sleep`` and ``asyncio.timeout`` use it."""
    return asyncio.get_running_loop().time()
