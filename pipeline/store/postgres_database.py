"""The database of a store: its connection, the versions of its tables, its lock, and what the doctor asks of it.

What was sent when a connection broke may have been done or not. So work that is given to ``Database.run`` must be such that it
may be done again: it reads, or it finds out first whether its earlier attempt was stored.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from pipeline.config.keys import shown_store
from pipeline.errors import (
    EventRejected,
    LogUnreadable,
    LogUnwritable,
    ResearchError,
    SchemaTooNew,
    StoreUnreachable,
    VersionConflict,
    WorkspaceLocked,
)
from pipeline.system.files import read_text

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

_log = logging.getLogger("pipeline.store")
# A lost machine is noticed after about half a minute, instead of after hours as the system's own settings have it.
_OPTIONS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "client_encoding": "utf8",
}
LONGEST_PAUSE_S = 2.0  # between two tries to connect
_HINT = (
    "check that the server runs and has a connection free, and the address in `store`; "
    "the password comes from PGPASSWORD, PGPASSWORD_FILE or ~/.pgpass"
)

# What the server refuses: its error, ours, and what to do next. The first that fits counts.
_FULL = (errors.DiskFull, errors.OutOfMemory, errors.TooManyConnections)
_REFUSALS: tuple[tuple[type[psycopg.Error] | tuple[type[psycopg.Error], ...], type[ResearchError], str], ...] = (
    (_FULL, LogUnwritable, "the server is out of space, memory or connections; everything acknowledged so far is safe"),
    (errors.InsufficientPrivilege, LogUnwritable, "run it as research_maintenance, or see research store init --print-roles"),
    (errors.IntegrityConstraintViolation, VersionConflict, "load it again and decide again"),  # of the function that appends
    (errors.UndefinedTable, LogUnreadable, "create or upgrade the tables with `research store init`"),
    (errors.ReadOnlySqlTransaction, LogUnwritable, "this server is a read-only copy: name the primary server in `store`"),
    (psycopg.Error, LogUnwritable, "see the server's log; everything acknowledged so far is safe"),
)


class Database:
    """The database at ``url``, which messages name ``name``.

    ``opened`` is called with each new connection before it is used; ``program`` names it to others.
    The connection ends with this object at the latest. One that is lost is opened again for up to ``patience_s`` seconds; after
    that, for as long, only once at a time.
    """

    def __init__(
        self,
        url: str,
        opened: Callable[[Connection], None],
        *,
        password: str = "",
        patience_s: float = 30.0,
        program: str = "night-research",
    ) -> None:
        self._url, self.name = url, shown_store(url)
        self._options = _OPTIONS | {"application_name": program} | ({"password": password} if password else {})
        self._opened = opened
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._was_open = False
        self._impatient_until = 0.0
        self._guard = threading.RLock()

    def run(self, work: Callable[[Connection], T]) -> T:
        """Do ``work`` with the connection, again from its beginning whenever the connection is lost; return its result.

        Raises:
            StoreUnreachable: the database does not answer.
            LogUnwritable, LogUnreadable: it refuses.
        """
        with self._guard:
            while True:
                connection = self._ready()
                try:
                    return work(connection)
                except psycopg.Error as error:
                    if not connection.closed:
                        raise self._refusal(error) from error
                    _log.info("the connection to %s was lost: %s", self.name, _first_line(error))

    def transaction(self, work: Callable[[Connection], T]) -> T:
        """Do ``work`` as ``run`` does, in one transaction."""

        def whole(connection: Connection) -> T:
            with connection.transaction():
                return work(connection)

        return self.run(whole)

    def rows(self, query: str, *values: object, **named: object) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, none if it returns no rows. Raises: as ``run``."""

        def work(_: Connection) -> list[tuple[Any, ...]]:
            done = self._cursor.execute(query, named or values)
            return [] if done.rownumber is None else done.fetchall()  # None: the statement returns no rows

        return self.run(work)

    def close(self) -> None:
        """Close the connection. It is opened again when it is needed."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _ready(self) -> Connection:
        """Return an open connection; one that was lost is opened again, the first one is tried once."""
        if self._connection is not None and not self._connection.closed:
            return self._connection
        started = time.monotonic()
        patience = self._patience_s if self._was_open and started > self._impatient_until else 0.0
        pause_s = 0.05
        while True:
            try:
                self._connection = self._open()
                return self._connection
            except StoreUnreachable:
                if time.monotonic() + pause_s - started > patience:
                    self._impatient_until = time.monotonic() + self._patience_s
                    raise
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _open(self) -> Connection:
        options = {name: value for name, value in self._options.items() if f"{name}=" not in self._url}
        try:
            connection: Connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=1, **options)
        except psycopg.Error as error:
            raise StoreUnreachable(f"{self.name} cannot be reached: {_first_line(error)}", hint=_HINT) from None
        weakref.finalize(self, connection.close)
        try:
            self._opened(connection)
        except BaseException as error:
            connection.close()
            if isinstance(error, psycopg.OperationalError):
                raise StoreUnreachable(f"{self.name} does not answer: {_first_line(error)}", hint=_HINT) from error
            if isinstance(error, psycopg.Error):
                raise self._refusal(error) from error
            raise
        self._was_open = True
        self._cursor = connection.cursor(binary=True)  # kept: a new one must find out again how each kind of value is sent
        return connection

    def _refusal(self, error: psycopg.Error) -> Exception:
        """The error of this program for one of the server's."""
        if isinstance(error, errors.UniqueViolation) and error.diag.constraint_name == "events_id":
            return EventRejected(f"{self.name}: {error.diag.message_detail}", hint="an event's id must never be used again")
        refused, hint = next((ours, hint) for kind, ours, hint in _REFUSALS if isinstance(error, kind))
        return refused(f"{self.name}: {_first_line(error)}", hint=hint)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


