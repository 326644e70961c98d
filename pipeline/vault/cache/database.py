"""The catalogue's SQLite file: its tables, and functions that open, copy and remove it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from pipeline.errors import SystemRefused
from pipeline.ports import EventStore
from pipeline.system.files import connect_sqlite
from pipeline.system.folder_fingerprint import digest_below
from pipeline.text.normalise import digest_of
from pipeline.vault.cache.built_files import Files
from pipeline.vault.cache.known_notes import TABLE as NOTES
from pipeline.vault.cache.known_notes import KnownNotes
from pipeline.vault.cache.stream_mark import stream_mark

FILE = "projection.sqlite"
FILES_FORMAT = 1  # of the table `files`, which survives all other changes of the program
# The catalogue's entry for the fingerprint of the templates with which the last build finished everything; "" if work was left.
SETTLED = "settled"
PRUNED = "pruned pages"  # and for the pages that were pruned by then
# The catalogue's entry for the marks of the streams of decisions about notes.
DECISIONS = "decisions"
DERIVED = ("kept", "cards", "wholes", "stems", "batches", "readings", "places")
# `cards` has a small row for queries over all sessions; `wholes` has everything about each.
TABLES = (
    "CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS cards (session TEXT PRIMARY KEY, mark TEXT NOT NULL, begun INTEGER NOT NULL,"
    " started_at TEXT, previous TEXT, query_id TEXT, tags_json TEXT, reported INTEGER, status TEXT, reported_at TEXT,"
    " facts INTEGER, seconds REAL, usd REAL, tokens INTEGER) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS cards_by_query ON cards (query_id)",
    "CREATE INDEX IF NOT EXISTS cards_by_previous ON cards (previous) WHERE previous != ''",
    "CREATE TABLE IF NOT EXISTS wholes (session TEXT PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS stems (stem TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS batches (batch TEXT PRIMARY KEY, mark TEXT NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS readings"
    " (session TEXT, url TEXT, at TEXT NOT NULL, title TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (session, url))",
    "CREATE INDEX IF NOT EXISTS readings_by_url ON readings (url)",
    "CREATE TABLE IF NOT EXISTS places"
    " (url TEXT PRIMARY KEY, path TEXT NOT NULL, title TEXT NOT NULL, whereabouts TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS places_by_title ON places (title)",
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, skeleton TEXT NOT NULL,"
    " aliases TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS files_by_owner ON files (owner)",
    "CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID",
    NOTES,
)


def open_catalogue(folder: Path) -> sqlite3.Connection:
    """Open the file in ``folder`` for one build; create it if it does not exist.

    Raises:
        SystemRefused: the file cannot be used.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        base = connect_sqlite(path)
        base.execute("PRAGMA cache_size = -20000")
        base.execute("PRAGMA schema_version").fetchone()
    except (sqlite3.OperationalError, OSError) as error:
        raise SystemRefused(f"{path} cannot be used: {error}", hint="check the folder's permissions and space") from error
    return base


def copy_in_memory(folder: Path) -> sqlite3.Connection:
    """Return a copy of the file in memory; an empty database if there is none or it is damaged."""
    base = connect_sqlite(None)
    if not (folder / FILE).is_file():
        return base
    try:
        with closing(connect_sqlite(folder / FILE, "ro")) as stored:
            stored.backup(base)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return connect_sqlite(None)
    return base


def report_paths(folder: Path) -> dict[str, str]:
    """Return the paths of the vault's reports by session id; empty if no vault was built or the file cannot be read."""
    select = "SELECT substr(owner, 9), path FROM files WHERE kind = 'report' AND owner LIKE 'session:%'"
    try:
        with closing(connect_sqlite(folder / FILE, "ro")) as stored:
            return dict(stored.execute(select))
    except sqlite3.Error:
        return {}


