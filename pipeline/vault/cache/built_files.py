"""What the last build left in the vault: each file with its owner, and of each folder the mark that it had then."""

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


class Owned(NamedTuple):
    """A file in short: what it was made for, and how it was left."""

    path: str
    owner: str
    kind: str
    look: Look


class Files:
    """The tables of the files, in an open catalogue."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    def list_folders(self) -> None:
        """Note the folders of all files; how they looked is not known."""
        paths = (path for (path,) in self._base.execute("SELECT path FROM files"))
        folders = {path.rpartition("/")[0] for path in paths}
        self._base.executemany("INSERT OR IGNORE INTO folders VALUES (?, '')", ((folder,) for folder in folders))

    def folders(self) -> dict[str, str]:
        """Return for each folder that holds a file the mark that it had when all its files were as known; "" for none."""
        return dict(self._base.execute("SELECT path, mark FROM folders ORDER BY path"))

    def put_folder(self, folder: str, mark: str) -> None:
        """Remember the mark of a folder."""
        self._base.execute("INSERT OR REPLACE INTO folders VALUES (?, ?)", (folder, mark))

    def drop_folder(self, folder: str) -> None:
        """Forget a folder."""
        self._base.execute("DELETE FROM folders WHERE path = ?", (folder,))

    def is_empty(self, folder: str) -> bool:
        """Tell whether no file is in a folder."""
        return next(self._within(folder, "1"), None) is None

    def within(self, folder: str) -> Iterator[Owned]:
        """Yield the files that are in a folder, those of the folders in it left out."""
        rows = self._within(folder, "path, owner, kind, size, mtime")
        return (Owned(path, owner, kind, Look(size, mtime)) for path, owner, kind, size, mtime in rows)

    def _within(self, folder: str, columns: str) -> Iterator[Any]:
        start = f"{folder}/" if folder else ""
        span = "path > ? AND path < ?" if folder else "? = ?"
        limits = (start, f"{folder}0" if folder else start)  # 0 is what follows the slash
        select = f"SELECT {columns} FROM files WHERE {span} AND instr(substr(path, ?), '/') = 0"  # noqa: S608 - our own names
        return self._base.execute(select, (*limits, len(start) + 1))

    def number(self) -> int:
        """Count the files."""
        (found,) = self._base.execute("SELECT count(*) FROM files").fetchone()
        return int(found)

    def owners(self) -> Iterator[str]:
        """Yield all that files were made for."""
        return (owner for (owner,) in self._base.execute("SELECT DISTINCT owner FROM files"))

    def of_owner(self, owner: str) -> list[tuple[str, str]]:
        """Return path and kind of the files that were made for an owner."""
        return self._base.execute("SELECT path, kind FROM files WHERE owner = ?", (owner,)).fetchall()

    def made(self, path: str) -> BuiltFile | None:
        """Return what is known of a file."""
        row = self._base.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return None
        _, owner, kind, skeleton, aliases, digest, size, mtime = row
        return BuiltFile(path, owner, kind, skeleton, tuple(json.loads(aliases)), digest, size, mtime)

    def put_made(self, one: BuiltFile) -> None:
        """Remember a file as it now is."""
        row = (one.path, one.owner, one.kind, one.skeleton, json.dumps(one.aliases), one.digest, one.size, one.mtime)
        self._base.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def drop_made(self, path: str) -> None:
        """Forget a file."""
        self._base.execute("DELETE FROM files WHERE path = ?", (path,))
