"""A subscription to a store that is polled: the streams whose mark has changed are read from where they were left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from pipeline.domain.events.records import Kind, Record

POLL_S = 0.5


class Polled(Protocol):
    """What a subscription needs of a store; see ``pipeline.ports.EventStore``."""

    def marks(self, kinds: Sequence[Kind] = ...) -> Mapping[str, str]:
        """Return a mark for each stream."""
        ...

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``."""
        ...


class PolledSubscription:
    """The port ``Subscription``. Of streams that existed before, events from the time ``since`` on (as in events) are new."""

    def __init__(self, store: Polled, kinds: Sequence[Kind], since: str = "") -> None:
        self._store, self._kinds, self._since = store, kinds, since
        self._marks: dict[str, str] = dict(store.marks(kinds)) if since else {}
        self._before = frozenset(self._marks)
        self._seen: dict[str, int] = {}

    def read(self) -> Sequence[Record]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read; the others are returned by the next call.
        """
        found: list[Record] = []
        for name, mark in self._store.marks(self._kinds).items():
            if mark == self._marks.get(name):
                continue
            if found and len(found) > 10_000:
                break
            self._marks[name] = mark
            found += self._new_of(name)
        return sorted(found, key=lambda record: (record.at, record.session_id, record.version))

    def _new_of(self, name: str) -> list[Record]:
        records = self._store.load(name, after=self._seen.get(name, 0))
        first_look = name in self._before and name not in self._seen
        if records:
            self._seen[name] = records[-1].version
        return [record for record in records if record.at >= self._since or not first_look]

    def wait(self, seconds: float) -> None:
        """Return after a moment: a folder is looked at again and again."""
        time.sleep(min(seconds, POLL_S))

    def close(self) -> None:
        """Nothing is open."""
