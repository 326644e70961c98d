"""Appends to streams of the database, each with one statement.

Before a process writes a stream it takes it up: that raises the stream's fence and makes this process its owner. The append
names version, head and fence, and is stored only if all three are still so. Thus two processes that think they own a stream can
never both write: a process that was frozen while another took over finds its fence too low.

Each connection holds an advisory lock on its own number. A stream whose owner's number is not locked has no living owner.
"""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from psycopg import errors

from pipeline.adapters.store.layout import is_shared, segment_name
from pipeline.adapters.store.postgres.connection import Connection, Database
from pipeline.adapters.store.segment_format import ZEROS, seal
from pipeline.domain.events.records import Record, kind_of
from pipeline.errors import EventRejected, VersionConflict, WorkspaceLocked, WriterReplaced

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
