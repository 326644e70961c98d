"""The event store in PostgreSQL, for several machines at once. Snapshots and summaries stay files of each machine.

An acknowledged append is committed. What was sent when the connection broke is looked up after it is there again, and sent again
only if it was not stored. A stream has one owner at a time and one chain of records: two machines cannot continue it both.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pipeline.adapters.store import object_store, snapshots
from pipeline.adapters.store.layout import Layout, is_plain
from pipeline.adapters.store.postgres import objects, removal, schema_versions, stream_rows
from pipeline.adapters.store.postgres.connection import Connection, Database
from pipeline.adapters.store.postgres.stream_writer import StreamWriter
from pipeline.adapters.store.subscriptions.postgres_subscription import Notifier, PostgresSubscription, listening
from pipeline.adapters.store.unfit_records import refuse_unfit
from pipeline.adapters.store.upkeep.removal import pruned_records
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

_log = logging.getLogger("pipeline.adapters.store")


class PostgresStore:
    """The port ``EventStore`` over the database at ``url``; ``root`` is the folder whose ``local/`` keeps this machine's caches.

    The first call connects. Threads wait for each other.

    Raises, from every method that asks the database:
        StoreUnreachable: it does not answer.
        LogUnreadable: it has no tables, or those of another version of this program.
    """

    def __init__(self, url: str, root: Path, *, password: str = "", patience_s: float = 30.0) -> None:
        self._url, self._password = url, password
        self._notifier = Notifier(Database(url, lambda _connection: None, password=password, patience_s=0.0))
        weakref.finalize(self, self._notifier.close)  # its thread would keep its connection for as long as the process lives
        self._layout = Layout(root)
        self._writer = StreamWriter()
        self.database = Database(url, partial(_connected, self._writer), password=password, patience_s=patience_s)
        self._guard = threading.RLock()
        self._known_prunes: str | None = None
        self._tombstones = NO_TOMBSTONES

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        """Store ``records`` durably after ``expected_version``; return the version of the last one.

        Raises:
            VersionConflict: the stream is at another version; ``WriterReplaced``: another process took it over.
            EventRejected: a stored id with other data, or records that do not fit the stream or each other.
            LogUnwritable: the database refuses; nothing of this batch is acknowledged.
            WorkspaceLocked: another living process writes this stream.
        """
        refuse_unfit(session_id, records, expected_version)
        with self._guard:
            if session_id not in self._writer.held:
                self._take_up(session_id)
            version = self._writer.append(self.database, session_id, records, expected_version)
            if kind_of(session_id) == "prune":
                self._tombstones, self._known_prunes = tombstones_of(records, self._tombstones), None
        self._notifier.appended()
        return version

    def take_over(self, session_id: str) -> None:
        """Write a stream from now on, also if another process that still lives is writing it: its next append is refused.

        Raises:
            EventRejected: the session was pruned.
        """
        with self._guard:
            self._refuse_pruned(session_id)
            self.database.run(lambda connection: self._writer.take_up(connection, session_id, over=True))

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; each is verified.

        Raises:
            LogDamaged: the stream cannot be trusted.
        """
        if not is_plain(session_id):
            return []
        loaded = self.database.run(lambda connection: stream_rows.load(connection, session_id, after))
        if loaded.prunes and (pruned := self._pruned_session(session_id)):
            kept = pruned_records(self.get(pruned.report))
            return [record for record in kept if record.version > after]
        return loaded.records

    def subscribe(self, kinds: Sequence[Kind] = ("session", "batch"), *, from_start: bool = False) -> PostgresSubscription:
        """Return the events that are stored from now on, or all of them, over a connection of its own."""
        database = Database(self._url, listening, password=self._password, patience_s=0.0)
        return PostgresSubscription(database, kinds, from_start=from_start)

    def branched(self, streams: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - the port has it
        """Return none: two machines cannot continue one stream."""
        return frozenset()

    def join(self, session_id: str) -> Sequence[Record]:  # noqa: ARG002 - the port has it
        """Do nothing: a stream has no several branches."""
        return ()

    def beside(self, session_id: str) -> Sequence[Record]:
        """Return the records of branches that were joined before the stream was copied from files, by version."""
        found = self.database.run(lambda connection: stream_rows.beside(connection, session_id))
        return [record for record in found if not record.run_id.startswith(MERGE)]

    def session_ids(self) -> Iterator[str]:
        """Yield the ids of all sessions, sorted."""
        return self.ids("session")

    def ids(self, kind: Kind) -> Iterator[str]:
        """Yield the ids of all streams of a kind, sorted."""
        return iter(list(self.marks([kind])))

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        """Return a mark for each stream of these kinds, by id, sorted: the version and hash of its last record."""
        found = self.database.run(lambda connection: _marks(connection, kinds))
        if not {*FORGETTABLE} & {*kinds}:
            return found
        stones = self.tombstones()
        pruned = {name: f"pruned:{one.report}" for name, one in stones.sessions.items()} if "session" in kinds else {}
        left = {name: mark for name, mark in found.items() if kind_of(name) not in FORGETTABLE or not stones.is_forgotten(name)}
        whole = left | pruned
        return {name: whole[name] for kind in kinds for name in sorted(whole) if kind_of(name) == kind}

    def written_off(self) -> frozenset[str]:
        """Return the ids of sessions whose log is missing, and whose loss the user has accepted."""
        rows = self.database.run(lambda connection: connection.execute("SELECT session FROM written_off").fetchall())
        return frozenset(row[0] for row in rows)

    def tombstones(self) -> Tombstones:
        """Return what was pruned and forgotten, as the streams of prunes say; they are read again when one has changed.

        A session that went on elsewhere after it was pruned here, and came back, is not pruned.
        """
        with self._guard:
            return self.database.run(self._read_tombstones)

    def size_of(self, stream: str) -> int:
        """Return the bytes of a stream's lines, with their line ends."""
        query = """SELECT (SELECT bytes FROM streams WHERE stream = %(stream)s)
            + (SELECT coalesce(sum(octet_length(line) + 1), 0) FROM branch_events WHERE stream = %(stream)s)"""
        row = self.database.run(lambda connection: connection.execute(query, {"stream": stream}).fetchone())
        return int(row[0]) if row and row[0] is not None else 0

    def object_size(self, digest: str) -> int:
        """Return the bytes of a stored object, 0 if there is none."""
        return self.database.run(lambda connection: objects.size(connection, digest))

    def remove_stream(self, stream: str) -> None:
        """Remove a stream's rows and its snapshot for good.

        Raises:
            LogUnwritable: the role may not delete; nothing is removed.
            WorkspaceLocked: another process writes it.
        """
        with self._guard:
            self._writer.held.pop(stream, None)
            self.database.run(lambda connection: removal.remove_stream(connection, stream))
        with contextlib.suppress(OSError):
            self._layout.snapshot(stream).unlink()

    def remove_objects(self, digests: Iterable[str]) -> None:
        """Remove objects for good.

        Raises:
            LogUnwritable: the role may not delete; nothing is removed.
        """
        found = list(digests)
        self.database.run(lambda connection: objects.remove(connection, found))

    def leftovers(self) -> Iterator[str]:
        """Yield the ids of pruned and forgotten sessions, and of forgotten imports, of which rows are left."""
        stones = self.tombstones()
        names = self.database.run(lambda connection: _marks(connection, FORGETTABLE))
        return (name for name in sorted(names) if name in stones.sessions or stones.is_forgotten(name))

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        """Replace each record of a stream for good.

        Raises:
            LogDamaged: the stream cannot be trusted.
            LogUnwritable: the role may not change rows; nothing is changed.
            WorkspaceLocked: another process writes it.
        """
        with self._guard:
            self._writer.held.pop(stream, None)
            self.database.run(lambda connection: removal.strike(connection, stream, change))

    def load_snapshot(self, session_id: str, fold_id: str) -> Snapshot | None:
        """Return the latest snapshot by that fold whose event is still the stored one, else None."""
        if not is_plain(session_id):
            return None
        stored = snapshots.read(self._layout.snapshot(session_id), fold_id)
        with contextlib.suppress(LogError):
            if stored and self._hash_of(session_id, stored.snapshot.version) == stored.hash:
                return None if self._pruned_session(session_id) else stored.snapshot
        return None

    def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in this machine's folder, unless its event is not stored. A failure is logged and never raised."""
        try:
            hash_ = self._hash_of(session_id, snapshot.version) if is_plain(session_id) else None
            if hash_ is not None:
                self._layout.prepare_local()
                snapshots.write(self._layout.snapshot(session_id), snapshots.Stored(snapshot, hash_))
        except (OSError, LogError) as error:
            _log.info("no snapshot of %s was kept: %s", session_id, error)

    def put(self, data: bytes) -> str:
        """Store an object durably; return its SHA-256.

        Raises:
            LogUnwritable: the database refuses, or the object is too large.
        """
        try:
            return self.database.run(lambda connection: objects.put(connection, data))
        except OSError as error:
            raise LogUnwritable(f"an object cannot be stored: {error.strerror}", hint="this is a fault of the program") from error

    def get(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        if not object_store.is_digest(digest):
            raise ObjectMissing(f"{digest!r} names no object: it is no SHA-256", hint="run `research verify`")
        return self.database.run(lambda connection: objects.get(connection, digest))

    def release(self, session_id: str) -> None:
        """End this process's writing to a stream. Unknown ids are ignored."""
        with self._guard:
            if session_id in self._writer.held:
                self.database.run(lambda connection: self._writer.release(connection, session_id))

    def close(self) -> None:
        """Close the connection; streams that this process owned have no owner then. The next call connects again."""
        with self._guard:
            self._writer.held.clear()
            self.database.close()
        self._notifier.close()

    def _take_up(self, stream: str) -> None:
        self._refuse_pruned(stream)
        if kind_of(stream) == "prune":
            self.database.run(removal.refuse_without_right)
        self.database.run(lambda connection: self._writer.take_up(connection, stream))

    def _read_tombstones(self, connection: Connection) -> Tombstones:
        marks = _marks(connection, ["prune"])
        known = repr(marks)
        if known != self._known_prunes:
            records = (record for name in marks for record in stream_rows.load(connection, name, 0).records)
            found = tombstones_of(records)
            versions = _versions(connection, found.sessions)
            left = {name: one for name, one in found.sessions.items() if versions.get(name, 0) <= one.up_to}
            self._tombstones, self._known_prunes = replace(found, sessions=left), known
        return self._tombstones

    def _pruned_session(self, stream: str) -> PrunedSession | None:
        return self.tombstones().sessions.get(stream) if kind_of(stream) == "session" else None

    def _refuse_pruned(self, stream: str) -> None:
        if kind_of(stream) in FORGETTABLE and (self._pruned_session(stream) or self.tombstones().is_forgotten(stream)):
            raise EventRejected(f"{stream} was pruned and cannot go on", hint="research the question in a new session")

    def _hash_of(self, stream: str, version: int) -> bytes | None:
        held = self._writer.held.get(stream)
        if held and held.version == version > 0:
            return held.head.hex().encode()
        query = "SELECT hash FROM events WHERE stream = %s AND version = %s"
        row = self.database.run(lambda connection: connection.execute(query, (stream, version)).fetchone())
        return row[0].hex().encode() if row else None


def _connected(writer: StreamWriter, connection: Connection) -> None:
    """Prepare a new connection. No method of the store: the store could not be freed, nor its connection closed, when unused."""
    schema_versions.check(connection)
    writer.connected(connection)


def _marks(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    query = "SELECT stream, version, encode(head, 'hex') FROM streams WHERE kind = ANY(%s) AND version > 0"
    found = {name: f"{version}:{head}" for name, version, head in connection.execute(query, (list(kinds),))}
    return {name: found[name] for kind in kinds for name in sorted(found) if kind_of(name) == kind}


def _versions(connection: Connection, sessions: Iterable[str]) -> dict[str, int]:
    query = "SELECT stream, version FROM streams WHERE stream = ANY(%s)"
    return dict(connection.execute(query, (list(sessions),)).fetchall())
