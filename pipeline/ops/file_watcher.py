"""Watching folders: run a function soon after files change, once for many changes.

Files that the function itself writes must be outside the folders, or be named in ``besides``. Editors save in several steps (a
new file that is renamed, a lock file beside it), so the function runs after a short time without changes, at most 0.6 s after
the first one.
"""

from __future__ import annotations

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

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

QUIET_S = 0.12  # without another change, before the function runs
PATIENCE_S = 0.6  # after the first change, at most
POLL_S = 0.4
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
            self.add(*counted)

    def add(self, *paths: str) -> None:
        """Count these as changed."""
        with self._arrived:
            self._paths |= set(paths)
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


def run_on_changes(
    watch: FileWatcher, work: Callable[[frozenset[str]], None], stopped: Callable[[], bool] = lambda: False
) -> None:
    """Call ``work`` with the changed paths after each change, until ``stopped`` returns true."""
    while not stopped():
        if changed := watch.changes.take(timeout_s=0.5):
            work(changed)
