"""Following the event log while runs write it, on any machine: ``LogTail`` returns news, ``EventWatcher`` reports them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.session_events import EventBase
from pipeline.errors import LogError
from pipeline.ports import EventStore, Subscription

ENDINGS = frozenset({"research.completed", "research.failed", "research.cancelled"})


@dataclass
class LogTail:
    """Follows one stream from the version ``after`` or, without a name, all sessions and batches from now on.

    ``last`` is the last event that was returned, ``is_cut_off`` for its user to note that the store does not answer. Close it at
    the end.
    """

    store: EventStore
    name: str = ""
    after: int = 0
    last: EventBase | None = None
    is_cut_off: bool = False
    _feed: Subscription | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._feed = None if self.name else self.store.subscribe()

    def new(self) -> tuple[EventBase, ...]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read.
        """
        found = self._feed.read() if self._feed else self.store.load(self.name, after=self.after)
        self.after = found[-1].version if found and self.name else self.after
        events = tuple(decode(record.data) for record in sorted(found, key=lambda one: (one.at, one.session_id, one.version)))
        self.last = events[-1] if events else self.last
        return events

    def wait(self, seconds: float) -> None:
        """Return when there may be news, at the latest after ``seconds``."""
        if self._feed:
            self._feed.wait(seconds)
        else:
            time.sleep(seconds)

    def close(self) -> None:
        """Follow no longer."""
        if self._feed:
            self._feed.close()


def is_over(last: EventBase | None) -> bool:
    """Return whether ``last``, the last event of a session, ends it."""
    return last is not None and last.type in ENDINGS


_log = logging.getLogger("pipeline.ops.following")
WAIT_S = 1.0


class EventWatcher:
    """Reads ``feed`` while the context is open, and calls ``changed`` after each portion, in a thread of its own."""

    def __init__(self, feed: Subscription, changed: Callable[[], None], wait_s: float = WAIT_S) -> None:
        self._feed, self._changed, self._wait_s = feed, changed, wait_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="events", daemon=True)

    def __enter__(self) -> EventWatcher:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(timeout=2 * self._wait_s + 5)
        self._feed.close()

    def _watch(self) -> None:
        while not self._ended.is_set():
            try:
                if self._feed.read():
                    self._changed()
                    continue
                self._feed.wait(self._wait_s)
            except LogError as error:  # it is read again: what was stored meanwhile comes then
                _log.info("new events cannot be read: %s", error.message)
                self._ended.wait(self._wait_s)
