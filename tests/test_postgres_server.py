"""The server that the other tests use: it starts, keeps what it acknowledged over a kill, and leaves nothing behind."""

from __future__ import annotations

import psycopg
import pytest

from tests.postgres_server import PASSWORD, PostgresServer, running, skip_without_postgres


def test_each_test_has_a_database_of_its_own(postgres_server: PostgresServer, postgres_url: str) -> None:
    other = postgres_server.new_database()
    assert other != postgres_url
    with psycopg.connect(postgres_url) as here, psycopg.connect(other) as there:
        here.execute("CREATE TABLE t (n int)")
        assert there.execute("SELECT count(*) FROM pg_tables WHERE tablename = 't'").fetchone() == (0,)


def test_over_tcp_a_password_is_asked_for(postgres_server: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_server.url(tcp=True))
    psycopg.connect(postgres_server.url(tcp=True), password=PASSWORD).close()


def test_a_killed_server_starts_again_with_what_it_acknowledged_and_is_gone_at_the_end() -> None:
    skip_without_postgres()
    with running(durable=True) as server:
        server.execute("CREATE TABLE t (n int)")
        for _ in range(2):
            server.execute("INSERT INTO t VALUES (1)")
            server.kill()
            with pytest.raises(psycopg.OperationalError):
                server.execute("SELECT 1")
            server.start()
        assert server.execute("SELECT count(*) FROM t") == [(2,)]
    assert not server.folder.exists()
