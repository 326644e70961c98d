"""One workspace's life on a virtual clock: nights of trouble, then a clean one; after each the invariants.

The batch, the loop, the agenda and the file store are the real ones. Chance decides, from one seed, what the queue holds, how
long each call takes, what fails, when the process dies and whether the power goes with it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from pipeline.batch import batch_runner, due_queries
from pipeline.batch.batch_runner import Batch
from pipeline.batch.memory_consolidation import Recaller, consolidate
from pipeline.batch.night_result import BatchResult
from pipeline.batch.session_index import read_all
from pipeline.config.queue_schema import Limits, ModelChoice, Query, Queue, Settings
from pipeline.config.services import config_for
from pipeline.domain.branch_merging import joined
from pipeline.domain.budget import Budget, Caps, CombinedBudget
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.events.stream_records import Record
from pipeline.domain.research_values import Cost
from pipeline.domain.session_state import SessionState
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import LogError, ResearchError
from pipeline.research import StepContext
from pipeline.store.file_store import FileStore
from tests.fakes import START, Journal
from tests.simulation.clock import VirtualLoop
from tests.simulation.disk import Died, MortalDisk, mortal_disk
from tests.simulation.doors import Asked, Provider, Weather
from tests.simulation.talking import QUESTIONS, ask_back, talk_about

TROUBLED_NIGHTS = 4


class Witness(FileStore):
    """Remembers what was acknowledged: the promise is kept if it is all still there."""

    def __init__(self, root: Path, acknowledged: dict[tuple[str, int], bytes]) -> None:
        super().__init__(root, joined)
        self._acknowledged = acknowledged
        self.written: set[str] = set()

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        self.written.add(session_id)
        version = super().append(session_id, records, expected_version)
        self._acknowledged |= {(session_id, record.version): record.data for record in records}
        return version

    def close(self) -> None:
        """What the system does for a process that is gone: its files and locks are free."""
        for stream in self.written:
            self.release(stream)


MODEL = ModelChoice("fake", base_url="http://127.0.0.1:9/v1")  # answered by ``Asked``
MEMORY = "memory"  # whose bill the calls of all consolidations are on


@dataclass
class Ended:
    """How a night ended: ``result`` None if the process died or the log could not be written."""

    result: BatchResult | None
    error: ResearchError | None
    died: bool
    began: datetime
    ended: datetime
    context: RunContext | None
    asked_at: datetime | None = None


@dataclass
class Life:
    """One seed's workspace. ``calls`` are the calls of each night by session, ``known`` what was recorded before it."""

    seed: int
    root: Path
    chance: random.Random = field(init=False)
    queue: Queue = field(init=False)
    disk: MortalDisk = field(init=False)
    provider: Provider = field(default_factory=Provider)
    acknowledged: dict[tuple[str, int], bytes] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    moment: datetime = START
    nights: int = 0
    interrupted: bool = False
    asked_at: datetime | None = None
    batch_s: float | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.queue = _queue(self.chance)
        self.is_short = self.chance.choice([False, False, True])  # whether each of its nights has a deadline

    @property
    def store(self) -> FileStore:
        """A fresh look at the log."""
        return FileStore(self.root, joined)

    def night(self, *, troubled: bool) -> Ended:
        """Live through one night."""
        self.nights += 1
        self.calls = {}
        began = self.moment
        store = Witness(self.root, self.acknowledged)
        loop = VirtualLoop()
        result, error, context, died = None, None, None, False
        self.asked_at = self.batch_s = None
        try:
            context = self._context(loop, began)
            if troubled:
                self._plan_trouble(loop, context)
            result = loop.run_until_complete(self._work(store, context, self._weather(troubled=troubled), loop))
        except ResearchError as raised:
            error = raised
        except (Died, BaseExceptionGroup, RuntimeError):
            died = self.disk.dead
            if not died:
                raise
        finally:
            self._bury(loop)
            store.close()
        self.moment = began + timedelta(seconds=loop.now)
        worked = self.moment if self.batch_s is None else began + timedelta(seconds=self.batch_s)
        ended = Ended(result, error, died, began, worked, context, self.asked_at)
        self.interrupted = self.interrupted or died or error is not None or self.asked_at is not None
        self.disk.revive(self.root, power_cut=died and self.chance.random() < 0.5)
        self.moment += timedelta(seconds=self.chance.choice([1, 3_600, 86_400, -600 if troubled else 60]))
        return ended

    def _plan_trouble(self, loop: VirtualLoop, context: RunContext) -> None:
        """Decide what ends the night early, if anything does."""
        kind = self.chance.choice(["disk", "operation", "time", "signal", "nothing", "nothing"])
        moment = 90 * self.chance.random() ** 2
        if kind == "disk":
            self.disk.rate = 0.03
        elif kind == "operation":
            self.disk.left = int(400 * self.chance.random() ** 2)
        elif kind == "time":
            loop.call_later(moment, self._die, loop)
        elif kind == "signal":
            loop.call_later(moment, self._signal, context)

    def _weather(self, *, troubled: bool) -> Weather:
        weather = Weather(self.chance)
        if troubled:
            weather.fault = self.chance.choice([0.0, 0.0, 0.05, 0.3])
            weather.refusal = self.chance.choice([0.0, 0.0, 0.0, 0.02])
            weather.slowest_s = self.chance.choice([0.0, 2.0, 20.0])
        return weather

    async def _work(self, store: Witness, context: RunContext, weather: Weather, loop: VirtualLoop) -> BatchResult:
        night = self._night(store, context, weather)
        result = await night.work(due_queries.decide(self.queue, read_all(store), context.now()))
        self.batch_s = loop.now  # the deadline is the batch's; a call to a model for memory may end after it
        with self._spared():  # as in a run, whose outcome it never changes; on some nights under a cap of its own
            sessions = read_all(store).sessions
            purse = CombinedBudget([Budget(Caps(self.chance.choice([None, None, 0.004])), name="consolidation")])
            await consolidate(store, context, sessions, self._asked(MEMORY, weather, purse))
        await self._talk(store, context, weather)
        return result

    @contextmanager
    def _spared(self) -> Iterator[None]:
        """Let an error end only what is done here. A log that cannot be written may lack an answer that was billed."""
        try:
            yield
        except LogError:
            self.interrupted = True
        except ResearchError:
            pass

    async def _talk(self, store: Witness, context: RunContext, weather: Weather) -> None:
        """Ask about some of the sessions that have ended; what fails is told to whoever asks, and the next talk goes on."""
        ended = [session.id for session in read_all(store).sessions if session.status == "complete"]
        for session in sorted(ended):
            if self.chance.random() < 0.5:
                talk = talk_about(store, session, context.run_id)
                asked = self._asked(talk, weather, CombinedBudget([]))
                with self._spared():
                    await ask_back(store, context, asked, session, self.chance.choice(QUESTIONS))

    def _asked(self, stream: str, weather: Weather, purse: CombinedBudget) -> Asked:
        """Return what answers in that stream's name; the bill of all consolidations is on memory as a whole."""
        return Asked(Journal(self.calls.setdefault(stream, [])), weather, self.provider, stream, purse)

    def _signal(self, context: RunContext) -> None:
        self.asked_at = context.now()
        context.stop.ask("SIGTERM", 143)

    def _die(self, loop: VirtualLoop) -> None:
        self.disk.dead = True
        loop.stop()

    def _night(self, store: Witness, context: RunContext, weather: Weather) -> Batch:
        def step_context(state: SessionState) -> StepContext:
            purse = CombinedBudget([Budget(Caps(state.config.budget_usd), spent=Cost(usd=state.spent.usd))])
            asked = self._asked(state.id, weather, purse)
            return StepContext(asked, asked, asked, lambda digest: store.objects.get(digest).decode())

        return Batch(
            store,
            self.queue,
            step_context,
            lambda query: config_for(query, self.queue.settings),
            context,
            self.chance.choice([1, 2, 4]),
            recall=Recaller(store),
        )

    def _context(self, loop: VirtualLoop, began: datetime) -> RunContext:
        count = iter(range(10**9))
        run_id = f"run-{self.nights}"
        agent = RunStarted(host="here", process=self.nights, program="test")
        context = RunContext(
            run_id,
            agent,
            now=lambda: began + timedelta(seconds=loop.now),
            new_id=lambda: f"{run_id}-{next(count):05d}",
            concurrency=self.chance.choice([1, 3, 8]),
        )
        until = began + timedelta(seconds=40) if self.is_short else None
        return batch_runner.with_limits(context, self.queue.settings.limits, until)

    def _bury(self, loop: VirtualLoop) -> None:
        """Let nothing of a process that is gone go on. What its tasks still do on their way out reaches no disk: it is dead."""
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.disk.dead = True
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


