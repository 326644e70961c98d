"""The time that waits and deadlines go by."""

from __future__ import annotations

import asyncio


def loop_time() -> float:
    """Return the running event loop's time in seconds: the one that ``asyncio.sleep`` and ``asyncio.timeout`` go by."""
    return asyncio.get_running_loop().time()
