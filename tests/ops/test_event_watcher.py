"""Watching new events: a call for each portion, also after the store did not answer for a while."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from pipeline.domain.events.records import Kind
from pipeline.errors import StoreUnreachable
from pipeline.ops.watching import EventWatcher
from tests.fakes import MemoryStore
from tests.store.samples import records


class Flaky(MemoryStore):
    """A store that does not answer for a while."""

    failures = 0

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        if self.failures:
            self.failures -= 1
            raise StoreUnreachable("the database does not answer")
        return super().marks(kinds)


def test_new_events_are_noticed_also_after_the_store_was_away() -> None:
    store, noticed = Flaky(), threading.Event()
    with EventWatcher(store, noticed.set, wait_s=0.005):
        assert not noticed.wait(0.05)
        store.failures = 2
        store.append("s-1", records([1]), 0)
        assert noticed.wait(5)
