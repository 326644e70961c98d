"""A subscription to the database: the order of its transactions, portion by portion."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from pipeline.store import postgres
from pipeline.store.postgres import PostgresStore
from tests.store.contract import all_of
from tests.store.samples import record, records


def test_transactions_are_read_in_the_order_of_their_numbers_and_not_of_their_digits(
    postgres_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "AT_ONCE", 2)
    store = PostgresStore(postgres_store_url, tmp_path / "events")
    for version in range(1, 7):
        store.append("s-1", [record(version)], version - 1)
    with psycopg.connect(postgres_store_url, autocommit=True) as connection:
        connection.execute("UPDATE events SET xid = (version + 6)::text::xid8")  # 7, 8, 9, 10, 11, 12
    feed = store.subscribe(from_start=True)
    assert all_of(feed) == records(range(1, 7))
    feed.close()
    store.close()
