"""Figures of the core, each beside its target: fold, opening, the loop's own time, waiting, start of the program, of its server.

    python -m bench.core [FIGURE …]

Everything outside is scripted, so what is measured is the program. The store is the real one, over files.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import TypeAdapter

from bench import made_log
from pipeline.cli.main import COLLECTION
from pipeline.domain.events.json_codec import ANY_EVENT, encode
from pipeline.domain.report_draft import BEGINNING
from pipeline.domain.session import ResearchSession, record_of
from pipeline.domain.session_state import SessionState, workers_in_order
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.store.file_store import FileStore
from tests.fakes import Journal, context_for, started, step_context_for
from tests.recorded import recorded, stream

EVENTS = 100_000
LATENCY = 0.2  # seconds a call
OUTSIDE = ("read:", "search:", "survey")


def longest_chain(state: SessionState) -> int:
    """Return how many outside calls of a finished session must follow each other, however many run side by side.

    Each call counts 1: the survey and the plan; of each round the searches, the pages and the readings of the worker with most
    iterations; then the writing, the check and, where code doubts what the checker wrote, a second check.
    """
    ended = 2
    for analysis in state.analyses:
        rounds = [len(worker.iterations) for worker in workers_in_order(state) if worker.round == analysis.round]
        ended += 3 * max(rounds, default=0)
    parts = {number: 2 + bool(part.new) for number, part in state.parts.items()}
    return ended + parts.pop(BEGINNING, 0) + max(parts.values(), default=0)


def main() -> None:
    """Measure and print all, or those that are named, with the garbage collector as the program sets it."""
    gc.set_threshold(*COLLECTION)
    for figures in (folding, opening, working, waiting, starting, answering):
        for line in figures() if figures.__name__ in (sys.argv[1:] or figures.__name__) else ():
            print(line, flush=True)


def line(what: str, value: float, unit: str, target: str = "") -> str:
    """Return one figure as a line."""
    return f"{what:<58} {value:>12,.3f} {unit:<9} {'target ' + target if target else ''}".rstrip()


def timed(work: Callable[[], object], rounds: int = 3) -> float:
    """Return the shortest of some rounds in seconds: what is slower is the machine, not the program."""
    took = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


# ---- fold --------------------------------------------------------------------------------------------------------


def many_streams() -> list[list[bytes]]:
    """A deep session's events over and over under new ids, ``EVENTS`` in all."""
    streams: list[list[bytes]] = []
    model, left = stream(perspectives=5), EVENTS
    while left > 0:
        name = f"2026-11-21-session-{len(streams)}"
        events = [event.model_copy(update={"id": f"{name}-{event.version}", "session_id": name}) for event in model[:left]]
        streams.append([encode(event) for event in events])
        left -= len(events)
    return streams


def folding() -> Iterator[str]:
    """Decoding and folding, beside bare decoding of the same bytes."""
    streams = many_streams()
    bare: TypeAdapter[object] = TypeAdapter(ANY_EVENT)
    size = sum(len(data) for datas in streams for data in datas)
    decoding = timed(lambda: _decoded(bare, streams))
    replaying = timed(lambda: _replayed(streams))
    yield line("events", EVENTS, "")
    yield line("bytes an event", size / EVENTS, "")
    yield line("bare pydantic decoding", EVENTS / decoding, "events/s")
    yield line("decoding and folding", EVENTS / replaying, "events/s")
    yield line("decoding and folding / bare decoding", decoding / replaying, "of rate", ">= 0.6")


def _decoded(bare: TypeAdapter[object], streams: list[list[bytes]]) -> None:
    for datas in streams:
        for data in datas:
            bare.validate_json(data)


def _replayed(streams: list[list[bytes]]) -> None:
    for datas in streams:
        ResearchSession("s1").replay(datas)


# ---- opening -----------------------------------------------------------------------------------------------------


def opening() -> Iterator[str]:
    """A session of 50 events opened from files."""
    with tempfile.TemporaryDirectory() as place:
        store, events = FileStore(Path(place)), stream(perspectives=5)[:50]
        store.append("s1", [record_of(event) for event in events], 0)
        store.release("s1")
        opened = timed(lambda: ResearchSession.open(store, "s1"), rounds=50)
    yield line("a session of 50 events opened", 1_000 * opened, "ms", "<= 3")


