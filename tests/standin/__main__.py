"""``python -m tests.standin [SECONDS]``: the server by hand, until interrupted, each reply so long after its request."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from tests.standin.options import Options
from tests.standin.server import Standin


async def _serve(options: Options) -> None:
    server = Standin(options)
    await server.start()
    print(f"{server.base_url}: chat completions at /api/v1 and /v1, searches, and pages from /pages/1 on", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(Options(latency_s=float(sys.argv[1]) if sys.argv[1:] else 0.0)))
