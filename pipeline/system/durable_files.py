"""Durable writes: create, append, replace and sync files. All disk failures of the log occur here.

Every function lets ``OSError`` through; a short write is one too. No call is ever repeated after a failure: a second
``fsync`` after a failed one reports success without having written anything.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from pathlib import Path

# By these names, so that a test can let each of them fail.
_write = os.write
_fsync = os.fsync
_fdatasync = getattr(os, "fdatasync", os.fsync)  # not every POSIX system has it
_link = os.link
_ftruncate = os.ftruncate


def _forget(fd: int) -> None:
    """Have the system drop what it holds of a file in memory; it is free to ignore that, and not every system can."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


_serial = itertools.count()


def append(fd: int, data: bytes) -> None:
    """Write ``data`` with one call and wait until it is durable.

    If that fails the file is cut back: a system that could not write may go on showing bytes which its disk will never hold, and
    whoever reads them would build on what a power cut takes away.
    """
    size = os.fstat(fd).st_size
    try:
        _write_whole(fd, data)
        _fdatasync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            _ftruncate(fd, size)
        raise


def create(path: Path, data: bytes, scratch: Path) -> int:
    """Make ``path`` appear with ``data`` in it, whole and durable; return its descriptor, open for appending.

    Raises:
        FileExistsError: the name is taken; that file is left alone.
    """
    temporary, fd = _temporary(path.name, data, scratch)
    try:
        _link(temporary, path)
        sync_directory(path.parent)
    except BaseException:
        close(fd)
        raise
    finally:
        _discard(temporary)
    return fd


def replace(path: Path, data: bytes, scratch: Path) -> None:
    """Put ``data`` in the place of whatever ``path`` held, whole and durable."""
    temporary, fd = _temporary(path.name, data, scratch)
    close(fd)
    try:
        temporary.replace(path)
        sync_directory(path.parent)
    finally:
        _discard(temporary)


def make_directories(path: Path) -> None:
    """Make ``path`` and its missing parents, each durable in its own parent."""
    if path.is_dir():
        return
    make_directories(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY)
    try:
        _fsync(fd)
    finally:
        close(fd)


def settle(path: Path) -> None:
    """Make durable what an earlier process may have left in the system's cache; then let the next reading be the disk's word.

    Where a sync has failed once, the cache still shows bytes that the disk never got, and every later sync succeeds.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        _fsync(fd)
        with contextlib.suppress(OSError):
            _forget(fd)
    finally:
        close(fd)


def close(fd: int) -> None:
    """Close ``fd``. What was to be durable is already synced, so an error here says nothing."""
    with contextlib.suppress(OSError):
        os.close(fd)


def _temporary(name: str, data: bytes, scratch: Path) -> tuple[Path, int]:
    make_directories(scratch)
    temporary = scratch / f"{name}.{os.getpid()}-{next(_serial)}"
    _discard(temporary)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    try:
        _write_whole(fd, data)
        _fsync(fd)
    except BaseException:
        close(fd)
        _discard(temporary)
        raise
    return temporary, fd


def _write_whole(fd: int, data: bytes) -> None:
    written = _write(fd, data)
    if written != len(data):
        raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written")


def _discard(temporary: Path) -> None:
    with contextlib.suppress(OSError):
        temporary.unlink()
