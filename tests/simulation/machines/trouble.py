"""What befalls a distributed night: workers killed and frozen, connections cut, the server killed and started again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from tests.postgres_server import PostgresServer
from tests.simulation.machines.night import Crew

_CUT = "select pg_terminate_backend(pid) from pg_stat_activity where random() < 0.5 and "
KINDS = ("worker", "worker", "connections", "server")


@dataclass
class Trouble:
    """Strikes ``strikes`` times at random moments, ``pause_s`` apart on average. ``struck`` counts what happened."""

    server: PostgresServer
    crew: Crew
    chance: random.Random
    strikes: int
    pause_s: float = 0.4
    kinds: tuple[str, ...] = KINDS
    struck: Counter[str] = field(default_factory=Counter)

    async def __call__(self) -> None:
        while sum(self.struck.values()) < self.strikes:
            await asyncio.sleep(self.chance.uniform(0.2, 1.8) * self.pause_s)
            kind = self.chance.choice(self.kinds)
            await {"worker": self._kill, "frozen": self._freeze, "connections": self._cut, "server": self._restart}[kind]()
            self.struck[kind] += 1

    async def _kill(self) -> None:
        await asyncio.to_thread(self.crew.kill_one, self.chance)

    async def _freeze(self) -> None:
        """Freeze a worker until well after its lease has ended."""
        wake: Callable[[], None] = self.crew.freeze_one(self.chance)
        await asyncio.sleep(2.0 * self.crew.setup.lease_s)
        wake()

    async def _cut(self) -> None:
        others = "pid <> pg_backend_pid() and backend_type = 'client backend'"
        with psycopg.connect(self.server.url(), autocommit=True) as connection:
            await asyncio.to_thread(connection.execute, _CUT + others)

    async def _restart(self) -> None:
        await asyncio.to_thread(self.server.kill)
        await asyncio.to_thread(self.server.start)
