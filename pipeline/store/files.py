"""The embedded event store: append-only streams and objects as files in one folder.

An acknowledged write is durable. Damage is reported and refused, never skipped. A second writer of a stream is refused at once.
Reading takes no lock and sees a prefix of what is being written.
What is removed from it is gone for good, and that too is durable on return.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from pipeline.domain.events.records import (
    FORGETTABLE,
    MERGE,
    NO_TOMBSTONES,
    Kind,
    PrunedSession,
    Record,
    Snapshot,
    Tombstones,
    kind_of,
    tombstones_of,
)
from pipeline.errors import EventRejected, LogError, LogUnwritable, ObjectMissing
from pipeline.store import caches, objects
from pipeline.store.file_writer import StreamWriter
from pipeline.store.layout import Layout, is_plain
from pipeline.store.segments import (
    ZEROS,
    Finding,
    RecordChain,
    Rule,
    envelope_of,
    join,
    read_chain,
    read_segments,
    refuse_damage,
    refuse_unfit,
    seal,
)
from pipeline.system import files
from pipeline.system.process_lock import Lock
from pipeline.text.normalise import digest_of

_log = logging.getLogger("pipeline.store")


class FileStore:
    """The port ``EventStore`` over files; ``root`` is the log's folder, made by the first write.

    A torn end, an append that a crash cut and that was never acknowledged, is logged once; after that only ``verify`` names it.
    A stream that two machines continued has two branches: it is read as ``rule`` joins them, and the next append, or ``join``,
    stores that. Without a rule it is refused.
    """

    def __init__(self, root: Path, rule: Rule | None = None) -> None:
        self._root, self._layout = root, Layout(root)
        self._rule = rule
        self._branched: dict[str, bool] = {}
        self._writers: dict[str, StreamWriter] = {}
        self._guard = threading.Lock()
        self._prepared = False
        self._known_prunes: dict[str, str] = {}
        self._tombstones = NO_TOMBSTONES

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
        self._refuse_pruned(session_id)
        self._prepare()
        if kind_of(session_id) == "prune":
            return self._append_tombstones(session_id, records, expected_version)
        return self._writer(session_id).append(records, expected_version)

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; all of the stream is verified.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be trusted.
        """
        if pruned := self._pruned_session(session_id):
            kept = pruned_records(self.get(pruned.report))
            return [record for record in kept if record.version > after]
        return [line.record for line in self._chain(session_id).lines[after:]]

    def reopener(self) -> Callable[[], FileStore]:
        """Return a function that opens the store in another process."""
        return partial(FileStore, self._root, self._rule)

    def subscribe(self, kinds: Sequence[Kind] = ("session", "batch"), *, from_start: bool = False) -> PolledSubscription:
        """Return the events that are stored from now on, or all of them."""
        return PolledSubscription(self, kinds, None if from_start else self._layout.version_at)

    def take_over(self, session_id: str) -> None:
        """Do nothing: whoever holds a stream's lock writes it, and the lock is gone with its process."""

    def branched(self, streams: Iterable[str]) -> frozenset[str]:
        """Return those of the streams that two machines continued: they are read joined, and not stored so yet.

        One that cannot be read is none of them. A stream that was read before is not read again, nor is one of a single segment.
        """
        return frozenset(name for name in streams if self._is_branched(name))

    def _is_branched(self, stream: str) -> bool:
        with contextlib.suppress(LogError):
            if stream not in self._branched and len(self._layout.segments(stream)) > 1:
                self._chain(stream)
        return self._branched.get(stream, False)

    def join(self, session_id: str) -> Sequence[Record]:
        """Store how a stream's branches are joined; return the records that do it, none if it has no several branches.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be continued.
            LogUnwritable: the disk refuses.
            WorkspaceLocked: another process writes this stream.
        """
        chain = self._chain(session_id)
        if chain.merges:
            self._prepare()
            try:
                self._writer(session_id).append((), chain.version)
            finally:
                self.release(session_id)
            self._branched[session_id] = False
        return [line.record for merge in chain.merges for line in merge]

    def beside(self, session_id: str) -> Sequence[Record]:
        """Return the records of branches that were joined into a stream, by version; they are not in it themselves.

        Raises:
            LogUnreadable: the stream's folder cannot be read.
        """
        segments = read_segments(self._layout, session_id)
        if len(segments) < 2:
            return ()
        known = {line.hash for line in self._chain(session_id).lines}
        found = {line.hash: line.record for segment in segments for line in segment.lines if line.hash not in known}
        runs = (record for record in found.values() if not record.run_id.startswith(MERGE))
        return sorted(runs, key=lambda record: (record.version, record.id))

    def session_ids(self) -> Iterator[str]:
        """Yield the ids of all sessions, sorted."""
        return self.ids("session")

    def ids(self, kind: Kind) -> Iterator[str]:
        """Yield the ids of all streams of a kind, sorted."""
        if kind not in FORGETTABLE:
            return self._layout.ids(kind)
        stones = self.tombstones()
        if kind == "import":
            return (name for name in self._layout.ids(kind) if not stones.is_forgotten(name))
        return iter(sorted({name for name in self._layout.ids(kind) if not stones.is_forgotten(name)} | stones.sessions.keys()))

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        """Return a mark for each stream of these kinds, by id, sorted: the names, sizes and times of its segments."""
        found = dict(self._layout.marks(kinds))
        stones = self.tombstones()
        if not {*FORGETTABLE} & {*kinds} or not (stones.sessions or stones.forgotten):
            return found
        pruned = {name: f"pruned:{one.report}" for name, one in stones.sessions.items()} if "session" in kinds else {}
        left = {name: mark for name, mark in found.items() if kind_of(name) not in FORGETTABLE or not stones.is_forgotten(name)}
        whole = left | pruned
        return {name: whole[name] for kind in kinds for name in sorted(whole) if kind_of(name) == kind}

    def tombstones(self) -> Tombstones:
        """Return what was pruned and forgotten, as the streams of prunes say; they are read again when one has changed.

        A session that went on elsewhere after it was pruned here, and came back, is not pruned.
        """
        marks = dict(self._layout.marks(["prune"]))
        if marks != self._known_prunes:
            found = tombstones_of(line.record for name in marks for line in self._chain(name).lines)
            continued = {name for name, one in found.sessions.items() if self._version_of(name) > one.up_to}
            self._tombstones = replace(found, sessions={x: one for x, one in found.sessions.items() if x not in continued})
            self._known_prunes = marks
        return self._tombstones

    def size_of(self, stream: str) -> int:
        """Return the bytes of a stream's segments."""
        return sum(path.stat().st_size for path in self._layout.segments(stream))

    def object_size(self, digest: str) -> int:
        """Return the bytes of an object's file, 0 if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return self._layout.object(digest).stat().st_size
        return 0

    def remove_stream(self, stream: str) -> None:
        """Remove all files of a stream for good.

        Raises:
            LogUnwritable: the disk refuses; some files may be left.
            WorkspaceLocked: another process writes it.
        """
        remove_stream(self._layout, stream)

    def remove_objects(self, digests: Iterable[str]) -> None:
        """Remove objects for good.

        Raises:
            LogUnwritable: the disk refuses; some objects may be left.
        """
        remove_objects(self._layout, digests)

    def leftovers(self) -> Iterator[str]:
        """Yield the ids of pruned and forgotten sessions, and of forgotten imports, of which files are left."""
        stones = self.tombstones()
        yield from (name for name in self._layout.folders() if name in stones.sessions or stones.is_forgotten(name))
        yield from (name for name in self._layout.ids("import") if stones.is_forgotten(name))

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        """Replace each record of a stream for good.

        Raises:
            LogDamaged, LogForked, LogUnreadable, LogUnwritable, WorkspaceLocked: as the port says.
        """
        strike(self._layout, stream, change)

    def written_off(self) -> frozenset[str]:
        """Return the ids of sessions whose log is missing, and whose loss the user has accepted."""
        return self._layout.written_off_sessions()

    def load_snapshot(self, session_id: str, fold_id: str) -> Snapshot | None:
        """Return the latest snapshot by that fold whose event is still the stored one, else None."""
        if not is_plain(session_id) or self._pruned_session(session_id):
            return None
        stored = caches.read(self._layout.snapshot(session_id), fold_id)
        with contextlib.suppress(LogError):
            if stored and self._is_stored(session_id, stored):
                return stored.snapshot
        return None

    def _is_stored(self, session_id: str, stored: caches.Stored) -> bool:
        """Return whether a snapshot's event is in the stream: with several segments, it may be in a branch that did not go on."""
        segments = self._layout.segments(session_id)
        if len(segments) < 2:
            return caches.is_valid(stored.hash, segments)
        lines = self._chain(session_id).lines
        return 0 < stored.snapshot.version <= len(lines) and lines[stored.snapshot.version - 1].hash == stored.hash

    def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        """Keep a snapshot, unless its event is not stored. A failure is logged and never raised."""
        try:
            hash_ = self._hash_of(session_id, snapshot.version)
            if hash_ is not None:
                caches.write(self._layout.snapshot(session_id), caches.Stored(snapshot, hash_))
        except (OSError, LogError) as error:
            _log.info("no snapshot of %s was kept: %s", session_id, error)

    def put(self, data: bytes) -> str:
        """Store an object durably; return its SHA-256. A sound object of these bytes is left as it is.

        Raises:
            LogUnwritable: the disk refuses.
        """
        digest = digest_of(data)
        try:
            with self._guard:  # else another thread could take a folder for durable that is only just made
                self._prepare()
                files.make_directories(self._layout.object(digest).parent)
            objects.write(self._layout.object(digest), data, self._layout.scratch)
        except OSError as error:
            raise LogUnwritable(f"an object cannot be stored: {error.strerror}", hint="check space and permissions") from error
        return digest

    def get(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        if not objects.is_digest(digest):
            raise ObjectMissing(f"{digest!r} names no object: it is no SHA-256", hint="run `research verify`")
        return objects.read(self._layout.object(digest), digest)

    def release(self, session_id: str) -> None:
        """End this process's writing to a stream. Unknown ids are ignored."""
        with self._guard:
            writer = self._writers.get(session_id)
            if writer is None:
                return
            writer.release()
            if not writer.in_doubt:
                del self._writers[session_id]

    def _append_tombstones(self, stream: str, records: Sequence[Record], expected_version: int) -> int:
        """Append to a prune's stream; what is known of tombstones is brought up to date without reading them all again."""
        known = self.tombstones()
        version = self._writer(stream).append(records, expected_version)
        self._tombstones = tombstones_of(records, known)
        self._known_prunes = dict(self._layout.marks(["prune"]))
        return version

    def _version_of(self, session: str) -> int:
        """The version of a session's segments, 0 if there are none or they are damaged."""
        with contextlib.suppress(LogError):
            return read_chain(self._layout, session).version if self._layout.segments(session) else 0
        return 0

    def _pruned_session(self, stream: str) -> PrunedSession | None:
        """The tombstone of a session, None if it is none or was not pruned."""
        return self.tombstones().sessions.get(stream) if kind_of(stream) == "session" else None

    def _refuse_pruned(self, stream: str) -> None:
        if self._pruned_session(stream) or (kind_of(stream) in FORGETTABLE and self.tombstones().is_forgotten(stream)):
            raise EventRejected(f"{stream} was pruned and cannot go on", hint="research the question in a new session")

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

    def _warn_once(self, finding: Finding) -> None:
        mark = self._layout.local / "torn" / digest_of(str(finding).encode())[:16]
        if not _log.isEnabledFor(logging.WARNING):
            return
        with contextlib.suppress(OSError):  # what cannot be noted is logged again the next time
            if mark.exists():
                return
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        _log.warning("%s; nothing is lost by it, and research verify --repair cuts it off", finding)

    def _hash_of(self, stream: str, version: int) -> bytes | None:
        writer = self._writers.get(stream)
        known = writer.hash_of(version) if writer else None
        if known is not None:
            return known
        lines = self._chain(stream).lines
        return lines[version - 1].hash if 0 < version <= len(lines) else None

    def _prepare(self) -> None:
        if self._prepared:
            return
        try:
            self._layout.prepare()
        except OSError as error:
            raise LogUnwritable(
                f"{self._layout.root} cannot be written: {error.strerror}", hint="check space and permissions there"
            ) from error
        self._prepared = True


POLL_S = 0.5
AT_ONCE = 10_000  # about so many events are returned by one call


class Polled(Protocol):
    """What a subscription needs of a store; see ``pipeline.ports.EventStore``."""

    def marks(self, kinds: Sequence[Kind] = ...) -> Mapping[str, str]:
        """Return a mark for each stream."""
        ...

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``."""
        ...


class PolledSubscription:
    """The port ``Subscription``. With ``version_at``, what was stored before is left out.

    ``version_at`` returns the version that a stream had when it had that mark. It is asked only for streams that change later.
    """

    def __init__(self, store: Polled, kinds: Sequence[Kind], version_at: Callable[[str, str], int] | None = None) -> None:
        self._store, self._kinds, self._version_at = store, kinds, version_at
        self._marks: dict[str, str] = dict(store.marks(kinds)) if version_at else {}
        self._seen: dict[str, int] = {}

    def read(self) -> Sequence[Record]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read; the others are returned by the next call.
        """
        found: list[Record] = []
        for name, mark in self._store.marks(self._kinds).items():
            before = self._marks.get(name)
            if mark != before:
                self._marks[name] = mark
                found += self._new_of(name, before)
            if len(found) > AT_ONCE:
                break
        return sorted(found, key=lambda record: (record.at, record.session_id, record.version))

    def _new_of(self, name: str, before: str | None) -> Sequence[Record]:
        if name not in self._seen:
            self._seen[name] = self._version_at(name, before) if self._version_at and before else 0
        records = self._store.load(name, after=self._seen[name])
        if records:
            self._seen[name] = records[-1].version
        return records

    def wait(self, seconds: float) -> None:
        """Return after a moment: a folder is looked at again and again."""
        time.sleep(min(seconds, POLL_S))

    def close(self) -> None:
        """Nothing is open."""


def pruned_records(report: bytes) -> list[Record]:
    """Return the records in the object that holds what is kept of a pruned session: one event a line."""
    return [record for line in report.splitlines() if (record := envelope_of(line))]


def remove_stream(layout: Layout, stream: str) -> None:
    """Remove a stream's segments, its snapshot, and a session's folder; see the port.

    Raises:
        LogUnwritable, WorkspaceLocked: as the port says.
    """
    with _locked(layout, stream), _refusals(f"{stream} cannot be removed"):
        folder = layout.folder(stream)
        for path in reversed(layout.segments(stream)):
            _unlink(path)
        _unlink(layout.snapshot(stream))
        if folder.is_dir():
            files.sync_directory(folder)
        if kind_of(stream) == "session":
            _remove_empty(folder, folder.parent)


def remove_objects(layout: Layout, digests: Iterable[str]) -> None:
    """Remove objects, then make it durable folder by folder; see the port.

    Raises:
        LogUnwritable: as the port says.
    """
    paths = sorted(map(layout.object, digests))
    with _refusals("an object cannot be removed"):
        for path in paths:
            _unlink(path)
        for folder in sorted({path.parent for path in paths}):
            if folder.is_dir():
                files.sync_directory(folder)


def strike(layout: Layout, stream: str, change: Callable[[Record], Record]) -> None:
    """Rewrite a stream record by record, into its first segment; see the port.

    Raises:
        LogUnwritable, WorkspaceLocked, LogDamaged, LogForked: as the port says.
    """
    with _locked(layout, stream), _refusals(f"{stream} cannot be rewritten"):
        paths = layout.segments(stream)
        if paths:
            lines, head = [], ZEROS
            for record in map(change, _records(layout, stream)):
                line, head = seal(record.data, head)
                lines.append(line)
            files.replace(paths[0], b"".join(lines), layout.scratch)
            for path in paths[1:]:
                _unlink(path)
            files.sync_directory(layout.folder(stream))


def _records(layout: Layout, stream: str) -> list[Record]:
    """The records of a stream; if a rewriting was interrupted, its first segment has those of all others already."""
    first, *others = read_segments(layout, stream)
    known = {line.record.id for line in first.lines}
    if others and known.issuperset(line.record.id for segment in others for line in segment.lines):
        return [line.record for line in first.lines]
    return [line.record for line in refuse_damage(join([first, *others]), stream).lines]


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return  # somebody put a file of theirs there
            raise
        files.sync_directory(folder.parent)


@contextmanager
def _locked(layout: Layout, stream: str) -> Iterator[None]:
    lock = Lock(layout.lock(stream), f"removes {stream}")
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "check space and permissions; the next `research forget --by-settings` goes on with it"
        raise LogUnwritable(f"{what}: {error.strerror or error}", hint=hint) from error
