"""One connection to the database, opened when it is needed and again when it is lost.

What was sent when a connection broke may have been done or not. So work that is given to ``Database.run`` must be such that it
may be done again: it reads, or it finds out first whether its earlier attempt was stored.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from pipeline.config.keys import shown_store
from pipeline.errors import LogUnreadable, LogUnwritable, StoreUnreachable

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

_log = logging.getLogger("pipeline.adapters.store")
# A lost machine is noticed after about half a minute, instead of after hours as the system's own settings have it.
_DEFAULTS: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "night-research",
    "client_encoding": "utf8",
}
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_HINT = "check that the server runs, and the address in `store`; the password comes from PGPASSWORD, PGPASSWORD_FILE or ~/.pgpass"


class Database:
    """The database at ``url``. ``opened`` is called with each new connection before it is used.

    A connection that is lost is opened again for up to ``patience_s`` seconds; after that, for as long, only once at a time.
    """

    def __init__(self, url: str, opened: Callable[[Connection], None], *, password: str = "", patience_s: float = 30.0) -> None:
        self._url = url
        self._password = password
        self._opened = opened
        self._patience_s = patience_s
        self._connection: Connection | None = None
        self._was_open = False
        self._impatient_until = 0.0
        self._guard = threading.RLock()

    @property
    def name(self) -> str:
        """How messages name the database."""
        return shown_store(self._url)

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

    def close(self) -> None:
        """Close the connection. It is opened again when it is needed."""
        with self._guard:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _ready(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._reopened() if self._was_open else self._open()
        return self._connection

    def _reopened(self) -> Connection:
        started = time.monotonic()
        patience = self._patience_s if started > self._impatient_until else 0.0
        for attempt in range(1_000_000):
            try:
                return self._open()
            except StoreUnreachable:
                pause = _PAUSES_S[min(attempt, len(_PAUSES_S) - 1)]
                if time.monotonic() + pause - started > patience:
                    self._impatient_until = time.monotonic() + self._patience_s
                    raise
                time.sleep(pause)
        raise AssertionError

    def _open(self) -> Connection:
        given = {name for name in _DEFAULTS if f"{name}=" in self._url}
        options = {name: value for name, value in _DEFAULTS.items() if name not in given}
        if self._password:
            options["password"] = self._password
        try:
            connection: Connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=1, **options)
        except psycopg.Error as error:
            raise StoreUnreachable(f"{self.name} cannot be reached: {_first_line(error)}", hint=_HINT) from None
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
        weakref.finalize(self, connection.close)
        return connection

    def _refusal(self, error: psycopg.Error) -> Exception:
        """The error of this program for one of the server's."""
        text = f"{self.name}: {_first_line(error)}"
        if isinstance(error, errors.InsufficientPrivilege):
            return LogUnwritable(text, hint="the role lacks a right: `research store init --print-roles` shows which it needs")
        if isinstance(error, errors.UndefinedTable):
            return LogUnreadable(text, hint="create or upgrade the tables with `research store init`")
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return LogUnwritable(text, hint="this server is a read-only copy: name the primary server in `store`")
        if isinstance(error, errors.DiskFull | errors.OutOfMemory | errors.TooManyConnections):
            return LogUnwritable(text, hint="the server is out of space or connections; everything acknowledged so far is safe")
        return LogUnwritable(text, hint="see the server's log; everything acknowledged so far is safe")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
