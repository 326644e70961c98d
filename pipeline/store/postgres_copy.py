"""The log in a database as a whole, for what reads or writes all of it: verifying and copying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.domain.events.records import Kind, kind_of
from pipeline.errors import ObjectMissing
from pipeline.ports import Objects
from pipeline.store import objects, postgres
from pipeline.store.layout import object_path
from pipeline.store.postgres import lock_stream
from pipeline.store.postgres_database import Connection, Database
from pipeline.store.segments import Finding, Line, RecordChain, Segment, seal


class PostgresLog:
    """All streams and objects in a database. The digests are read once: what is stored later is not known to ``holds``."""

    def __init__(self, database: Database, kept: Objects | None = None) -> None:
        self.database = database
        self.objects = kept or postgres.DatabaseObjects(database)
        self._digests: frozenset[str] | None = None

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of all streams of a kind, sorted; also of those of which only branches or the row are left."""
        query = """
            SELECT stream FROM streams WHERE kind = %(kind)s AND version > 0
            UNION SELECT e.stream FROM events e LEFT JOIN streams s USING (stream) WHERE s.stream IS NULL AND e.version = 1
        """
        rows = self.database.run(lambda connection: connection.execute(query, {"kind": kind}).fetchall())
        return sorted(row[0] for row in rows if kind_of(row[0]) == kind)

    def segments(self, stream: str) -> list[Segment]:
        """Return the stream's segments."""
        return self.database.run(lambda connection: postgres.read_segments(connection, stream))

    def holds(self, digest: str) -> bool:
        """Return whether an object is stored."""
        if self._digests is None:
            self._digests = frozenset(self.digests())
        return digest in self._digests

    def digests(self) -> Iterator[str]:
        """Yield the digests under which objects are stored, sorted."""
        return self.objects.ids()

    def damaged_objects(self) -> Iterator[Finding]:
        """Yield a finding for each object whose bytes do not have its digest."""
        for digest in self.digests():
            try:
                self.read_object(digest)
            except ObjectMissing as error:
                yield Finding(object_path(digest), 0, "object", error.message)

    def packed(self, digest: str) -> bytes:
        """Return an object's bytes as they are stored.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        body = self.objects.get(digest)
        objects.opened(body, digest, digest)
        return body

    def read_object(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        return objects.opened(self.objects.get(digest), digest, digest)

    def written_off(self) -> frozenset[str]:
        """Return the ids of the sessions whose loss is accepted."""
        rows = self.database.run(lambda connection: connection.execute("SELECT session FROM written_off").fetchall())
        return frozenset(row[0] for row in rows)


_EVENTS = "COPY events (stream, version, id, type, segment, line, hash, prev) FROM STDIN (FORMAT BINARY)"
_TYPES = ("text", "int4", "text", "text", "text", "bytea", "bytea", "bytea")
_BRANCHES = "INSERT INTO branch_events (stream, segment, version, line, hash) VALUES (%s, %s, %s, %b, %b) ON CONFLICT DO NOTHING"
_STREAM = "UPDATE streams SET version = %s, head = %b, bytes = %s WHERE stream = %s"


class PostgresTarget(PostgresLog):
    """The log in a database. What is stored is durable when ``finish`` returns: a copy that was killed is made again."""

    def prepare(self) -> None:
        """Let commits not wait for the disk."""
        self.database.run(lambda connection: connection.execute("SET synchronous_commit = off"))

    def put_packed(self, digest: str, body: bytes) -> None:
        """Store an object as it was stored elsewhere."""
        self.objects.put(digest, body)

    def write(self, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:
        """Store a stream in one transaction. If a merge has changed which branch its chain is, its rows are written again.

        Raises:
            WorkspaceLocked: a process writes the stream.
        """
        self.database.run(lambda connection: _write(connection, stream, segments, chain))

    def write_off(self, session: str) -> None:
        """Accept that a session's log is missing."""
        query = "INSERT INTO written_off VALUES (%s) ON CONFLICT DO NOTHING"
        self.database.run(lambda connection: connection.execute(query, (session,)))

    def finish(self) -> None:
        """Wait for the disk: a commit that waits is durable with all before it."""
        self.database.run(_finish)


def _finish(connection: Connection) -> None:
    connection.execute("SET synchronous_commit = on")
    with connection.transaction():
        connection.execute("SELECT pg_current_xact_id()")


def _write(connection: Connection, stream: str, segments: Sequence[Segment], chain: RecordChain) -> None:
    with connection.transaction():
        query = "INSERT INTO streams (stream, kind) VALUES (%s, %s) ON CONFLICT DO NOTHING"
        connection.execute(query, (stream, kind_of(stream)))
        lock_stream(connection, stream)
        stored = _stored(connection, stream, chain)
        _copy_events(connection, stream, chain, stored)
        beside = [(s.path, line) for s in segments for line in s.lines if not _is_of_chain(chain, s.path, line)]
        rows = [(stream, _name(path), x.record.version, _sealed(x), bytes.fromhex(x.hash.decode())) for path, x in beside]
        connection.cursor().executemany(_BRANCHES, rows)
        size = sum(len(_sealed(line)) + 1 for line in chain.lines)
        connection.execute(_STREAM, (chain.version, bytes.fromhex(chain.head.decode()), size, stream))


def _stored(connection: Connection, stream: str, chain: RecordChain) -> int:
    """Return how many records of the chain are stored; if the rows are of another chain, remove them."""
    rows = connection.execute("SELECT version, hash FROM events WHERE stream = %s ORDER BY version", (stream,)).fetchall()
    known = [row[1].hex().encode() for row in rows]
    if known == [line.hash for line in chain.lines[: len(known)]]:
        return len(known)
    connection.execute("DELETE FROM events WHERE stream = %s", (stream,))
    connection.execute("DELETE FROM branch_events WHERE stream = %s", (stream,))
    return 0


def _copy_events(connection: Connection, stream: str, chain: RecordChain, stored: int) -> None:
    with connection.cursor().copy(_EVENTS) as copy:
        copy.set_types(_TYPES)
        for line, path in zip(chain.lines[stored:], chain.files[stored:], strict=True):
            record = line.record
            hashes = (bytes.fromhex(line.hash.decode()), bytes.fromhex(line.prev.decode()))
            copy.write_row((stream, record.version, record.id, record.type, _name(path), _sealed(line), *hashes))


def _is_of_chain(chain: RecordChain, path: str, line: Line) -> bool:
    place = line.record.version - 1
    return place < chain.version and chain.lines[place].hash == line.hash and chain.files[place] == path


def _sealed(line: Line) -> bytes:
    return seal(line.record.data, line.prev)[0][:-1]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
