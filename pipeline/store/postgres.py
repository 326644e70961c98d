"""The event store in PostgreSQL: the same sealed lines as in the files, in tables that several machines share.

Before a process writes a stream it takes it up: that raises the stream's fence and makes this process its owner. The append, one
function in the database, is given the fence and the head that it continues, and stores nothing unless both are still so. Thus two
processes that think they own a stream can never both write: a process that was frozen while another took over finds its fence too
low.

Each connection holds an advisory lock on its own number. A stream whose owner's number is not locked has no living owner.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.events.stream_records import Kind, Record, kind_of
from pipeline.errors import EventRejected, ObjectMissing, VersionConflict, WorkspaceLocked, WriterReplaced
from pipeline.store.layout import Layout, is_shared, segment_name, segment_path
from pipeline.store.objects import StoredObjects, is_digest
from pipeline.store.postgres_database import Connection, Database, check_schema
from pipeline.store.record_chain import ZEROS, Defect, Line, RecordChain, Segment, join, parse, refuse_damage, refuse_unfit, seal
from pipeline.store.tombstone_filter import StoredStreams


class DatabaseObjects(StoredObjects):
    """Objects in the table ``objects``: the same packed bytes that the file store keeps in files."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_packed(self, digest: str, body: bytes) -> None:
        """Store a packed object under its digest, unless one is there."""
        self._database.rows("INSERT INTO objects VALUES (%s, %b) ON CONFLICT DO NOTHING", bytes.fromhex(digest), body)

    def packed(self, digest: str) -> bytes:
        """Return an object as it is stored.

        Raises:
            ObjectMissing: it is not stored.
        """
        if rows := self._database.rows("SELECT body FROM objects WHERE sha = %s", bytes.fromhex(digest)):
            return bytes(rows[0][0])
        hint = "`research verify` lists all damage; restore the database from a backup, or research the query again"
        raise ObjectMissing(f"the stored object {digest} is missing in the database", hint=hint)

    def size(self, digest: str) -> int:
        """Return the bytes that an object takes up, 0 if it is not stored."""
        query = "SELECT octet_length(body) FROM objects WHERE sha = %s"
        rows = self._database.rows(query, bytes.fromhex(digest)) if is_digest(digest) else []
        return int(rows[0][0]) if rows else 0

    def ids(self) -> Iterator[str]:
        """Yield the digests of all objects, sorted."""
        return (row[0].hex() for row in self._database.rows("SELECT sha FROM objects ORDER BY sha"))

    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good. Some may be gone already."""
        if gone := [bytes.fromhex(digest) for digest in digests]:
            self._database.rows("DELETE FROM objects WHERE sha = ANY(%s)", gone)


@dataclass(slots=True)
class _Held:
    """A stream that this process writes, as it left it; ``segment`` is "" until this process's first append."""

    version: int
    head: bytes  # as 64 hex digits
    fence: int
    segment: str = ""
    run_id: str = ""


class _Writer:
    """The streams that this process writes, over one connection that may be replaced.

    No part of the store: a store that is no longer used could not be freed, nor its connection closed.
    """

    def __init__(self) -> None:
        self.held: dict[str, _Held] = {}
        self.owner: int | None = None

    def connected(self, connection: Connection) -> None:
        """Take a number for a new connection, and own by it what this process owned by its last one."""
        check_schema(connection)
        row = connection.execute(_OWN).fetchone() or (None, None)
        self.owner = row[1]
        fences = [held.fence for held in self.held.values()]
        connection.execute(_HAND_ON, ([*self.held], fences, self.owner))


