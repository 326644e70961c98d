"""A disk that can fail and lose power, put under ``pipeline.system.files``.

What survives a power cut is what was synced, and by chance some of what was not, whole or cut or zeroed. After a failed sync
the system believes that its pages are clean: later syncs succeed and the disk never gets them.
"""

from __future__ import annotations

import errno
import os
import random
import stat
from pathlib import Path

import pytest

from pipeline.system import files


class FaultyDisk:
    """Fails each call with probability ``rate``; knows for each file and name what is durable."""

    def __init__(self, chance: random.Random, monkeypatch: pytest.MonkeyPatch, rate: float = 0.0) -> None:
        self._chance = chance
        self.rate = rate
        self.faults = 0
        self._durable: dict[int, bytes] = {}
        self._lost: dict[int, list[range]] = {}
        self._names: dict[int, set[str]] = {}
        self._held: dict[int, int] = {}
        monkeypatch.setattr(files, "_write", self._write)
        monkeypatch.setattr(files, "_link", self._link)
        monkeypatch.setattr(files, "_fsync", self._sync)
        monkeypatch.setattr(files, "_fdatasync", self._sync)
        monkeypatch.setattr(files, "_forget", self._forget)

    def power_cut(self, root: Path) -> None:
        """Leave of the files below ``root`` what a power cut would leave."""
        for folder, _, found in os.walk(root):
            inode = Path(folder).stat().st_ino
            names = self._names.get(inode, set())
            self._names[inode] = set(found)
            for path in (Path(folder, name) for name in found):
                if path.name not in names and self._chance.random() < 0.5:
                    path.unlink()
                else:
                    path.write_bytes(self._surviving(path))
        self.forget()

    def take_over(self, root: Path) -> None:
        """Take the names below ``root``, which others made, as durable."""
        self._names |= {Path(folder).stat().st_ino: set(found) for folder, _, found in os.walk(root)}

    def forget(self) -> None:
        """Take the bytes that are there now as durable."""
        for fd in self._held.values():
            os.close(fd)
        for known in (self._held, self._durable, self._lost):
            known.clear()

    def _surviving(self, path: Path) -> bytes:
        inode, content = path.stat().st_ino, path.read_bytes()
        if inode not in self._held:
            return content
        durable = self._durable[inode]
        unsynced = _without(content, self._lost.get(inode, []))[len(durable) :]
        kept = unsynced[: self._chance.randint(0, len(unsynced))]
        return durable + self._chance.choice([kept, kept + b"\0" * self._chance.randint(0, 50)])

    def _write(self, fd: int, data: bytes) -> int:
        self._watch(fd)
        if not self._fails():
            return os.write(fd, data)
        written = self._chance.choice([0, len(data) - 1, self._chance.randrange(len(data))])
        os.write(fd, data[:written])
        if self._chance.random() < 0.5:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written

    def _link(self, source: Path, target: Path) -> None:
        if self._fails():
            raise OSError(errno.EIO, "Input/output error")
        os.link(source, target)

    def _watch(self, fd: int) -> None:
        """Hold a file open, so that its inode is not given to another."""
        inode = os.fstat(fd).st_ino
        if inode not in self._held:
            self._held[inode] = os.dup(fd)
            self._durable[inode] = Path(f"/proc/self/fd/{fd}").read_bytes()

    def _sync(self, fd: int) -> None:
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            self._sync_names(fd, status.st_ino)
        else:
            self._watch(fd)
            self._sync_bytes(fd, status.st_ino)

    def _sync_names(self, fd: int, inode: int) -> None:
        if self._fails():
            raise OSError(errno.EIO, "Input/output error")
        self._names[inode] = set(os.listdir(fd))

    def _sync_bytes(self, fd: int, inode: int) -> None:
        content = Path(f"/proc/self/fd/{fd}").read_bytes()
        if self._fails():
            self._lost.setdefault(inode, []).append(range(len(self._durable[inode]), len(content)))
            raise OSError(errno.EIO, "Input/output error")
        self._durable[inode] = _without(content, self._lost.get(inode, []))

    def _forget(self, fd: int) -> None:
        """Drop the pages that the system believes to be clean: those of a failed sync are gone."""
        inode = os.fstat(fd).st_ino
        if lost := self._lost.pop(inode, []):
            path = Path(f"/proc/self/fd/{fd}")
            path.write_bytes(_without(path.read_bytes(), lost))

    def _fails(self) -> bool:
        failed = self._chance.random() < self.rate
        self.faults += failed
        return failed


def _without(content: bytes, lost: list[range]) -> bytes:
    kept = bytearray(content)
    for place in lost:
        kept[place.start : place.stop] = b"\0" * len(place)
    return bytes(kept)
