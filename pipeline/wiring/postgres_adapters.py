"""Builds what is in PostgreSQL: the event store, and what a shared night needs: its rows, the engine that gives jobs.

It needs the extra ``postgres``: whoever imports it has called ``require_psycopg`` or ``require_queue`` before.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.config.keys import usable_store
from pipeline.config.workspace_settings import environment, objects_address, store_address, store_password
from pipeline.errors import UsageError
from pipeline.store.jobs import PgQueuerEngine, check_schedule
from pipeline.store.nights import PostgresNights
from pipeline.store.objects import StoredObjects
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import STATUS, Database, check_schema, migrate, roles

__all__ = ["PostgresNights", "check_schedule", "roles"]


def postgres_store(folder: Path, address: str) -> PostgresStore:
    """Return the store in the database at ``address``; caches are in the workspace.

    Raises:
        UsageError: psycopg is not installed, or the password's file cannot be read.
    """
    bucket = objects_address(folder) if address == store_address(folder) else ""  # another database's objects are in it

    def objects_in(usual: StoredObjects) -> StoredObjects:
        if not bucket:
            return usual
        try:
            from pipeline.store.object_storage import Bucket
        except ImportError as error:
            hint = "install it with: pip install 'night-research[objects]'"
            raise UsageError(f"an object storage needs obstore: {error}", hint=hint) from None
        return Bucket(bucket, usual)

    place, password = folder / "events", store_password(folder)
    return PostgresStore(address, place, password=password, objects_in=objects_in)


def init_store(folder: Path, address: str = "") -> tuple[str, list[str]]:
    """Create or upgrade the tables of the database at ``address``, else of the workspace's; return its name and what was done.

    Raises:
        UsageError: the workspace's log is in files, or the address cannot be used.
        StoreUnreachable, LogUnwritable, SchemaTooNew: as the names say.
    """
    address = usable_store(address) if address else store_address(folder)
    if not address:
        hint = "write `store: postgresql://ROLE@HOST/DATABASE` under settings, or name the address: research store init ADDRESS"
        raise UsageError("the log is in files, which need no preparation", hint=hint)
    database = Database(address, lambda _connection: None, password=store_password(folder))
    return database.name, database.run(migrate)


def status_of_store(folder: Path) -> tuple[Any, ...]:
    """Return what can be said of the workspace's database, in the order of the query.

    Last, in place of its clock, by how many seconds that is ahead of this machine's, to about the time of an answer.

    Raises:
        UsageError, LogError: it cannot be used.
    """
    database = _database(folder)
    database.rows("select 1")  # connected
    asked = time.time()
    *said, theirs = database.rows(STATUS)[0]
    return (*said, theirs - (asked + time.time()) / 2)


def nights_of(folder: Path) -> PostgresNights:
    """Return the nights in the database that holds the workspace's log."""
    return PostgresNights(_database(folder))


def engine_of(folder: Path, program: str, at_once: int = 2, lease_s: float = 30.0) -> PgQueuerEngine:
    """Return what gives jobs to this process; ``program`` names it to others, by a server that takes ASCII alone."""
    database = _database(folder, patience_s=0.0, program=quote(program, safe=" ")[:63])
    return PgQueuerEngine(database, at_once=at_once, lease_s=lease_s)


def _database(folder: Path, **options: Any) -> Database:
    return Database(store_address(folder), check_schema, password=store_password(folder), **options)


def show_dashboard(folder: Path) -> int:
    """Show the engine's own page of the queue until it is left; return its exit code."""
    command = [sys.executable, "-m", "pgqueuer", "--pg-dsn", store_address(folder), "dashboard", "--interval", "2"]
    password = store_password(folder)
    its_environment = {**environment(), **({"PGPASSWORD": password} if password else {})}
    return subprocess.call(command, env=its_environment)  # noqa: S603 - a command of our own
