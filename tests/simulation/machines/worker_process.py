"""A worker as a process of its own, over a real queue and store, with scripted answers that take a while and cost money."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from pipeline.batch.night_worker import NightWorker
from pipeline.domain import reasoner_questions as q
from pipeline.domain.budget import Budget, CombinedBudget, SharedPart
from pipeline.domain.events.session_events import EventBase, RunStarted
from pipeline.domain.research_values import Cost
from pipeline.domain.session_state import SessionState
from pipeline.engine.stop_and_clock import RunContext, Stop
from pipeline.ports import Answer
from pipeline.ports.night_jobs import WORKER, entry_of
from pipeline.research import StepContext
from pipeline.store.jobs import PgQueuerEngine
from pipeline.store.nights import PostgresNights
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import Database
from tests.fakes import A, FakeFetch, FakeReasoner, FakeSearch, Journal
from tests.simulation.doors import PRICE, WORST
from tests.simulation.machines.ledger import Ledger


@dataclass(frozen=True)
class Setup:
    """What a worker is given: where the database, its caches and the ledger are, and how it works."""

    url: str
    folder: Path
    machine: str
    latency_s: float
    lease_s: float
    at_once: int = 4


@dataclass
class PaidReasoner:
    """Rules instead of a model; each answer is reserved at its worst case, billed when it is sent, and settled at its price."""

    journal: Journal
    ledger: Ledger
    session: str
    purse: CombinedBudget
    name: str = "fake"

    async def answer(self, question: q.Question[A]) -> Answer[A]:
        reserved = await self.purse.reserve(Cost(total_tokens=30, usd=WORST / 1e9))
        self.ledger.note("bill", self.session, str(PRICE))
        try:
            answer = await FakeReasoner(self.journal).answer(question)
        except BaseException:
            self.purse.settle(reserved, Cost(total_tokens=30, usd=WORST / 1e9))  # it was sent: it may be charged in full
            raise
        self.purse.settle(reserved, answer.cost)
        return answer


def run_worker(setup: Setup) -> None:
    """Work until SIGTERM as ``research work`` does, with scripted doors; problems go to a file beside its caches."""
    log = os.open(setup.folder / f"{setup.machine}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    stop, ledger = Stop(grace_s=2.0), Ledger(setup.folder / "ledger")
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.ask("stopped by SIGTERM", 143))
    store = PostgresStore(setup.url, setup.folder / setup.machine)
    nights = PostgresNights(Database(setup.url, lambda _connection: None))
    database = Database(setup.url, lambda _connection: None, patience_s=0.0, program=f"{WORKER}{setup.machine}")
    engine = PgQueuerEngine(database, at_once=setup.at_once, lease_s=setup.lease_s)

    def prepare(state: SessionState, part: SharedPart | None) -> StepContext:
        journal = Journal(note=lambda name: ledger.note("ask", state.id, name), latency=lambda _name: setup.latency_s)
        purse = CombinedBudget((Budget(name="query"), Budget(name="night", shared=part)))
        paid = PaidReasoner(journal, ledger, state.id, purse)
        return StepContext(paid, FakeSearch(journal), FakeFetch(journal), lambda digest: store.objects.get(digest).decode())

    def acknowledged(event: EventBase, state: SessionState) -> None:
        ledger.note("ack", state.id, f"{event.version} {event.id}")

    agent = RunStarted(host=setup.machine, process=os.getpid(), program="test", agent=setup.machine)
    context = RunContext(f"run-{os.getpid()}", agent, stop=stop, listener=acknowledged)
    entries = (entry_of(), entry_of(machine=setup.machine))
    worker = NightWorker(store, nights, context, prepare, look=lambda: entries, say=_say)

    async def work() -> None:
        async def wake() -> None:
            while True:
                await asyncio.sleep(0.2)

        waking = asyncio.create_task(wake())
        try:
            await worker.work(engine)
        finally:
            waking.cancel()

    asyncio.run(work())


def _say(line: str, problem: bool) -> None:
    if problem:
        print(line, file=sys.stderr, flush=True)
