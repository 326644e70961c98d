"""What the event store costs: ``python bench/store.py [DIRECTORY]``, the directory being on the disk to be measured.

Appends are measured against a bare ``write`` + ``fdatasync`` of the same bytes, turn by turn in one run.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pipeline.domain.events.stream_records import Record
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import ZEROS, parse, seal

ROUNDS = 300
CHAIN = 2_000
PAYLOAD = {"reasoning": "What the log says of power cuts, and what it leaves open. " * 37, "queries": ["fsync", "append-only"]}


def sample(version: int, session: str = "s-1") -> Record:
    """Return a record of about 2.4 kB, the mean of the sample queue's sessions."""
    envelope = (f"e-{version:08d}", session, version, "worker.thought", "2026-11-21T02:15:00.123Z", "run-1")
    names = ("id", "session_id", "version", "type", "at", "run_id")
    data = json.dumps(dict(zip(names, envelope, strict=True)) | PAYLOAD, separators=(",", ":"))
    return Record(*envelope, data.encode())


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def appends(folder: Path) -> tuple[float, float]:
    """Return the median seconds of an append to the store and of a bare write + fdatasync."""
    store = FileStore(folder / "events")
    bare = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    records = [sample(version) for version in range(1, ROUNDS + 2)]
    lines = [seal(record.data, ZEROS)[0] for record in records]
    store.append("s-1", records[:1], 0)
    ours: list[float] = []
    theirs: list[float] = []
    for version in range(1, ROUNDS + 1):
        ours.append(seconds(partial(store.append, "s-1", [records[version]], version)))
        theirs.append(seconds(partial(write_bare, bare, lines[version])))
    os.close(bare)
    return statistics.median(ours), statistics.median(theirs)


def write_bare(fd: int, line: bytes) -> None:
    """Do the least that makes a line durable."""
    os.write(fd, line)
    os.fdatasync(fd)


def chain(count: int) -> tuple[bytes, int, float]:
    """Return a sealed segment, the bytes of its payload, and the seconds that sealing took."""
    records = [sample(version) for version in range(1, count + 1)]
    lines = []
    prev = ZEROS
    start = time.perf_counter()
    for record in records:
        line, prev = seal(record.data, prev)
        lines.append(line)
    taken = time.perf_counter() - start
    return b"".join(lines), sum(len(record.data) for record in records), taken


def session_of_50(folder: Path) -> float:
    """Return the median seconds of loading a session of 50 events."""
    store = FileStore(folder / "events")
    store.append("s-50", [sample(version, "s-50") for version in range(1, 51)], 0)
    return statistics.median(seconds(lambda: store.load("s-50")) for _ in range(200))


def listing(folder: Path, count: int) -> float:
    """Return the seconds that listing ``count`` sessions takes."""
    for number in range(count):
        events = folder / "many" / "sessions" / f"s-{number:06d}" / "events"
        events.mkdir(parents=True)
        (events / "000001-run-1.jsonl").touch()
    return seconds(lambda: list(FileStore(folder / "many").ids("session")))


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        folder = Path(name)
        ours, theirs = appends(folder)
        content, payload, _ = chain(CHAIN)
        sealing = statistics.median(chain(CHAIN)[2] for _ in range(5))
        verifying = statistics.median(seconds(lambda: parse("x", content, "s-1")) for _ in range(21))
        show("append ÷ bare write+fdatasync", theirs / ours, f"of its speed (≥ 0.8): {ours * 1e6:.0f} to {theirs * 1e6:.0f} µs")
        show("sealing", sealing / CHAIN * 1e6, "µs an event (≤ 10)")
        show("chain verified", CHAIN / verifying, "events/s (≥ 100,000)")
        show("load of a 50-event session", session_of_50(folder) * 1e3, "ms (≤ 1.5)")
        show("disk ÷ payload", len(content) / payload, f"at {payload // CHAIN} bytes an event (≤ 1.15)")
        show("listing 20,000 sessions", listing(folder, 20_000), "s")


def show(what: str, figure: float, unit: str) -> None:
    """Print one line."""
    print(f"{what:32} {figure:12,.2f}   {unit}", flush=True)


if __name__ == "__main__":
    main()
