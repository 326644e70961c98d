"""``python -m tests.standin``: the server by hand."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from tests.standin.options import MODEL_KINDS, Options
from tests.standin.server import Standin


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
    hosts = ", ".join(f"http://{host}:{server.state.port}" for host in server.state.options.hosts)
    return "\n".join(
        (
            f"Chat completions as OpenRouter: {server.openrouter_url}   as OpenAI: {server.openai_url}",
            f"Brave, Tavily, SearXNG, Wikipedia, arXiv, OpenAlex, Semantic Scholar: {server.base_url}",
            f"Pages: {hosts}/pages/1 … /pages/24",
            f"TLS that fails: {server.tls_bad_url}",
            "",
            "Any key will do. To try it without the program:",
            f"  curl '{server.base_url}/search?q=heat+pumps&format=json'",
            f"  curl -H 'Authorization: Bearer x' {server.openrouter_url}/key",
            "",
            "To use it, give these addresses as the base URLs of the model and of the search providers in queries.yaml,",
            "and allow them as local servers. Ctrl-C stops it.",
        )
    )


if __name__ == "__main__":
    main()
