"""File operations below one folder, counted, and failed where a test says so. What is written elsewhere is noted.

Only Python's own calls are seen: what SQLite does in its own code is not. The caches that it keeps can be lost at any time.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

import pipeline
from pipeline.system import files

PROGRAM = str(Path(pipeline.__file__).parent)
Fault = Literal["EIO", "ENOSPC", "short", "full"]
_MAKING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PATHS = {"link": 2, "rename": 2, "replace": 2, "unlink": 1, "mkdir": 1, "rmdir": 1, "open": 1}
_HANDLES = ("write", "fsync", "fdatasync")
_STORE = {"_write": "write", "_fsync": "fsync", "_fdatasync": "fdatasync", "_link": "link"}
_NEEDS_SPACE = frozenset({"write", "open", "link", "mkdir"})


@dataclass
class FileSystem:
    """Fails the operation number ``at`` (from 1; 0: none) with ``fault``; ``full`` fails all that need space from there on.

    ``operations`` are those seen so far, by name, ``places`` who asked for each; ``failed`` the paths of those that failed;
    ``outside`` are the paths beyond ``root`` that were written to.
    """

    root: Path
    at: int = 0
    fault: Fault = "EIO"
    operations: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    happens: Callable[[], object] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def met(self, name: str, place: str) -> str:
        """Count an operation; return the name of the error to raise, "short" for a write that stops half-way, or ""."""
        failure = self._failure(name, place)
        self.failed += [place] if failure else []
        return failure

    def _failure(self, name: str, place: str) -> str:
        if not Path(place).is_relative_to(self.root):
            if not place.startswith(("/dev/", "/proc/", "pipe:", "socket:", "anon_inode:")):
                self.outside.append(f"{name} {place}")
            return ""
        with self._lock:
            self.operations.append(name)
            self.places.append(_asked_by(name))
            number = len(self.operations)
        if number == self.at and self.happens is not None:
            self.happens()
            return ""
        if self.at and self.fault == "full" and number >= self.at:
            return "ENOSPC" if name in _NEEDS_SPACE else ""
        if number != self.at:
            return ""
        return self.fault if self.fault != "short" or name == "write" else "EIO"


@contextmanager
def faulty(root: Path, at: int = 0, fault: Fault = "EIO", happens: Callable[[], object] | None = None) -> Iterator[FileSystem]:
    """Put such a file system under the whole process. ``happens`` is called in place of a failure."""
    system = FileSystem(root.resolve(), at, fault, happens=happens)
    with pytest.MonkeyPatch.context() as patch:
        for name, count in _PATHS.items():
            patch.setattr(os, name, _by_path(system, name, getattr(os, name), count))
        for name in _HANDLES:
            patch.setattr(os, name, _by_handle(system, name, getattr(os, name)))
        for own, name in _STORE.items():  # the store took hold of these when it was imported
            patch.setattr(files, own, getattr(os, name))
        patch.setattr(io, "open", _opened(system, io.open))
        yield system


def close_below(root: Path) -> None:
    """Close what a process that dies would hold open below a folder, its locks among them."""
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if handle.readlink().is_relative_to(root.resolve()):
                os.close(int(handle.name))


def _by_path(system: FileSystem, name: str, real: Callable[..., Any], count: int) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        if name == "open" and not (len(arguments) > 1 and arguments[1] & _MAKING):
            return real(*arguments, **keywords)
        folders = keywords.get("dir_fd"), keywords.get("dst_dir_fd", keywords.get("dir_fd"))
        place = _place(arguments[count - 1], folders[count - 1])
        _raise(system.met(name, place), place)
        return real(*arguments, **keywords)

    return call


def _by_handle(system: FileSystem, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(handle: int, *arguments: Any) -> Any:
        place = _opened_as(handle)
        failure = system.met(name, place.removesuffix(" (deleted)"))
        if failure == "short":
            return real(handle, arguments[0][: len(arguments[0]) // 2])
        _raise(failure, place)
        return real(handle, *arguments)

    return call


def _opened(system: FileSystem, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(file: Any, mode: str = "r", *arguments: Any, **keywords: Any) -> Any:
        if isinstance(file, (str, os.PathLike)) and set(mode) & set("wax+"):
            place = _place(file, None)
            _raise(system.met("open", place), place)
        return real(file, mode, *arguments, **keywords)

    return call


def _asked_by(name: str) -> str:
    """An operation with the two innermost functions of the program that asked for it."""
    frame, found = sys._getframe(2), [name]
    while frame.f_back is not None and len(found) < 3:
        code, frame = frame.f_code, frame.f_back
        if code.co_filename.startswith(PROGRAM):
            found.append(f"{code.co_filename.removeprefix(PROGRAM)}:{code.co_name}")
    return " ".join(found)


def _place(path: Any, folder: int | None) -> str:
    """The whole path of what an operation is about; a link that stands there itself is not followed."""
    given = Path(os.fsdecode(path))
    base = Path(_opened_as(folder)) if folder is not None else Path.cwd()
    return str((base / given).parent.resolve() / given.name)


def _opened_as(handle: int) -> str:
    return str(Path(f"/proc/self/fd/{handle}").readlink())


def _raise(failure: str, place: str) -> None:
    if failure:
        number = getattr(errno, "EIO" if failure == "short" else failure)
        raise OSError(number, os.strerror(number), place)