SCHEMA = 6  # the version of the tables that this program needs
_SCHEMA_LOCK = "SELECT pg_advisory_xact_lock(hashtext('night-research schema ' || current_schema()))"
_ROLES_HAVE_RIGHTS = """
SELECT count(*) = 2 FROM pg_roles
WHERE rolname IN ('research_app', 'research_maintenance') AND has_table_privilege(rolname, 'events', 'SELECT')
"""


def schema_version(connection: Connection) -> int:
    """Return the version of the schema, 0 if there is none.

    Raises:
        SchemaTooNew: this program does not know it.
    """
    if connection.execute("SELECT to_regclass('store_migrations')").fetchone() == (None,):
        return 0
    found = (connection.execute("SELECT max(version) FROM store_migrations").fetchone() or (None,))[0] or 0
    if found > SCHEMA:
        name = connection.info.dbname
        message = f"the event store in {name} has schema {found}, and this program knows schemas up to {SCHEMA}"
        raise SchemaTooNew(message, hint="upgrade night-research on this machine")
    return int(found)


def check_schema(connection: Connection) -> None:
    """Refuse a database whose tables this program cannot use.

    Raises:
        LogUnreadable: there are none, or those of an older program.
        SchemaTooNew: those of a newer program.
    """
    found, name = schema_version(connection), connection.info.dbname
    if found == 0:
        raise LogUnreadable(
            f"the database {name} has no event store yet",
            hint=f"create it: research store init, with the address of {name} if the setting names another database",
        )
    if found < SCHEMA:
        hint = "upgrade it with `research store init`, as the role that owns the tables"
        raise LogUnreadable(f"the event store in {name} has schema {found}, and this program needs {SCHEMA}", hint=hint)


def migrate(connection: Connection) -> list[str]:
    """Create or upgrade the tables; return what was done. Two that do it at once wait for each other.

    Raises:
        SchemaTooNew: the tables are those of a newer program.
    """
    from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment

    with connection.transaction():
        connection.execute(_SCHEMA_LOCK)
        found = schema_version(connection)
        if found == SCHEMA:
            return []
        connection.execute(_sql("schema").encode())
        if connection.execute("SELECT to_regclass('pgqueuer')").fetchone() == (None,):
            connection.execute(QueryBuilderEnvironment().build_install_query(create_schema=False).encode())
        if connection.execute(_ROLES_HAVE_RIGHTS).fetchone() == (True,):
            connection.execute(_sql("rights").encode())
        done = f"upgraded from schema {found} to {SCHEMA}" if found else f"created with schema {SCHEMA}"
        connection.execute("INSERT INTO store_migrations (version, name) VALUES (%s, %s)", (SCHEMA, done))
        return [done]


def roles() -> str:
    """Return the SQL that makes a role for research and a role for maintenance, with their rights."""
    return f"{_sql('roles')}\n{_sql('rights')}"


def _sql(name: str) -> str:
    return read_text(Path(__file__).with_name(f"{name}.sql"))


KEEP_S = 10.0  # between two looks at the connection

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

    take = f"SELECT pg_try_advisory_lock{'_shared' if shared else ''}({_KEY}::bigint)"

    def opened(connection: Connection) -> None:
        check_schema(connection)
        if connection.execute(take.encode()).fetchone() == (False,):
            holder = connection.execute(_HOLDER).fetchone() or ("another run",)
            raise WorkspaceLocked(f"{holder[0]} works with this database", hint="wait until it has ended, or stop it")

    name = f"{program or 'research'}: process {os.getpid()} on {socket.gethostname()}".encode("ascii", "replace")[:63].decode()
    database, over = Database(url, opened, password=password, patience_s=0.0, program=name), threading.Event()

    def keep() -> None:
        while not over.wait(KEEP_S):
            try:
                database.rows("SELECT 1")
            except ResearchError as error:
                _log.warning("the lock on the database is not held at present: %s", error.message)

    keeper = threading.Thread(target=keep, daemon=True)
    database.rows("SELECT 1")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()
        with suppress(ResearchError):  # a closed connection is ended only some time later; one that is lost, by the server
            database.rows("SELECT pg_advisory_unlock_all()")
        database.close()


# The database, its server's version, the role, whether it may append and remove, whether the server writes to the disk before it
# acknowledges, whether it is a read-only copy of another one, and its clock.
STATUS = """
SELECT current_database(), split_part(current_setting('server_version'), ' ', 1), current_user::text,
    has_function_privilege('append_event(text, bigint, text, int, bytea, text, bytea)', 'EXECUTE')
        AND has_table_privilege('objects', 'INSERT') AND has_sequence_privilege('store_connections', 'USAGE'),
    has_table_privilege('events', 'DELETE'),
    current_setting('fsync') <> 'off' AND current_setting('synchronous_commit') <> 'off',
    pg_is_in_recovery(), extract(epoch from clock_timestamp())::float8
"""
