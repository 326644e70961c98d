"""A private PostgreSQL server for the tests: one for each test process, in a temporary folder, stopped at the end.

It listens on a unix socket in that folder, where anybody may be any role, and on a free port of 127.0.0.1, where a password is
asked for. The fixtures ``postgres_server`` and ``postgres_url`` skip a test, with the reason, where PostgreSQL is not installed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

OWNER = "research_owner"  # the superuser of the server
PASSWORD = "a-test's-password"  # noqa: S105 - of the owner, over TCP
UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root
_WAIT_S = 60.0
_SPEED = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_SMALL = {"shared_buffers": "32MB", "max_connections": "60", "max_wal_size": "256MB", "autovacuum_naptime": "10s"}
# The server is a child of a shell that ends it when the test process closes the pipe, or dies. What a shell starts in the
# background ignores an interrupt until it has handlers of its own, so it is repeated.
_GUARDED = """exec 3<&0
"$@" 3<&- & server=$!
{ cat <&3 >/dev/null; while kill -INT $server; do sleep 0.1; done; } 2>/dev/null & guard=$!
wait $server
kill $guard 2>/dev/null"""


def binaries() -> Path | None:
    """Return the folder of ``initdb`` and ``postgres``: on the path, else where Debian puts it, the newest version first."""
    found = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: -int(re.sub(r"\D", "", str(path)) or 0))
    places = [Path(found).parent] if found else []
    return next((place for place in (*places, *(path.parent for path in debian)) if (place / "postgres").exists()), None)


def program(name: str) -> str:
    """Return the path of a client program (``pg_dump``, ``psql``); skip the test where it is not installed."""
    folder = binaries()
    found = shutil.which(name) or (shutil.which(name, path=str(folder)) if folder else None)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _as_user() -> dict[str, Any]:
    return {"user": UNPRIVILEGED, "group": _group(), "extra_groups": []} if os.geteuid() == 0 else {}


def _group() -> int:
    import pwd

    return pwd.getpwnam(UNPRIVILEGED).pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class PostgresServer:
    """A cluster in a folder of its own.

    ``durable``: with PostgreSQL's own settings, so that it keeps what it acknowledged; else it is fast. ``on_disk``: in the
    folder for temporary files, else in memory where there is such a folder; to be killed makes no difference there.
    """

    def __init__(self, *, durable: bool = False, on_disk: bool = False, **options: str) -> None:
        bin_ = binaries()
        if bin_ is None:
            raise FileNotFoundError("PostgreSQL is not installed: no initdb")
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) and not on_disk else None  # noqa: S108
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir=memory))
        self.port = _free_port()
        self._bin = bin_
        self._options = ({} if durable else _SPEED) | _SMALL | options
        self._names = itertools.count(1)
        self.template = ""
        self._guard: subprocess.Popen[bytes] | None = None
        if user := _as_user():
            shutil.chown(self.folder, user["user"], user["group"])
        self._initialise()

    @property
    def data(self) -> Path:
        """The cluster's data folder."""
        return self.folder / "data"

    def url(self, database: str = "postgres", role: str = OWNER, *, tcp: bool = False) -> str:
        """Return the address of a database; ``tcp``: over the loopback port, where a password is asked for."""
        if tcp:
            return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{role}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    def start(self) -> None:
        """Start the server and wait until it answers. After ``kill``, its last processes may still be ending: try again."""
        deadline = time.monotonic() + _WAIT_S
        while not self._answers():
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server did not start:\n{self._log()[-2000:]}")
            if self._guard is None or self._guard.poll() is not None:
                self.stop()
                self._launch()
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server in order; open connections are ended."""
        if self._guard and self._guard.stdin:
            self._guard.stdin.close()
            self._guard.wait(_WAIT_S)
            self._guard = None

    def kill(self) -> None:
        """Kill the server at once, as a power cut does. ``start`` starts it again."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        self.stop()

    def remove(self) -> None:
        """Stop the server and delete its folder."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def new_database(self, template: str = "template1") -> str:
        """Create a database and return its address."""
        name = f"t{next(self._names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the owner; return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def _initialise(self) -> None:
        words = self.folder / "words"
        words.write_text(PASSWORD)
        words.chmod(0o644)
        options = ["--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C", "-U", OWNER, f"--pwfile={words}"]
        auth = ["--auth-local=trust", "--auth-host=scram-sha-256"]
        command = [str(self._bin / "initdb"), "-D", str(self.data), *options, *auth]
        done = subprocess.run(command, capture_output=True, cwd=self.folder, **_as_user())
        if done.returncode:
            raise OSError(f"initdb failed: {done.stderr.decode()}")

    def _launch(self) -> None:
        settings = {"unix_socket_directories": str(self.folder), "listen_addresses": "127.0.0.1"} | self._options
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(self._bin / "postgres"), "-D", str(self.data), "-p", str(self.port), *given]
        with (self.folder / "server.log").open("ab") as log:
            self._guard = subprocess.Popen(
                ["/bin/sh", "-c", _GUARDED, "sh", *command], stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True, **_as_user(),
            )  # fmt: skip

    def _answers(self) -> bool:
        import psycopg

        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self.url(), connect_timeout=5):
            return True
        return False

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / "server.log").read_text(errors="replace")
        return ""


@contextlib.contextmanager
def running(*, durable: bool = False, on_disk: bool = False, **options: str) -> Iterator[PostgresServer]:
    """A server that runs; it and its folder are gone at the end."""
    server = PostgresServer(durable=durable, on_disk=on_disk, **options)
    try:
        server.start()
        yield server
    finally:
        server.remove()


def skip_without_postgres() -> None:
    """Skip a test where it cannot run, and say why."""
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed: no initdb on the path or in /usr/lib/postgresql/*/bin")
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install -e '.[dev]'")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The server of this test process: fast, and not safe against a power cut."""
    skip_without_postgres()
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """The address of a new, empty database."""
    return postgres_server.new_database()


def _with_tables(server: PostgresServer) -> str:
    """Return the name of a database of the server that has the event store's tables and nothing in them."""
    if not server.template:
        import psycopg

        from pipeline.store.postgres_database import migrate

        server.execute("CREATE DATABASE with_tables")
        with psycopg.connect(server.url("with_tables"), autocommit=True) as connection:
            migrate(connection)
        server.template = "with_tables"
    return server.template


@pytest.fixture
def postgres_store_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a new database that has the event store's tables and nothing in them. Connections are cut afterwards."""
    yield postgres_server.new_database(_with_tables(postgres_server))
    others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    postgres_server.execute("SELECT pg_terminate_backend(pid) " + others)
