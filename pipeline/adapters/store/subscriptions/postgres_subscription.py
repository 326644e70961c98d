"""A subscription to the events in PostgreSQL: it listens for news and then reads on from its position.

The position is that of the last event read, by transaction and then by number. Only transactions before the oldest one that is
still open are read: a later number may be committed first, and the earlier one would then be passed over for good. So a
transaction that stays open, in any database of the server, holds subscribers up; it never makes them miss an event.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence

from pipeline.adapters.store.postgres.connection import Connection, Database
from pipeline.adapters.store.postgres.stream_rows import record_of
from pipeline.domain.events.records import Kind, Record
from pipeline.errors import LogError

CHANNEL = "research_events"
POLL_S = 1.0  # a notice may be lost with the connection, so the table is looked at as well
AT_ONCE = 1_000
NOTIFY_EVERY_S = (
    0.05  # at most: a notice in the append's own transaction would make all writers of the server wait for each other
)
_READ = """
SELECT xid::text, pos, line FROM events JOIN streams USING (stream)
WHERE (xid, pos) > (%s::xid8, %s) AND xid < pg_snapshot_xmin(pg_current_snapshot()) AND kind = ANY(%s)
ORDER BY xid, pos LIMIT %s
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
        records = [record_of(bytes(line)) for _xid, _pos, line in rows]
        self._position = (rows[-1][0], rows[-1][1])
        return records

    def _rows(self, connection: Connection) -> list[tuple[str, int, bytes]]:
        return connection.execute(_READ, (*self._position, self._kinds, AT_ONCE)).fetchall()

    def wait(self, seconds: float) -> None:
        """Return when there is news, or after ``seconds``, a second at most. A lost connection is made again by ``read``."""
        started, most = time.monotonic(), min(seconds, POLL_S)
        with contextlib.suppress(LogError):
            if self._database.run(lambda connection: _listened(connection, most)):
                return
        time.sleep(max(0.0, most - (time.monotonic() - started)))

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def listening(connection: Connection) -> None:
    """Prepare a new connection of a subscription."""
    connection.execute(f"LISTEN {CHANNEL}")


def _listened(connection: Connection, seconds: float) -> bool:
    return any(True for _notice in connection.notifies(timeout=seconds, stop_after=1))


class Notifier:
    """Sends a notice soon after appends, at most one in 50 ms, from a thread and a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._news, self._ending = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()

    def appended(self) -> None:
        """Let subscribers know soon that there are new events."""
        self._news.set()
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._notify, name="event notices", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread and its connection. The next append starts them again."""
        with self._guard:
            thread, self._thread = self._thread, None
            self._ending.set()
            self._news.set()
        if thread is not None:
            thread.join(timeout=5)
            self._ending.clear()
        self._database.close()

    def _notify(self) -> None:
        while self._news.wait() and not self._ending.wait(NOTIFY_EVERY_S):
            self._news.clear()
            with contextlib.suppress(Exception):  # subscribers poll as well
                self._database.run(lambda connection: connection.execute(f"NOTIFY {CHANNEL}"))
