"""File locks that are released when their process ends, even by a kill.

They are advisory ``flock`` locks on a file that names its owner. The file is removed when the lock is released. After a kill
the file stays, unlocked, and the next owner takes it over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import LogUnwritable, WorkspaceLocked
from pipeline.system import files


class Lock:
    """One lock file: ``with Lock(…): …``. ``what`` says in a message what its owner does, ``program`` what program that is."""

    def __init__(self, path: Path, what: str, program: str = "") -> None:
        self._path = path
        self._what = what
        self._program = program
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take the lock now, or refuse at once.

        Raises:
            WorkspaceLocked: another process (or another lock object of this one) holds it.
            LogUnwritable: no lock can be made here.
        """
        try:
            files.make_directories(self._path.parent)
            while self._fd is None:
                self._fd = self._try()
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, self._name().encode(), 0)
        except OSError as error:
            self.release()
            raise LogUnwritable(
                f"no lock can be made at {self._path}: {error.strerror}",
                hint="free some space, or let this user write there; then try again",
            ) from error

    def release(self) -> None:
        """Give the lock back. Harmless when it is not held."""
        if self._fd is None:
            return
        with contextlib.suppress(OSError):
            self._path.unlink()
        files.close(self._fd)
        self._fd = None

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_error: object) -> None:
        self.release()

    def _name(self) -> str:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        return json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since, "program": self._program})

    def _try(self) -> int | None:
        fd = files.open_lock(self._path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Its owner may have removed the file between open and flock: that lock would guard nothing.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), self._path.stat()):
                    return fd
        except BlockingIOError:
            said = os.pread(fd, 1_000, 0)
            files.close(fd)
            name = ""
            with contextlib.suppress(ValueError, KeyError, TypeError):  # it has the lock and has not written its name yet
                owner = json.loads(said)
                program = f"{owner['program']}, " if owner["program"] else ""
                name = f" ({program}process {owner['pid']} on {owner['host']}, since {owner['since']})"
            raise WorkspaceLocked(f"another run{name} {self._what}", hint="wait until it has ended, or stop it") from None
        except BaseException:
            files.close(fd)
            raise
        files.close(fd)
        return None


def workspace_lock(root: Path, program: str = "") -> Lock:
    """Return the lock that a batch holds while it works; ``root`` is the log's folder."""
    return Lock(root / "local" / "run.lock", "works in this workspace", program)


@contextlib.contextmanager
def turn(fd: int) -> Iterator[None]:
    """Hold the lock of an open file or folder, as soon as nobody else has it, and close the descriptor at the end."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
