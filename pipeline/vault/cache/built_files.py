"""The catalogue's tables of files and folders: each file of the vault with its owner, each folder with its mark."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipeline.system.folder_fingerprint import Look


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file of the vault as the last build left it.

    ``owner`` is what it was made for (see ``generate``), ``skeleton`` the digest of the generated part, ``aliases`` the generated
    aliases; ``digest`` is the digest of all its bytes, "" if a person's text is among them; ``mtime`` is in nanoseconds.
    """

    path: str
    owner: str
    kind: str
    skeleton: str
    aliases: tuple[str, ...]
    digest: str
    size: int
    mtime: int


class Owned(NamedTuple):
    """A file in short: its owner, and its size and time after the last build."""

    path: str
    owner: str
    kind: str
    look: Look


class Files:
    """The tables ``files`` and ``folders`` of an open catalogue."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def list_folders(self) -> None:
        """Add the folders of all files, with unknown marks."""
        paths = (path for (path,) in self._base.execute("SELECT path FROM files"))
        folders = {path.rpartition("/")[0] for path in paths}
        self._base.executemany("INSERT OR IGNORE INTO folders VALUES (?, '')", ((folder,) for folder in folders))

    def folders(self) -> dict[str, str]:
        """Return the stored mark of each folder that contains a file; "" if it has none."""
        return dict(self._base.execute("SELECT path, mark FROM folders ORDER BY path"))

    def put_folder(self, folder: str, mark: str) -> None:
        """Store the mark of a folder."""
        self._base.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, mark))

    def drop_folder(self, folder: str) -> None:
        """Delete a folder's row."""
        self._base.execute("DELETE FROM folders WHERE path = ?", (folder,))

    def is_empty(self, folder: str) -> bool:
        """Tell whether a folder contains no known file."""
        return next(self._within(folder, "1"), None) is None

    def within(self, folder: str) -> Iterator[Owned]:
        """Yield the files directly in a folder."""
        rows = self._within(folder, "path, owner, kind, size, mtime")
        return (Owned(path, owner, kind, Look(size, mtime)) for path, owner, kind, size, mtime in rows)

    def _within(self, folder: str, columns: str) -> Iterator[Any]:
        start = f"{folder}/" if folder else ""
        span = "path > ? AND path < ?" if folder else "? = ?"
        limits = (start, f"{folder}0" if folder else start)  # 0 is what follows the slash
        select = f"SELECT {columns} FROM files WHERE {span} AND instr(substr(path, ?), '/') = 0"  # noqa: S608 - our own names
        return self._base.execute(select, (*limits, len(start) + 1))

    def count(self) -> int:
        """Count the files."""
        (found,) = self._base.execute("SELECT count(*) FROM files").fetchone()
        return int(found)

    def owners(self) -> Iterator[str]:
        """Yield the owners of all files."""
        return (owner for (owner,) in self._base.execute("SELECT DISTINCT owner FROM files"))

    def of_owner(self, owner: str) -> list[tuple[str, str]]:
        """Return path and kind of an owner's files."""
        return self._base.execute("SELECT path, kind FROM files WHERE owner = ?", (owner,)).fetchall()

    def find(self, path: str) -> BuiltFile | None:
        """Return what is stored about a file."""
        row = self._base.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return None
        _, owner, kind, skeleton, aliases, digest, size, mtime = row
        return BuiltFile(path, owner, kind, skeleton, tuple(json.loads(aliases)), digest, size, mtime)

    def put(self, one: BuiltFile) -> None:
        """Store a file as the build left it."""
        row = (one.path, one.owner, one.kind, one.skeleton, json.dumps(one.aliases), one.digest, one.size, one.mtime)
        self._base.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def drop(self, path: str) -> None:
        """Delete a file's row."""
        self._base.execute("DELETE FROM files WHERE path = ?", (path,))
