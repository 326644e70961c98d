"""``python -m tests.standin``: the server by hand."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from tests.standin.options import MODEL_KINDS, Options
from tests.standin.server import Standin
from tests.standin.world import FIXED

SEARCHES = ("brave", "tavily", "searxng", "wikipedia", "arxiv", "openalex", "semanticscholar")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted, then print what was charged."""
    chosen = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(chosen))
    except KeyboardInterrupt:
        print("stopped")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.standin", description="Speaks as models, search providers and web pages do."
    )
    parser.add_argument("--port", type=int, default=8899)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=MODEL_KINDS, default="honest")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--credit", type=float, default=100.0, metavar="USD")
    parser.add_argument("--poisoned", action="store_true", help="put pages with injected instructions into every search")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="ROUTE=VERBS", help="e.g. 'chat=status:429+Retry-After=1'"
    )
    parser.add_argument("--mix", type=float, default=0.0, metavar="RATE", help="part of all hits that go wrong by chance, 0 to 1")
    return parser


async def _serve(chosen: argparse.Namespace) -> None:
    options = Options(
        port=chosen.port,
        seed=chosen.seed,
        model=chosen.model,
        latency_s=chosen.latency,
        credit_usd=chosen.credit,
        poisoned=chosen.poisoned,
    )
    async with Standin(options) as server:
        for setting in chosen.fault:
            where, _, verbs = setting.partition("=")
            server.fault(where, verbs)
        if chosen.mix:
            server.mix(chosen.seed, chosen.mix)
        print(directions(server), flush=True)
        try:
            await asyncio.Event().wait()
        finally:
            charged = server.log.charged()
            print(f"{len(server.log.hits)} hits, {charged.total_tokens} tokens, {charged.usd:.6f} USD", flush=True)


def directions(server: Standin) -> str:
    """Return how to point a program at the server."""
    return "\n".join(
        (
            f"Chat completions as OpenRouter: {server.openrouter_url}   as OpenAI: {server.openai_url}",
            f"Pages: {', '.join(server.addresses)}, each with /pages/1 … /pages/{FIXED}",
            f"TLS that fails: {server.tls_bad_url}",
            "",
            "In queries.yaml, with anything in STANDIN_API_KEY, BRAVE_API_KEY and TAVILY_API_KEY:",
            "",
            settings(server),
            f"By hand: curl '{server.base_url}/search?q=heat+pumps&format=json'",
            "Ctrl-C stops it.",
        )
    )


def settings(server: Standin) -> str:
    """Return the section of ``queries.yaml`` that sends everything here."""
    urls = "".join(f"    {name}: {server.base_url}\n" for name in SEARCHES if name != "searxng")
    return (
        "settings:\n"
        f"  reasoner: {{model: standin/model, base_url: {server.openrouter_url}, key: STANDIN_API_KEY}}\n"
        f"  search: [{', '.join(SEARCHES)}]\n"
        f"  searxng_url: {server.base_url}\n"
        f"  search_urls:\n{urls}"
    )


if __name__ == "__main__":
    main()
