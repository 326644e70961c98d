"""What a folder holds, at a glance: how each of its files looks, and one mark for all of them. Leaf module.

That a file was changed is told from its size and time, without reading it. Where a folder's mark is what it was, every file in it
is as it was, so that of a great many files only those of a few folders need to be compared one by one.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
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

    files: dict[str, Look]
    folders: tuple[str, ...]

    @cached_property
    def mark(self) -> str:
        """The digest of the files' names and looks: another one as soon as a file came, went, or was written."""
        lines = sorted([f"{name}\0{look.size}\0{look.mtime}" for name, look in self.files.items()])
        return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def look(folder: int | str) -> Folder:
    """Return what a folder holds, given its path or an open descriptor of it.

    Raises:
        OSError: there is none, or it may not be read.
    """
    files: dict[str, Look] = {}
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):  # it went just now
                    found = entry.stat(follow_symlinks=False)
                    files[entry.name] = Look(found.st_size, found.st_mtime_ns)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    return Folder(files, tuple(sorted(folders)))


def names_of_folders(folder: str) -> tuple[str, ...]:
    """Return the names of the folders in a folder, in a sixth of the time that a look takes.

    Raises:
        OSError: there is none, or it may not be read.
    """
    with os.scandir(folder) as entries:
        return tuple(sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False)))
