"""The store in PostgreSQL: the contract, and what it does beyond that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.adapters.store.postgres.postgres_store import PostgresStore
from tests.adapters.store.contract import EventStoreContract


class TestPostgresStore(EventStoreContract):
    @pytest.fixture
    def store(self, postgres_store_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
        store = PostgresStore(postgres_store_url, tmp_path / "events")
        yield store
        store.close()

    @pytest.fixture
    def other_store(self, postgres_store_url: str, tmp_path: Path) -> Iterator[PostgresStore]:
        store = PostgresStore(postgres_store_url, tmp_path / "events")
        yield store
        store.close()
