"""Watching new events: a call for each portion, also after the store did not answer for a while."""

from __future__ import annotations

import threading

from pipeline.errors import StoreUnreachable
from pipeline.ops.following import EventWatcher
from tests.fakes import MemoryStore
from tests.store.samples import records


class Flaky:
    """A subscription whose store does not answer at first."""

    def __init__(self, store: MemoryStore) -> None:
        self._feed, self.failures = store.subscribe(), 2
        self.closed = False

    def read(self) -> object:
        if self.failures:
            self.failures -= 1
            raise StoreUnreachable("the database does not answer")
        return self._feed.read()

    def wait(self, _seconds: float) -> None:
        threading.Event().wait(0.005)

    def close(self) -> None:
        self.closed = True


def test_new_events_are_noticed_also_after_the_store_was_away() -> None:
    store, noticed = MemoryStore(), threading.Event()
    feed = Flaky(store)
    with EventWatcher(feed, noticed.set, wait_s=0.005):  # type: ignore[arg-type]
        assert not noticed.wait(0.05)
        store.append("s-1", records([1]), 0)
        assert noticed.wait(5)
    assert feed.closed
