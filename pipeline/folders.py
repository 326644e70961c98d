"""What a folder holds, at a glance: how each of its files looks, and one mark for all of them. Leaf module.

That a file was changed is told from its size and time, without reading it. Where a folder's mark is what it was, every file in it
is as it was, so that of a great many files only those of a few folders need to be compared one by one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Look(NamedTuple):
    """What shows, without reading it, whether a file was written since: its bytes, and its time in nanoseconds."""

    size: int
    mtime: int


@dataclass(frozen=True)
class Folder:
    """The plain files of one folder by their names, and the names of the folders in it; no links, devices and the like."""

    _lines: bytes  # in place of the files: of most folders only the mark is asked for, and there may be very many
    folders: tuple[str, ...] = ()

    @cached_property
    def mark(self) -> str:
        """The digest of the files' names and looks: another one as soon as a file came, went, or was written."""
        return hashlib.blake2b(self._lines, digest_size=16).hexdigest()

    @property
    def files(self) -> dict[str, Look]:
        """How each file looks, by its name."""
        parts = self._lines.decode("utf-8", "surrogateescape").split("\0")
        files, name = {}, parts[0]
        for size, rest in zip(parts[1::2], parts[2::2], strict=True):
            mtime, _, following = rest.partition("\n")  # a name may hold such a sign, a number does not
            files[name] = Look(int(size), int(mtime))
            name = following
        return files


def holding(files: Mapping[str, Look]) -> Folder:
    """Return a folder that holds files which look so, and no folders."""
    return _folder([f"{name}\0{size}\0{mtime}" for name, (size, mtime) in files.items()], [])


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
    return _folder(lines, folders)


def _folder(lines: list[str], folders: list[str]) -> Folder:
    return Folder("\n".join(sorted(lines)).encode("utf-8", "surrogateescape"), tuple(sorted(folders)))
