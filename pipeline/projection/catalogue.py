"""What the vault was made from, and what was made: a small SQLite file beside the log that can be deleted at any time.

Kept are each stream's mark with the card (or the night's batch) that was made from it, the readings of each source, where each
source stands, and of every file of the vault who it belongs to and how it was left. Whatever an earlier program derived is not
believed; only what it knew of the files stays, because by that a person's edits are noticed. A file that cannot be read is a lost
one: then everything is made anew, and notes are recognised by what they say of themselves.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pipeline.errors import ResearchError
from pipeline.projection.cards import Card, Reading
from pipeline.projection.library import Batch, Place

FILE = "projection.sqlite"
_FILES_FORMAT = 1  # of the table `files`, which outlives every other change of the program
_BUSY_S = 60.0
_DERIVED = ("kept", "cards", "batches", "readings", "places")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS cards (session TEXT PRIMARY KEY, mark TEXT NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS batches (batch TEXT PRIMARY KEY, mark TEXT NOT NULL, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS readings"
    " (session TEXT, url TEXT, at TEXT NOT NULL, title TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (session, url))",
    "CREATE INDEX IF NOT EXISTS readings_by_url ON readings (url)",
    "CREATE TABLE IF NOT EXISTS places (url TEXT PRIMARY KEY, path TEXT NOT NULL, title TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, skeleton TEXT NOT NULL,"
    " aliases TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class Made:
    """A file of the vault as the last build left it.

    ``owner`` is what it was made for, ``skeleton`` the digest of the generated part, ``aliases`` those that were generated;
    ``digest`` is that of all its bytes, "" when a person's words are among them; ``mtime`` in nanoseconds.
    """

    path: str
    owner: str
    kind: str
    skeleton: str
    aliases: tuple[str, ...]
    digest: str
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Glance:
    """A reading in short: which session, when, and the title then."""

    session: str
    at: str
    title: str


class Kept(NamedTuple):
    """A reading as it is kept."""

    url: str
    at: str
    title: str
    value: bytes


def kept(readings: Iterable[Reading]) -> tuple[Kept, ...]:
    """Return readings as they are kept."""
    pages = ((reading, reading.page) for reading in readings)
    return tuple(Kept(page.url, page.at, page.title, _readings().dump_json(reading)) for reading, page in pages)


def readings_from(values: Iterable[bytes]) -> tuple[Reading, ...]:
    """Return readings from how they are kept.

    Raises:
        ValidationError: a value is none.
    """
    return tuple(map(_readings().validate_json, values))


@cache
def _cards() -> TypeAdapter[Card]:
    return TypeAdapter(Card)


@cache
def _batches() -> TypeAdapter[Batch]:
    return TypeAdapter(Batch)


@cache
def _readings() -> TypeAdapter[Reading]:
    return TypeAdapter(Reading)


class Catalogue:
    """The open file. One build at a time has it; nothing is stored before ``commit``.

    ``layout`` names what is derived and how: what another name stored is forgotten. ``passing``: nothing is ever stored.

    Raises:
        ResearchError: the file cannot be used, or another build has it.
    """

    def __init__(self, folder: Path, layout: str, *, passing: bool = False) -> None:
        self._layout = layout
        self._base = _copied(folder) if passing else _opened(folder)
        self._begin()

    def _begin(self) -> None:
        self._kept: dict[str, str] = {}
        self._base.execute("BEGIN IMMEDIATE")
        with suppress(sqlite3.OperationalError):  # the first build finds no table
            self._kept = dict(self._base.execute("SELECT name, value FROM kept"))
        if self._kept.get("layout") != self._layout:
            self.forget_derived()

    def forget_derived(self) -> None:
        """Forget all that was derived from the log; what is known of the files stays."""
        (known,) = self._base.execute("PRAGMA user_version").fetchone()
        for table in _DERIVED if known == _FILES_FORMAT else (*_DERIVED, "files"):
            self._base.execute(f"DROP TABLE IF EXISTS {table}")
        self._base.execute(f"PRAGMA user_version = {_FILES_FORMAT}")
        for statement in _TABLES:
            self._base.execute(statement)
        self._kept = {}
        self.keep("layout", self._layout)

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

    def cards(self) -> dict[str, tuple[str, Card | None]]:
        """Return mark and card of each session, by id; the card is None where nothing has begun."""
        rows = self._base.execute("SELECT session, mark, value FROM cards")
        return {name: (mark, _cards().validate_json(value) if value else None) for name, mark, value in rows}

    def put_card(self, session: str, mark: str, card: Card | None) -> None:
        """Remember a session's card."""
        value = _cards().dump_json(card) if card else b""
        self._base.execute("INSERT OR REPLACE INTO cards VALUES (?, ?, ?)", (session, mark, value))

    def batches(self) -> dict[str, tuple[str, Batch | None]]:
        """Return mark and content of each batch, by id; None where nothing has begun."""
        rows = self._base.execute("SELECT batch, mark, value FROM batches")
        return {name: (mark, _batches().validate_json(value) if value else None) for name, mark, value in rows}

    def put_batch(self, batch_id: str, mark: str, batch: Batch | None) -> None:
        """Remember a batch."""
        value = _batches().dump_json(batch) if batch else b""
        self._base.execute("INSERT OR REPLACE INTO batches VALUES (?, ?, ?)", (batch_id, mark, value))

    def drop_streams(self, names: Iterable[str]) -> None:
        """Forget sessions and batches, with their readings."""
        for name in names:
            for table, key in (("cards", "session"), ("batches", "batch"), ("readings", "session")):
                self._base.execute(f"DELETE FROM {table} WHERE {key} = ?", (name,))  # noqa: S608 - no name comes from outside

    def put_readings(self, session: str, readings: Iterable[Kept]) -> None:
        """Remember all that a session learnt from its sources, in place of what was known."""
        self._base.execute("DELETE FROM readings WHERE session = ?", (session,))
        self._base.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?)", ((session, *kept) for kept in readings))

    def readings(self, url: str) -> tuple[bytes, ...]:
        """Return every reading of a source as it is kept, in order of time."""
        rows = self._base.execute("SELECT value FROM readings WHERE url = ? ORDER BY at, session", (url,))
        return tuple(value for (value,) in rows)

    def glances(self, url: str) -> list[Glance]:
        """Return every reading of a source in short, in no order."""
        return [Glance(*row) for row in self._base.execute("SELECT session, at, title FROM readings WHERE url = ?", (url,))]

    def sources_of(self, sessions: Iterable[str]) -> set[str]:
        """Return the addresses that any of the sessions read."""
        found = (self._base.execute("SELECT url FROM readings WHERE session = ?", (session,)) for session in sessions)
        return {url for rows in found for (url,) in rows}

    def readers_of(self, urls: Iterable[str]) -> set[str]:
        """Return the sessions that read any of the sources."""
        return {glance.session for url in urls for glance in self.glances(url)}

    def places(self) -> dict[str, Place]:
        """Return where each source stands, by address."""
        return {url: Place(path, title) for url, path, title in self._base.execute("SELECT url, path, title FROM places")}

    def put_places(self, places: Mapping[str, Place | None]) -> None:
        """Remember where sources stand; None: nobody has read it any more."""
        gone = ((url,) for url, place in places.items() if place is None)
        self._base.executemany("DELETE FROM places WHERE url = ?", gone)
        found = ((url, place.path, place.title) for url, place in places.items() if place)
        self._base.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?)", found)

    def states(self) -> Iterator[tuple[str, str, str, int, int]]:
        """Yield path, owner, kind, size and time of every file that was made, sorted by path."""
        return iter(self._base.execute("SELECT path, owner, kind, size, mtime FROM files ORDER BY path"))

    def made(self, path: str) -> Made | None:
        """Return what is known of a file."""
        row = self._base.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return None
        _, owner, kind, skeleton, aliases, digest, size, mtime = row
        return Made(path, owner, kind, skeleton, tuple(json.loads(aliases)), digest, size, mtime)

    def put_made(self, one: Made) -> None:
        """Remember a file as it now is."""
        row = (one.path, one.owner, one.kind, one.skeleton, json.dumps(one.aliases), one.digest, one.size, one.mtime)
        self._base.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def drop_made(self, path: str) -> None:
        """Forget a file."""
        self._base.execute("DELETE FROM files WHERE path = ?", (path,))


def _opened(folder: Path) -> sqlite3.Connection:
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


def _copied(folder: Path) -> sqlite3.Connection:
    """What is stored, in memory; nothing, if that is damaged."""
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


def lost(folder: Path) -> None:
    """Throw away a file that turned out to be damaged.

    Raises:
        ResearchError: it cannot be removed.
    """
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise ResearchError(f"{folder / FILE} is damaged and cannot be removed: {error.strerror}", hint="remove it") from error
