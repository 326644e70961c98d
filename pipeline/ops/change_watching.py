"""Watching files and following the event log.

``FileWatcher`` watches folders: a function runs soon after files change, once for many changes. Files that the function itself
writes must be outside the folders, or be named in ``besides``. Editors save in several steps (a new file that is renamed, a lock
file beside it), so the function runs after a short time without changes, at most 0.6 s after the first one.

``Feed`` returns the events that runs write, on any machine.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserver

from pipeline.domain.events.stream_records import Kind, Record
from pipeline.errors import LogError, StoreUnreachable
from pipeline.ports import EventStore

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

QUIET_S = 0.12  # without another change, before the function runs
PATIENCE_S = 0.6  # after the first change, at most
POLL_S = 0.4
_log = logging.getLogger("pipeline.ops.change_watching")
_CHANGES = {"created", "modified", "moved", "deleted", "closed"}  # not: opened or read, which the function itself does
_TEMPORARY = ("~", ".tmp", ".swp", ".swx", ".part")


class Changes(FileSystemEventHandler):
    """Collects the changed files below the watched folders until ``take`` returns them."""

    def __init__(self, besides: Sequence[Path]) -> None:
        self._besides = [os.path.realpath(path) for path in besides]
        self._arrived = threading.Condition()
        self._paths: set[str] = set()
        self._last = 0.0

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Add a change."""
        if event.event_type not in _CHANGES or (event.is_directory and event.event_type == "modified"):
            return
        paths = {str(path) for path in (event.src_path, event.dest_path) if path}
        if counted := {path for path in paths if self._counts(path)}:
            with self._arrived:
                self._paths |= counted
                self._last = time.monotonic()
                self._arrived.notify_all()

    def _counts(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        temporary = name.startswith(".") or name.endswith(_TEMPORARY) or name.isdecimal()  # vim creates files named by a number
        return not temporary and not any(path == other or path.startswith(f"{other}/") for other in self._besides)

    def take(self, timeout_s: float | None = None) -> frozenset[str]:
        """Wait for changes and then for a pause; return the changed paths, none after ``timeout_s`` without a change."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: bool(self._paths), timeout_s):
                return frozenset()
            end = time.monotonic() + PATIENCE_S
            while (left := min(self._last + QUIET_S, end) - time.monotonic()) > 0:
                self._arrived.wait(left)
            taken, self._paths = frozenset(self._paths), set()
            return taken


class FileWatcher:
    """Watches ``folders`` and all below them, but nothing in ``besides``. ``polls``: compare the files regularly.

    If the system cannot watch the folders (too many of them), they are polled too, and ``polls`` becomes true.
    """

    def __init__(self, folders: Sequence[Path], besides: Sequence[Path] = (), *, polls: bool = False) -> None:
        self.changes = Changes(besides)
        self.polls = polls
        self._folders = [Path(os.path.realpath(folder)) for folder in folders if folder.is_dir()]
        self._observer = self._start()

    def _start(self) -> BaseObserver:
        observer: BaseObserver = PollingObserver(timeout=POLL_S) if self.polls else Observer()
        try:
            for folder in self._folders:
                observer.schedule(self.changes, str(folder), recursive=True)
            observer.start()
        except OSError:
            if self.polls:
                raise
            with suppress(RuntimeError):
                observer.stop()
            self.polls = True
            return self._start()
        return observer

    def close(self) -> None:
        """Stop watching."""
        self._observer.stop()
        self._observer.join()


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


def run_on_changes(
    watch: FileWatcher, feed: Feed | None, work: Callable[[frozenset[str]], None], stopped: Callable[[], bool] = lambda: False
) -> None:
    """Call ``work`` after each change with the changed paths, with none where ``feed`` has new events, until ``stopped``."""
    while not stopped():
        changed, is_news = watch.changes.take(timeout_s=0.5), False
        try:
            is_news = bool(feed and feed.read())
        except LogError as error:  # it is read again: what is stored meanwhile comes then
            _log.info("new events cannot be read: %s", error.message)
        if changed or is_news:
            work(frozenset() if is_news else changed)
