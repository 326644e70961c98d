"""The embedded event store: append-only streams and objects as files in one folder, and the writer of each stream.

An acknowledged write is durable. Damage is reported and refused, never skipped. A second writer of a stream is refused at once.
Reading takes no lock and sees a prefix of what is being written.
What is removed from it is gone for good, and that too is durable on return.

A failed append promises nothing, yet whole lines of it may have reached the disk. They are not taken back (the run may
die before it can): **a line that verifies is stored**. The caller got an error for the batch; when it comes again with
the same events, those that are there are acknowledged and the rest is added. When it comes with others, the version
has moved on, and that is a conflict: the caller loads the stream and decides again.

What the system shows of a file after a failed sync need not be on the disk. So the next segment begins with a second copy
of every record past the last acknowledged one; readers know a repeated record by its hash. Nothing is acknowledged on the
word of the file that failed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.domain.events.stream_records import Kind, Record, kind_of
from pipeline.errors import EventRejected, LogDamaged, LogError, LogUnwritable, VersionConflict
from pipeline.store.layout import FORGETTING_GOES_ON, Layout, refusals, segment_name
from pipeline.store.objects import FileObjects
from pipeline.store.record_chain import (
    ZEROS,
    Defect,
    RecordChain,
    Rule,
    Segment,
    join,
    read_chain,
    read_segments,
    refuse_damage,
    refuse_unfit,
    relinked,
    seal,
)
from pipeline.store.tombstone_filter import StoredStreams
from pipeline.system import files
from pipeline.system.process_lock import Lock
from pipeline.text.cleaning import digest_of

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
            version, known = fresh[0].version - 1 if fresh else expected_version, len(self._hashes)
            if (fresh or not records) and version != known:
                message = f"{self._stream} is at version {known}, not at {version}"
                raise VersionConflict(message, hint="load it again and decide again")
            if fresh or self._copies:
                self._store(fresh, records[-1].run_id if records else "")
            return records[-1].version if records else expected_version

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
            path = self._layout.folder(self._stream) / segment_name(self._stream, first_version, run_id, attempt)
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


_log = logging.getLogger("pipeline.store")


class FileStore(StoredStreams):
    """The port ``EventStore`` over files; ``root`` is the log's folder, made by the first write.

    A torn end, an append that a crash cut and that was never acknowledged, is logged once; after that only ``verify`` names it.
    A stream that two machines continued has two branches: it is read as ``rule`` joins them, and the next append, or ``join``,
    stores that. Without a rule it is refused.
    """

    def __init__(self, root: Path, rule: Rule | None = None) -> None:
        super().__init__()
        self._layout, self._rule = Layout(root), rule
        self._objects = FileObjects(self._layout)
        self._branched: dict[str, bool] = {}
        self._writers: dict[str, StreamWriter] = {}
        self._guard = threading.Lock()

    @property
    def objects(self) -> FileObjects:
        """Pages and exchanges."""
        return self._objects

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        """Store ``records`` durably after ``expected_version``; return the version of the last one.

        Raises:
            VersionConflict: the stream is at another version.
            EventRejected: a stored id with other data, or records that do not fit the stream or each other.
            LogDamaged, LogForked, LogUnreadable: the stream cannot be continued.
            LogUnwritable: the disk refuses; nothing of this batch is acknowledged.
            WorkspaceLocked: another process writes this stream.
        """
        refuse_unfit(session_id, records, expected_version)
        self._refuse_removed(session_id)
        self.prepare()
        version = self._writer(session_id).append(records, expected_version)
        if kind_of(session_id) == "prune":
            self._recorded(records)
        return version

    def take_over(self, session_id: str) -> None:
        """Do nothing: whoever holds a stream's lock writes it, and the lock is gone with its process."""

    def branched(self, streams: Iterable[str]) -> frozenset[str]:
        """Return those of the streams that two machines continued: they are read joined, and not stored so yet.

        One that cannot be read is none of them. A stream that was read before is not read again, nor is one of a single segment.
        """
        found = set()
        for name in streams:
            with contextlib.suppress(LogError):
                if name not in self._branched and len(self._layout.segments(name)) > 1:
                    self._chain(name)
            if self._branched.get(name, False):
                found.add(name)
        return frozenset(found)

    def join(self, session_id: str) -> Sequence[Record]:
        """Store how a stream's branches are joined; return the records that do it, none if it has no several branches.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be continued.
            LogUnwritable: the disk refuses.
            WorkspaceLocked: another process writes this stream.
        """
        chain = self._chain(session_id)
        if chain.merges:
            self.prepare()
            try:
                self._writer(session_id).append((), chain.version)
            finally:
                self.release(session_id)
            self._branched[session_id] = False
        return [line.record for merge in chain.merges for line in merge]

    def stored_ids(self, kind: Kind, *, traces: bool = False) -> Iterator[str]:
        """Yield the ids of all streams of a kind with a segment, sorted; ``traces``: also of session folders without one."""
        return self._layout.folders() if traces and kind == "session" else self._layout.ids(kind)

    def stored_marks(self, kinds: Sequence[Kind]) -> Mapping[str, str]:
        """Return the names, sizes and times of each stream's segments."""
        return dict(self._layout.marks(kinds))

    def stored_records(self, stream: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; all of the stream is verified.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be trusted.
        """
        return [line.record for line in self._chain(stream).lines[after:]]

    def version_at(self, stream: str, mark: str) -> int:
        """Return the version that a stream had when ``marks`` gave it that mark, found from the sizes of its segments."""
        return self._layout.version_at(stream, mark)

    def written_off(self) -> frozenset[str]:
        """Return the ids of sessions whose log is missing, and whose loss the user has accepted."""
        return self._layout.written_off_sessions()

    def remove_stream(self, stream: str) -> None:
        """Remove all files of a stream for good: its segments, and a session's folder.

        Raises:
            LogUnwritable: the disk refuses; some files may be left.
            WorkspaceLocked: another process writes it.
        """
        with self._locked(stream, "removed"):
            folder = self._layout.folder(stream)
            for path in reversed(self._layout.segments(stream)):
                path.unlink(missing_ok=True)
            self._layout.remove_snapshot(stream)
            if folder.is_dir():
                files.sync_directory(folder)
            for empty in (folder, folder.parent) if kind_of(stream) == "session" else ():
                try:
                    empty.rmdir()
                    files.sync_directory(empty.parent)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
                    break  # somebody put a file of theirs there

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        """Rewrite a stream record by record, into its first segment, with what another machine wrote after a record as it was.

        Raises:
            LogDamaged, LogForked, LogUnreadable, LogUnwritable, WorkspaceLocked: as the port says.
        """
        with self._locked(stream, "rewritten"):
            paths = self._layout.segments(stream)
            if not paths:
                return
            first, *others = read_segments(self._layout, stream)
            known = {line.record.id for line in first.lines}
            if not others or not known.issuperset(line.record.id for segment in others for line in segment.lines):
                first.lines = refuse_damage(join(relinked([first, *others]), self._rule), stream).lines
            lines, head = [], ZEROS  # if a rewriting was interrupted, the first segment has the records of all others already
            for record in (change(line.record) for line in first.lines):
                line, head = seal(record.data, head)
                lines.append(line)
            files.replace(paths[0], b"".join(lines), self._layout.scratch)
            for path in paths[1:]:
                path.unlink(missing_ok=True)
            files.sync_directory(self._layout.folder(stream))

    def streams(self, kind: Kind) -> Iterator[str]:
        """Yield the ids of all streams of a kind with a segment, sorted; also of those that were removed."""
        return self._layout.ids(kind)

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments, each as far as it is sound.

        Raises:
            LogUnreadable: its folder cannot be read.
        """
        return read_segments(self._layout, stream)

    def prepare(self) -> None:
        """Make what a log has before its first record.

        Raises:
            LogUnwritable: the disk refuses.
        """
        with refusals(f"{self._layout.root} cannot be written"):
            self._layout.prepare()

    def write(self, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:  # noqa: ARG002 - a database needs it
        """Write the segments whose files lack records, those first that others continue.

        Raises:
            LogUnwritable: the disk refuses.
            WorkspaceLocked: a process writes the stream.
        """
        self.prepare()
        with self._locked(stream, "written", "check space and permissions, then copy or merge again"):
            for segment in sorted(segments, key=lambda one: one.lines[0].record.version):
                content = b"".join(seal(line.record.data, line.prev)[0] for line in segment.lines)
                path = self._layout.root / segment.path
                if not path.exists() or not files.read_bytes(path).startswith(content):
                    files.make_directories(path.parent)
                    files.replace(path, content, self._layout.scratch)

    def write_off(self, session: str) -> None:
        """Accept for good that a session's log is missing.

        Raises:
            LogUnwritable: the disk refuses.
        """
        mark = self._layout.written_off(session)
        self.prepare()
        with refusals(f"{mark} cannot be written"):
            files.make_directories(mark.parent)
            files.replace(mark, b"Its log was missing, and its user wrote it off.\n", self._layout.scratch)

    @contextmanager
    def _locked(self, stream: str, what: str, hint: str = FORGETTING_GOES_ON) -> Iterator[None]:
        with Lock(self._layout.lock(stream), f"writes {stream}"), refusals(f"{stream} cannot be {what}", hint):
            yield

    def release(self, session_id: str) -> None:
        """End this process's writing to a stream. Unknown ids are ignored."""
        with self._guard:
            writer = self._writers.get(session_id)
            if writer is None:
                return
            writer.release()
            if not writer.in_doubt:
                del self._writers[session_id]

    def _writer(self, stream: str) -> StreamWriter:
        with self._guard:
            writer = self._writers.get(stream)
            if writer is None:
                writer = self._writers[stream] = StreamWriter(self._layout, stream, self._chain)
            return writer

    def _chain(self, stream: str) -> RecordChain:
        chain = refuse_damage(read_chain(self._layout, stream, self._rule), stream)
        for finding in chain.torn:
            self._warn_once(finding)
        self._branched[stream] = bool(chain.merges)
        return chain

    def _warn_once(self, finding: Defect) -> None:
        mark = self._layout.local / "torn" / digest_of(str(finding).encode())[:16]
        if not _log.isEnabledFor(logging.WARNING):
            return
        with contextlib.suppress(OSError):  # what cannot be noted is logged again the next time
            if mark.exists():
                return
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        _log.warning("%s; nothing is lost by it, and research verify --repair cuts it off", finding)
