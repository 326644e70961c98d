"""``python -m tests.standin [--port 8899] [--latency SECONDS] [--model KIND]``: the server by hand, until interrupted."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress

from tests.standin.options import MODEL_KINDS, Options
from tests.standin.server import Standin
from tests.standin.world import FIXED


async def _serve(options: Options) -> None:
    async with Standin(options) as server:
        print(f"Chat completions as OpenRouter: {server.openrouter_url}   as OpenAI: {server.openai_url}", flush=True)
        print(f"Brave and Wikipedia: {server.base_url}   pages: {server.base_url}/pages/1 … {FIXED}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.standin", description="Speaks as models, searches and pages do.")
    parser.add_argument("--port", type=int, default=8899)
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--model", choices=MODEL_KINDS, default="honest")
    chosen = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(Options(port=chosen.port, latency_s=chosen.latency, model=chosen.model)))
