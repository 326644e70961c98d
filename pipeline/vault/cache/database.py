"""The SQLite file that the catalogue is kept in: its tables, and how it is opened, copied and thrown away."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from pipeline.errors import ResearchError
from pipeline.vault.cache.built_files import Files

FILE = "projection.sqlite"
FILES_FORMAT = 1  # of the table `files`, which outlives every other change of the program
_BUSY_S = 60.0
DERIVED = ("kept", "cards", "wholes", "stems", "batches", "readings", "places", "folders")
# What is asked of all sessions at once stands in `cards`, in few bytes; all that is known of each in `wholes`.
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
    "CREATE TABLE IF NOT EXISTS places (url TEXT PRIMARY KEY, path TEXT NOT NULL, title TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, skeleton TEXT NOT NULL,"
    " aliases TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS files_by_owner ON files (owner)",
    "CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID",
)


def opened(folder: Path) -> sqlite3.Connection:
    """Return the file in a folder, which is made if it is not there, open for one build.

    Raises:
        ResearchError: the file cannot be used.
    """
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        base = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        base.execute("PRAGMA cache_size = -20000")
        base.execute("PRAGMA synchronous = NORMAL")  # whole after a power cut, if not always the latest
        base.execute("PRAGMA schema_version").fetchone()
    except (sqlite3.OperationalError, OSError) as error:
        raise ResearchError(f"{path} cannot be used: {error}", hint="check the folder's permissions and space") from error
    return base


def copied(folder: Path) -> sqlite3.Connection:
    """Return what is stored, in memory; nothing, if that is damaged."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    if not (folder / FILE).is_file():
        return base
    try:
        with closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as stored:
            stored.backup(base)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return sqlite3.connect(":memory:", isolation_level=None)
    return base


def report_paths(folder: Path) -> dict[str, str]:
    """Return where the vault's reports are, by session; empty when no vault was built or that is not known."""
    select = "SELECT substr(owner, 9), path FROM files WHERE path > 'reports/' AND path < 'reports0' AND owner LIKE 'session:%'"
    try:
        with closing(sqlite3.connect(f"{(folder / FILE).absolute().as_uri()}?mode=ro", uri=True)) as stored:
            return dict(stored.execute(select))
    except sqlite3.Error:
        return {}


def lost(folder: Path) -> None:
    """Throw away a file that turned out to be damaged.

    Raises:
        ResearchError: it cannot be removed.
    """
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise ResearchError(f"{folder / FILE} is damaged and cannot be removed: {error.strerror}", hint="remove it") from error


class CatalogueFile:
    """The open file, as far as it tells whether anything is to be made. ``passing``: nothing is ever stored.

    With ``begun``, which has the file open, its build goes on. ``layout`` names what is derived and how.

    Raises:
        ResearchError: the file cannot be used, or another build has it.
    """

    def __init__(self, folder: Path, layout: str, *, passing: bool = False, begun: CatalogueFile | None = None) -> None:
        self._layout = layout
        self._base: sqlite3.Connection = begun._base if begun else copied(folder) if passing else opened(folder)
        self.files = Files(self._base)
        self._begin()

    def _begin(self) -> None:
        self._kept: dict[str, str] = {}
        if not self._base.in_transaction:
            self._base.execute("BEGIN IMMEDIATE")
        with suppress(sqlite3.OperationalError):  # the first build finds no table
            self._kept = dict(self._base.execute("SELECT name, value FROM kept"))

    @property
    def is_current(self) -> bool:
        """Tell whether what is derived was derived under this layout."""
        return self._kept.get("layout") == self._layout

    def undo(self) -> None:
        """Take back all that was not committed."""
        self._base.rollback()
        self._begin()

    def close(self) -> None:
        """Let go of the file; what was not committed is forgotten."""
        self._base.rollback()
        self._base.close()

    def commit(self) -> None:
        """Store what was changed."""
        if self._base.in_transaction:
            self._base.commit()

    def recall(self, name: str) -> str:
        """Return what is kept under a name, or ""."""
        return self._kept.get(name, "")

    def keep(self, name: str, value: str) -> None:
        """Keep a short text under a name."""
        if self._kept.get(name) != value:
            self._kept[name] = value
            self._base.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, value))

    def session_marks(self) -> dict[str, str]:
        """Return the mark of each session, by id, also of those that have not begun."""
        return dict(self._base.execute("SELECT session, mark FROM cards"))

    def batch_marks(self) -> dict[str, str]:
        """Return the mark of each batch, by id."""
        return dict(self._base.execute("SELECT batch, mark FROM batches"))
