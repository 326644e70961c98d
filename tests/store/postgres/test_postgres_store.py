"""The store in PostgreSQL: the contract, and what it does beyond that."""

from __future__ import annotations

import gc
import itertools
import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.domain.branch_merging import joined
from pipeline.domain.events.stream_records import Record
from pipeline.errors import (
    EventRejected,
    LogDamaged,
    LogUnwritable,
    ObjectMissing,
    StoreUnreachable,
    VersionConflict,
    WorkspaceLocked,
    WriterReplaced,
)
from pipeline.store.copying import copy_log
from pipeline.store.file_store import FileStore
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import migrate, roles
from pipeline.store.verification import findings_in
from tests.store.contract import EventStoreContract
from tests.store.samples import files_in, record, records
from tests.store.test_branches import copy_missing, laptop, server

__all__ = ["laptop", "server"]
EXAMPLES = itertools.count()


@pytest.fixture
def store(postgres_store_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_store_url, tmp_path / "events")
    yield store
    store.close()


@pytest.fixture
def other_store(postgres_store_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(postgres_store_url, tmp_path / "events")
    yield store
    store.close()


class TestPostgresStore(EventStoreContract):
    """The contract over a database."""


OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def sql(url: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode(), values)
        return done.fetchall() if done.description else []


def cut_connections(url: str) -> None:
    sql(url, f"SELECT pg_terminate_backend(pid) {OTHERS}")


def test_a_stream_whose_writer_died_is_free(store: PostgresStore, other_store: PostgresStore, postgres_store_url: str) -> None:
    store.append("s-1", records([1]), 0)
    store.close()
    while sql(postgres_store_url, f"SELECT 1 {OTHERS}"):
        time.sleep(0.02)  # the server ends a connection after the client has
    assert other_store.append("s-1", [record(2, run="run-2")], 1) == 2


def test_a_writer_that_was_replaced_is_refused_whatever_it_appends(store: PostgresStore, other_store: PostgresStore) -> None:
    store.append("s-1", records([1]), 0)
    other_store.take_over("s-1")
    for _ in range(2):
        with pytest.raises(WriterReplaced, match="has taken over s-1"):
            store.append("s-1", [record(2, identity="paid")], 1)
    assert other_store.append("s-1", [record(2, run="run-2")], 1) == 2
    with pytest.raises(VersionConflict):
        store.append("s-1", [record(2, identity="paid")], 1)
    store.release("s-1")  # what it gives back is no longer its own
    with pytest.raises(VersionConflict):
        other_store.append("s-1", [record(2, identity="late")], 1)
    assert other_store.append("s-1", [record(3, run="run-2")], 2) == 3
    assert list(store.load("s-1")) == [record(1), record(2, run="run-2"), record(3, run="run-2")]


def test_a_stream_that_is_unknown_can_be_taken_over_too(store: PostgresStore) -> None:
    store.take_over("s-1")
    assert list(store.ids("session")) == []
    assert store.append("s-1", records([1, 2]), 0) == 2


def test_a_lost_connection_is_opened_again(store: PostgresStore, other_store: PostgresStore, postgres_store_url: str) -> None:
    store.append("s-1", records([1]), 0)
    cut_connections(postgres_store_url)
    assert store.append("s-1", records([2]), 1) == 2
    cut_connections(postgres_store_url)
    assert list(store.load("s-1")) == records([1, 2])
    with pytest.raises(WorkspaceLocked, match="writes s-1"):  # it owns the stream by its new connection
        other_store.append("s-1", [record(3, run="run-2")], 2)


def test_who_lost_the_connection_counts_as_dead_until_it_is_back(
    store: PostgresStore, other_store: PostgresStore, postgres_store_url: str
) -> None:
    store.append("s-1", records([1]), 0)
    cut_connections(postgres_store_url)
    assert other_store.append("s-1", [record(2, run="run-2")], 1) == 2
    with pytest.raises(WriterReplaced):
        store.append("s-1", [record(2, identity="paid")], 1)


def lose_connection(monkeypatch: pytest.MonkeyPatch, *, after: bool) -> list[int]:
    """Let the connection be lost at the next append: before the server has it, or after it has stored it."""
    real: Callable[..., Any] = psycopg.Cursor.execute
    lost: list[int] = []

    def execute(self: Any, query: Any, params: Any = None, **more: Any) -> Any:
        if "append_event" not in str(query) or lost:
            return real(self, query, params, **more)
        lost.append(1)
        if after:
            real(self, query, params, **more)
        self.connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return lost


@pytest.mark.parametrize("after", [False, True])
def test_an_append_is_stored_once_though_its_acknowledgement_was_lost(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    store.append("s-1", records([1]), 0)
    lost = lose_connection(monkeypatch, after=after)
    assert store.append("s-1", records([2, 3]), 1) == 3
    assert lost
    assert store.append("s-1", records([4]), 3) == 4
    assert list(store.load("s-1")) == records(range(1, 5))


def test_an_append_that_was_lost_while_another_took_over_is_refused(
    store: PostgresStore, other_store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append("s-1", records([1]), 0)
    other_store.take_over("s-1")
    lose_connection(monkeypatch, after=False)
    with pytest.raises(WriterReplaced):
        store.append("s-1", records([2]), 1)


def test_a_database_that_does_not_answer_is_named_without_its_parameters(tmp_path: Path) -> None:
    store = PostgresStore("postgresql://me@127.0.0.1:9/night?sslmode=disable", tmp_path, password="secret-word")  # noqa: S106
    with pytest.raises(StoreUnreachable) as refused:
        store.load("s-1")
    assert refused.value.message.startswith("postgresql://me@127.0.0.1:9/night cannot be reached: ")
    assert "secret-word" not in refused.value.message + refused.value.hint
    assert refused.value.exit_code == 12


def test_an_altered_lost_or_foreign_record_is_damage_and_verify_names_it(store: PostgresStore, postgres_store_url: str) -> None:
    ends = "corrupt: the stream's row ends with version"
    harm = {
        "UPDATE events SET line = line || 'A'::bytea WHERE version = 2": "run-1.jsonl:2: corrupt: the record was altered",
        "DELETE FROM events WHERE version = 2": "run-1.jsonl:2: corrupt: the record does not continue",
        "DELETE FROM events WHERE version = 3": f"run-1.jsonl:2: {ends} 3, its records with version 2",
        "DELETE FROM events": f"events: {ends} 3, its records with version 0",
        "UPDATE streams SET version = 2": f"run-1.jsonl:3: {ends} 2, its records with version 3",
    }
    for number, (statement, expected) in enumerate(harm.items(), 1):
        name = f"s-{number}"
        store.append(name, records([1, 2, 3], name), 0)
        sql(postgres_store_url, f"{statement} {'AND' if 'WHERE' in statement else 'WHERE'} stream = '{name}'")
        with pytest.raises(LogDamaged, match=name):
            store.load(name)
        found = [str(finding) for finding in findings_in(store) if name in finding.path]
        assert [line.startswith(f"sessions/{name}/events") and expected in line for line in found] == [True], found


def test_an_altered_object_is_missing_and_verify_names_it(store: PostgresStore, postgres_store_url: str) -> None:
    digest = store.objects.put(b"a page")
    sql(postgres_store_url, "UPDATE objects SET body = '\\x00'")
    with pytest.raises(ObjectMissing):
        store.objects.get(digest)
    (finding,) = findings_in(store)
    assert (finding.kind, finding.path) == ("object", f"objects/{digest[:2]}/{digest}.gz")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    acts=st.lists(
        st.tuples(st.sampled_from(["s", "batch", "talk"]), st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=12
    )
)
def test_whatever_runs_append_the_files_of_a_copy_are_those_of_the_file_store(
    store: PostgresStore, tmp_path: Path, acts: list[tuple[str, int, int]]
) -> None:
    place = tmp_path / f"x{next(EXAMPLES)}"
    files = FileStore(place / "files")
    versions: dict[str, int] = {}
    for kind, run, number in acts:
        name = f"{kind}-{place.name}"
        version = versions.get(name, 0)
        batch = [record(version + n, name, f"run-{run}") for n in range(1, number + 1)]
        for each in (files, store):
            if batch:
                versions[name] = each.append(name, batch, version)
            else:
                each.release(name)
    files.objects.put(b"a page")
    store.objects.put(b"a page")
    for name in versions:
        files.release(name)
    copy_log(store, FileStore(place / "copy"))
    ours = {name: data for name, data in files_in(place / "copy").items() if re.search(rf"-{place.name}\b", name)}
    assert ours == {name: data for name, data in files_in(place / "files").items() if re.search(rf"-{place.name}\b", name)}


def test_a_removed_stream_and_its_objects_are_gone_for_all(store: PostgresStore, other_store: PostgresStore) -> None:
    store.append("s-1", records([1]), 0)
    digest = store.objects.put(b"a page")
    with pytest.raises(WorkspaceLocked, match="writes s-1"):
        other_store.remove_stream("s-1")
    store.release("s-1")
    store.remove_stream("s-1")
    store.remove_stream("s-1")
    store.objects.remove([digest, digest])
    assert list(other_store.load("s-1")) == []
    assert store.objects.size(digest) == 0


def test_a_struck_stream_is_sound_and_shorter_and_its_writer_must_read_it_again(
    store: PostgresStore, other_store: PostgresStore
) -> None:
    store.append("memory-1", records([1, 2, 3], "memory-1", note="secret"), 0)
    store.release("memory-1")
    other_store.load("memory-1")
    store.strike("memory-1", lambda one: record(one.version, "memory-1", note=""))
    assert list(other_store.load("memory-1")) == records([1, 2, 3], "memory-1")
    assert findings_in(store) == []
    assert store.append("memory-1", records([4], "memory-1"), 3) == 4


def same(one: Record) -> Record:
    return one


def stone(version: int, session: str, report: str) -> Any:
    one = record(version, "prune-1")
    text = one.data.decode().replace("worker.thought", "session.pruned")[:-1]
    return one._replace(
        type="session.pruned",
        data=f'{text},"session":"{session}","up_to":2,"report":"{report}","objects":[],"quotes":3}}'.encode(),
    )


def test_a_pruned_session_is_what_is_kept_of_it_and_cannot_go_on(store: PostgresStore, other_store: PostgresStore) -> None:
    store.append("s-1", records([1, 2]), 0)
    before = other_store.marks()["s-1"]
    report = store.objects.put(record(2).data)
    store.release("s-1")
    store.append("prune-1", [stone(1, "s-1", report)], 0)
    for each in (store, other_store):
        assert list(each.load("s-1")) == [record(2)]
        assert each.marks()["s-1"] == f"pruned:{report}" != before
        assert list(each.ids("session", removed=True)) == ["s-1"]
        with pytest.raises(EventRejected, match="was pruned"):
            each.append("s-1", records([3]), 2)
    assert [str(x.kind) for x in findings_in(store)] == ["leftover"]
    store.remove_stream("s-1")
    assert list(other_store.load("s-1")) == [record(2)]
    assert list(other_store.ids("session", removed=True)) == []
    assert findings_in(store) == []


def test_branches_of_a_copied_log_stay_beside_it(store: PostgresStore, laptop: Path, server: Path, tmp_path: Path) -> None:
    copy_missing(laptop, server)
    source = FileStore(laptop)
    refused = copy_log(source, store).refused
    assert [finding.kind for finding in refused] == ["fork"]
    files = FileStore(laptop, joined)
    files.join("s1")
    assert copy_log(source, store).refused == []
    assert list(store.load("s1")) == list(files.load("s1"))
    assert not store.branched(["s1"])
    assert list(store.join("s1")) == []
    assert findings_in(store) == []
    copy_log(store, FileStore(tmp_path / "back"))
    shutil.rmtree(laptop / "local")
    shutil.rmtree(tmp_path / "back" / "local")
    assert files_in(tmp_path / "back") == files_in(laptop)


@pytest.mark.parametrize("state", ["disk_full", "out_of_memory", "too_many_connections"])
def test_a_server_that_is_full_is_named_as_such(store: PostgresStore, state: str) -> None:
    with pytest.raises(LogUnwritable) as refused:
        store.database.rows(f"DO $$ BEGIN RAISE '53' USING ERRCODE = '{state}'; END $$")
    assert "out of space, memory or connections" in refused.value.hint


def test_a_store_that_nobody_uses_any_more_has_no_connection(postgres_store_url: str, tmp_path: Path) -> None:
    gc.disable()  # a process that builds again and again makes a store each time, and collects seldom
    try:
        for number in range(5):
            PostgresStore(postgres_store_url, tmp_path).append(f"s-{number}", [], 0)
        until = time.monotonic() + 30
        with psycopg.connect(postgres_store_url, autocommit=True) as connection:
            while (found := connection.execute(f"SELECT count(*) {OTHERS}").fetchone()) != (0,) and time.monotonic() < until:
                time.sleep(0.02)  # the server ends a connection after the client has
        assert found == (0,)
    finally:
        gc.enable()


def test_nothing_of_the_address_is_logged(
    store: PostgresStore, postgres_store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="pipeline.store"):
        store.append("s-1", records([1]), 0)
        cut_connections(postgres_store_url)
        store.load("s-1")
    assert "was lost" in caplog.text
    assert "port=" not in caplog.text


@pytest.mark.parametrize("role", ["research_app", "research_maintenance"])
def test_the_role_for_research_appends_and_reads_and_only_that_for_maintenance_removes(
    store: PostgresStore, postgres_store_url: str, tmp_path: Path, role: str
) -> None:
    for _ in range(2):
        sql(postgres_store_url, roles())
    mine = postgres_store_url.replace("research_owner@", f"{role}@")
    its = PostgresStore(mine, tmp_path / "its")
    its.append("s-1", records([1, 2, 3]), 0)
    digest = its.objects.put(b"a page")
    its.release("s-1")
    assert (list(its.load("s-1")), its.objects.get(digest)) == (records([1, 2, 3]), b"a page")
    tables = sql(postgres_store_url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    rights = [sql(mine, "SELECT has_table_privilege(%s, 'SELECT')", name) for (name,) in tables]
    assert [right for ((right,),) in rights] == [True] * len(tables)
    if role == "research_maintenance":
        its.strike("s-1", same)
        its.append("prune-1", records([1], "prune-1"), 0)
        its.objects.remove([digest])
        its.remove_stream("s-1")
        assert list(store.load("s-1")) == []
        return
    with pytest.raises(LogUnwritable, match="may not remove anything"):
        its.append("prune-1", records([1], "prune-1"), 0)
    attempts: list[Callable[[], None]] = [
        lambda: its.remove_stream("s-1"),
        lambda: its.objects.remove([digest]),
        lambda: its.strike("s-1", same),
    ]
    for attempt in attempts:
        with pytest.raises(LogUnwritable, match="permission denied"):
            attempt()
    harm = (
        "UPDATE events SET line = ''", "DELETE FROM events", "DELETE FROM objects", "TRUNCATE events",
        "UPDATE streams SET version = 2, head = '\\x00'",
        "INSERT INTO streams (stream, kind, version) VALUES ('s-9', 'session', 1)",
        "INSERT INTO events VALUES ('s-1', 4, 'x', 'x', '')",
    )  # fmt: skip
    for statement in (*harm, "SELECT * FROM take_up('prune-2', 'session', 1, '', true)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            sql(mine, statement)
    sql(postgres_store_url, f"GRANT CREATE ON DATABASE {postgres_store_url.rpartition('/')[2].partition('?')[0]} TO research_app")
    with psycopg.connect(mine, autocommit=True) as connection:
        for shadow in SHADOWS:
            connection.execute(shadow.encode())
        append = "SELECT public.append_event('s-1', {}, '000001-run-1.jsonl', 4, {}, 'e-4', %b) FROM public.streams"
        data = records([4])[0].data[:-1]
        for wrong in (("fence + 1", "head"), ("fence", "'x'")):
            with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="does not continue the stream"):
                connection.execute(append.format(*wrong).encode(), (data,))
        connection.execute(append.format("fence", "head").encode(), (data,))
    assert list(its.load("s-1")) == records([1, 2, 3, 4])


# What a role could put before the store's own names, to make an append accept what it must refuse.
TYPES = ("text", "int", "bigint", "bytea")
SHADOWS = (
    "CREATE SCHEMA mine",
    *(f"CREATE FUNCTION mine.yes({one}, {one}) RETURNS boolean LANGUAGE sql AS 'SELECT true'" for one in TYPES),
    *(f"CREATE OPERATOR mine.= (LEFTARG = {one}, RIGHTARG = {one}, FUNCTION = mine.yes)" for one in TYPES),
    "CREATE FUNCTION mine.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$",
    "CREATE FUNCTION mine.byteacat(bytea, bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT 'x'::bytea $$",
    "CREATE TEMPORARY TABLE streams AS SELECT * FROM public.streams",
    "CREATE TEMPORARY TABLE events AS SELECT * FROM public.events",
    "CREATE DOMAIN pg_temp.bytea AS pg_catalog.text",
    "SET search_path = pg_temp, mine, pg_catalog",
)


def test_an_upgrade_takes_the_right_to_move_heads_from_roles_that_had_it(postgres_store_url: str) -> None:
    sql(postgres_store_url, roles())
    sql(
        postgres_store_url,
        "GRANT INSERT ON streams, events TO research_app; GRANT UPDATE (version, head) ON streams TO research_app",
    )
    sql(postgres_store_url, "DELETE FROM store_migrations; INSERT INTO store_migrations VALUES (3, 'earlier')")
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        migrate(connection)
    for table in ("streams", "events"):
        rights = "has_column_privilege('research_app', %s, 'version', 'UPDATE, INSERT')"
        assert sql(postgres_store_url, f"SELECT {rights}", table) == [(False,)]