# ---- the loop ----------------------------------------------------------------------------------------------------


def session(journal: Journal, concurrency: int) -> tuple[SessionState, float, float]:
    """Research one deep session over files; return its state, seconds of processor and seconds by the clock."""
    with tempfile.TemporaryDirectory() as place:
        store, context = FileStore(Path(place)), context_for("bench", concurrency=concurrency)
        opened = ResearchSession("s1")
        Recorder(opened, store, context).record(started(perspectives=5))
        step_context = step_context_for(store, journal)
        clock, processor = time.perf_counter(), time.process_time()
        state = asyncio.run(run_session(opened, store, step_context, context))
        return state, time.process_time() - processor, time.perf_counter() - clock


def working() -> Iterator[str]:
    """The program's own time in a deep session whose answers come at once, log included."""
    runs = []
    for _ in range(5):
        journal = Journal()
        state, processor, _ = session(journal, 8)
        assert state.status == "complete"
        calls = sum(not name.startswith(OUTSIDE) for name in journal.calls)
        runs.append(processor / calls)
    yield line("events of a deep session", state.version, "")
    yield line("reasoner calls of a deep session", calls, "")
    yield line("processor time a reasoner call, log included", 1_000 * statistics.median(runs), "ms", "<= 5")


def waiting() -> Iterator[str]:
    """The time of a deep session whose every call takes 200 ms, beside its longest chain of calls."""
    for concurrency, target in ((1_000, "<= 1.15"), (8, "")):
        state, _, clock = session(Journal(latency=lambda _name: LATENCY), concurrency)
        chain = longest_chain(state) * LATENCY
        yield line(f"longest chain of calls, {LATENCY:.1f} s each", chain, "s")
        yield line(f"wall time, at most {concurrency} calls at once", clock, "s")
        yield line("wall time / longest chain", clock / chain, "", target)


# ---- the program's start -----------------------------------------------------------------------------------------


def starting() -> Iterator[str]:
    """``research --help`` as a process, beside an empty Python."""
    help_, empty = ("research --help", ("-m", "pipeline", "--help"), "<= 150"), ("python -c pass", ("-c", "pass"), "")
    for what, arguments, target in (help_, empty):
        runs = [_process([sys.executable, *arguments]) for _ in range(15)]
        yield line(f"{what}, wall time", 1_000 * statistics.median(took for took, _ in runs), "ms", target)
        yield line(f"{what}, peak memory", statistics.median(memory for _, memory in runs), "MB")


def answering() -> Iterator[str]:
    """The first answers of ``research mcp`` over 1,000 sessions, from the start of its process."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    calls = [("search", {"query": "How do pumps of make 17 behave?"}), ("report", {"id": made_log.question_id(17)})]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "queries.yaml").write_text("settings:\n  reasoner: extractive\n  search: [local]\nqueries:\n  - How?\n")
        made_log.write(folder / "events", 1_000)
        for data in recorded(**made_log.EVENTS).objects.values():
            FileStore(folder / "events").objects.put(data)
        command = [sys.executable, "-m", "pipeline", "-C", scratch]
        subprocess.run([*command, "ask", "How do pumps behave?"], check=True, capture_output=True)  # as after a night
        for name, arguments in calls:
            begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            given = "".join(json.dumps(one) + "\n" for one in (begin, ask))
            took = min(_answered([*command, "mcp"], given) for _ in range(5))
            yield line(f"research mcp, first answer: {name}, 1,000 sessions", took, "s", "<= 1")


def _answered(command: list[str], given: str) -> float:
    """Return the seconds until a server has answered both requests; how long it takes to end is not waited for by anybody."""
    start, pipe = time.perf_counter(), subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(given)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        took = time.perf_counter() - start
        process.stdin.close()
    assert all("result" in answer for answer in answers)
    return took


# A process inherits the peak memory of the one that starts it, so a bare Python stands between.
_STARTER = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def _process(command: list[str]) -> tuple[float, float]:
    told = subprocess.run([sys.executable, "-S", "-c", _STARTER, *command], capture_output=True, text=True, check=True).stdout
    took, memory = map(float, told.split())
    return took, memory


if __name__ == "__main__":
    main()
