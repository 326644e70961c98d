"""Watching a subscription in a thread: call a function whenever new events were stored."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import TracebackType

from pipeline.errors import LogError
from pipeline.ports import Subscription

_log = logging.getLogger("pipeline.ops.event_watcher")
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
