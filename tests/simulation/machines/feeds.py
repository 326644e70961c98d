"""Several writer processes and some subscribers on one store: which events were missed, seen twice, or out of order."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pipeline.domain.events.records import Record
from pipeline.ops.following import Feed
from pipeline.store.postgres import PostgresStore
from tests.store.samples import records

_FORK = multiprocessing.get_context("forkserver")
_STREAM = 200  # events of a stream
_BATCH = 8  # of an append


def _write(url: str, folder: Path, writer: int, events: int) -> None:
    store = PostgresStore(url, folder / f"writer-{writer}")
    for number in range(events // _STREAM):
        name = f"s-{writer}-{number}"
        for done in range(0, _STREAM, _BATCH):
            store.append(name, records(range(done + 1, done + _BATCH + 1), name), done)
        store.release(name)
    store.close()


class Reader:
    """A subscriber in a thread: counts what it saw, and notes what was out of order or came twice."""

    def __init__(self, store: PostgresStore, wanted: int) -> None:
        self._feed, self._wanted = Feed(store), wanted
        self.versions: dict[str, int] = {}
        self.seen, self.faults = 0, list[str]()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        while self.seen < self._wanted and not self.ended.is_set():
            if not self._take(self._feed.read()):
                time.sleep(0.2)
        self._take(self._feed.read())

    def _take(self, found: Sequence[Record]) -> bool:
        for record in found:
            if record.version != self.versions.get(record.session_id, 0) + 1:
                self.faults.append(f"{record.session_id}: {record.version} after {self.versions.get(record.session_id, 0)}")
            self.versions[record.session_id] = record.version
        self.seen += len(found)
        return bool(found)


def write_and_follow(
    url: str, folder: Path, *, writers: int, events: int, subscribers: int, within_s: float = 300.0
) -> list[str]:
    """Let ``writers`` processes store ``events`` in all; return what the subscribers missed, saw twice or in another order."""
    each = events // writers // _STREAM * _STREAM
    wanted = each * writers
    store = PostgresStore(url, folder / "readers")
    readers = [Reader(store, wanted) for _ in range(subscribers)]
    for reader in readers:
        reader.thread.start()
    processes = [_FORK.Process(target=_write, args=(url, folder, number, each)) for number in range(writers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(within_s)
    for reader in readers:
        reader.thread.join(30)
        reader.ended.set()
        reader.thread.join(5)
    store.close()
    return [fault for reader in readers for fault in [*reader.faults[:5], *_missed(reader, wanted)]]


def _missed(reader: Reader, wanted: int) -> list[str]:
    return [] if reader.seen == wanted else [f"{reader.seen} events seen, {wanted} stored"]
