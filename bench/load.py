"""Many sessions at once against the stand-in: throughput beside the ideal, memory, and the processor's time a request.

    python -m bench.load [--sessions 100] [--concurrency 16] [--latency 0.2] [--mode fast]

The stand-in is a process of its own and lets every request wait for ``latency``. The program is the real one: queue, night, log
in files, HTTP, pages, extraction in its own process. The ideal is ``concurrency`` requests to models and searches under way all
the time. Pages are read beside them, no faster than their hosts are owed. One processor sets a ceiling: at 5 ms a request, 200
requests a second.

A machine that is busy with other things measures those things. ``chrt -r 1 python -m bench.load`` (as root) gets the processor
first; it still shares the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import pstats
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from pipeline.batch import session_pool
from pipeline.batch.scheduling import decide
from pipeline.batch.session_index import read_all
from pipeline.batch.session_pool import Batch
from pipeline.batch.totals import BatchResult
from pipeline.cli.main import COLLECTION
from pipeline.config.keys import Keys, read_keys
from pipeline.config.settings import Workspace, config_for, load_workspace
from pipeline.config.values import Query, Queue
from pipeline.domain.values import ResearchConfig
from pipeline.engine.run_context import RunContext
from pipeline.ports import EventStore
from pipeline.wiring import workspace_adapters
from pipeline.wiring.session_adapters import AdapterFactory
from tests.standin.options import Options
from tests.standin.server import Standin

HOSTS = tuple(f"127.0.{at // 200 + 1}.{at % 200 + 1}" for at in range(800))
SUBJECTS = ("kilns", "looms", "dykes", "locks", "weirs", "mills", "ovens", "pumps", "rails", "sails")
METALS = ("iron", "zinc", "tin", "lead", "brass", "steel", "bronze", "nickel", "chrome", "gold")
KINDS = ("copper", "granite", "willow", "amber", "linen", "cobalt", "maple", "basalt", "walnut", "silver")
PAGES = frozenset(("pages", "robots"))
"""Routes of the stand-in that are read, not asked."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked for."""

    sessions: int
    concurrency: int
    latency: float
    mode: str


class Server:
    """The stand-in in a process of its own, for the length of a ``with`` block."""

    def __init__(self, latency: float) -> None:
        command = [sys.executable, "-m", "bench.load", "--serve", "--latency", str(latency)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello = self._line()

    def _line(self) -> dict[str, object]:
        assert self._process.stdout is not None
        told: dict[str, object] = json.loads(self._process.stdout.readline())
        return told

    def finish(self) -> dict[str, int]:
        """Stop it; return how often each route was asked."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        told = self._line()
        self._process.wait(10)
        return {str(name): int(str(count)) for name, count in told.items()}


async def serve(latency: float) -> None:
    """Be the stand-in until the standard input ends."""
    async with Standin(Options(latency_s=latency, hosts=HOSTS)) as server:
        hello = {"base": server.base_url, "model": server.openrouter_url, "addresses": server.addresses}
        print(json.dumps(hello), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps(Counter(hit.route for hit in server.log.hits)), flush=True)


def workspace_for(load: Load, hello: dict[str, object], folder: Path) -> Workspace:
    """Lay out a queue of as many questions, each on a subject of its own."""
    base, names = hello["base"], ["-".join(words) for words in islice(product(KINDS, METALS, SUBJECTS), load.sessions)]
    questions = [f"  - {{query: 'How well do {name} last?', mode: {load.mode}}}" for name in names]
    settings = f"""settings:
  reasoner: {{model: standin/model, base_url: "{hello["model"]}", key: STANDIN_API_KEY}}
  search: [searxng]
  searxng_url: {base}
  page_hosts: {json.dumps(hello["addresses"])}
  limits: {{concurrency: {load.concurrency}, max_failures: {load.sessions}}}
queries:
"""
    (folder / "queries.yaml").write_text(settings + "\n".join(questions) + "\n")
    return load_workspace(folder)


async def night(workspace: Workspace, load: Load) -> BatchResult:
    """Research the whole queue, all sessions at once."""
    queue, store = workspace.queue, workspace_adapters.store_of(workspace.folder)
    keys = read_keys({"STANDIN_API_KEY": "standin-" + "k" * 24}, workspace.folder)
    context = session_pool.with_limits(
        workspace_adapters.context_of(workspace, lambda _event, _state: None), queue.settings.limits
    )
    decisions = decide(queue, read_all(store), context.now())
    factory = AdapterFactory(workspace, store, keys)
    try:
        return await _night(store, queue, factory, keys, context, load).work(decisions)
    finally:
        await factory.aclose()


def _night(store: EventStore, queue: Queue, factory: AdapterFactory, keys: Keys, context: RunContext, load: Load) -> Batch:
    def config_of(query: Query) -> ResearchConfig:
        return config_for(query, queue.settings, keys)

    return Batch(store, queue, factory, config_of, context, load.sessions, factory.spent_out)


def peak_mb() -> float:
    """Return the most memory this process has held, in MB."""
    return int(re.findall(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[0]) / 1_000


def kept_waiting() -> float:
    """Return the seconds that this process was ready and other processes had the processor."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def measure(load: Load, profile: bool) -> None:
    server = Server(load.latency)
    with tempfile.TemporaryDirectory() as place:
        workspace = workspace_for(load, server.hello, Path(place))
        before, profiler = peak_mb(), cProfile.Profile()
        clock, processor, waited = time.perf_counter(), time.process_time(), kept_waiting()
        if profile:
            profiler.enable()
        result = asyncio.run(night(workspace, load))
        profiler.disable()
        wall, busy = time.perf_counter() - clock, time.process_time() - processor
        waited = kept_waiting() - waited
    tell(load, result, server.finish(), wall, busy)
    print(f"kept waiting for a processor by other programs: {waited:.2f} s")
    print(f"memory of the program: {peak_mb():.0f} MB at most, {before:.0f} MB before the first session")
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(45)


def tell(load: Load, result: BatchResult, hits: dict[str, int], wall: float, busy: float) -> None:
    asked = sum(count for route, count in hits.items() if route not in PAGES)
    total = sum(hits.values())
    ideal = asked * load.latency / load.concurrency
    print(f"{load.sessions} {load.mode} sessions at once, {load.concurrency} requests at once, {load.latency * 1_000:g} ms each")
    print(f"ended: {dict(Counter(event.status for event in result.ended))}; requests: {hits}")
    print(f"wall {wall:.2f} s, ideal {ideal:.2f} s: throughput / ideal = {ideal / wall:.3f} (target >= 0.9)")
    print(f"{asked / wall:.0f} of {load.concurrency / load.latency:.0f} requests/s")
    print(f"processor: {1_000 * busy / total:.2f} ms a request, {100 * busy / wall:.0f} % of one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency", type=float, default=0.2, metavar="SECONDS")
    parser.add_argument("--mode", choices=("fast", "deep"), default="fast")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.latency))
        return
    gc.set_threshold(*COLLECTION)
    measure(Load(options.sessions, options.concurrency, options.latency, options.mode), options.profile)


if __name__ == "__main__":
    main()
