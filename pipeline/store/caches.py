"""A cache beside the log that can be deleted at any time: a line a session, for lists."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pipeline.system.files import connect_sqlite

_log = logging.getLogger("pipeline.store")
_BUSY_S = 1.0
_TABLES = (
    "CREATE TABLE IF NOT EXISTS layout (id TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS summaries (session TEXT PRIMARY KEY, mark TEXT NOT NULL, line TEXT NOT NULL) WITHOUT ROWID",
)


class Summaries:
    """The port ``SummaryCache`` over the file ``path``, which the first write creates; its folder must exist.

    If it is not ``writable``, it is only read.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self._path = path
        self._writable = writable

    def read(self, layout: str) -> Mapping[str, tuple[str, str]]:
        """Return mark and line of each session, by id; empty when the file is missing, damaged, or of another layout."""
        if not self._path.is_file():
            return {}
        try:
            with _opened(self._path, "ro") as db:
                if db.execute("SELECT id FROM layout").fetchall() != [(layout,)]:
                    return {}
                return {name: (mark, line) for name, mark, line in db.execute("SELECT session, mark, line FROM summaries")}
        except sqlite3.Error as error:
            _log.info("the summaries in %s cannot be read and are rebuilt: %s", self._path, error)
            return {}

    def write(self, layout: str, changed: Mapping[str, tuple[str, str]], gone: Collection[str]) -> None:
        """Write the lines that changed, delete those that are gone; a damaged file is rebuilt the next time."""
        if not self._writable or not self._path.parent.is_dir():
            return
        try:
            with _opened(self._path, "rwc") as db, db:
                _keep(db, layout, changed, gone)
        except sqlite3.OperationalError as error:
            _log.info("the summaries in %s were not kept: %s", self._path, error)
        except sqlite3.DatabaseError as error:
            _log.info("the summaries in %s are damaged and are removed: %s", self._path, error)
            with contextlib.suppress(OSError):
                self._path.unlink()


def _keep(db: sqlite3.Connection, layout: str, changed: Mapping[str, tuple[str, str]], gone: Collection[str]) -> None:
    for statement in _TABLES:
        db.execute(statement)
    if db.execute("SELECT id FROM layout").fetchall() != [(layout,)]:
        db.execute("DELETE FROM layout")
        db.execute("DELETE FROM summaries")
        db.execute("INSERT INTO layout VALUES (?)", (layout,))
    db.executemany("DELETE FROM summaries WHERE session = ?", [(name,) for name in gone])
    rows = [(name, mark, line) for name, (mark, line) in changed.items()]
    db.executemany("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", rows)


@contextlib.contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection that makes no file unless it is to write one."""
    db = connect_sqlite(path, mode, timeout_s=_BUSY_S, autocommit=False)
    try:
        yield db
    finally:
        db.close()
