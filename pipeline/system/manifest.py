"""Which files a build left in a folder tree, and which of them differ now: ``Manifest`` and ``Drift``.

A folder's mark is a fingerprint of the names, sizes and times of its files. It is stored only if all known files of the folder
were as the build wants them. It is computed from the folder before the build plus the files that the build wrote, so a change
that somebody else makes during the build shows as a different mark at the next one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, cached_property

from pipeline.system.folder_fingerprint import EMPTY, NO_FOLDER, Folder, Look, folder_of

_LAST = "\U0010ffff"


class Manifest:
    """Two tables of an open SQLite file.

    ``files`` has ``path``, ``size`` and ``mtime`` (NULL: not known) of each file, ``folders`` has ``path`` and ``mark``.
    """

    def __init__(self, base: sqlite3.Connection, files: str = "files", folders: str = "folders") -> None:
        self._base, self._files, self._folders = base, files, folders

    def marks(self) -> dict[str, str]:
        """Return the mark of each folder by path; "" where its files must be compared."""
        return dict(self._base.execute(f"SELECT path, mark FROM {self._folders} ORDER BY path"))  # noqa: S608 - our own names

    def put_marks(self, marks: Mapping[str, str]) -> None:
        """Store the marks of folders."""
        gone = ((folder,) for folder, mark in marks.items() if mark == EMPTY)
        self._base.executemany(f"DELETE FROM {self._folders} WHERE path = ?", gone)  # noqa: S608 - our own names
        left = ((folder, mark) for folder, mark in marks.items() if mark != EMPTY)
        self._base.executemany(f"INSERT OR REPLACE INTO {self._folders} VALUES (?, ?)", left)  # noqa: S608 - our own names

    def looks_in(self, folder: str) -> dict[str, Look]:
        """Return size and time of the known files directly in a folder, by path."""
        start, end = (f"{folder}/", f"{folder}0") if folder else ("", _LAST)  # 0 is what follows the slash
        select = (
            f"SELECT path, size, mtime FROM {self._files} WHERE path > ? AND path < ? AND size IS NOT NULL"  # noqa: S608 - our own names
            " AND instr(substr(path, ?), '/') = 0"
        )
        return {path: Look(size, mtime) for path, size, mtime in self._base.execute(select, (start, end, len(start) + 1))}

    def drop(self, paths: Iterable[str]) -> None:
        """Delete the rows of files."""
        self._base.executemany(f"DELETE FROM {self._files} WHERE path = ?", ((path,) for path in paths))  # noqa: S608 - our own names


class Drift:
    """The folders of a tree, ``found`` before anything is written, compared with a manifest.

    ``folders`` are those of them that differ from what the last build left.
    """

    def __init__(self, manifest: Manifest, found: Mapping[str, Folder]) -> None:
        self._manifest, self.found = manifest, found
        self._marks = manifest.marks()
        folders = {folder: found.get(folder, NO_FOLDER) for folder in sorted(self._marks.keys() | found.keys())}
        self.folders = {path: now for path, now in folders.items() if now.mark != self._marks.get(path, EMPTY)}

    @cached_property
    def files(self) -> dict[str, Look | None]:
        """The known files that differ from what the last build left, by path: how they are now, None if they are missing."""
        return {
            path: look
            for folder, found in self.folders.items()
            for path, look in _compared(self._manifest.looks_in(folder), found.files).items()
        }

    def look(self, path: str) -> Look | None:
        """Return how a file was before the build, None if there was none."""
        return self._files_in(folder_of(path)).get(_name(path))

    @cached_property
    def _files_in(self) -> Callable[[str], dict[str, Look]]:
        return cache(lambda folder: self.found.get(folder, NO_FOLDER).files)

    def record(self, touched: Mapping[str, Look | None], settled: Collection[str] = ()) -> None:
        """Store the marks of all folders after the build.

        ``touched`` has size and time of each file that the build wrote or checked, None for each that it removed. The files
        ``settled`` are as they should be, too.
        """
        by_folder: dict[str, dict[str, Look | None]] = {folder: {} for folder in self.found}
        for path, look in touched.items():
            by_folder.setdefault(folder_of(path), {})[_name(path)] = look
        marks = dict.fromkeys(self._marks, EMPTY)
        for folder, changed in by_folder.items():
            found = self.found.get(folder, NO_FOLDER)
            marks[folder] = found.with_files(changed).mark if changed else found.mark
        marks |= {folder_of(path): "" for path in self.files.keys() - touched.keys() - set(settled)}
        self._manifest.put_marks({folder: mark for folder, mark in marks.items() if mark != self._marks.get(folder, EMPTY)})


def _compared(known: Mapping[str, Look], found: Mapping[str, Look]) -> dict[str, Look | None]:
    now = {path: found.get(_name(path)) for path in known}
    return {path: look for path, look in now.items() if look != known[path]}


def _name(path: str) -> str:
    return path.rpartition("/")[2]