def source_paths(folder: Path, urls: Iterable[str]) -> dict[str, str]:
    """Return the paths of the notes of these sources, by address; empty if no vault was built or the file cannot be read."""
    try:
        with closing(connect_sqlite(folder / FILE, "ro")) as stored:
            rows = (stored.execute("SELECT url, path FROM places WHERE url = ?", (url,)).fetchone() for url in urls)
            return {row[0]: row[1] for row in rows if row}
    except sqlite3.Error:
        return {}


def source_readings(folder: Path, session: str = "") -> list[tuple[str, bytes]]:
    """Return address and value of every reading of the sources that a session read (of all sources without one), oldest first.

    They are sorted by address, then time. Empty if no vault was built or the file cannot be read.
    """
    which = "WHERE url IN (SELECT url FROM readings WHERE session = ?)" if session else ""
    select = f"SELECT url, value FROM readings {which} ORDER BY url, at, session"  # noqa: S608 - both parts are ours
    try:
        with closing(connect_sqlite(folder / FILE, "ro")) as stored:
            return stored.execute(select, (session,) if session else ()).fetchall()
    except sqlite3.Error:
        return []


def remove_damaged(folder: Path) -> None:
    """Remove a damaged file.

    Raises:
        SystemRefused: it cannot be removed.
    """
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise SystemRefused(f"{folder / FILE} is damaged and cannot be removed: {error.strerror}", hint="remove it") from error


def pruned_pages(store: EventStore) -> str:
    """Return a digest of which pages were pruned: notes on sources show and compare what is still stored.

    It changes once more when an interrupted prune is finished, because only then the texts are gone.
    """
    pages = sorted(digest for digest, stone in store.tombstones().objects.items() if stone.kind != "exchanges")
    return digest_of(f"{''.join(pages)} {stream_mark(store, 'prune')}".encode())[:16] if pages else ""


def templates_fingerprint(folder: Path) -> str:
    """Return a digest of all files in the templates' folder; "" if they cannot be read."""
    try:
        return digest_below(folder)
    except OSError:
        return ""


class CatalogueFile:
    """The open file with what decides whether a build has anything to do. ``in_memory``: no change is ever stored.

    ``shared`` has the file open already: its connection is used. ``layout`` identifies the program that derived the tables.

    Raises:
        SystemRefused: the file cannot be used, or another build has it.
    """

    def __init__(self, folder: Path, layout: str, *, in_memory: bool = False, shared: CatalogueFile | None = None) -> None:
        self._layout = layout
        self._base: sqlite3.Connection = (
            shared._base if shared else copy_in_memory(folder) if in_memory else open_catalogue(folder)
        )
        self.files = Files(self._base)
        self.notes = KnownNotes(self._base)
        self._begin()

    def _begin(self) -> None:
        self._kept: dict[str, str] = {}
        if not self._base.in_transaction:
            self._base.execute("BEGIN IMMEDIATE")
        with suppress(sqlite3.OperationalError):  # before the first build there is no table
            self._kept = dict(self._base.execute("SELECT name, value FROM kept"))

    @property
    def is_current(self) -> bool:
        """Tell whether the derived tables were written under this layout."""
        return self._kept.get("layout") == self._layout

    def undo(self) -> None:
        """Take back all changes that were not committed."""
        self._base.rollback()
        self._begin()

    def close(self) -> None:
        """Close the file; changes that were not committed are lost."""
        self._base.rollback()
        self._base.close()

    def commit(self) -> None:
        """Store the changes."""
        if self._base.in_transaction:
            self._base.commit()

    def recall(self, name: str) -> str:
        """Return the text kept under a name, or ""."""
        return self._kept.get(name, "")

    def keep(self, name: str, value: str) -> None:
        """Keep a short text under a name."""
        if self._kept.get(name) != value:
            self._kept[name] = value
            self._base.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def session_marks(self) -> dict[str, str]:
        """Return the mark of each session by id, including those that have not started."""
        return dict(self._base.execute("SELECT session, mark FROM cards"))

    def batch_marks(self) -> dict[str, str]:
        """Return the mark of each batch by id."""
        return dict(self._base.execute("SELECT batch, mark FROM batches"))
