"""The event store in PostgreSQL: the same sealed lines as in the files, in tables that several machines share.

Before a process writes a stream it takes it up: that raises the stream's fence and makes this process its owner. The append
names version, head and fence, and is stored only if all three are still so. Thus two processes that think they own a stream can
never both write: a process that was frozen while another took over finds its fence too low.

Each connection holds an advisory lock on its own number. A stream whose owner's number is not locked has no living owner.

A subscription's position is that of the last event read, by transaction and then by number. Only transactions before the oldest
one that is still open are read: a later number may be committed first, and the earlier one would then be passed over for good. So
a transaction that stays open, in any database of the server, holds subscribers up; it never makes them miss an event.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from psycopg import errors
from psycopg.pq import TransactionStatus

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
from pipeline.errors import (
    EventRejected,
    LogDamaged,
    LogError,
    LogUnwritable,
    ObjectMissing,
    VersionConflict,
    WorkspaceLocked,
    WriterReplaced,
)
from pipeline.ports import Objects
from pipeline.store import caches, objects, postgres_database
from pipeline.store.files import pruned_records
from pipeline.store.layout import Layout, is_plain, is_shared, segment_name, segment_path
from pipeline.store.postgres_database import Connection, Database
from pipeline.store.segments import ZEROS, Finding, Line, Segment, join, open_line, parse, refuse_damage, refuse_unfit, seal
from pipeline.text.normalise import digest_of

# One statement, so that both are of one moment: the stream's row and the state of the prunes come first, then the lines.
_LOAD = """
SELECT 0 AS version, s.head AS line, s.version AS last, coalesce(p.mark, '') AS prunes
FROM (SELECT string_agg(stream || ':' || version, ',' ORDER BY stream) AS mark FROM streams WHERE kind = 'prune') p
LEFT JOIN streams s ON s.stream = %(stream)s
UNION ALL (SELECT version, line, NULL, NULL FROM events WHERE stream = %(stream)s AND version >= %(first)s ORDER BY version)
"""


class Loaded(NamedTuple):
    """Records of a stream, and the mark of all prunes at the same moment."""

    records: list[Record]
    prunes: str


def load_rows(connection: Connection, stream: str, after: int) -> Loaded:
    """Return the records of versions above ``after``.

    Raises:
        LogDamaged: a record was altered, or is missing.
    """
    rows = connection.execute(_LOAD, {"stream": stream, "first": max(after, 1)}, binary=True).fetchall()
    _, head, last, prunes = rows[0]
    lines = _chained(rows[1:], stream, max(after, 1), last or 0, (head or b"").hex().encode())
    if lines is None:
        segments = read_segments(connection, stream)
        refuse_damage(join(segments), stream)
        raise LogDamaged(f"the log of {stream} is damaged: it was changed while it was read", hint="run `research verify`")
    return Loaded([line.record for line in lines if line.record.version > after], prunes)


def record_in(raw: bytes) -> Record:
    """Return the record of one stored line.

    Raises:
        LogDamaged: it was altered.
    """
    if (line := open_line(raw)) is None:
        raise LogDamaged(f"a record is damaged: {raw[:120]!r}", hint="run `research verify`")
    return line.record


def _chained(rows: Iterable[Sequence[object]], stream: str, first: int, last: int, head: bytes) -> list[Line] | None:
    """Return the lines if they verify and continue each other from version ``first`` to the stream's last one, else None."""
    lines: list[Line] = []
    prev = ZEROS if first == 1 else b""
    for version, (_, raw, *_) in enumerate(rows, first):
        line = open_line(raw) if isinstance(raw, bytes) else None
        if line is None or (prev and line.prev != prev) or line.record.version != version or line.record.session_id != stream:
            return None
        lines.append(line)
        prev = line.hash
    is_whole = len(lines) == max(0, last - first + 1) and (not lines or prev == head)
    return lines if is_whole else None


