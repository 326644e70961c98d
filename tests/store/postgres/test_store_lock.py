"""One run at a time works with a database, on whatever machine."""

from __future__ import annotations

import time

import psycopg
import pytest

from pipeline.errors import WorkspaceLocked
from pipeline.store import postgres_database as module
from pipeline.store.postgres_database import roles, store_lock


def test_a_second_run_is_refused_and_told_who_works_there(postgres_store_url: str) -> None:
    with store_lock(postgres_store_url, "", "research run"):
        for shared in (False, True):
            other = store_lock(postgres_store_url, "", "x", shared=shared)
            with pytest.raises(WorkspaceLocked, match="research run: process") as refused, other:
                pass
            assert refused.value.exit_code == 11
    with store_lock(postgres_store_url, "", "research run"):
        pass


def test_a_run_of_another_role_is_refused_too(postgres_store_url: str) -> None:
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        connection.execute(roles().encode())
    app, maintenance = (postgres_store_url.replace("research_owner@", f"research_{name}@") for name in ("app", "maintenance"))
    other = store_lock(maintenance, "", "research prune")
    with (
        store_lock(app, "", "research run"),
        pytest.raises(WorkspaceLocked, match="research run: process"),
        other,
    ):
        pass


def test_those_that_share_the_lock_work_at_once_and_keep_others_out(postgres_store_url: str) -> None:
    one, other = (store_lock(postgres_store_url, "", name, shared=True) for name in "ab")
    third = store_lock(postgres_store_url, "", "c")
    with one, other, pytest.raises(WorkspaceLocked), third:
        pass


def test_the_lock_is_taken_again_when_its_connection_was_lost(postgres_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_S", 0.05)
    held = (  # in this database alone: other tests share the server
        b"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
        b" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with store_lock(postgres_store_url, "", "research run"), psycopg.connect(postgres_store_url, autocommit=True) as connection:
        lost = connection.execute(held).fetchone()
        assert lost is not None
        connection.execute("SELECT pg_terminate_backend(%s)", lost)
        until = time.monotonic() + 30
        while connection.execute(held).fetchone() in (None, lost) and time.monotonic() < until:
            time.sleep(0.02)
        with pytest.raises(WorkspaceLocked), store_lock(postgres_store_url, "", "other"):
            pass
