"""Fingerprints of folders, from the sizes and times of their files, to find changed files without reading them.

A folder with an unchanged fingerprint has no changed file, so that only the files of changed folders are compared one by one.
"""

from __future__ import annotations

import errno
import hashlib
import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pipeline.system.files import read_bytes


class Look(NamedTuple):
    """What shows, without reading it, whether a file was written since: its bytes, and its time in nanoseconds."""

    size: int
    mtime: int


@dataclass(frozen=True)
class Folder:
    """The plain files of one folder, and the names of the folders in it; no links, devices and the like."""

    _lines: Sequence[str] = ()  # sorted: of most folders only the mark is asked for, and a file may be one of very many
    folders: tuple[str, ...] = ()

    @cached_property
    def mark(self) -> str:
        """The digest of the files' names and looks: another one as soon as a file came, went, or was written."""
        return hashlib.blake2b("\n".join(self._lines).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

    @property
    def files(self) -> dict[str, Look]:
        """How each file looks, by its name."""
        parts = (line.split("\0") for line in self._lines)
        return {name: Look(int(size), int(mtime)) for name, size, mtime in parts}

    def with_files(self, changed: Mapping[str, Look | None]) -> Folder:
        """Return the folder with the sizes and times of these files; None: without the file."""
        lines = list(self._lines)
        for name, found in changed.items():
            start = f"{name}\0"
            place = bisect_left(lines, start)
            exists = place < len(lines) and lines[place].startswith(start)
            lines[place : place + exists] = [f"{start}{found.size}\0{found.mtime}"] if found else []
        return Folder(lines, self.folders)


NO_FOLDER = Folder()
TOO_DEEP = Folder()  # told apart by identity: its path, or that of a file in it, is longer than the system takes
EMPTY = NO_FOLDER.mark  # of a folder without files


def folder_of(path: str) -> str:
    """Return the path of a file's folder, "" for the root of its tree."""
    return path.rpartition("/")[0]


def look(folder: int | str) -> Folder:
    """Return what a folder holds, given its path or an open descriptor of it.

    Raises:
        OSError: there is none, or it may not be read.
    """
    lines: list[str] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # it went just now
                    continue
                lines.append(f"{entry.name}\0{found.st_size}\0{found.st_mtime_ns}")
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    return Folder(sorted(lines), tuple(sorted(folders)))


def names_of_folders(folder: str) -> tuple[str, ...]:
    """Return the names of the folders in a folder, in a sixth of the time that ``look`` takes.

    Raises:
        OSError: there is none, or it may not be read.
    """
    with os.scandir(folder) as entries:
        return tuple(sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))


def all_folders(root: Path, passed: Collection[str] = (), *, aside: Collection[str] = ()) -> Iterator[tuple[str, Folder | None]]:
    """Yield path and content of each folder of a tree, without the content (None) of those that are ``passed``.

    Hidden folders, links, names that are not valid UTF-8, and the top folders named in ``aside`` are skipped. For a folder that
    may not be read the content is ``NO_FOLDER``, for one with too long a path ``TOO_DEEP``.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        place = f"{root}/{path}" if path else str(root)
        try:
            found = None if path in passed else look(place)
            names = found.folders if found else names_of_folders(place)
        except PermissionError:
            yield path, NO_FOLDER
            continue
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            yield path, TOO_DEEP
            continue
        yield path, found
        waiting += [f"{path}/{name}" if path else name for name in names if is_seen(name) and (path or name not in aside)]


def is_seen(name: str) -> bool:
    """Tell whether a file or folder of this name is used: it is not hidden, and valid UTF-8."""
    if name.startswith("."):
        return False
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def digest_below(folder: Path, pattern: str = "*") -> str:
    """Return a name for the names and bytes of the files below a folder; another one whenever any of them is changed.

    Raises:
        OSError: a file cannot be read, or a link leads to a folder, which is not read.
    """
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob(pattern)):
        if path.is_file():
            data = read_bytes(path)
            found.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode("utf-8", "surrogateescape") + data)
        elif path.is_symlink():
            raise NotADirectoryError(20, "is a link to a folder, or to nothing", str(path))
    return found.hexdigest()
