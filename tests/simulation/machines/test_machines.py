"""A distributed night under trouble: nothing that was acknowledged is lost, doubled or asked for again, and no cap is passed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psycopg")

from tests.postgres_server import PostgresServer, running, skip_without_postgres
from tests.seeds import SEED
from tests.simulation.machines.night import Simulation
from tests.simulation.machines.trouble import Trouble


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    skip_without_postgres()
    with running(durable=True) as server:
        yield server


def test_a_night_with_kills_of_workers_server_and_connections_keeps_every_promise(server: PostgresServer, tmp_path: Path) -> None:
    night = Simulation.over(server, tmp_path, sessions=16, latency_s=0.02, lease_s=1.0, cap_usd=0.3)
    with night.crew() as crew:
        trouble = Trouble(server, crew, random.Random(SEED), strikes=8)
        result = asyncio.run(night.research(trouble))
    assert night.broken() == []
    assert len(result.ended) + len(result.skipped) == 16
    assert {event.status for event in result.ended} <= {"complete", "interrupted", "not-found"}
    assert sum(trouble.struck.values()) > 0


def test_a_worker_that_wakes_up_after_its_lease_is_refused_and_spoils_nothing(server: PostgresServer, tmp_path: Path) -> None:
    night = Simulation.over(server, tmp_path, sessions=4, at_once=2, latency_s=0.1, lease_s=1.2)
    with night.crew() as crew:
        result = asyncio.run(night.research(Trouble(server, crew, random.Random(SEED), 1, 0.6, ("frozen",))))
    assert night.broken() == []
    assert Counter(event.status for event in result.ended) == {"complete": 4}
