"""A subscription to a store that is polled: the streams whose mark has changed are read from where they were left."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from pipeline.domain.events.records import Kind, Record

POLL_S = 0.5
AT_ONCE = 10_000  # about so many events are returned by one call


class Polled(Protocol):
    """What a subscription needs of a store; see ``pipeline.ports.EventStore``."""

    def marks(self, kinds: Sequence[Kind] = ...) -> Mapping[str, str]:
        """Return a mark for each stream."""
        ...

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``."""
        ...


class PolledSubscription:
    """The port ``Subscription``. With ``version_at``, what was stored before is left out.

    ``version_at`` returns the version that a stream had when it had that mark. It is asked only for streams that change later.
    """

    def __init__(self, store: Polled, kinds: Sequence[Kind], version_at: Callable[[str, str], int] | None = None) -> None:
        self._store, self._kinds, self._version_at = store, kinds, version_at
        self._marks: dict[str, str] = dict(store.marks(kinds)) if version_at else {}
        self._seen: dict[str, int] = {}

    def read(self) -> Sequence[Record]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read; the others are returned by the next call.
        """
        found: list[Record] = []
        for name, mark in self._store.marks(self._kinds).items():
            before = self._marks.get(name)
            if mark != before:
                self._marks[name] = mark
                found += self._new_of(name, before)
            if len(found) > AT_ONCE:
                break
        return sorted(found, key=lambda record: (record.at, record.session_id, record.version))

    def _new_of(self, name: str, before: str | None) -> Sequence[Record]:
        if name not in self._seen:
            self._seen[name] = self._version_at(name, before) if self._version_at and before else 0
        records = self._store.load(name, after=self._seen[name])
        if records:
            self._seen[name] = records[-1].version
        return records

    def wait(self, seconds: float) -> None:
        """Return after a moment: a folder is looked at again and again."""
        time.sleep(min(seconds, POLL_S))

    def close(self) -> None:
        """Nothing is open."""