_OWN = "SELECT pg_advisory_lock(connection_locks(), number), number FROM (SELECT nextval('store_connections')::int AS number) n"
_TAKE_UP = "SELECT version, head, fence FROM take_up(%s, %s, %s, %s, %s)"
_HAND_ON = "SELECT hand_on(%s::text[], %s::bigint[], %s)"
_APPEND = "SELECT append_event(%s, %s, %s, version, head, id, body) FROM (VALUES {}) AS given (version, head, id, body)"
_END = """
SELECT version, fence, writer, EXISTS (SELECT FROM events e WHERE e.stream = s.stream AND e.version = %s AND e.line = %b)
FROM streams s WHERE stream = %s
"""
# One statement, so that the stream's row and its lines are of one moment.
_SEGMENTS = """
SELECT '' AS segment, version, head AS line FROM streams WHERE stream = %(stream)s
UNION ALL SELECT segment, version, line FROM events WHERE stream = %(stream)s
UNION ALL SELECT segment, version, line FROM branch_events WHERE stream = %(stream)s ORDER BY 1, 2
"""
_STREAMS = """
SELECT stream FROM streams WHERE kind = %(kind)s AND version > 0
UNION SELECT e.stream FROM events e LEFT JOIN streams s USING (stream) WHERE s.stream IS NULL AND e.version = 1
"""


