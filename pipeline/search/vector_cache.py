"""The cache of vectors: one SQLite file, by model and SHA-256 of the text.

It can be deleted at any time, but the vectors are then asked for again, and a hosted server is paid again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from pipeline.system.files import connect_sqlite

VERSION = 1
_SCHEMA = """
CREATE TABLE spaces (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL);
CREATE TABLE vectors (
    space INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (space, digest)
) WITHOUT ROWID;
"""


class VectorCache:
    """The vectors of one space in the file ``path``, which is created if missing. All methods may raise ``sqlite3.Error``.

    Each call opens the file, so several processes may share it.
    """

    def __init__(self, path: Path, space: str) -> None:
        self._path, self._name = path, space

    def known(self) -> set[bytes]:
        """Return the digests of all texts whose vectors are kept."""
        with _Open(self._path) as db:
            return {row[0] for row in db.execute(f"SELECT digest {_OF_SPACE}", (self._name,))}

    def all(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and vector of each text, in the order of the digests."""
        with _Open(self._path) as db:
            yield from db.execute(f"SELECT digest, vector {_OF_SPACE} ORDER BY digest", (self._name,))

    def get(self, digests: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the vectors of these texts; those that are not kept are left out."""
        found: dict[bytes, bytes] = {}
        with _Open(self._path) as db:
            for digest in digests:
                row = db.execute(f"SELECT vector {_OF_SPACE} AND digest = ?", (self._name, digest)).fetchone()
                if row:
                    found[digest] = row[0]
        return found

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors durably, all of the same length. If those kept before have another length, they are deleted."""
        dimensions = len(next(iter(vectors.values())))
        with _Open(self._path) as db:
            db.execute("BEGIN IMMEDIATE")
            row = db.execute("SELECT id, dimensions FROM spaces WHERE name = ?", (self._name,)).fetchone()
            if row and row[1] != dimensions:
                _delete(db, row[0])
            if not row or row[1] != dimensions:
                db.execute("INSERT INTO spaces (name, dimensions) VALUES (?, ?)", (self._name, dimensions))
            space = db.execute("SELECT id FROM spaces WHERE name = ?", (self._name,)).fetchone()[0]
            rows = [(space, digest, vector) for digest, vector in sorted(vectors.items())]
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            db.execute("COMMIT")

    def clear(self) -> None:
        """Delete all vectors of the space."""
        with _Open(self._path) as db:
            row = db.execute("SELECT id FROM spaces WHERE name = ?", (self._name,)).fetchone()
            if row:
                db.execute("BEGIN IMMEDIATE")
                _delete(db, row[0])
                db.execute("COMMIT")


_OF_SPACE = "FROM vectors WHERE space = (SELECT id FROM spaces WHERE name = ?)"


def _delete(db: sqlite3.Connection, space: int) -> None:
    db.execute("DELETE FROM vectors WHERE space = ?", (space,))
    db.execute("DELETE FROM spaces WHERE id = ?", (space,))


class _Open:
    """An open cache file. A file of another version, or one that is damaged, is replaced by an empty one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = _connected(self._path)
        except sqlite3.DatabaseError as error:
            if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
                raise
            for suffix in ("", "-wal", "-shm"):
                Path(f"{self._path}{suffix}").unlink(missing_ok=True)
            self._db = _connected(self._path)
        return self._db

    def __exit__(self, *_: object) -> None:
        self._db.close()  # what is not committed is rolled back


def _connected(path: Path) -> sqlite3.Connection:
    db = connect_sqlite(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")  # a vector that was paid for must survive a power cut
        if _version(db) != VERSION:
            db.execute("BEGIN IMMEDIATE")
            if _version(db) != VERSION:  # another process may have been faster
                _build(db)
            db.execute("COMMIT")
    except BaseException:
        db.close()
        raise
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _build(db: sqlite3.Connection) -> None:
    for name in ("vectors", "spaces"):
        db.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {VERSION}")
