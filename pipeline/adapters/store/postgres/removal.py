"""What is removed from the tables for good: streams, and single records. It needs the right to delete and to change rows."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.adapters.store.layout import segment_name
from pipeline.adapters.store.postgres import stream_rows
from pipeline.adapters.store.postgres.connection import Connection
from pipeline.adapters.store.postgres.stream_writer import NO_HASH, OWNERS, sealed_after
from pipeline.domain.events.records import Record
from pipeline.errors import LogUnwritable, WorkspaceLocked

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
        records = [change(record) for record in stream_rows.load(connection, stream, 0).records]
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
