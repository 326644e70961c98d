"""What a check of the set-up wants to know about the database."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.adapters.store.postgres import schema_versions
from pipeline.adapters.store.postgres.connection import Connection

_STATUS = """
SELECT current_database(), current_setting('server_version'), current_user,
    has_table_privilege('events', 'INSERT') AND has_table_privilege('objects', 'INSERT')
        AND has_table_privilege('streams', 'INSERT') AND has_any_column_privilege('streams', 'UPDATE')
        AND has_sequence_privilege('store_connections', 'USAGE'),
    has_table_privilege('events', 'DELETE'),
    current_setting('fsync') <> 'off' AND current_setting('synchronous_commit') <> 'off',
    pg_is_in_recovery()
"""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The database, its server's version, the role, and what it may do.

    ``is_durable``: the server writes to the disk before it acknowledges. ``is_copy``: it is a read-only copy of another one.
    """

    database: str
    server: str
    role: str
    schema: int
    may_append: bool
    may_remove: bool
    is_durable: bool
    is_copy: bool


def status(connection: Connection) -> StoreStatus:
    """Return the status of the database that is connected to."""
    row = connection.execute(_STATUS).fetchone() or ("", "", "", False, False, False, False)
    database, server, role, append, remove, durable, is_copy = row
    version = schema_versions.version(connection)
    return StoreStatus(database, server.split(" ")[0], role, version, append, remove, durable, is_copy)
