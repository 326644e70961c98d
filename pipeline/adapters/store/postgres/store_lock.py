"""The lock on a whole database: one run at a time, on whatever machine, unless all of them share it."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.adapters.store.postgres import schema_versions
from pipeline.adapters.store.postgres.connection import Connection, Database
from pipeline.errors import ResearchError, WorkspaceLocked

KEEP_S = 10.0  # between two looks at the connection
_log = logging.getLogger("pipeline.adapters.store")

_KEY = "hashtext('night-research run ' || current_schema())"
# Who holds it: the name that its connection gave itself.
_HOLDER = f"""SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.objid = ({_KEY}::bigint & 4294967295)::oid LIMIT 1"""  # noqa: E501, S608 - no value from outside


@contextmanager
def store_lock(url: str, password: str, program: str, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock while the block runs; ``shared``: together with others that share it.

    It ends with its connection. So the connection is looked after, and if it is lost, the lock is taken again with the next one.

    Raises:
        WorkspaceLocked: it is held elsewhere.
        StoreUnreachable: the database does not answer.
        LogUnreadable, SchemaTooNew: its tables cannot be used.
    """

    def opened(connection: Connection) -> None:
        schema_versions.check(connection)
        _take(connection, program, shared=shared)

    database, over = Database(url, opened, password=password, patience_s=0.0), threading.Event()
    keeper = threading.Thread(target=_keep, args=(database, over), daemon=True)
    database.run(_ask)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
        with suppress(ResearchError):  # a database that does not answer lets go of the lock by itself
            database.run(_release)
        database.close()


def _keep(database: Database, over: threading.Event) -> None:
    while not over.wait(KEEP_S):
        try:
            database.run(_ask)
        except ResearchError as error:
            _log.warning("the lock on the database is not held at present: %s", error.message)


def _release(connection: Connection) -> None:
    """Let go of the lock now: the server ends a closed connection only some time later."""
    connection.execute("SELECT pg_advisory_unlock_all()")


def _ask(connection: Connection) -> None:
    connection.execute("SELECT 1")


def _take(connection: Connection, program: str, *, shared: bool) -> None:
    name = f"{program or 'research'}: process {os.getpid()} on {socket.gethostname()}"
    connection.execute("SELECT set_config('application_name', %s, false)", (name.encode("ascii", "replace")[:63].decode(),))
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    row = connection.execute(f"SELECT {function}({_KEY}::bigint)").fetchone()
    if row and not row[0]:
        holder = connection.execute(_HOLDER).fetchone()
        by = (holder and holder[0]) or "another run"
        raise WorkspaceLocked(f"{by} works with this database", hint="wait until it has ended, or stop it")
