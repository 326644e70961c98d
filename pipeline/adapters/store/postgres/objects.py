"""Pages and exchanges in the table ``objects``: the same compressed bytes that the file store keeps in files."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.adapters.store import object_store
from pipeline.adapters.store.postgres.connection import Connection
from pipeline.errors import ObjectMissing
from pipeline.text.normalise import digest_of


def put(connection: Connection, data: bytes) -> str:
    """Store an object unless it is there; return its digest.

    Raises:
        OSError: it is larger than could be read again.
    """
    digest = digest_of(data)
    put_packed(connection, digest, object_store.packed(data))
    return digest


def put_packed(connection: Connection, digest: str, body: bytes) -> None:
    """Store a compressed object under its digest, unless one is there."""
    query = "INSERT INTO objects (sha, body) VALUES (%b, %b) ON CONFLICT DO NOTHING"
    connection.execute(query, (bytes.fromhex(digest), body))


def get_packed(connection: Connection, digest: str) -> bytes:
    """Return an object as it is stored.

    Raises:
        ObjectMissing: it is not stored.
    """
    row = connection.execute("SELECT body FROM objects WHERE sha = %b", (bytes.fromhex(digest),), binary=True).fetchone()
    if row is None:
        hint = "`research verify` lists all damage; restore the database from a backup, or research the query again"
        raise ObjectMissing(f"the stored object {digest} is missing in the database", hint=hint)
    return bytes(row[0])


def get(connection: Connection, digest: str) -> bytes:
    """Return an object's bytes, held against its digest.

    Raises:
        ObjectMissing: it is not stored, or was altered.
    """
    return object_store.opened(get_packed(connection, digest), digest, digest)


def size(connection: Connection, digest: str) -> int:
    """Return the bytes that an object takes up as it is stored, 0 if it is not."""
    if not object_store.is_digest(digest):
        return 0
    query = "SELECT octet_length(body) FROM objects WHERE sha = %b"
    row = connection.execute(query, (bytes.fromhex(digest),)).fetchone()
    return int(row[0]) if row else 0


def digests(connection: Connection) -> list[str]:
    """Return the digests of all objects, sorted."""
    return sorted(row[0].hex() for row in connection.execute("SELECT sha FROM objects", binary=True))


def remove(connection: Connection, gone: Sequence[str]) -> None:
    """Remove objects for good. Some may be gone already."""
    query = "DELETE FROM objects WHERE sha = ANY(%b::bytea[])"
    connection.execute(query, ([bytes.fromhex(digest) for digest in gone],))
