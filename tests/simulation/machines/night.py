"""A distributed night in the simulation: workers as processes that can be killed, begun by this process, which then looks on."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from pipeline.batch.batch_runner import Batch
from pipeline.batch.due_queries import decide
from pipeline.batch.night_result import BatchResult, result_of
from pipeline.batch.night_worker import open_night
from pipeline.config.queue_schema import Limits, ModelChoice, Query, Queue, Settings
from pipeline.config.services import config_for
from pipeline.domain.budget import Caps
from pipeline.domain.events.json_codec import decode_all
from pipeline.ports.night_jobs import BUILD, Night
from pipeline.store import postgres_database
from pipeline.store.nights import PostgresNights
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import Database
from tests.fakes import context_for
from tests.forking import FORK
from tests.nights import NOW, known
from tests.postgres_server import PostgresServer
from tests.simulation.machines.ledger import Account
from tests.simulation.machines.worker_process import Setup, run_worker


@dataclass
class Crew:
    """Workers as processes; ``refused`` counts what a frozen one found when it woke up."""

    setup: Setup
    alive: list[ForkServerProcess] = field(default_factory=list)
    kills: int = 0

    def start(self, count: int) -> None:
        for _ in range(count):
            setup = replace(self.setup, machine=f"m{len(self.alive) + self.kills}")
            process = FORK.Process(target=run_worker, args=(setup,), daemon=True)
            process.start()
            self.alive.append(process)

    def kill_one(self, chance: random.Random) -> None:
        """Kill a worker as a power cut does, and start another in its place."""
        process = self.alive.pop(chance.randrange(len(self.alive)))
        self._signal(process, signal.SIGKILL)
        process.join()
        self.kills += 1
        self.start(1)

    def freeze_one(self, chance: random.Random) -> Callable[[], None]:
        """Freeze a worker; return what wakes it up."""
        process = chance.choice(self.alive)
        self._signal(process, signal.SIGSTOP)
        return lambda: self._signal(process, signal.SIGCONT)

    def stop(self) -> None:
        for process in self.alive:
            self._signal(process, signal.SIGCONT)
            self._signal(process, signal.SIGTERM)
        for process in self.alive:
            process.join(10)
            if process.is_alive():
                self._signal(process, signal.SIGKILL)
                process.join()

    @staticmethod
    def _signal(process: ForkServerProcess, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(process.pid or 0, number)


@dataclass
class Simulation:
    """Questions to be researched by processes over one database; ``cap_usd`` is what all may spend together."""

    setup: Setup
    sessions: int
    cap_usd: float | None = None

    @classmethod
    def over(cls, server: PostgresServer, folder: Path, sessions: int, cap_usd: float | None = None, **setup: Any) -> Simulation:
        """Return a simulation over a new database of that server."""
        url = server.new_database()
        database = Database(url, lambda _connection: None)
        database.run(postgres_database.migrate)
        database.close()
        return cls(Setup(url, folder, "", **setup), sessions, cap_usd)

    @contextmanager
    def crew(self) -> Iterator[Crew]:
        """Let two workers work."""
        crew = Crew(self.setup)
        crew.start(2)
        try:
            yield crew
        finally:
            crew.stop()

    async def research(self, trouble: Callable[[], Coroutine[Any, Any, None]]) -> BatchResult:
        """Research all questions, with trouble on the side; return the outcome."""
        settings = Settings(limits=Limits(max_failures=100_000), reasoner=ModelChoice("a-model", "http://127.0.0.1:1/v1"))
        queue = Queue(settings, tuple(map(_query, range(self.sessions))), digest="d" * 64)
        store, context = PostgresStore(self.setup.url, self.setup.folder / "run", patience_s=300.0), context_for("run-0")
        nights = PostgresNights(Database(self.setup.url, lambda _connection: None, patience_s=300.0))

        batch = Batch(store, queue, None, lambda one: config_for(one, queue.settings), context)
        night = Night("2026-11-22", caps=Caps(self.cap_usd), max_failures=100_000)
        name = await open_night(batch, decide(queue, known({}), NOW), None, nights, night)
        troubling = asyncio.create_task(trouble())
        try:
            while BUILD not in await asyncio.to_thread(nights.queue):
                await asyncio.sleep(0.1)
            return result_of(list(decode_all(record.data for record in store.load(name))))
        finally:
            troubling.cancel()
            with suppress(asyncio.CancelledError):
                await troubling
            store.close()

    def broken(self) -> list[str]:
        """Return what was promised and not kept."""
        store, account = PostgresStore(self.setup.url, self.setup.folder / "check"), Account.of(self.setup.folder / "ledger")
        try:
            faults = account.broken(store)
        finally:
            store.close()
        if self.cap_usd is not None and account.billed_nano > round(self.cap_usd * 1e9):
            faults.append(f"{account.billed_nano / 1e9:.4f} USD were billed under a cap of {self.cap_usd:.4f}")
        return faults


def _query(number: int) -> Query:
    return Query(text="How do pumps behave?", id=f"pumps-{number}", line=1, perspectives=1, iterations=1, gap_rounds=0)