def _queue(chance: random.Random) -> Queue:
    limits = Limits(
        cost_usd=chance.choice([None, None, 0.02]),
        max_failures=chance.choice([1, 5]),
        concurrency=chance.choice([1, 2, 8]),
    )
    settings = Settings(limits=limits, reasoner=chance.choice([MODEL, MODEL, "extractive"]))
    return Queue(settings, tuple(_query(chance, name) for name in ("pumps", "valves", "seals")[: chance.randint(1, 3)]))


def _query(chance: random.Random, name: str) -> Query:
    return Query(
        text=f"How do {name} behave?",
        id=name,
        line=1,
        priority=chance.randint(0, 2),
        perspectives=chance.randint(1, 2),
        iterations=chance.randint(1, 2),
        gap_rounds=chance.randint(0, 1),
        budget_usd=chance.choice([None, None, 0.03]),
    )


@contextmanager
def life(seed: int, root: Path) -> Iterator[Life]:
    """Give a seed's workspace in the folder ``root``, with its own disk and its own dice for names."""
    found = Life(seed, root)
    names = random.Random(seed)
    quiet = logging.getLogger("pipeline")
    level = quiet.level
    quiet.setLevel(logging.CRITICAL)
    try:
        with mortal_disk(found.chance) as found.disk, mock.patch("secrets.token_hex", lambda size: names.randbytes(size).hex()):
            yield found
    finally:
        quiet.setLevel(level)
