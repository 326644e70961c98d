"""Reads and writes files below one folder, through open folders and never through a symbolic link.

A vault may be synchronised, shared, or prepared by someone else; a link in it must not lead a write outside. Each path is
walked folder by folder without following links, and files are replaced whole: a reader sees the old one or the new one.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pipeline.system.files import open_folder, read_bytes, write_new
from pipeline.system.folders import Folder, Look, look


class Obstacle(Exception):
    """The path is not a plain file or folder, or may not be read; it is left alone."""


class Tree:
    """The files below ``root`` (which itself may be a link: that is its owner's choice). Folders stay open until ``close``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._open: dict[str, int] = {}

    def close(self) -> None:
        """Let go of all folders."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def is_in_place(self) -> bool:
        """Tell whether the folder that was opened as the root is still at its path; a drive may be gone, or another one there.

        A root that was not there when it was asked for is in place.
        """
        if (known := self._open.get("")) is None:
            return True
        try:
            found = self._root.stat()
        except OSError:
            return False
        return os.path.samestat(os.fstat(known), found)

    def state(self, path: str) -> Look | None:
        """Return how a file looks, None if there is none; what is no plain file looks like none that was ever written.

        Raises:
            Obstacle: one of its folders is a link or a file, or may not be entered.
        """
        try:
            folder, name = self._folder_of(path)
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise Obstacle(f"{path} may not be read") from error
        return Look(found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else Look(-1, 0)

    def look(self, folder: str) -> Folder | None:
        """Return what a folder holds; None if it is not there, may not be read, or is no plain folder."""
        try:
            return look(self._folder(folder, folder, create=False))
        except (Obstacle, OSError):
            return None

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is none.

        Raises:
            Obstacle: a link, a folder, a device, or no permission.
        """
        try:
            folder, name = self._folder_of(path)
            return _bytes_of(folder, name, path)
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise Obstacle(f"{path} may not be read") from error

    def write(self, path: str, data: bytes, *, durable: bool = False) -> Look:
        """Put a file in place whole, making its folders; ``durable``: flushed to the disk before it takes its name.

        Raises:
            Obstacle: one of its folders is a link or a file.
            OSError: the disk refuses; the old file is unchanged.
        """
        folder, name = self._folder_of(path, create=True)
        temporary = f".{name}.tmp"
        try:
            found = write_new(temporary, data, folder=folder, leftover=True, durable=durable)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        if durable:
            os.fsync(folder)
        return Look(found.st_size, found.st_mtime_ns)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that it leaves empty.

        Raises:
            Obstacle: one of its folders is a link or a file.
            OSError: the disk refuses.
        """
        folder, name = self._folder_of(path)
        os.unlink(name, dir_fd=folder)
        for parent in [one.as_posix() for one in PurePosixPath(path).parents][:-1]:
            try:
                (self._root / parent).rmdir()
            except OSError:
                return
            os.close(self._open.pop(parent))

    def _folder_of(self, path: str, *, create: bool = False) -> tuple[int, str]:
        """The open folder of a path, and the file's name in it."""
        parent, _, name = path.rpartition("/")
        if name in {"", ".", ".."}:
            raise Obstacle(f"{path!r} leads elsewhere")
        return self._folder(parent, path, create), name

    def _folder(self, folder: str, path: str, create: bool) -> int:
        if (known := self._open.get(folder)) is not None:
            return known
        if not folder:
            if path.startswith("/"):
                raise Obstacle(f"{path!r} leads elsewhere")
            if create:
                self._root.mkdir(parents=True, exist_ok=True)
            found = open_folder(self._root)
        else:
            parent, _, name = folder.rpartition("/")
            if name in {"", ".", ".."}:
                raise Obstacle(f"{path!r} leads elsewhere")
            found = _opened(self._folder(parent, path, create), name, folder, create)
        self._open[folder] = found
        return found


def _opened(parent: int, name: str, path: str, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    try:
        return open_folder(name, folder=parent, follow=False)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise Obstacle(f"{path} is no plain folder (a file, or a symbolic link)") from error
        raise


def _bytes_of(folder: int, name: str, path: str) -> bytes:
    try:
        return read_bytes(name, folder=folder, follow=False)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EISDIR, errno.EINVAL}:
            raise Obstacle(f"{path} is no plain file (a symbolic link?)") from error
        raise
