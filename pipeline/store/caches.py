"""Caches beside the log that can be deleted at any time: snapshots of sessions, and a line a session for lists."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from pipeline.domain.events.records import Snapshot
from pipeline.errors import LogError
from pipeline.store.layout import Layout, is_plain
from pipeline.system import files
from pipeline.system.files import connect_sqlite
from pipeline.text.normalise import digest_of

_STATE = b',"state":'


class Snapshots:
    """The port ``Snapshots`` over files in a log's ``local/``; ``hash_of`` returns the hash of a stored event, None for none."""

    def __init__(self, layout: Layout, hash_of: Callable[[str, int], bytes | None]) -> None:
        self._layout, self._hash_of = layout, hash_of

    def load(self, session_id: str, fold_id: str) -> Snapshot | None:
        """Return the latest snapshot by that fold whose event is still the stored one, else None."""
        if not is_plain(session_id):
            return None
        try:
            head, _, state = files.read_bytes(self._layout.snapshot(session_id))[:-1].partition(_STATE)
            fields = json.loads(head + b"}")
            snapshot, hash_ = Snapshot(int(fields["version"]), fold_id, state), str(fields["hash"]).encode()
            is_sound = fields["digest"] == _digest(snapshot, hash_)
            return snapshot if is_sound and self._hash_of(session_id, snapshot.version) == hash_ else None
        except (OSError, ValueError, KeyError, TypeError, LogError):
            return None

    def save(self, session_id: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, unless its event is not stored. It need not be durable; a failure is logged and never raised."""
        try:
            hash_ = self._hash_of(session_id, snapshot.version) if is_plain(session_id) else None
            if hash_ is not None:
                version, fold_id, state = snapshot
                head = {"version": version, "hash": hash_.decode(), "fold_id": fold_id, "digest": _digest(snapshot, hash_)}
                self._layout.prepare_local()
                path = self._layout.snapshot(session_id)
                files.make_directories(path.parent)
                files.write(path, json.dumps(head).encode()[:-1] + _STATE + state + b"}", mode=0o600)
        except (OSError, LogError) as error:
            _log.info("no snapshot of %s was kept: %s", session_id, error)

    def remove(self, session_id: str) -> None:
        """Remove a stream's snapshot, if there is one."""
        self._layout.snapshot(session_id).unlink(missing_ok=True)


def _digest(snapshot: Snapshot, hash_: bytes) -> str:
    version, fold_id, state = snapshot
    return digest_of(b"%d %b %b %b" % (version, hash_, fold_id.encode(), state))


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
