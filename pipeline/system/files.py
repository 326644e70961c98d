"""The one door to files: here they are opened, read, written, made durable, and SQLite is connected.

**Reading.** A folder may hold named pipes, sockets and devices that others put there. To open or read one may wait for ever, or
act on the device. So only regular files are read, and none keeps its reader waiting.

**Writing.** A file appears or is replaced whole: its bytes go to a temporary file beside it, which then takes its name.
``Tree`` (``folders``) keeps writes below a folder that others share.

**The log.** ``append``, ``create``, ``replace`` and ``sync_directory`` return when the disk has what they wrote; all disk
failures of the log occur here. Each lets ``OSError`` through; a short write is one too. No call is ever repeated after a failure:
a second ``fsync`` after a failed one reports success without having written anything.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

NOT_REGULAR = "it is no regular file"

# By these names, so that a test can let each of them fail.
_write = os.write
_fsync = os.fsync
_fdatasync = getattr(os, "fdatasync", os.fsync)  # not every POSIX system has it
_link = os.link
_ftruncate = os.ftruncate

_serial = itertools.count()


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


def open_folder(path: str | Path, *, folder: int | None = None, follow: bool = True) -> int:
    """Return a descriptor of a folder; a relative ``path`` is below the open ``folder`` if there is one.

    Raises:
        OSError: it cannot be opened, or is no folder; ``ENOTDIR`` or ``ELOOP``: it is a link that is not to be followed.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    return os.open(path, flags, dir_fd=folder)


def open_lock(path: str | Path) -> int:
    """Return a descriptor of a lock file, for reading and writing; it is made if it is missing.

    Raises:
        OSError: the system refuses.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def open_log(path: str | Path) -> int:
    """Return a descriptor for appending messages to a file, which is made if it is missing; a pipe that nobody reads is refused.

    Raises:
        OSError: the system refuses.
    """
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o600)


def write_new(
    path: str | Path,
    data: bytes,
    *,
    folder: int | None = None,
    leftover: bool = False,
    durable: bool = False,
    mode: int | None = None,
) -> os.stat_result:
    """Make a file, whole or not at all, and return its state; a relative ``path`` is below the open ``folder`` if there is one.

    ``leftover``: a file of this name was left by a process that died, and goes first. ``durable``: it is flushed to the disk.
    ``mode`` is who may do what with it; without it, as with all new files.

    Raises:
        FileExistsError: the name is taken.
        OSError: the disk refuses.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666 if mode is None else mode, dir_fd=folder)
    except FileExistsError:
        if not leftover:
            raise
        os.unlink(path, dir_fd=folder)
        descriptor = os.open(path, flags, 0o666 if mode is None else mode, dir_fd=folder)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if mode is not None and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
            with contextlib.suppress(PermissionError):  # not every file system has modes
                os.fchmod(descriptor, mode)
        if durable:
            os.fsync(descriptor)
        return os.fstat(descriptor)
    except BaseException as error:
        if isinstance(error, OSError):  # one about a descriptor names no file
            error.filename = str(path)
        with contextlib.suppress(OSError):
            os.unlink(path, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def write(path: Path, data: bytes, *, durable: bool = False, mode: int | None = None) -> None:
    """Put a file in the place of whatever ``path`` held, whole; ``durable`` and ``mode`` are as in ``write_new``.

    Raises:
        OSError: the disk refuses; its ``filename`` is ``path``, and the old file is unchanged.
    """
    temporary = path.with_name(f".{os.getpid()}-{next(_serial)}.tmp")
    try:
        write_new(temporary, data, leftover=True, durable=durable, mode=mode)
        try:
            temporary.replace(path)
        except BaseException:
            _discard(temporary)
            raise
        if durable:
            sync_directory(path.parent)
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


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


def connect_sqlite(
    path: Path | None, mode: str = "rwc", *, timeout_s: float = 60.0, autocommit: bool = True, threads: bool = False
) -> sqlite3.Connection:
    """Connect to a database file; ``mode`` is SQLite's: ``ro``, ``rw`` or ``rwc``, which creates the file. None: in memory.

    ``timeout_s``: how long another process that writes is waited for. ``autocommit``: no transaction begins by itself.
    ``threads``: threads may share the connection, by turns. After a power cut the file lacks the latest commits at most.

    Raises:
        sqlite3.OperationalError: the file cannot be opened, or is not a regular file.
        sqlite3.DatabaseError: it is no database.
    """
    import sqlite3  # takes longer than all else here, and most who read files need none

    if path and path.exists() and not path.is_file():
        raise sqlite3.OperationalError(f"{path}: {NOT_REGULAR}")
    base = sqlite3.connect(  # a path with ``?``, ``#`` or ``%`` must be quoted
        f"{path.absolute().as_uri()}?mode={mode}" if path else ":memory:",
        uri=path is not None,
        timeout=timeout_s,
        isolation_level=None if autocommit else "DEFERRED",
        check_same_thread=not threads,
    )
    try:
        base.execute("PRAGMA trusted_schema = OFF")  # a foreign file may hold views that call functions
        base.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        base.close()
        raise
    return base


def _forget(fd: int) -> None:
    """Have the system drop what it holds of a file in memory; it is free to ignore that, and not every system can."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _refuse_irregular(found: os.stat_result, path: str | Path) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "it is a link", str(path))
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR, str(path))
