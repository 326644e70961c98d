"""The queue and the budget in PostgreSQL keep what the contract promises, and say when the database cannot be reached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("psycopg")

import psycopg

from pipeline.adapters.dispatch.connections import Connections
from pipeline.adapters.dispatch.job_queue import PostgresDispatcher
from pipeline.adapters.dispatch.shared_budget import PostgresBudget
from pipeline.domain.distribution.jobs import Job
from pipeline.errors import QueueUnavailable
from tests.adapters.dispatch.contract import FIRST, NIGHT, DispatcherContract, SharedBudgetContract, names


@pytest.fixture
def connections(postgres_store_url: str) -> Connections:
    return Connections(postgres_store_url)


@pytest.fixture
def queue(connections: Connections) -> PostgresDispatcher:
    return PostgresDispatcher(connections)


@pytest.fixture
def budget_with(connections: Connections) -> Callable[..., PostgresBudget]:
    def opened(**caps: Any) -> PostgresBudget:
        PostgresDispatcher(connections).enqueue(replace(NIGHT, **caps), [])
        return PostgresBudget(connections)

    return opened


class TestPostgresDispatcher(DispatcherContract):
    """The contract of a queue."""


class TestPostgresBudget(SharedBudgetContract):
    """The contract of a shared budget."""


def test_a_lost_connection_is_reported_and_the_next_call_makes_a_new_one(connections: Connections) -> None:
    queue = PostgresDispatcher(connections)
    queue.enqueue(NIGHT, [Job("a")])
    with psycopg.connect(connections.url, autocommit=True) as other:
        ended = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()"
        other.execute(f"{ended} and pid <> pg_backend_pid()")
    with pytest.raises(QueueUnavailable, match="cannot be reached"):
        names(queue, FIRST)
    assert names(queue, FIRST) == ["a"]


def test_a_server_that_is_not_there_is_reported_with_a_hint() -> None:
    with pytest.raises(QueueUnavailable, match="cannot be reached") as error:
        PostgresDispatcher(Connections("postgresql://nobody@127.0.0.1:9/none")).workers()
    assert "doctor" in error.value.hint
