"""The log in the database as a whole, for what reads all of it: verifying and copying."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.adapters.store import object_store
from pipeline.adapters.store.layout import object_path
from pipeline.adapters.store.postgres import objects, stream_rows
from pipeline.adapters.store.postgres.connection import Database
from pipeline.adapters.store.segment_format import Finding, Segment
from pipeline.domain.events.records import Kind, kind_of
from pipeline.errors import ObjectMissing


class PostgresLog:
    """All streams and objects in a database. The digests are read once: what is stored later is not known to ``holds``."""

    def __init__(self, database: Database) -> None:
        self.database = database
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
        return self.database.run(lambda connection: stream_rows.read_segments(connection, stream))

    def holds(self, digest: str) -> bool:
        """Return whether an object is stored."""
        if self._digests is None:
            self._digests = frozenset(self.digests())
        return digest in self._digests

    def digests(self) -> Iterator[str]:
        """Yield the digests under which objects are stored, sorted."""
        return iter(self.database.run(objects.digests))

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
        body = self.database.run(lambda connection: objects.get_packed(connection, digest))
        object_store.opened(body, digest, digest)
        return body

    def read_object(self, digest: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: it is not stored, or was altered.
        """
        return self.database.run(lambda connection: objects.get(connection, digest))

    def written_off(self) -> frozenset[str]:
        """Return the ids of the sessions whose loss is accepted."""
        rows = self.database.run(lambda connection: connection.execute("SELECT session FROM written_off").fetchall())
        return frozenset(row[0] for row in rows)
