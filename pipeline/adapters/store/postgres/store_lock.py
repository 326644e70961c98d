"""The lock on a whole database: one run at a time, on whatever machine, unless all of them share it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.adapters.store.postgres import schema_versions
from pipeline.adapters.store.postgres.connection import Connection, Database
from pipeline.errors import WorkspaceLocked

_KEY = "hashtext('night-research run ' || current_schema())"
# Who holds it: the name that its connection gave itself.
_HOLDER = f"""SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND l.objid = ({_KEY}::bigint & 4294967295)::oid LIMIT 1"""  # noqa: E501, S608 - no value from outside


@contextmanager
def store_lock(url: str, password: str, program: str, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock while the block runs; ``shared``: together with others that share it. It ends with the connection.

    Raises:
        WorkspaceLocked: it is held elsewhere.
        StoreUnreachable: the database does not answer.
        LogUnreadable, SchemaTooNew: its tables cannot be used.
    """
    database = Database(url, schema_versions.check, password=password)
    try:
        database.run(lambda connection: _take(connection, program, shared=shared))
        yield
    finally:
        database.close()


def _take(connection: Connection, program: str, *, shared: bool) -> None:
    name = f"{program or 'research'}: process {os.getpid()} on {socket.gethostname()}"
    connection.execute("SELECT set_config('application_name', %s, false)", (name.encode("ascii", "replace")[:63].decode(),))
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    row = connection.execute(f"SELECT {function}({_KEY}::bigint)").fetchone()
    if row and not row[0]:
        holder = connection.execute(_HOLDER).fetchone()
        by = holder[0] if holder else "another run"
        raise WorkspaceLocked(f"{by} works with this database", hint="wait until it has ended, or stop it")