def read_segments(connection: Connection, stream: str) -> list[Segment]:
    """Return the stream's segments as they are as files, each as far as it is sound.

    A stream whose row names another end than its last line has lost lines, or has some too many: that is damage.
    """
    if connection.info.transaction_status == TransactionStatus.INTRANS:
        return _segments(connection, stream)
    with connection.transaction():  # else an append between two queries would look like damage
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return _segments(connection, stream)


def _segments(connection: Connection, stream: str) -> list[Segment]:
    segments = [parse(segment_path(stream, name), content, stream) for name, content in segment_contents(connection, stream)]
    row = connection.execute("SELECT version, head FROM streams WHERE stream = %s", (stream,)).fetchone()
    query = "SELECT version, hash FROM events WHERE stream = %s ORDER BY version DESC LIMIT 1"
    end = connection.execute(query, (stream,)).fetchone()
    if segments and not any(segment.finding for segment in segments) and (row or (0, b"")) != end:
        message = f"the stream's row ends with version {row[0] if row else 0}, its records with version {end[0] if end else 0}"
        segments[-1].finding = Finding(segments[-1].path, len(segments[-1].lines), "corrupt", message)
    elif not segments and row and row[0] > 0:
        message = f"all of its {row[0]} records are missing"
        segments.append(Segment(segment_path(stream, ""), finding=Finding(segment_path(stream, ""), 0, "corrupt", message)))
    return segments


