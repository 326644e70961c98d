"""What is in folders, and whether it is still as a build left it: ``Folder``, ``Manifest``, ``Drift``; and ``Tree``.

A folder's mark is a fingerprint of the names, sizes and times of its files. It is stored only if all known files of the folder
were as the build wants them. It is computed from the folder before the build plus the files that the build wrote, so a change
that somebody else makes during the build shows as a different mark at the next one.

``Tree`` reads and writes files below one folder, through open folders and never through a symbolic link. A vault may be
synchronised, shared, or prepared by someone else; a link in it must not lead a write outside. Each path is walked folder by
folder without following links, and files are replaced whole: a reader sees the old one or the new one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from pipeline.system.files import open_folder, read_bytes, write_new


class Look(NamedTuple):
    """What shows, without reading it, whether a file was written since: its bytes, and its time in nanoseconds."""

    size: int
    mtime: int


@dataclass(frozen=True)
class Folder:
    """The plain files of one folder, by name, and the names of the folders in it; no links, devices and the like."""

    files: Mapping[str, Look] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @cached_property
    def mark(self) -> str:
        """The digest of the files' names and looks: another one as soon as a file came, went, or was written."""
        lines = sorted([f"{name}\0{size}\0{mtime}" for name, (size, mtime) in self.files.items()])
        return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()

    def with_files(self, changed: Mapping[str, Look | None]) -> Folder:
        """Return the folder with the sizes and times of these files; None: without the file."""
        return Folder({name: found for name, found in {**self.files, **changed}.items() if found}, self.folders)


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
    files: dict[str, Look] = {}
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # it went just now
                    continue
                files[entry.name] = Look(found.st_size, found.st_mtime_ns)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    return Folder(files, tuple(sorted(folders)))


def all_folders(
    root: Path, *, aside: Collection[str] = (), known: Mapping[str, Folder] = MappingProxyType({})
) -> Iterator[tuple[str, Folder]]:
    """Yield path and content of each folder of a tree.

    Hidden folders, links, names that are not valid UTF-8, and the top folders named in ``aside`` are skipped. For a folder that
    may not be read the content is ``NO_FOLDER``, for one with too long a path ``TOO_DEEP``. A folder that is ``known`` is not
    looked at.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        place = f"{root}/{path}" if path else str(root)
        try:
            found = known.get(path) or look(place)
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
        waiting += [f"{path}/{name}" if path else name for name in found.folders if is_seen(name) and (path or name not in aside)]


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
        return self.found.get(folder_of(path), NO_FOLDER).files.get(_name(path))

    def untouched(self, paths: Iterable[str]) -> dict[str, Folder]:
        """Return the folders in which, and below which, none of these files is."""
        touched = {""}
        for folder in set(map(folder_of, paths)):
            while folder:
                touched.add(folder)
                folder = folder_of(folder)
        return {path: found for path, found in self.found.items() if path not in touched}

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


_PACKAGE = Path(__file__).parents[1]
_SHARED = ("system", "text")  # rooms that decide how templates are rendered and how text is cut and judged


@cache
def program_id(room: str) -> str:
    """Return a digest of the sources of a room and of the rooms that it shares with others; a release need not change it.

    Raises:
        OSError: a source cannot be read.
    """
    return digest_of_sources(sources(room))


def sources(room: str) -> tuple[Path, ...]:
    """Return the files that ``program_id`` covers."""
    return tuple(path for name in (room, *_SHARED) for path in sorted((_PACKAGE / name).rglob("*.py")))


def digest_of_sources(paths: Iterable[Path]) -> str:
    """Return a short digest of files of the program, in this order.

    Raises:
        OSError: one cannot be read.
    """
    return hashlib.sha256(b"".join(read_bytes(path) for path in paths)).hexdigest()[:16]


class Obstacle(Exception):
    """The path is not a plain file or folder, or may not be read; it is left alone."""


class Tree:
    """The files below ``root`` (which itself may be a link: that is its owner's choice). Folders stay open until ``close``."""

    def __init__(self, root: Path) -> None:
        self.root = root
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
            found = self.root.stat()
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
                (self.root / parent).rmdir()
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
                self.root.mkdir(parents=True, exist_ok=True)
            found = open_folder(self.root)
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
