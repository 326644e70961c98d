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
from pipeline.store.record_chain import ZEROS, seal
from pipeline.store.verification import findings_in
from tests.postgres_server import PostgresServer, program
from tests.store.samples import records

CREATED = ["created with schema 6"]
EARLIER = Path(__file__).with_name("schema_3.sql")


def migrate(url: str) -> list[str]:
    with psycopg.connect(url, autocommit=True) as connection:
        return postgres_database.migrate(connection)


def execute(url: str, statement: str, values: tuple[object, ...] = ()) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode(), values or None)


def test_an_empty_database_says_what_to_do_and_is_prepared_once(postgres_url: str, tmp_path: Path) -> None:
    store = PostgresStore(postgres_url, tmp_path)
    with pytest.raises(LogUnreadable, match="has no event store yet") as refused:
        store.load("s-1")
    assert "research store init" in refused.value.hint
    assert migrate(postgres_url) == CREATED
    assert migrate(postgres_url) == []
    assert list(store.load("s-1")) == []


def test_two_that_migrate_at_once_wait_for_each_other(postgres_url: str) -> None:
    done: list[list[str]] = []
    threads = [threading.Thread(target=lambda: done.append(migrate(postgres_url))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [[], [], [], CREATED]


def test_a_database_of_an_earlier_version_is_refused_until_it_is_upgraded_and_keeps_its_log(
    postgres_url: str, tmp_path: Path
) -> None:
    execute(postgres_url, EARLIER.read_text())
    prev = ZEROS.decode()
    for record in records([1, 2, 3]):
        line, head = seal(record.data, prev.encode())
        values = (record.version, record.id, record.type, line[:-1], head.decode(), prev)
        statement = (
            "INSERT INTO events VALUES ('s-1', %s, %s, %s, '000001-run-1.jsonl', %b, decode(%s, 'hex'), decode(%s, 'hex'))"
        )
        execute(postgres_url, statement, values)
        prev = head.decode()
    execute(postgres_url, "INSERT INTO streams VALUES ('s-1', 'session', 3, decode(%s, 'hex'))", (prev,))
    store = PostgresStore(postgres_url, tmp_path / "events")
    with pytest.raises(LogUnreadable, match="has schema 3, and this program needs 6"):
        store.load("s-1")
    assert migrate(postgres_url) == ["upgraded from schema 3 to 6"]
    assert list(store.load("s-1")) == records([1, 2, 3])
    assert store.append("s-1", records([4]), 3) == 4
    assert findings_in(store) == []


def test_the_tables_of_a_newer_program_are_refused(postgres_store_url: str, tmp_path: Path) -> None:
    execute(postgres_store_url, "INSERT INTO store_migrations VALUES (99, 'of-tomorrow')")
    with pytest.raises(SchemaTooNew, match="has schema 99") as refused:
        PostgresStore(postgres_store_url, tmp_path).load("s-1")
    assert refused.value.exit_code == 2
    with pytest.raises(SchemaTooNew):
        migrate(postgres_store_url)


def test_a_backup_restored_elsewhere_is_the_same_log_and_goes_on(
    postgres_server: PostgresServer, postgres_store_url: str, tmp_path: Path
) -> None:
    store = PostgresStore(postgres_store_url, tmp_path / "events")
    store.append("s-1", records(range(1, 30)), 0)
    store.objects.put(b"a page")
    store.close()
    dumped = subprocess.run([program("pg_dump"), postgres_store_url], check=True, capture_output=True)
    url = postgres_server.new_database()
    subprocess.run([program("psql"), "-q", "-v", "ON_ERROR_STOP=1", url], input=dumped.stdout, check=True, capture_output=True)
    again = PostgresStore(url, tmp_path / "again")
    assert list(again.load("s-1")) == records(range(1, 30))
    assert findings_in(again) == []
    assert again.append("s-1", records([30]), 29) == 30
    again.close()
