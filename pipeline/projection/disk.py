"""Files below one folder, reached by open folders and never through a symbolic link.

A vault may be synchronised, shared, or prepared by someone else; a link in it must not lead a write outside. Each path is
walked folder by folder without following links, and files are replaced whole: a reader sees the old one or the new one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for a writer.
_OLD_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Obstacle(Exception):
    """What stands at a path is no plain file or folder, or may not be read; it is left alone."""


class Tree:
    """The files below ``root`` (which itself may be a link: that is its owner's choice)."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is none.

        Raises:
            Obstacle: a link, a folder, a device, or no permission.
        """
        try:
            with self._folder_of(path, create=False) as (folder, name):
                return _bytes_of(folder, name, path)
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise Obstacle(f"{path} may not be read") from error

    def write(self, path: str, data: bytes, *, durable: bool = False) -> None:
        """Put a file in place whole, making its folders; ``durable``: flushed to the disk before it takes its name.

        Raises:
            Obstacle: one of its folders is a link or a file.
            OSError: the disk refuses; what stood there still does.
        """
        with self._folder_of(path, create=True) as (folder, name):
            temporary = f".{name}.tmp"
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            try:
                _write_new(folder, temporary, data, durable)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
            if durable:
                os.fsync(folder)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that it leaves empty.

        Raises:
            Obstacle: one of its folders is a link or a file.
            OSError: the disk refuses.
        """
        with self._folder_of(path, create=False) as (folder, name):
            os.unlink(name, dir_fd=folder)
        for parent in list(Path(path).parents)[:-1]:
            try:
                (self._root / parent).rmdir()
            except OSError:
                return

    @contextmanager
    def _folder_of(self, path: str, *, create: bool) -> Iterator[tuple[int, str]]:
        *folders, name = path.split("/")
        if {"", ".", ".."} & {*folders, name}:
            raise Obstacle(f"{path!r} leads elsewhere")
        if create:
            self._root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._root, _FOLDER & ~os.O_NOFOLLOW)
        try:
            for number, folder in enumerate(folders, start=1):
                inner = _opened(descriptor, folder, "/".join(folders[:number]), create)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        finally:
            os.close(descriptor)


def _opened(parent: int, name: str, path: str, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            raise Obstacle(f"{path} is no plain folder (a file, or a symbolic link)") from error
        raise


def _bytes_of(folder: int, name: str, path: str) -> bytes:
    try:
        descriptor = os.open(name, _OLD_FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            raise Obstacle(f"{path} is no plain file (a symbolic link?)") from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Obstacle(f"{path} is no plain file")
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _write_new(folder: int, name: str, data: bytes, durable: bool) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
