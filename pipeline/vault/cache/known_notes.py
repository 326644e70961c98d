"""The catalogue's table of notes: each note with its id, the path that the log gives it, and the path where it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline.system.files import connect_sqlite

TABLE = (
    "CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, canonical TEXT NOT NULL, path TEXT NOT NULL, owner TEXT NOT NULL,"
    " kind TEXT NOT NULL) WITHOUT ROWID"
)


class KnownNote(NamedTuple):
    """A note as the last build left it: its id, the path that the log gives it, the path where it is ("" if it is hidden)."""

    id: str
    canonical: str
    path: str
    owner: str
    kind: str


class KnownNotes:
    """The table ``notes`` of an open catalogue. It survives all changes of the program, as only it shows that a note is gone."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def all(self) -> dict[str, KnownNote]:
        """Return all notes by id."""
        rows = self._base.execute("SELECT * FROM notes ORDER BY id")
        return {note.id: note for note in map(partial(tuple.__new__, KnownNote), rows)}  # half the time of `_make`

    def put(self, notes: Iterable[KnownNote]) -> None:
        """Store notes as a build left them."""
        self._base.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?, ?)", notes)

    def drop(self, ids: Iterable[str]) -> None:
        """Delete notes that are no longer generated."""
        self._base.executemany("DELETE FROM notes WHERE id = ?", ((name,) for name in ids))


def notes_in(file: Path) -> list[KnownNote]:
    """Return the notes in a catalogue's file, sorted by id; empty if no vault was built or the file cannot be read."""
    try:
        with closing(connect_sqlite(file, "ro")) as stored:
            return [KnownNote._make(row) for row in stored.execute("SELECT * FROM notes ORDER BY id")]
    except sqlite3.Error:
        return []
