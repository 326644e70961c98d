"""The writer of one stream: its lock, the known records, and the segment it appends to.

A failed append promises nothing, yet whole lines of it may have reached the disk. They are not taken back (the run may
die before it can): **a line that verifies is stored**. The caller got an error for the batch; when it comes again with
the same events, those that are there are acknowledged and the rest is added. When it comes with others, the version
has moved on, and that is a conflict: the caller loads the stream and decides again.

What the system shows of a file after a failed sync need not be on the disk. So the next segment begins with a second copy
of every record past the last acknowledged one; readers know a repeated record by its hash. Nothing is acknowledged on the
word of the file that failed.
"""

from __future__ import annotations

import errno
import itertools
import threading
from collections.abc import Callable, Sequence

from pipeline.domain.events.records import Record
from pipeline.errors import EventRejected, LogDamaged, LogUnwritable, VersionConflict
from pipeline.store.layout import Layout
from pipeline.store.segments import ZEROS, RecordChain, seal
from pipeline.system import files
from pipeline.system.process_lock import Lock

_HINTS = {
    errno.ENOSPC: "free some space, then run again; everything acknowledged so far is safe",
    errno.EDQUOT: "the quota is used up: free some space, then run again",
    errno.EROFS: "the file system is read-only; make it writable, then run again",
    errno.EACCES: "check who owns the folder and its permissions",
    errno.EPERM: "check permissions; the file system must allow hard links",
    errno.EIO: "the disk reports an error: check it, and copy the log to another one",
}


class StreamWriter:
    """Writes one stream for this process.

    ``read`` returns the stream's chain on the disk and raises when it cannot be trusted. Appends from several
    threads wait for each other.
    """

    def __init__(self, layout: Layout, stream: str, read: Callable[[str], RecordChain]) -> None:
        self._layout = layout
        self._stream = stream
        self._read = read
        self._lock = Lock(layout.lock(stream), f"writes {stream}")
        self._guard = threading.Lock()
        self._known = False
        self._hashes: list[bytes] = []
        self._versions: dict[str, int] = {}
        self._fd: int | None = None
        self._run_id = ""
        self._doubtful_after: int | None = None
        self._copies = b""

    @property
    def in_doubt(self) -> bool:
        """Whether records past the last acknowledged one may be in a file that failed."""
        return self._doubtful_after is not None

    def append(self, records: Sequence[Record], expected_version: int) -> int:
        """Store what is not stored yet of ``records``; return the version of the last one.

        Raises:
            VersionConflict, EventRejected, LogDamaged, LogForked, LogUnwritable, WorkspaceLocked: as the port says.
        """
        with self._guard:
            self._take_up()
            fresh = [record for record in records if not self._stored(record)]
            if fresh or not records:
                self._refuse_conflict(fresh[0].version - 1 if fresh else expected_version)
            if fresh or self._copies:
                self._store(fresh, records[-1].run_id if records else "")
            return records[-1].version if records else expected_version

    def hash_of(self, version: int) -> bytes | None:
        """Return the hash of a record that this writer has read or written, else None."""
        with self._guard:
            return self._hashes[version - 1] if self._known and 0 < version <= len(self._hashes) else None

    def release(self) -> None:
        """Close the segment and free the lock."""
        with self._guard:
            self._close()
            self._known = False
            self._lock.release()

    def _take_up(self) -> None:
        """Take the lock and read the stream, unless what is known holds. A file that failed is given up for good."""
        if self._known:
            return
        self._close()
        self._lock.acquire()
        try:
            if not self.in_doubt:
                self._settle()
            chain = self._read(self._stream)
            self._copies = b""  # what is in doubt, once more
            if self._doubtful_after is not None:
                if chain.version < self._doubtful_after:
                    message = f"the log of {self._stream} has lost records that were acknowledged"
                    raise LogDamaged(message, hint="check the disk")
                again = chain.lines[self._doubtful_after :]
                self._copies = b"".join(seal(line.record.data, line.prev)[0] for line in again)
            for lines in chain.merges:  # they join the stream's branches: what follows builds on them
                data = b"".join(seal(line.record.data, line.prev)[0] for line in lines)
                files.close(self._create(data, lines[0].record.version, lines[0].record.run_id))
        except OSError as error:
            self._lock.release()
            raise _unwritable(self._stream, error) from error
        except BaseException:
            self._lock.release()
            raise
        self._hashes = [line.hash for line in chain.lines]
        self._versions = {line.record.id: line.record.version for line in chain.lines}
        self._known = True

    def _settle(self) -> None:
        """See to it that what will be built on is durable: it may be what a killed process left in the system's cache."""
        if segments := self._layout.segments(self._stream):
            for path in segments:
                files.settle(path)
            files.sync_directory(self._layout.folder(self._stream))

    def _stored(self, record: Record) -> bool:
        version = self._versions.get(record.id)
        if version is None:
            return False
        if seal(record.data, self._head(version - 1))[1] != self._hashes[version - 1]:
            raise EventRejected(
                f"{self._stream}: event {record.id} is stored as version {version} with other content",
                hint="an event's id must never be used again",
            )
        return True

    def _refuse_conflict(self, version: int) -> None:
        if version != len(self._hashes):
            raise VersionConflict(
                f"{self._stream} is at version {len(self._hashes)}, not at {version}", hint="load it again and decide again"
            )

    def _store(self, fresh: Sequence[Record], run_id: str) -> None:
        hashes, lines = self._sealed(fresh)
        if self._doubtful_after is None:
            self._doubtful_after = len(self._hashes)
        # Nothing is known until it is acknowledged: an interrupt may come at any line from here on.
        self._known = False
        try:
            self._write(b"".join([self._copies, *lines]), self._doubtful_after + 1, run_id)
        except OSError as error:
            raise _unwritable(self._stream, error) from error
        self._hashes += hashes
        self._versions.update((record.id, record.version) for record in fresh)
        self._copies, self._doubtful_after, self._known = b"", None, True

    def _sealed(self, fresh: Sequence[Record]) -> tuple[list[bytes], list[bytes]]:
        hashes: list[bytes] = []
        lines: list[bytes] = []
        head = self._head(len(self._hashes))
        for record in fresh:
            line, head = seal(record.data, head)
            lines.append(line)
            hashes.append(head)
        return hashes, lines

    def _write(self, data: bytes, first_version: int, run_id: str) -> None:
        if self._fd is not None and run_id == self._run_id:
            files.append(self._fd, data)
            return
        self._close()
        self._fd = self._create(data, first_version, run_id)
        self._run_id = run_id

    def _create(self, data: bytes, first_version: int, run_id: str) -> int:
        files.make_directories(self._layout.folder(self._stream))
        if first_version == 1:
            # A killed process may have made these folders and not made them durable.
            for folder in itertools.takewhile(self._layout.root.parent.__ne__, self._layout.folder(self._stream).parents):
                files.sync_directory(folder)
        attempt = 1
        while True:
            path = self._layout.segment(self._stream, first_version, run_id, attempt)
            try:
                return files.create(path, data, self._layout.scratch)
            except FileExistsError:
                attempt += 1

    def _close(self) -> None:
        if self._fd is not None:
            files.close(self._fd)
        self._fd = None

    def _head(self, version: int) -> bytes:
        return self._hashes[version - 1] if version else ZEROS


def _unwritable(stream: str, error: OSError) -> LogUnwritable:
    hint = _HINTS.get(error.errno or 0, "check the disk; everything acknowledged so far is safe")
    return LogUnwritable(f"{stream} cannot be written: {error.strerror or error}", hint=hint)
