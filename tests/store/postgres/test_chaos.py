"""Server, connections and writers are killed while they append: nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

from pathlib import Path

import psycopg

from pipeline.store.postgres_database import migrate
from tests.postgres_server import running, skip_without_postgres
from tests.seeds import SEED
from tests.store.postgres import chaos


def test_no_acknowledged_append_is_lost_or_doubled(tmp_path: Path) -> None:
    skip_without_postgres()
    with running(durable=True) as server:
        url = server.new_database()
        with psycopg.connect(url, autocommit=True) as connection:
            migrate(connection)
        kills = {"server": 2, "connections": 3, "writer": 3}
        count = chaos.run(server, url, tmp_path, writers=2, kills=kills, seed=SEED)
    assert count.acknowledged >= 10
    assert (count.lost, count.doubled, count.findings) == (0, 0, [])
    assert count.stored - count.acknowledged <= 2 * sum(kills.values())  # stored, and killed before it could say so
