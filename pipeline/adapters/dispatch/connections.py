"""Connections to the queue's database: kept for the next call, and made again after a loss."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from pipeline.errors import QueueUnavailable
from pipeline.text.normalise import one_line

# A host that vanishes without a word is noticed after some 20 s, not after the hours that TCP would wait.
_OPTIONS: dict[str, Any] = {
    "connect_timeout": 5,
    "application_name": "night-research queue",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 20_000,
}


@dataclass
class Connections:
    """Connections to ``url``, any address that libpq takes, for several threads. Each statement is its own transaction."""

    url: str
    password: str = field(default="", repr=False)
    _idle: list[psycopg.Connection] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def one(self) -> Iterator[psycopg.Connection]:
        """Give a connection that nobody else uses meanwhile.

        Raises:
            QueueUnavailable: the database cannot be reached, or the connection was lost.
        """
        try:
            connection = self._taken() or self._new()
            try:
                yield connection
            finally:
                self._put_back(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()  # the others were most likely lost with it
            raise unavailable(error) from error

    def close(self) -> None:
        """Close the connections that nobody uses. The next call opens new ones."""
        with self._lock:
            closing, self._idle = self._idle, []
        for connection in closing:
            with suppress(Exception):
                connection.close()

    def _taken(self) -> psycopg.Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: psycopg.Connection) -> None:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            with self._lock:
                self._idle.append(connection)
        else:  # it was lost, or left in the middle of something
            with suppress(Exception):
                connection.close()

    def _new(self) -> psycopg.Connection:
        options = _OPTIONS | ({"password": self.password} if self.password else {})
        return psycopg.connect(self.url, autocommit=True, **options)


def unavailable(error: Exception) -> QueueUnavailable:
    """Return a lost or refused connection as an error with a hint; libpq's messages hold no password."""
    why = one_line(str(error), 300) or type(error).__name__
    return QueueUnavailable(f"the database cannot be reached: {why}", hint="is the server running? research doctor checks it")
