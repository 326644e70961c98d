"""The log file of unattended runs: messages and tracebacks without keys, limited in size. Its failure stops no run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from pipeline.ops.console_output import LOG_FILE, masked
from pipeline.system.files import open_log

LARGEST = 1_000_000  # bytes; up to three older files of that size are kept
OLDER = 3


class _Lines(logging.Formatter):
    """Lines with the time in UTC. Keys are masked, in tracebacks too."""

    converter = staticmethod(time.gmtime)
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the library's name
        return super().formatTime(record, datefmt).replace(" ", "T", 1)


class _LogFile(RotatingFileHandler):
    """A file that is created at the first record, and readable by its owner only."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        return os.fdopen(open_log(path), "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Ignore a failed write: a disk that cannot take the log file cannot take the event log either, which reports it."""


@contextmanager
def log_to_file(folder: Path, largest: int = LARGEST) -> Iterator[None]:
    """Write log records from ``INFO`` upwards to the workspace's log file while the context is open."""
    handler = _LogFile(os.path.realpath(folder / LOG_FILE), maxBytes=largest, backupCount=OLDER, delay=True)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()