def segment_contents(connection: Connection, stream: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each segment of a stream, sorted by name."""
    query = """
        SELECT segment, version, line FROM events WHERE stream = %(stream)s
        UNION ALL SELECT segment, version, line FROM branch_events WHERE stream = %(stream)s
        ORDER BY 1, 2
    """
    found: dict[str, list[bytes]] = {}
    for name, _, line in connection.execute(query, {"stream": stream}, binary=True):
        found.setdefault(name, []).append(line)
    for name in sorted(found):
        yield name, b"".join(b"%b\n" % line for line in found[name])


def rows_beside(connection: Connection, stream: str) -> list[Record]:
    """Return the records of branches that were joined into a stream, by version."""
    query = """
        SELECT DISTINCT ON (b.hash) b.line FROM branch_events b WHERE b.stream = %(stream)s
        AND NOT EXISTS (SELECT FROM events e WHERE e.stream = b.stream AND e.version = b.version AND e.hash = b.hash)
    """
    lines = (open_line(row[0]) for row in connection.execute(query, {"stream": stream}, binary=True))
    return sorted((line.record for line in lines if line), key=lambda record: (record.version, record.id))


class DatabaseObjects:
    """The port ``Objects`` in the table ``objects``: the same packed bytes that the file store keeps in files."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, digest: str, body: bytes) -> None:
        """Store a packed object under its digest, unless one is there."""
        query = "INSERT INTO objects (sha, body) VALUES (%b, %b) ON CONFLICT DO NOTHING"
        self._database.run(lambda connection: connection.execute(query, (bytes.fromhex(digest), body)))

    def get(self, digest: str) -> bytes:
        """Return an object as it is stored.

        Raises:
            ObjectMissing: it is not stored.
        """
        query, sha = "SELECT body FROM objects WHERE sha = %b", (bytes.fromhex(digest),)
        row = self._database.run(lambda connection: connection.execute(query, sha, binary=True).fetchone())
        if row is None:
            hint = "`research verify` lists all damage; restore the database from a backup, or research the query again"
            raise ObjectMissing(f"the stored object {digest} is missing in the database", hint=hint)
        return bytes(row[0])

    def size(self, digest: str) -> int:
        """Return the bytes that an object takes up, 0 if it is not stored."""
        query, sha = "SELECT octet_length(body) FROM objects WHERE sha = %b", (bytes.fromhex(digest),)
        row = self._database.run(lambda connection: connection.execute(query, sha).fetchone())
        return int(row[0]) if row else 0

    def has(self, digest: str) -> bool:
        """Return whether an object is stored."""
        return self.size(digest) > 0

    def ids(self) -> Iterator[str]:
        """Yield the digests of all objects, sorted."""
        rows = self._database.run(lambda connection: connection.execute("SELECT sha FROM objects", binary=True).fetchall())
        return iter(sorted(row[0].hex() for row in rows))

    def remove(self, digests: Iterable[str]) -> None:
        """Remove objects for good. Some may be gone already."""
        gone = [bytes.fromhex(digest) for digest in digests]
        query = "DELETE FROM objects WHERE sha = ANY(%b::bytea[])"
        if gone:
            self._database.run(lambda connection: connection.execute(query, (gone,)))


OWNERS = "hashtext('night-research ' || current_schema())"  # which advisory locks are those of this store's connections
_OWN = f"SELECT pg_advisory_lock({OWNERS}, number), number FROM (SELECT nextval('store_connections')::int AS number) n"  # noqa: S608
_TAKE_UP = """
INSERT INTO streams (stream, kind, fence, owner, writer) VALUES (%(stream)s, %(kind)s, 1, %(owner)s, %(writer)s)
ON CONFLICT (stream) DO UPDATE SET fence = streams.fence + 1, owner = EXCLUDED.owner, writer = EXCLUDED.writer
"""
_UNOWNED = f"WHERE streams.owner IS NULL OR streams.owner = %(owner)s OR pg_try_advisory_xact_lock({OWNERS}, streams.owner)"
_RETURNED = " RETURNING version, head, fence"
_APPEND = """
WITH moved AS (
    UPDATE streams SET version = %(last)s, head = %(head)b, bytes = bytes + %(bytes)s
    WHERE stream = %(stream)s AND version = %(version)s AND head = %(prev)b AND fence = %(fence)s
    RETURNING stream
)
INSERT INTO events (stream, version, id, type, segment, line, hash, prev)
SELECT moved.stream, {columns} FROM moved{rows}
"""
_ONE = _APPEND.format(columns="%(last)s, %(id)s, %(type)s, %(segment)s, %(line)b, %(head)b, %(prev)b", rows="")
_SEVERAL = _APPEND.format(
    columns="new.version, new.id, new.type, %(segment)s, new.line, new.hash, new.prev",
    rows=", unnest(%(versions)b::int[], %(ids)s::text[], %(types)s::text[], %(lines)b::bytea[], %(hashes)b::bytea[], "
    "%(prevs)b::bytea[]) AS new (version, id, type, line, hash, prev)",
)


class Sealed(NamedTuple):
    """A record as it will be stored: its line without the line end, and both hashes as bytes."""

    record: Record
    line: bytes
    hash: bytes
    prev: bytes


@dataclass(slots=True)
class Held:
    """A stream that this process writes, as it left it; ``segment`` is "" until this process's first append."""

    version: int
    head: bytes
    fence: int
    segment: str = ""
    run_id: str = ""


class StreamWriter:
    """Writes streams for one process, over one connection that may be replaced."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}
        self._owner: int | None = None

    def connected(self, connection: Connection) -> None:
        """Take a number for a new connection, and own by it what this process owned by its last one."""
        row = connection.execute(_OWN).fetchone() or (None, None)
        if self._owner is not None and self.held:
            connection.execute(
                "UPDATE streams SET owner = %s WHERE owner = %s AND stream = ANY(%s)", (row[1], self._owner, [*self.held])
            )
        self._owner = row[1]

    def take_up(self, connection: Connection, stream: str, *, over: bool = False) -> Held:
        """Own a stream; ``over``: also one that another living process owns.

        Raises:
            WorkspaceLocked: another living process owns it.
        """
        given = {"stream": stream, "kind": kind_of(stream), "owner": self._owner, "writer": _self()}
        row = connection.execute(_TAKE_UP + ("" if over else _UNOWNED) + _RETURNED, given).fetchone()
        if row is None:
            writer = connection.execute("SELECT writer FROM streams WHERE stream = %s", (stream,)).fetchone()
            by = writer[0] if writer else "another process"
            raise WorkspaceLocked(f"{by} writes {stream}", hint="wait until it has ended, or stop it")
        self.held[stream] = held = Held(*row)
        return held

    def release(self, connection: Connection, stream: str) -> None:
        """Own a stream no longer."""
        held = self.held[stream]
        connection.execute(
            "UPDATE streams SET owner = NULL WHERE stream = %s AND owner = %s AND fence = %s", (stream, self._owner, held.fence)
        )
        del self.held[stream]  # only now: all of this is done again if the connection is lost

    def append(self, database: Database, stream: str, records: Sequence[Record], expected_version: int) -> int:
        """Store what is not stored yet of ``records`` in a stream that is held; return the version of the last one.

        Raises:
            VersionConflict: the stream is at another version; ``WriterReplaced`` if another process took it over.
            EventRejected: a stored id with other data.
        """
        held = self.held[stream]
        fresh = list(records)
        if records and records[0].version <= held.version:
            fresh = database.run(lambda connection: _unstored(connection, stream, records))
        if fresh or not records:
            version = fresh[0].version - 1 if fresh else expected_version
            if version != held.version:
                raise _conflict(stream, held.version, version)
        if fresh:
            _Append(stream, held, fresh).store(database)
        return records[-1].version if records else expected_version


class _Append:
    """One append, which may have to be sent again: it then finds out first whether it is stored."""

    def __init__(self, stream: str, held: Held, records: Sequence[Record]) -> None:
        self.stream, self.held, self.was_sent = stream, held, False
        self.sealed = sealed_after(records, held.head)
        self.segment = held.segment if held.segment and held.run_id == records[0].run_id else ""

    def store(self, database: Database) -> None:
        database.run(self._store)
        last = self.sealed[-1]
        self.held.version, self.held.head = last.record.version, last.hash
        self.held.segment, self.held.run_id = self.segment, last.record.run_id

    def _store(self, connection: Connection) -> None:
        if not self.segment:
            self.segment = _new_segment(connection, self.stream, self.held.version, self.sealed[0].record)
        if self.was_sent and self._is_stored(connection):
            return
        self.was_sent = True
        try:
            done = connection.execute(_ONE if len(self.sealed) == 1 else _SEVERAL, self._values())
        except errors.UniqueViolation as error:
            raise self._doubled(error) from error
        if done.rowcount != len(self.sealed) and not self._is_stored(connection):
            raise self._refused(connection)

    def _values(self) -> dict[str, object]:
        last, held = self.sealed[-1], self.held
        values: dict[str, object] = {
            "stream": self.stream, "version": held.version, "prev": held.head, "fence": held.fence, "segment": self.segment,
            "last": last.record.version, "head": last.hash, "bytes": sum(len(one.line) + 1 for one in self.sealed),
        }  # fmt: skip
        if len(self.sealed) == 1:
            return values | {"id": last.record.id, "type": last.record.type, "line": last.line}
        return values | {
            "versions": [one.record.version for one in self.sealed], "ids": [one.record.id for one in self.sealed],
            "types": [one.record.type for one in self.sealed], "lines": [one.line for one in self.sealed],
            "hashes": [one.hash for one in self.sealed], "prevs": [one.prev for one in self.sealed],
        }  # fmt: skip

    def _is_stored(self, connection: Connection) -> bool:
        last = self.sealed[-1]
        query = "SELECT hash FROM events WHERE stream = %s AND version = %s"
        return connection.execute(query, (self.stream, last.record.version)).fetchone() == (last.hash,)

    def _doubled(self, error: errors.UniqueViolation) -> Exception:
        if error.diag.constraint_name != "events_id":
            return VersionConflict(f"{self.stream} already has these versions", hint="load it again and decide again")
        names = ", ".join(one.record.id for one in self.sealed)
        return EventRejected(
            f"{self.stream}: an event of {names} is stored with other content", hint="an event's id must never be used again"
        )

    def _refused(self, connection: Connection) -> Exception:
        query = "SELECT version, head, fence, writer FROM streams WHERE stream = %s"
        row = connection.execute(query, (self.stream,)).fetchone()
        if row is None:
            return EventRejected(f"{self.stream} was pruned and cannot go on", hint="research the question in a new session")
        version, _, fence, writer = row
        if fence != self.held.fence:
            return WriterReplaced(f"{writer} has taken over {self.stream}", hint="this process must not go on with it")
        return _conflict(self.stream, version, self.held.version)


def sealed_after(records: Sequence[Record], head: bytes) -> list[Sealed]:
    """Seal records, the first after the one of hash ``head`` (32 bytes)."""
    sealed, prev = [], head.hex().encode()
    for record in records:
        line, digest = seal(record.data, prev)
        sealed.append(Sealed(record, line[:-1], bytes.fromhex(digest.decode()), bytes.fromhex(prev.decode())))
        prev = digest
    return sealed


def _unstored(connection: Connection, stream: str, records: Sequence[Record]) -> list[Record]:
    """Return the records that are not stored.

    Raises:
        EventRejected: one is stored with other content.
    """
    query = "SELECT id, version, hash, prev FROM events WHERE stream = %s AND id = ANY(%s)"
    stored = {row[0]: row[1:] for row in connection.execute(query, (stream, [record.id for record in records]))}
    for record in records:
        if record.id in stored:
            version, hash_, prev = stored[record.id]
            if seal(record.data, prev.hex().encode())[1] != hash_.hex().encode() or version != record.version:
                raise EventRejected(
                    f"{stream}: event {record.id} is stored as version {version} with other content",
                    hint="an event's id must never be used again",
                )
    return [record for record in records if record.id not in stored]


def _new_segment(connection: Connection, stream: str, version: int, first: Record) -> str:
    """Return the name that the files would give to the segment which begins with ``first``."""
    if version == 0 or not is_shared(stream):
        return segment_name(stream, first.version, first.run_id, 1)
    query = "SELECT segment FROM events WHERE stream = %s UNION SELECT segment FROM branch_events WHERE stream = %s"
    taken = {row[0] for row in connection.execute(query, (stream, stream))}
    names = (segment_name(stream, first.version, first.run_id, attempt) for attempt in itertools.count(1))
    return next(name for name in names if name not in taken)


def _conflict(stream: str, version: int, expected: int) -> VersionConflict:
    return VersionConflict(f"{stream} is at version {version}, not at {expected}", hint="load it again and decide again")


def _self() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


NO_HASH = bytes.fromhex(ZEROS.decode())


_HINT = "run it as the role for maintenance: RESEARCH_STORE=postgresql://research_maintenance@HOST/DATABASE research …"
# A session's id contains words of its question, so it must not stay in the queue either.
_OF_A_STREAM = (
    ("events", "stream"),
    ("branch_events", "stream"),
    ("night_jobs", "session"),
    ("streams", "stream"),
)


def refuse_without_right(connection: Connection) -> None:
    """Refuse before anything is pruned, if the role could not remove it then.

    Raises:
        LogUnwritable: it is so.
    """
    query = "SELECT has_table_privilege('events', 'DELETE') AND has_any_column_privilege('events', 'UPDATE'), current_user"
    row = connection.execute(query).fetchone()
    if row and not row[0]:
        raise LogUnwritable(f"the role {row[1]} may not remove anything from the database", hint=_HINT)


def remove_stream(connection: Connection, stream: str) -> None:
    """Remove a stream with its branches.

    Raises:
        WorkspaceLocked: a living process owns it.
    """
    with connection.transaction():
        lock_stream(connection, stream)
        for table, column in _OF_A_STREAM:
            connection.execute(f"DELETE FROM {table} WHERE {column} = %s", (stream,))  # noqa: S608 - names of our own


def strike(connection: Connection, stream: str, change: Callable[[Record], Record]) -> None:
    """Rewrite a stream record by record, into its first segment; its branches go.

    Raises:
        LogDamaged: the stream cannot be trusted.
        WorkspaceLocked: a living process owns it.
    """
    with connection.transaction():
        if not lock_stream(connection, stream):
            return
        records = [change(record) for record in load_rows(connection, stream, 0).records]
        sealed = sealed_after(records, NO_HASH)
        query = "SELECT segment FROM events WHERE stream = %s AND version = 1"
        first = connection.execute(query, (stream,)).fetchone()
        segment = first[0] if first else segment_name(stream, 1, records[0].run_id, 1)
        connection.cursor().executemany(
            "UPDATE events SET line = %b, hash = %b, prev = %b, segment = %s WHERE stream = %s AND version = %s",
            [(one.line, one.hash, one.prev, segment, stream, one.record.version) for one in sealed],
        )
        connection.execute("DELETE FROM branch_events WHERE stream = %s", (stream,))
        connection.execute(
            "UPDATE streams SET head = %b, bytes = %s, fence = fence + 1 WHERE stream = %s",
            (sealed[-1].hash, sum(len(one.line) + 1 for one in sealed), stream),
        )


def lock_stream(connection: Connection, stream: str) -> bool:
    """Lock a stream's row until the end of the transaction; return whether there is one with events.

    Raises:
        WorkspaceLocked: a living process of another connection owns it.
    """
    query = f"""SELECT version > 0, owner IS NULL OR pg_try_advisory_xact_lock({OWNERS}, owner), writer
        FROM streams WHERE stream = %s FOR UPDATE"""  # noqa: S608 - no value from outside
    row = connection.execute(query, (stream,)).fetchone()
    if row and not row[1]:
        raise WorkspaceLocked(f"{row[2]} writes {stream}", hint="wait until it has ended, or stop it")
    return bool(row and row[0])


POLL_S = 0.5  # a listener would be lost with its connection without a word, so the table is looked at
AT_ONCE = 1_000
# The columns carry their table's name: plain `xid` in ORDER BY would be the text of the first column, and '999' above '1000'.
_READ = """
SELECT events.xid::text, events.pos, events.line FROM events JOIN streams USING (stream)
WHERE (events.xid, events.pos) > (%s::xid8, %s) AND events.xid < pg_snapshot_xmin(pg_current_snapshot()) AND kind = ANY(%s)
ORDER BY events.xid, events.pos LIMIT %s
"""
_NOW = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"


class PostgresSubscription:
    """The port ``Subscription`` with a connection of its own, ``database``. Events before its start are left out, or all read."""

    def __init__(self, database: Database, kinds: Sequence[Kind], *, from_start: bool) -> None:
        self._database, self._kinds = database, list(kinds)
        self._position: tuple[str, int] = ("0", 0)
        if not from_start:
            # What is not committed yet comes after this position, also if its transaction began before.
            row = database.run(lambda connection: connection.execute(_NOW).fetchone())
            self._position = (row[0] if row else "0", 0)

    def read(self) -> Sequence[Record]:
        """Return the next events, at most a thousand, in the order in which they were committed.

        Raises:
            StoreUnreachable, LogUnreadable: the database does not answer, or refuses.
            LogDamaged: a line is not the one that was stored.
        """
        rows = self._database.run(self._rows)
        if not rows:
            return ()
        records = [record_in(bytes(line)) for _xid, _pos, line in rows]
        self._position = (rows[-1][0], rows[-1][1])
        return records

    def _rows(self, connection: Connection) -> list[tuple[str, int, bytes]]:
        return connection.execute(_READ, (*self._position, self._kinds, AT_ONCE)).fetchall()

    def wait(self, seconds: float) -> None:
        """Return after ``seconds``, a second at most."""
        time.sleep(min(seconds, POLL_S))

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


_log = logging.getLogger("pipeline.store")


class PostgresStore:
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
        objects_in: Callable[[Objects], Objects] = lambda usual: usual,
    ) -> None:
        self._url, self._password = url, password
        self._layout = Layout(root)
        self._writer = StreamWriter()
        self.database = Database(url, partial(_connected, self._writer), password=password, patience_s=patience_s)
        self.objects = objects_in(DatabaseObjects(self.database))
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
        loaded = self.database.run(lambda connection: load_rows(connection, session_id, after))
        if loaded.prunes and (pruned := self._pruned_session(session_id)):
            kept = pruned_records(self.get(pruned.report))
            return [record for record in kept if record.version > after]
        return loaded.records

    def subscribe(self, kinds: Sequence[Kind] = ("session", "batch"), *, from_start: bool = False) -> PostgresSubscription:
        """Return the events that are stored from now on, or all of them, over a connection of its own."""
        database = Database(self._url, lambda _connection: None, password=self._password, patience_s=0.0)
        return PostgresSubscription(database, kinds, from_start=from_start)

    def branched(self, streams: Iterable[str]) -> frozenset[str]:  # noqa: ARG002 - the port has it
        """Return none: two machines cannot continue one stream."""
        return frozenset()

    def join(self, session_id: str) -> Sequence[Record]:  # noqa: ARG002 - the port has it
        """Do nothing: a stream has no several branches."""
        return ()

    def beside(self, session_id: str) -> Sequence[Record]:
        """Return the records of branches that were joined before the stream was copied from files, by version."""
        found = self.database.run(lambda connection: rows_beside(connection, session_id))
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
        return self.objects.size(digest) if objects.is_digest(digest) else 0

    def remove_stream(self, stream: str) -> None:
        """Remove a stream's rows and its snapshot for good.

        Raises:
            LogUnwritable: the role may not delete; nothing is removed.
            WorkspaceLocked: another process writes it.
        """
        with self._guard:
            self._writer.held.pop(stream, None)
            self.database.run(lambda connection: remove_stream(connection, stream))
        with contextlib.suppress(OSError):
            self._layout.snapshot(stream).unlink()

    def remove_objects(self, digests: Iterable[str]) -> None:
        """Remove objects for good.

        Raises:
            LogUnwritable: the role may not delete; nothing is removed.
        """
        self.objects.remove(digests)

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
            self.database.run(lambda connection: strike(connection, stream, change))

    def load_snapshot(self, session_id: str, fold_id: str) -> Snapshot | None:
        """Return the latest snapshot by that fold whose event is still the stored one, else None."""
        if not is_plain(session_id):
            return None
        stored = caches.read(self._layout.snapshot(session_id), fold_id)
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
                caches.write(self._layout.snapshot(session_id), caches.Stored(snapshot, hash_))
        except (OSError, LogError) as error:
            _log.info("no snapshot of %s was kept: %s", session_id, error)

    def put(self, data: bytes) -> str:
        """Store an object durably; return its SHA-256.

        Raises:
            LogUnwritable: the database refuses, or the object is too large.
        """
        try:
            body = objects.packed(data)
        except OSError as error:
            raise LogUnwritable(f"an object cannot be stored: {error.strerror}", hint="this is a fault of the program") from error
        digest = digest_of(data)
        self.objects.put(digest, body)
        return digest

    def get(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        if not objects.is_digest(digest):
            raise ObjectMissing(f"{digest!r} names no object: it is no SHA-256", hint="run `research verify`")
        return objects.opened(self.objects.get(digest), digest, digest)

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

    def _take_up(self, stream: str) -> None:
        self._refuse_pruned(stream)
        if kind_of(stream) == "prune":
            self.database.run(refuse_without_right)
        self.database.run(lambda connection: self._writer.take_up(connection, stream))

    def _read_tombstones(self, connection: Connection) -> Tombstones:
        marks = _marks(connection, ["prune"])
        known = repr(marks)
        if known != self._known_prunes:
            records = (record for name in marks for record in load_rows(connection, name, 0).records)
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
    postgres_database.check_schema(connection)
    writer.connected(connection)


def _marks(connection: Connection, kinds: Sequence[Kind]) -> dict[str, str]:
    query = "SELECT stream, version, encode(head, 'hex') FROM streams WHERE kind = ANY(%s) AND version > 0"
    found = {name: f"{version}:{head}" for name, version, head in connection.execute(query, (list(kinds),))}
    return {name: found[name] for kind in kinds for name in sorted(found) if kind_of(name) == kind}


def _versions(connection: Connection, sessions: Iterable[str]) -> dict[str, int]:
    query = "SELECT stream, version FROM streams WHERE stream = ANY(%s)"
    return dict(connection.execute(query, (list(sessions),)).fetchall())
