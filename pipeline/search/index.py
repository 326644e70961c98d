"""The index of a folder's passages: one SQLite file with FTS5, rebuildable at any time.

A passage's number derives from its document's address, so the order of equally good hits does not depend on the order in
which documents were indexed. Numbers out of order make FTS5 write its pages early: batches are sorted before they go in.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.search.passages import Passage, Place
from pipeline.search.terms import prepared

VERSION = "2"  # of the tables and of everything that turns a file into passages: a new one rebuilds the cache
_ORDINAL_BITS = 20
_BUSY_S = 60.0

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (
    url TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, digest TEXT NOT NULL, reason TEXT NOT NULL,
    title TEXT NOT NULL, published TEXT NOT NULL
);
CREATE INDEX files_digest ON files (digest);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL, places TEXT NOT NULL, snippet TEXT NOT NULL
);
CREATE INDEX passages_url ON passages (url);
CREATE VIRTUAL TABLE words USING fts5 (
    title, headings, body, tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(4.0, 2.0, 1.0)');
"""


class IndexedFile(NamedTuple):
    """What is known of a file: ``reason`` says why it is not searched, or is "". ``digest`` is "" when it was not read."""

    url: str
    size: int
    changed: int
    digest: str
    reason: str = ""
    title: str = ""
    published: str = ""
    passages: Sequence[Passage] = ()


class Match(NamedTuple):
    """A passage that matches; ``places`` as in ``Passage``; ``strength`` is BM25, higher is better."""

    url: str
    title: str
    published: str
    places: tuple[Place, ...]
    snippet: str
    strength: float


class Index:
    """One open cache file. Not thread-safe: its owner holds a lock. All methods raise ``sqlite3.Error``."""

    def __init__(self, cache: Path, source: str) -> None:
        """Open ``cache``; what was built from another ``source``, or by another version, is thrown away."""
        self._db = sqlite3.connect(cache, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(f"{VERSION} {source}")
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, identity: str) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        if self._identity() != identity:
            self._db.execute("BEGIN IMMEDIATE")
            if self._identity() != identity:  # another process may have been faster
                self._build(identity)
            self._db.execute("COMMIT")

    def _build(self, identity: str) -> None:
        for name in ("words", "passages", "files", "meta"):
            self._db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        self._db.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))

    def _identity(self) -> str:
        known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        row = self._db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone() if known else None
        return str(row[0]) if row else ""

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def files(self) -> dict[str, IndexedFile]:
        """Return all files by address, without their passages."""
        rows = self._db.execute("SELECT url, size, changed, digest, reason, title, published FROM files")
        return {row[0]: IndexedFile(*row) for row in rows}

    def count(self) -> int:
        """Return how many passages there are."""
        return int(self._db.execute("SELECT count(*) FROM passages").fetchone()[0])

    def touch(self, files: Sequence[IndexedFile]) -> None:
        """Note new sizes and times of files whose content is the same."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("UPDATE files SET size = ?, changed = ? WHERE url = ?", [(f.size, f.changed, f.url) for f in files])
        self._db.execute("COMMIT")

    def replace(self, files: Sequence[IndexedFile], gone: Sequence[str] = ()) -> None:
        """Put ``files`` with their passages in place of what was there, and take out the addresses ``gone``; all or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._forget([*(file.url for file in files), *gone])
            self._insert(files)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _forget(self, urls: Sequence[str]) -> None:
        keys = [(url,) for url in urls]
        self._db.executemany("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE url = ?)", keys)
        self._db.executemany("DELETE FROM passages WHERE url = ?", keys)
        self._db.executemany("DELETE FROM files WHERE url = ?", keys)

    def _insert(self, files: Sequence[IndexedFile]) -> None:
        self._db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", [file[:7] for file in files])
        rows = sorted(((number, file, passage) for file in files for number, passage in _numbered(file)), key=lambda row: row[0])
        self._db.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?)",
            [(number, file.url, json.dumps(passage.places), passage.snippet) for number, file, passage in rows],
        )
        self._db.executemany(
            "INSERT INTO words (rowid, title, headings, body) VALUES (?, ?, ?, ?)",
            ((n, prepared(f.title), prepared(passage.headings), prepared(passage.body)) for n, f, passage in rows),
        )

    def settle(self) -> None:
        """Merge what many batches have left; worth it after much has changed."""
        self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def matches(self, expression: str) -> Iterator[Match]:
        """Yield the passages that match, best first. Of files with the same bytes only the first by address is searched."""
        ranked = self._db.execute("SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank, rowid", (expression,))
        for number, rank in ranked:
            row = self._db.execute(
                "SELECT p.url, f.title, f.published, p.places, p.snippet FROM passages p JOIN files f USING (url) "
                "WHERE p.id = ? AND p.url = (SELECT min(url) FROM files WHERE digest = f.digest AND reason = '')",
                (number,),
            ).fetchone()
            if row:
                url, title, published, places, snippet = row
                yield Match(url, title, published, tuple(Place(*place) for place in json.loads(places)), snippet, -rank)


def _numbered(file: IndexedFile) -> Iterator[tuple[int, Passage]]:
    start = int.from_bytes(hashlib.sha256(file.url.encode()).digest()[:5], "big") << _ORDINAL_BITS
    return enumerate(file.passages, start)
