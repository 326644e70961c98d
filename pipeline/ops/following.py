"""Following the event log while runs write it, on any machine: ``Feed`` and ``LogTail`` return it, ``EventWatcher`` calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.records import Kind, Record
from pipeline.domain.events.session_events import EventBase
from pipeline.errors import LogError, StoreUnreachable
from pipeline.ports import EventStore

ENDINGS = frozenset({"research.completed", "research.failed", "research.cancelled"})
AT_ONCE = 10_000  # about so many events are returned by one call


class Feed:
    """The events of a store that are stored from now on: each once, those of one stream in the order of their versions.

    Belongs to one thread at a time. What was stored while the store did not answer comes next.
    """

    def __init__(self, store: EventStore, kinds: Sequence[Kind] = ("session", "batch")) -> None:
        self._store, self._kinds = store, kinds
        self._marks = dict(store.marks(kinds))
        self._seen: dict[str, int] = {}

    def read(self) -> Sequence[Record]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            StoreUnreachable: the next call goes on behind what was returned so far.
            LogError: a stream cannot be read; it is left out until it changes again.
        """
        found: list[Record] = []
        for name, mark in self._store.marks(self._kinds).items():
            before = self._marks.get(name)
            if mark == before:
                continue
            try:
                seen = self._seen[name] if name in self._seen else self._store.version_at(name, before) if before else 0
                records = self._store.load(name, after=seen)
            except LogError as error:
                if found:
                    break  # what was found is returned first
                if not isinstance(error, StoreUnreachable):
                    self._marks[name] = mark
                raise
            self._marks[name], self._seen[name] = mark, records[-1].version if records else seen
            found += records
            if len(found) > AT_ONCE:
                break
        return sorted(found, key=lambda record: (record.at, record.session_id, record.version))


@dataclass
class LogTail:
    """Follows one stream from the version ``after`` or, without a name, all sessions and batches from now on.

    ``last`` is the last event that was returned, ``is_cut_off`` for its user to note that the store does not answer.
    """

    store: EventStore
    name: str = ""
    after: int = 0
    last: EventBase | None = None
    is_cut_off: bool = False
    _feed: Feed | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._feed = None if self.name else Feed(self.store)

    def new(self) -> tuple[EventBase, ...]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read.
        """
        found = self._feed.read() if self._feed else self.store.load(self.name, after=self.after)
        self.after = found[-1].version if found and self.name else self.after
        events = tuple(decode(record.data) for record in found)
        self.last = events[-1] if events else self.last
        return events


def is_over(last: EventBase | None) -> bool:
    """Return whether ``last``, the last event of a session, ends it."""
    return last is not None and last.type in ENDINGS


_log = logging.getLogger("pipeline.ops.following")
WAIT_S = 1.0


class EventWatcher:
    """Looks for new events in ``store`` while the context is open, and calls ``changed`` when there are, in its own thread."""

    def __init__(self, store: EventStore, changed: Callable[[], None], wait_s: float = WAIT_S) -> None:
        self._feed, self._changed, self._wait_s = Feed(store), changed, wait_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="events", daemon=True)

    def __enter__(self) -> EventWatcher:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(timeout=2 * self._wait_s + 5)

    def _watch(self) -> None:
        while not self._ended.wait(self._wait_s):
            try:
                if self._feed.read():
                    self._changed()
            except LogError as error:  # it is read again: what was stored meanwhile comes then
                _log.info("new events cannot be read: %s", error.message)