class PostgresStore(StoredStreams):
    """The port ``EventStore`` over the database at ``url``; ``root`` is the folder whose ``local/`` keeps this machine's caches.
    ``objects_in`` returns where objects are kept, given the database's own place for them.

    The first call connects. Threads wait for each other.

    Raises, from every method that asks the database:
        StoreUnreachable: it does not answer.
        LogUnreadable: it has no tables, or those of another version of this program.
    """

    def __init__(
        self,
        url: str,
        root: Path,
        *,
        password: str = "",
        patience_s: float = 30.0,
        objects_in: Callable[[StoredObjects], StoredObjects] = lambda usual: usual,
    ) -> None:
        super().__init__()
        self._layout, self._writer = Layout(root), _Writer()
        self.database = Database(url, self._writer.connected, password=password, patience_s=patience_s)
        self._objects = objects_in(DatabaseObjects(self.database))
        self._guard = threading.RLock()

    @property
    def objects(self) -> StoredObjects:
        """Pages and exchanges."""
        return self._objects

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
            held = self._writer.held.get(session_id) or self._take_up(session_id)
            fresh = records
            if expected_version < held.version:
                known = {record.id: record for record in self.stored_records(session_id, expected_version)}
                if any(known.get(record.id, record) != record for record in records):
                    message = f"{session_id}: an event is stored with other content"
                    raise EventRejected(message, hint="an event's id must never be used again")
                fresh = [record for record in records if record.id not in known]
            version = fresh[0].version - 1 if fresh else expected_version
            if (fresh or not records) and version != held.version:
                raise _conflict(session_id, held.version, version)
            if fresh:
                self._store(session_id, held, fresh)
            if kind_of(session_id) == "prune":
                self._recorded(records)
            return records[-1].version if records else expected_version

    def _store(self, stream: str, held: _Held, records: Sequence[Record]) -> None:
        last, head, line, values = records[-1], held.head, b"", list[object]()
        for record in records:
            values += (record.version, bytes.fromhex(head.decode()), record.id, record.data[:-1])
            line, head = seal(record.data, head)
        segment = held.segment
        if held.run_id != last.run_id:  # a new segment, of the name that the files would give it
            taken: set[str] = set()
            if held.version and is_shared(stream):
                query = "SELECT segment FROM events WHERE stream = %s UNION SELECT segment FROM branch_events WHERE stream = %s"
                taken = {row[0] for row in self.database.rows(query, stream, stream)}
            names = (segment_name(stream, records[0].version, last.run_id, attempt) for attempt in itertools.count(1))
            segment = next(name for name in names if name not in taken)
        query = _APPEND.format(", ".join(["(%s, %b, %s, %b)"] * len(records)))
        try:
            self.database.rows(query, stream, held.fence, segment, *values)
        except VersionConflict:
            self._refuse_removed(stream)
            end = self.database.rows(_END, last.version, line[:-1], stream)
            version, fence, writer, is_stored = end[0] if end else (0, held.fence, "", False)
            if not is_stored and fence != held.fence:
                raise WriterReplaced(f"{writer} has taken over {stream}", hint="this process must not go on with it") from None
            if not is_stored:  # else it was, by an earlier try, whose acknowledgement was lost
                raise _conflict(stream, version, held.version) from None
        held.version, held.head, held.segment, held.run_id = last.version, head, segment, last.run_id

    def take_over(self, session_id: str) -> None:
        """Write a stream from now on, also if another process that still lives is writing it: its next append is refused.

        Raises:
            EventRejected: the session was pruned.
        """
        with self._guard:
            self._take_up(session_id, over=True)

    def _take_up(self, stream: str, *, over: bool = False) -> _Held:
        self._refuse_removed(stream)
        writer = f"process {os.getpid()} on {socket.gethostname()}"

        def work(connection: Connection) -> _Held:
            row = connection.execute(_TAKE_UP, (stream, kind_of(stream), self._writer.owner, writer, over)).fetchone()
            if row is None:
                raise self._locked(stream)
            return _Held(row[0], row[1].encode(), row[2])

        held = self._writer.held[stream] = self.database.run(work)
        return held

    def _locked(self, stream: str) -> WorkspaceLocked:
        rows = self.database.rows("SELECT writer FROM streams WHERE stream = %s", stream)
        writer = rows[0][0] if rows else "another process"
        return WorkspaceLocked(f"{writer} writes {stream}", hint="wait until it has ended, or stop it")

    def release(self, session_id: str) -> None:
        """End this process's writing to a stream. Unknown ids are ignored."""
        with self._guard:
            if held := self._writer.held.get(session_id):
                self.database.rows(_HAND_ON, [session_id], [held.fence], None)
                del self._writer.held[session_id]  # only now: it is done again if the connection is lost

    def close(self) -> None:
        """Close the connection; streams that this process owned have no owner then. The next call connects again."""
        with self._guard:
            self._writer.held.clear()
            self.database.close()

    def stored_marks(self, kinds: Sequence[Kind]) -> Mapping[str, str]:
        """Return the version and hash of each stream's last record."""
        query = "SELECT kind, stream, version, encode(head, 'hex') FROM streams WHERE kind = ANY(%s) AND version > 0"
        rows = sorted(self.database.rows(query, list(kinds)), key=lambda row: (kinds.index(row[0]), row[1]))
        return {stream: f"{version}:{head}" for _, stream, version, head in rows}

    def stored_records(self, stream: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; all of the stream is verified.

        Raises:
            LogDamaged: the stream cannot be trusted.
        """
        return [line.record for line in refuse_damage(join(self.segments(stream)), stream).lines[after:]]

    def version_at(self, stream: str, mark: str) -> int:  # noqa: ARG002 - the port has it
        """Return the version that a stream had when ``marks`` gave it that mark, 0 for that of a pruned session."""
        version = mark.partition(":")[0]
        return int(version) if version.isdigit() else 0

    def written_off(self) -> frozenset[str]:
        """Return the ids of sessions whose log is missing, and whose loss the user has accepted."""
        return frozenset(row[0] for row in self.database.rows("SELECT session FROM written_off"))

    def remove_stream(self, stream: str) -> None:
        """Remove a stream's rows for good.

        Raises:
            LogUnwritable: the role may not delete; nothing is removed.
            WorkspaceLocked: another process writes it.
        """

        def work(connection: Connection) -> None:
            self._lock(connection, stream)
            connection.execute("SELECT remove_stream(%s)", (stream,))

        with self._guard:
            self._writer.held.pop(stream, None)
            self.database.transaction(work)
        self._layout.remove_snapshot(stream)

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        """Replace each record of a stream for good, all in its first segment; its branches go.

        Raises:
            LogDamaged: the stream cannot be trusted.
            LogUnwritable: the role may not change rows; nothing is changed.
            WorkspaceLocked: another process writes it.
        """
        with self._guard:
            lines, head = list[Line](), ZEROS
            for record in map(change, self.stored_records(stream)):
                prev, head = head, seal(record.data, head)[1]
                lines.append(Line(record, head, prev))
            if lines:
                only = Segment(self.segments(stream)[0].path, lines)
                self.write(stream, [only], join([only]))

    def streams(self, kind: Kind) -> list[str]:
        """Return the ids of all streams of a kind, sorted; also of those of which only events are left."""
        return sorted(row[0] for row in self.database.rows(_STREAMS, kind=kind) if kind_of(row[0]) == kind)

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments as they are as files, each as far as it is sound.

        A stream whose row names another end than its last line has lost lines, or has some too many: that is damage.
        """
        found: dict[str, list[bytes]] = {}
        end = (0, ZEROS)
        for name, version, line in self.database.rows(_SEGMENTS, stream=stream):
            if name:
                found.setdefault(name, []).append(line)
            else:
                end = version, line.hex().encode()
        contents = {segment_path(stream, name): b"".join(b"%b\n" % line for line in lines) for name, lines in found.items()}
        segments = [parse(path, content, stream) for path, content in sorted(contents.items())]
        chain = join(segments)
        if not chain.findings and (chain.version, chain.head) != end:
            segments = segments or [Segment(segment_path(stream, ""))]
            message = f"the stream's row ends with version {end[0]}, its records with version {chain.version}"
            segments[-1].finding = Defect(segments[-1].path, len(segments[-1].lines), "corrupt", message)
        return segments

    def write(self, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:
        """Let a stream be these segments, of which ``chain`` is the chain, in one transaction.

        Raises:
            WorkspaceLocked: another process writes it.
        """
        kept = {(path, line.hash) for path, line in zip(chain.files, chain.lines, strict=True)}
        beside = [(segment.path, line) for segment in segments for line in segment.lines if (segment.path, line.hash) not in kept]

        def row(path: str, line: Line) -> tuple[object, ...]:
            return stream, line.record.version, path.rpartition("/")[2], seal(line.record.data, line.prev)[0][:-1]

        def work(connection: Connection) -> None:
            cursor = connection.cursor()
            query = "INSERT INTO streams (stream, kind) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            cursor.execute(query, (stream, kind_of(stream)))
            self._lock(connection, stream)
            cursor.execute("DELETE FROM events WHERE stream = %s", (stream,))
            cursor.execute("DELETE FROM branch_events WHERE stream = %s", (stream,))
            query = "INSERT INTO events (stream, version, segment, line, id) VALUES (%s, %s, %s, %b, %s)"
            rows = zip(chain.files, chain.lines, strict=True)
            cursor.executemany(query, [(*row(path, line), line.record.id) for path, line in rows])
            query = "INSERT INTO branch_events (stream, version, segment, line) VALUES (%s, %s, %s, %b) ON CONFLICT DO NOTHING"
            cursor.executemany(query, [row(path, line) for path, line in beside])
            query = "UPDATE streams SET version = %s, head = decode(%s, 'hex'), fence = fence + 1 WHERE stream = %s"
            cursor.execute(query, (chain.version, chain.head.decode(), stream))

        self._writer.held.pop(stream, None)
        self.database.transaction(work)

    def _lock(self, connection: Connection, stream: str) -> None:
        """Lock a stream's row until the end of the transaction; refuse one that a living process of another connection owns."""
        query = "SELECT owner IS NULL OR pg_try_advisory_xact_lock(connection_locks(), owner) FROM streams"
        if connection.execute(f"{query} WHERE stream = %s FOR UPDATE", (stream,)).fetchone() == (False,):
            raise self._locked(stream)

    def write_off(self, session: str) -> None:
        """Accept that a session's log is missing."""
        self.database.rows("INSERT INTO written_off VALUES (%s) ON CONFLICT DO NOTHING", session)


def _conflict(stream: str, version: int, expected: int) -> VersionConflict:
    return VersionConflict(f"{stream} is at version {version}, not at {expected}", hint="load it again and decide again")
