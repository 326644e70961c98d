"""A distributed batch in one process: a queue and a store in memory, a run, and workers whose desks are scripted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.batch.distribution.job_runner import JobRunner
from pipeline.batch.distribution.session_worker import SessionWorker
from pipeline.batch.scheduling import ANYWHERE, decide
from pipeline.batch.session_pool import Batch
from pipeline.batch.totals import BatchResult
from pipeline.config.settings import config_for
from pipeline.config.values import ModelChoice, Queue
from pipeline.domain.budget import SharedPart
from pipeline.domain.distribution.jobs import Night, WorkerProcess
from pipeline.domain.events.session_events import EventBase, RunStarted
from pipeline.domain.state import SessionState
from pipeline.engine.run_context import RunContext
from pipeline.errors import WriterReplaced
from pipeline.research import StepContext
from tests.dispatching import MemoryDispatcher
from tests.fakes import Journal, MemoryStore, Ticks, context_for, desk_for
from tests.nights import NOW, known

LEASE_S = 0.6


class FencedStore:
    """One process's view of a store in memory: what another has taken over, this one can write no more."""

    def __init__(self, store: MemoryStore, owners: dict[str, object]) -> None:
        self._store, self._owners, self._held = store, owners, set[str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def take_over(self, session_id: str) -> None:
        self._owners[session_id] = self
        self._held.add(session_id)

    def append(self, session_id: str, records: Any, expected_version: int) -> int:
        if session_id in self._held and self._owners.get(session_id) is not self:
            raise WriterReplaced(f"another worker has taken over {session_id}")
        return self._store.append(session_id, records, expected_version)

    def release(self, session_id: str) -> None:
        self._held.discard(session_id)


@dataclass
class Stage:
    """``said`` are the lines of the run, ``told`` those of each worker by its machine."""

    work: Queue
    store: MemoryStore = field(default_factory=MemoryStore)
    dispatcher: MemoryDispatcher = field(default_factory=MemoryDispatcher)
    journal: Callable[[SessionState], Journal] = lambda _state: Journal()
    night: Night = field(default_factory=lambda: Night("batch-night"))
    documents: str = ""
    said: list[str] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)
    events: list[tuple[str, str]] = field(default_factory=list)
    owners: dict[str, object] = field(default_factory=dict)

    def worker(self, machine: str, sessions: int = 2, documents: str = "", **context: Any) -> SessionWorker:
        store, process = (
            FencedStore(self.store, self.owners),
            WorkerProcess(f"{machine}-1", machine, sessions, LEASE_S, documents),
        )

        def prepare(state: SessionState, _part: SharedPart | None) -> StepContext:
            return desk_for(store, self.journal(state))

        agent = RunStarted(host=machine, process=1, program="test", agent=machine)
        ids = Ticks(prefix=machine)
        running = RunContext(f"run-{machine}", agent, new_id=ids.new_id, **context)
        lines = self.told.setdefault(machine, [])
        return SessionWorker(
            store, self.dispatcher, lambda: process, prepare, running, lambda line, _problem: lines.append(line), idle_s=0.01
        )

    def listen(self, event: EventBase, _state: SessionState) -> None:
        self.events.append((event.type, event.session_id))

    def runner(self, context: RunContext, patience_s: float = 0.3) -> JobRunner:
        return JobRunner(
            self.store,
            self.dispatcher,
            context,
            self.store.subscribe(),
            lambda: self.night,
            lambda _config: self.documents,
            self.listen,
            self.said.append,
            look_s=0.02,
            patience_s=patience_s,
            quiet_s=0.0,
        )

    async def run(self, *workers: SessionWorker, patience_s: float = 0.3, **context: Any) -> BatchResult:
        """Run a batch with these workers; they are stopped when it is over."""
        running = context_for("run-1", listener=self.listen, **context)
        runner = self.runner(running, patience_s)

        def desk(_state: SessionState) -> StepContext:
            raise AssertionError("the run itself researches nothing")

        settings = replace(self.work.settings, reasoner=ModelChoice("a-model", "http://127.0.0.1:1/v1"))
        batch = Batch(self.store, self.work, desk, lambda one: config_for(one, settings), running, remote=runner)
        tasks = [asyncio.create_task(worker.work()) for worker in workers]
        try:
            async with asyncio.timeout(20), runner.following():
                return await batch.work(decide(self.work, known({}), NOW, machine=ANYWHERE))
        finally:
            for worker in workers:
                worker.context.stop.ask("the test is over", 143)
            await asyncio.gather(*tasks)
