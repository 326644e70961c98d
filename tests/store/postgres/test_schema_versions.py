"""The tables of the store: created, upgraded, refused, and brought back from a backup."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import psycopg
import pytest

from pipeline.errors import LogUnreadable, SchemaTooNew
from pipeline.store import postgres_database
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_copy import PostgresLog
from pipeline.store.verification import findings_in
from tests.postgres_server import PostgresServer, program
from tests.store.samples import records

ALL = [step.name for step in postgres_database.migrations()]


def migrate(url: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        return postgres_database.migrate(connection)


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_the_steps_are_numbered_without_a_gap() -> None:
    steps = postgres_database.migrations()
    assert [step.version for step in steps] == list(range(1, len(steps) + 1))


def test_an_empty_database_says_what_to_do_and_each_step_is_done_once(postgres_url: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres_url, tmp_path)
    with pytest.raises(LogUnreadable, match="has no event store yet") as refused:
        store.load("s-1")
    assert "research store init" in refused.value.hint
    assert migrate(postgres_url) == ALL
    assert migrate(postgres_url) == []
    assert list(store.load("s-1")) == []


def test_two_that_migrate_at_once_wait_for_each_other(postgres_url: str) -> None:
    done: list[list[str]] = []
    threads = [threading.Thread(target=lambda: done.append(migrate(postgres_url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [[], [], [], ALL]


def test_a_step_that_fails_leaves_nothing_behind(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [*postgres_database.migrations(), postgres_database.Migration(len(ALL) + 1, "faulty", "CREATE TABLE x (y nonsense)")]
    monkeypatch.setattr(postgres_database, "migrations", lambda: steps)
    with pytest.raises(psycopg.errors.UndefinedObject):
        migrate(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        assert postgres_database.schema_version(connection) == 0


def test_the_tables_of_another_program_are_refused(postgres_store_url: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres_store_url, tmp_path)
    execute(postgres_store_url, "DELETE FROM store_migrations WHERE version > 1")
    if len(ALL) > 1:
        with pytest.raises(LogUnreadable, match=f"has schema 1, and this program needs {len(ALL)}"):
            store.load("s-1")
    execute(postgres_store_url, "INSERT INTO store_migrations VALUES (99, 'of-tomorrow')")
    with pytest.raises(SchemaTooNew, match="has schema 99") as refused:
        store.load("s-1")
    assert refused.value.exit_code == 2
    with pytest.raises(SchemaTooNew):
        migrate(postgres_store_url)


def test_a_backup_restored_on_another_server_is_sound_once_it_is_prepared(
    postgres_server: PostgresServer, postgres_store_url: str, tmp_path: Path
) -> None:
    store = PostgresStore(postgres_store_url, tmp_path / "events")
    for version in range(1, 30):
        store.append("s-1", records([version]), version - 1)
    store.put(b"a page")
    store.close()
    dumped = subprocess.run([program("pg_dump"), postgres_store_url], check=True, capture_output=True)
    url = postgres_server.new_database()
    subprocess.run([program("psql"), "-q", "-v", "ON_ERROR_STOP=1", url], input=dumped.stdout, check=True, capture_output=True)
    # The numbers of the other server's transactions: here, none has come so far.
    execute(url, "UPDATE events SET xid = (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000)::text::xid8")
    again = PostgresStore(url, tmp_path / "again")
    with pytest.raises(LogUnreadable, match="restored from the backup of another server"):
        again.load("s-1")
    assert migrate(url) == ["events of a restored backup were numbered again"]
    assert list(again.load("s-1")) == records(range(1, 30))
    assert findings_in(PostgresLog(again.database)) == []
    assert again.append("s-1", records([30]), 29) == 30
    with psycopg.connect(url) as connection:
        order = connection.execute("SELECT version FROM events ORDER BY xid, pos").fetchall()
    assert order == [(version,) for version in range(1, 31)]
    again.close()
