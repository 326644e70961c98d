"""The one door to files that others may have put there: only regular files are read, and none keeps its reader waiting.

A folder may hold named pipes, sockets and devices too. To open or read one may wait for ever, or act on the device.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path

NOT_REGULAR = "it is no regular file"


def open_regular(path: str | Path, *, folder: int | None = None, follow: bool = True) -> int:
    """Return a descriptor for reading a regular file; a relative ``path`` is below the open ``folder`` if there is one.

    Raises:
        OSError: the file cannot be read, is a link that is not to be followed (``ELOOP``), or is not regular (``EINVAL``).
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    _refuse_irregular(os.stat(path, dir_fd=folder, follow_symlinks=follow), path)  # a device may act when it is opened
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        _refuse_irregular(os.fstat(descriptor), path)  # another file may have taken its place
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_bytes(path: str | Path, most: int = -1, *, folder: int | None = None, follow: bool = True) -> bytes:
    """Return the bytes of a regular file, ``most`` of them at most.

    Raises:
        OSError: as ``open_regular``.
    """
    with os.fdopen(open_regular(path, folder=folder, follow=follow), "rb") as file:
        return file.read(most)


def read_text(path: str | Path, most: int = -1) -> str:
    """Return the text of a regular file in UTF-8, of its first ``most`` bytes at most.

    Raises:
        OSError: as ``open_regular``.
        UnicodeDecodeError: it is not UTF-8.
    """
    return read_bytes(path, most).decode()


def connect_sqlite(
    path: Path, mode: str = "rwc", *, timeout_s: float = 5.0, autocommit: bool = True, threads: bool = False
) -> sqlite3.Connection:
    """Connect to a database file; ``mode`` is SQLite's: ``ro``, ``rw`` or ``rwc``, which creates the file.

    ``autocommit``: no transaction begins by itself. ``threads``: threads may share the connection, by turns.

    Raises:
        sqlite3.OperationalError: the file cannot be opened, or is not a regular file.
    """
    if path.exists() and not path.is_file():
        raise sqlite3.OperationalError(f"{path}: {NOT_REGULAR}")
    return sqlite3.connect(  # a path with ``?``, ``#`` or ``%`` must be quoted
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=timeout_s,
        isolation_level=None if autocommit else "DEFERRED",
        check_same_thread=not threads,
    )


def _refuse_irregular(found: os.stat_result, path: str | Path) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link", str(path))
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
