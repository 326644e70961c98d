"""The catalogue's tables with the stored orders of long tables: the notes that a table shows, in order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable


class Orders:
    """The tables of a catalogue that hold them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def watching(self) -> set[str]:
        """Return the paths of the notes with a table."""
        return {path for (path,) in self._db.execute("SELECT path FROM notes WHERE id IN (SELECT src FROM watched)")}

    def all(self) -> dict[str, tuple[str, str]]:
        """Return the base and the view's name of each table whose order is kept, by its mark."""
        return {mark: (base, name) for mark, base, name in self._db.execute("SELECT mark, base, name FROM tables")}

    def begin(self, path: str, mark: str, base: str, name: str) -> None:
        """Begin to keep the order of a table on a note's page."""
        self._db.execute("INSERT INTO tables VALUES (?, ?, ?, ?)", (mark, path, base, name))

    def drop(self, path: str, kept: Iterable[str] = ()) -> None:
        """Keep no longer the orders of a note's tables, but of those ``kept``."""
        marks = {mark for (mark,) in self._db.execute("SELECT mark FROM tables WHERE path = ?", (path,))}
        for mark in marks.difference(kept):
            self._db.execute("DELETE FROM tables WHERE mark = ?", (mark,))
            self._db.execute("DELETE FROM ranked WHERE mark = ?", (mark,))

    def forget(self) -> None:
        """Keep no order any longer."""
        self._db.execute("DELETE FROM tables")
        self._db.execute("DELETE FROM ranked")

    def rank(self, mark: str, gone: Iterable[str], come: Iterable[tuple[bytes, str]]) -> None:
        """Take notes out of a table's order, and put notes in: place and path of each."""
        self._db.executemany("DELETE FROM ranked WHERE mark = ? AND path = ?", ((mark, path) for path in gone))
        self._db.executemany("INSERT INTO ranked VALUES (?, ?, ?)", ((mark, place, path) for place, path in come))

    def first(self, mark: str, limit: int) -> tuple[list[str], int] | None:
        """Return the first notes of a table whose order is kept, and how many it has in all; None if it is not kept."""
        if not self._db.execute("SELECT 1 FROM tables WHERE mark = ?", (mark,)).fetchone():
            return None
        rows = self._db.execute("SELECT path FROM ranked WHERE mark = ? ORDER BY place, path LIMIT ?", (mark, limit))
        paths = [path for (path,) in rows]
        return paths, self._db.execute("SELECT count(*) FROM ranked WHERE mark = ?", (mark,)).fetchone()[0]
