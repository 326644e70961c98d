"""A night that machines share, over PostgreSQL: its money, its jobs, what workers do, and how it is closed and built."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("pgqueuer")

import psycopg
from click.testing import CliRunner

from pipeline.batch import night_worker
from pipeline.batch.batch_runner import Batch
from pipeline.batch.due_queries import ANYWHERE, decide
from pipeline.batch.night_result import BatchResult, result_of
from pipeline.batch.night_worker import MOST_FRUITLESS, NightWorker, close_batch, open_night
from pipeline.cli.main import cli
from pipeline.config.queue_schema import ModelChoice, Queue
from pipeline.config.services import config_for
from pipeline.domain.budget import Caps, SharedPart
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.night_events import BatchEnded
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import (
    BudgetSpent,
    LogUnwritable,
    Outage,
    ProviderRefused,
    SearchFailed,
    ServiceUnavailable,
    StepError,
    UsageError,
    VersionConflict,
    WorkspaceLocked,
)
from pipeline.ports.night_jobs import BUILD, CLOSE, WORKER, Night, NightJob, Share, entry_of
from pipeline.research import StepContext
from pipeline.store.jobs import PgQueuerEngine
from pipeline.store.nights import PostgresNights
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import Database
from pipeline.wiring.postgres_adapters import engine_of
from tests.fakes import Journal, context_for, event_names, step_context_for
from tests.nights import NOW, endings, known, query, queue

THREE = queue(query("pumps"), query("valves"), query("modes"))
DAY = "2026-11-21"
NIGHT = Night(DAY, "batch-night")


def usd(amount: float, tokens: int = 0) -> Cost:
    return Cost(usd=amount, total_tokens=tokens)


def job(session: str, machine: str = "") -> NightJob:
    return NightJob(session, session, "How do pumps behave?", entry_of(machine=machine))


@pytest.fixture
def nights(postgres_store_url: str) -> PostgresNights:
    return PostgresNights(Database(postgres_store_url, lambda _connection: None))


def opened(nights: PostgresNights, *sessions: str, **night: Any) -> list[Share]:
    """A night with these sessions, each taken once."""
    nights.open(Night(DAY, "batch-night", **night), [job(name) for name in sessions])
    return [share for name in sessions if (share := nights.take(name))]


def reserve(share: Share, worst: Cost, calls: int = 1) -> None:
    asyncio.run(share.reserve(worst, calls))


def settle(share: Share, worst: Cost, actual: Cost | None) -> None:
    async def settle() -> None:
        share.settle(worst, 1, actual)

    asyncio.run(settle())


class TestMoney:
    def test_reservations_of_all_sessions_together_stay_under_the_cap(self, nights: PostgresNights) -> None:
        shares = opened(nights, *(f"s{number}" for number in range(8)), caps=Caps(1.0))

        def reserved(share: Share) -> int:
            for done in range(100):
                try:
                    reserve(share, usd(0.01))
                except BudgetSpent:
                    return done
            return 100

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(reserved, shares)) == 100

    @pytest.mark.parametrize(
        ("cap", "caps", "worst", "calls"),
        [("usd", Caps(usd=1.0), usd(0.4), 1), ("tokens", Caps(tokens=100), usd(0, 40), 1), ("calls", Caps(calls=10), usd(0), 4)],
    )
    def test_each_cap_refuses_by_its_name(self, nights: PostgresNights, cap: str, caps: Caps, worst: Cost, calls: int) -> None:
        (share,) = opened(nights, "s", caps=caps)
        reserve(share, worst, calls)
        reserve(share, worst, calls)
        with pytest.raises(BudgetSpent) as refused:
            reserve(share, worst, calls)
        assert (refused.value.cap, refused.value.ledger) == (cap, "night")

    def test_what_is_settled_counts_with_what_it_cost(self, nights: PostgresNights) -> None:
        (share,) = opened(nights, "s", caps=Caps(1.0))
        reserve(share, usd(0.9))
        settle(share, usd(0.9), usd(0.1))
        reserve(share, usd(0.9))
        settle(share, usd(0.9), None)
        with pytest.raises(BudgetSpent, match=r"1\.00 USD"):
            reserve(share, usd(0.91))

    def test_what_a_killed_worker_had_reserved_counts_at_its_worst_and_who_wakes_up_later_ends_nothing(
        self, nights: PostgresNights
    ) -> None:
        (first,) = opened(nights, "s", caps=Caps(1.0))
        reserve(first, usd(0.6))
        reserve(first, usd(0.1))
        settle(first, usd(0.1), usd(0.05))
        second = nights.take("s")
        assert second
        with pytest.raises(BudgetSpent, match=r"0\.6500 spent"):
            reserve(second, usd(0.36))
        with pytest.raises(VersionConflict, match="taken over"):
            first.end({"status": "complete"})
        settle(first, usd(0.6), usd(0.5))  # it was only frozen, and its call has an answer
        reserve(second, usd(0.45))

    def test_who_wakes_up_after_the_night_was_closed_may_spend_nothing_and_changes_nothing(self, nights: PostgresNights) -> None:
        (share,) = opened(nights, "s", caps=Caps(1.0))
        nights.close("batch-night")
        with pytest.raises(VersionConflict, match="has ended"):
            reserve(share, usd(0.1))
        with pytest.raises(VersionConflict, match="has ended"):
            share.end({"status": "complete"})

    @pytest.mark.parametrize("day", [DAY, "2026-11-22"])
    def test_the_next_batch_begins_with_what_it_is_given_and_nothing_is_kept_of_earlier_questions(
        self, nights: PostgresNights, day: str
    ) -> None:
        (share,) = opened(nights, "s", caps=Caps(1.0))
        reserve(share, usd(1.0))
        nights.close("batch-night", built=True)
        nights.open(Night(day, "batch-more", caps=Caps(0.5)), [job("s")])
        assert list(nights.jobs("batch-night")) == []
        with pytest.raises(VersionConflict):
            reserve(share, usd(0.0))
        taken = nights.take("s")
        assert taken
        reserve(taken, usd(0.5))


def test_machines_visit_a_host_one_after_another_with_the_pause_between_and_a_lost_one_holds_it_for_a_while_only(
    postgres_store_url: str,
) -> None:
    async def visits(_machine: int) -> list[tuple[float, float]]:
        pace = PostgresNights(Database(postgres_store_url, lambda _connection: None))
        found = []
        for _ in range(4):
            await pace.turn("host example.org", 30.0)
            began = time.monotonic()
            await asyncio.sleep(0.02)
            found.append((began, time.monotonic()))
            await pace.rest("host example.org", 0.1)
        return found

    async def machines() -> list[tuple[float, float]]:
        return sorted(visit for found in await asyncio.gather(*map(visits, range(3))) for visit in found)

    held = asyncio.run(machines())
    assert len(held) == 12
    assert all(later[0] - sooner[1] >= 0.1 for sooner, later in pairwise(held))
    nights = PostgresNights(Database(postgres_store_url, lambda _connection: None))
    assert nights.take_turn("host example.com", 30.0) == 0.0
    assert 0 < nights.take_turn("host example.com", 30.0) <= 30.0
    nights._database.rows("update pace set next_at = clock_timestamp()")
    assert nights.take_turn("host example.com", 30.0) == 0.0


def test_of_two_machines_that_visit_a_host_for_the_first_time_at_once_one_waits(postgres_store_url: str) -> None:
    nights = PostgresNights(Database(postgres_store_url, lambda _connection: None))
    waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with psycopg.connect(postgres_store_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("insert into pace (name, next_at) values ('host example.net', clock_timestamp() + interval '20 s')")
        turn = pool.submit(nights.take_turn, "host example.net", 30.0)
        with psycopg.connect(postgres_store_url, autocommit=True) as looking:
            while not looking.execute(waiting).fetchone():
                time.sleep(0.01)
        other.commit()
        assert 0 < turn.result() <= 20


def test_a_run_of_its_own_is_refused_while_workers_research_the_night(
    nights: PostgresNights, postgres_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_STORE", postgres_store_url)
    (tmp_path / "queries.yaml").write_text("settings: {embeddings: off}\nqueries:\n  - How do pumps behave?\n")
    nights.open(NIGHT, [job("a")])
    nights._database.run(lambda connection: connection.execute("update pgqueuer set status = 'picked'"))
    refused = CliRunner().invoke(cli, ["-C", str(tmp_path), "run"]).exception
    assert isinstance(refused, WorkspaceLocked)
    assert "workers research the night to 2026-11-21" in refused.message


def test_what_a_night_waits_for_is_put_in_the_queue_again_when_it_is_lost(nights: PostgresNights) -> None:
    nights.open(NIGHT, [job("a"), job("b", "south")])
    assert nights.queue() == {"research": (1, 0), "research on south": (1, 0)}
    nights._database.run(lambda connection: connection.execute("delete from pgqueuer"))
    nights.advance()
    nights.advance()
    assert nights.queue() == {"research": (1, 0), "research on south": (1, 0)}


def test_a_worker_is_known_by_its_name_whatever_signs_that_has(
    tmp_path: Path, postgres_store_url: str, nights: PostgresNights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESEARCH_STORE", postgres_store_url)
    engine = engine_of(tmp_path, f"{WORKER}büro 1% neu")
    engine._database.rows("select 1")
    assert nights.workers() == ["büro 1% neu"]


@dataclass
class Stage:
    """A night and its workers in one process; ``journal`` gives that of a session's step context."""

    url: str
    folder: Path
    queue: Queue
    journal: Callable[[SessionState], Journal] = lambda _state: Journal()
    documents: str = ""
    night: dict[str, Any] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = PostgresStore(self.url, self.folder / "run")
        self.nights = PostgresNights(Database(self.url, lambda _connection: None))
        self.engines: dict[str, PgQueuerEngine] = {}

    def worker(self, name: str, at_once: int = 4, documents: str = "", lease_s: float = 2.0, **options: Any) -> NightWorker:
        store, told = PostgresStore(self.url, self.folder / name), self.told.setdefault(name, [])
        context = RunContext(f"run-{name}", RunStarted(host=name, process=1, program="t", agent=name))

        def prepare(state: SessionState, _part: SharedPart | None) -> StepContext:
            return step_context_for(store, self.journal(state))

        entries = {entry_of(one, place) for one in ("", documents) for place in ("", name)}
        worker = NightWorker(store, self.nights, context, prepare, look=lambda: entries, **options)
        worker.say = lambda line, _problem: told.append(line)
        database = Database(self.url, lambda _connection: None, patience_s=0.0, program=f"{WORKER}{name}")
        self.engines[name] = PgQueuerEngine(database, at_once=at_once, lease_s=lease_s)
        return worker

    async def open(self) -> str:
        settings = replace(self.queue.settings, reasoner=ModelChoice("a-model", "http://127.0.0.1:1/v1"))
        context = context_for("run-0")
        batch = Batch(self.store, self.queue, None, lambda one: config_for(one, settings), context)
        decisions = decide(self.queue, known({}), NOW, machine=ANYWHERE)
        night = Night(DAY, max_failures=settings.limits.max_failures, **self.night)
        self.batch = await open_night(batch, decisions, None, self.nights, night, self.documents)
        return self.batch

    async def run(self, *workers: NightWorker, built: bool = False) -> BatchResult:
        """Open the night unless it is open, let the workers work until it is closed or built, and return its result."""
        if not self.nights.unfinished():
            await self.open()
        working = [asyncio.create_task(worker.work(self.engines[worker.context.agent.agent])) for worker in workers]
        async with asyncio.timeout(40):
            while await asyncio.to_thread(self.nights.unfinished):
                if not built and BUILD in await asyncio.to_thread(self.nights.queue):
                    break
                await asyncio.sleep(0.05)
        for worker in workers:
            worker.context.stop.ask("over", 143)
        await asyncio.gather(*working)
        return self.result()

    def result(self) -> BatchResult:
        return result_of(list(decode_all(record.data for record in self.store.load(self.batch))))

    def hosts(self) -> Counter[str]:
        """How many sessions each machine has worked on."""
        states = [ResearchSession.open(self.store, name).state for name in self.store.ids("session")]
        return Counter(host for state in states for host in {span.host for span in state.runs} if host in self.told)


def troubled(name: str, *errors: Exception) -> Callable[[SessionState], Journal]:
    """Desks whose first calls of that name, over all sessions, raise these errors."""
    faults = {name: list(errors)}
    return lambda _state: Journal(faults=faults)


@pytest.fixture
def stage(postgres_store_url: str, tmp_path: Path) -> Callable[..., Stage]:
    return lambda work=THREE, **options: Stage(postgres_store_url, tmp_path, work, **options)


def test_two_workers_research_all_and_whoever_ends_the_last_session_closes_the_batch(stage: Callable[..., Stage]) -> None:
    night = stage()
    result = asyncio.run(night.run(night.worker("north", 1), night.worker("south", 1)))
    assert endings(result) == {"pumps": "complete", "valves": "complete", "modes": "complete"}
    assert sum(night.hosts().values()) == 3
    ends = [event for event in decode_all(r.data for r in night.store.load(night.batch)) if isinstance(event, BatchEnded)]
    assert [(end.done, end.exit_code) for end in ends] == [(3, 0)]
    assert ends[0].cost.calls > 0
    assert [entry for entry, counts in night.nights.queue().items() if sum(counts)] == [BUILD]


def test_a_question_that_cannot_begin_has_failed_and_the_others_are_researched(stage: Callable[..., Stage]) -> None:
    night = stage(queue(query("pumps"), query("valves", search=("brave",)), max_failures=2))
    result = asyncio.run(night.run(night.worker("north")))
    assert endings(result) == {"pumps": "complete", "valves": "failed"}
    assert result.exit_code == 1


def test_a_closed_night_is_built_by_a_worker_that_builds_and_is_closed_once(stage: Callable[..., Stage]) -> None:
    built: list[str] = []

    night = stage(queue(query("pumps")))
    asyncio.run(night.run(night.worker("north")))
    close_batch(night.store, night.nights, night.batch, context_for("run-9"))
    before = len(night.store.load(night.batch))
    builder = night.worker("south", build=built.append)
    asyncio.run(night.run(builder, built=True))
    assert built == [night.batch]
    assert night.nights.unfinished() is None
    assert len(night.store.load(night.batch)) == before
    assert [entry for entry in (CLOSE, BUILD) if entry in night.nights.queue()] == []


def test_one_of_the_workers_that_have_the_schedule_begins_the_night_also_when_its_time_was_missed(
    stage: Callable[..., Stage], postgres_store_url: str
) -> None:
    night, begun = stage(), list[str]()

    async def work(*names: str, until: Callable[[], object]) -> None:
        workers = [night.worker(name) for name in names]
        for name in names:

            async def begin(_schedule: object, name: str = name) -> None:
                begun.append(name)

            night.engines[name].scheduled = ("0 0 29 2 *", begin)
        working = [asyncio.create_task(worker.work(night.engines[worker.context.agent.agent])) for worker in workers]
        while not until():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        for worker in workers:
            worker.context.stop.ask("over", 143)
        await asyncio.gather(*working)

    rows = night.nights._database.rows
    asyncio.run(work("north", until=partial(rows, "select 1 from pgqueuer_schedules")))
    assert begun == []
    rows("update pgqueuer_schedules set next_run = now() - interval '1 hour'")
    asyncio.run(work("east", "south", until=lambda: begun))
    assert len(begun) == 1


def test_a_query_for_one_machine_and_questions_about_other_documents_are_left_to_those_that_can(
    stage: Callable[..., Stage],
) -> None:
    night = stage(queue(query("pumps", machine="south"), query("valves")), documents="a" * 64)
    workers = (night.worker("north", 1, "a" * 64), night.worker("south", 1, "a" * 64), night.worker("east", 1, "b" * 64))
    result = asyncio.run(night.run(*workers))
    assert set(endings(result).values()) == {"complete"}
    states = [ResearchSession.open(night.store, name).state for name in night.store.ids("session")]
    assert {span.host for state in states if state.query_id == "pumps" for span in state.runs} & set(night.told) == {"south"}
    assert night.hosts()["east"] == 0


def test_a_worker_that_is_stopped_puts_its_sessions_back_and_another_goes_on_without_asking_again(
    stage: Callable[..., Stage],
) -> None:
    calls: dict[str, list[str]] = {}

    async def work(night: Stage) -> BatchResult:
        first = night.worker("north", 3)

        class Slow(Journal):
            async def call(self, name: str) -> None:
                await super().call(name)
                await asyncio.sleep(0.01)
                if name.startswith("reading"):
                    first.context.stop.ask("SIGTERM", 143)

        night.journal = lambda state: Slow(calls.setdefault(state.id, []))
        await night.open()
        await first.work(night.engines["north"])
        return await night.run(night.worker("south", 3))

    night = stage()
    result = asyncio.run(work(night))
    assert set(endings(result).values()) == {"complete"}
    assert any("put back" in line for line in night.told["north"])
    for name in night.store.ids("session"):
        recorded = event_names(list(decode_all(record.data for record in night.store.load(name))), {})
        assert {call: count for call, count in Counter(calls[name]).items() if count > 1 and call in recorded} == {}


def test_after_too_many_failures_nothing_more_is_started(stage: Callable[..., Stage]) -> None:
    night = stage(
        queue(*(query(f"q{number}") for number in range(5)), max_failures=1),
        journal=troubled("survey", *(SearchFailed("the search service is down") for _ in range(9))),
    )
    result = asyncio.run(night.run(night.worker("north", 1)))
    assert Counter(endings(result).values()) == {"failed": 1}
    assert {event.cause for event in result.skipped} == {"failures"}
    assert (result.exit_code, len(result.ended) + len(result.skipped)) == (1, 5)


def test_a_refusal_by_a_provider_ends_the_night_as_it_does_without_workers(stage: Callable[..., Stage]) -> None:
    night = stage(journal=troubled("plan", *(ProviderRefused("the key was refused") for _ in range(9))))
    result = asyncio.run(night.run(night.worker("north", 1)))
    assert result.exit_code == 4
    assert {event.cause for event in result.ended} == {event.cause for event in result.skipped} == {"refused"}


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        ("survey", SearchFailed, "a service is down: box:1: no connection"),
        ("plan", ServiceUnavailable, "the model's server, box:1, is down: start it if it is yours, and the next run goes on"),
    ],
)
def test_an_outage_of_a_service_that_never_answered_leaves_the_session_open(
    stage: Callable[..., Stage], step: str, kind: type[StepError], said: str
) -> None:
    error = kind("box:1: no connection")
    error.outage = Outage("box:1", 0.0, was_up=False)
    night = stage(queue(query("pumps")), journal=troubled(step, error))
    result = asyncio.run(night.run(night.worker("north", 1)))
    assert endings(result) == {"pumps": "interrupted"}
    assert (result.ended[0].cause, result.ended[0].reason) == ("outage", said)


def test_a_worker_that_is_not_set_up_for_a_session_is_named_and_another_takes_it(stage: Callable[..., Stage]) -> None:
    night = stage(queue(query("pumps")))
    poor, rich = night.worker("north", 1), night.worker("south", 1)

    def refuse(_state: SessionState, _part: Any) -> Any:
        raise UsageError("no key for the model m")

    async def work() -> BatchResult:
        poor.prepare = refuse
        await night.open()
        first = asyncio.create_task(poor.work(night.engines["north"]))
        while not (refused := [one.refused for one in night.nights.jobs(night.batch) if one.refused]):
            await asyncio.sleep(0.05)
        assert refused == [{"north": "no key for the model m"}]
        poor.context.stop.ask("over", 143)
        await first
        return await night.run(rich)

    assert endings(asyncio.run(work())) == {"pumps": "complete"}
    assert any("no key for the model m" in line for line in night.told["north"])


def test_a_worker_that_is_not_set_up_for_a_session_complains_once_and_tries_again_later(
    stage: Callable[..., Stage],
) -> None:
    night, problems = stage(queue(query("pumps"))), list[bool]()
    asyncio.run(night.open())
    poor = night.worker("north")
    poor.prepare = Mock(side_effect=UsageError("no key for brave"))
    poor.say = lambda _line, is_problem: problems.append(is_problem)
    (name,) = night.store.ids("session")
    assert [asyncio.run(poor.do(entry_of(), name, attempts)) for attempts in (0, 3, 5)] == [1.0, 8.0, 32.0]
    assert problems.count(True) == 1


def test_a_session_that_costs_worker_after_worker_is_given_up(stage: Callable[..., Stage]) -> None:
    night = stage(queue(query("pumps")))
    asyncio.run(night.open())
    (name,) = night.store.ids("session")
    for _ in range(MOST_FRUITLESS):
        assert night.nights.take(name)
    result = asyncio.run(night.run(night.worker("north")))
    assert endings(result) == {"pumps": "failed"}
    assert "5 workers in a row were lost on it" in result.ended[0].reason


@pytest.mark.parametrize(("another", "waits"), [(True, 36), (True, 0), (False, 36)])
def test_machines_that_are_not_set_up_for_a_session_are_no_loss_and_are_named_where_no_other_is_connected_that_may_be(
    stage: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch, another: bool, waits: int
) -> None:
    night = stage(queue(query("pumps")))
    asyncio.run(night.open())
    (name,) = night.store.ids("session")
    for _ in range(MOST_FRUITLESS + 1):
        share = night.nights.take(name)
        assert share
        share.refuse("east", "no key for the model m")
    monkeypatch.setattr(night_worker, "MOST_REFUSALS", 0)
    monkeypatch.setattr(night_worker, "MOST_WAITS", waits)

    poor, comes = night.worker("north"), another and waits

    def refuse(_state: SessionState, _part: Any) -> Any:
        if comes:  # else chance decides at each try which of the two gets it, and the pauses double
            poor.entries, poor.look = (), tuple
        raise UsageError("no key for brave")

    poor.prepare = refuse
    with psycopg.connect(night.url, application_name=f"{WORKER}{'south' if another else 'north'}"):
        (ended,) = asyncio.run(night.run(poor, *([night.worker("south")] if comes else []))).ended
    if comes:
        assert ended.status == "complete"
    else:
        assert (ended.status, ended.cause) == ("interrupted", "cap")
        assert ended.reason == "no worker can take it: east: no key for the model m; north: no key for brave"


def test_a_worker_that_cannot_look_at_the_night_for_a_while_says_so_once(stage: Callable[..., Stage]) -> None:
    night, away = stage(queue(query("pumps"))), [LogUnwritable("the database is away") for _ in range(3)]

    def look() -> list[str]:
        if away:
            raise away.pop()
        return [entry_of()]

    worker = night.worker("north", look_s=0.01)
    worker.look = look
    assert endings(asyncio.run(night.run(worker))) == {"pumps": "complete"}
    assert night.told["north"].count("the database is away; it is tried again") == 1


@pytest.mark.parametrize("left_s", [0.0, 3_600.0])
def test_a_worker_ends_a_session_with_the_night_and_not_before(stage: Callable[..., Stage], left_s: float) -> None:
    night = stage(queue(query("pumps")), night={"ends_in_s": left_s})
    result = asyncio.run(night.run(night.worker("north")))
    assert endings(result) == ({"pumps": "complete"} if left_s else {})
    assert [event.cause for event in result.skipped] == ([] if left_s else ["cap"])


def test_a_night_that_nobody_goes_on_with_is_closed_and_says_why(stage: Callable[..., Stage]) -> None:
    night = stage(queue(query("pumps", machine="elsewhere"), query("valves")))
    asyncio.run(night.open())
    share = night.nights.take(night.nights.jobs(night.batch)[0].session)
    assert share
    share.refuse("north", "no key for the model m")
    night.nights.halt(night.batch, "cap", "no worker can take it")
    closed = asyncio.run(night.run(night.worker("south")))
    assert (closed.exit_code, closed.ended) == (3, ())
    why = {event.query_id: event.reason for event in closed.skipped}
    assert why == {"pumps": "no worker can take it: north: no key for the model m", "valves": "no worker can take it"}


def test_a_night_that_is_halted_is_closed_when_nothing_is_under_way_any_more(stage: Callable[..., Stage]) -> None:
    night = stage(queue(query("pumps"), query("valves")))
    asyncio.run(night.open())
    night.nights._database.rows("update pgqueuer set status = 'picked', heartbeat = now() where dedupe_key like '%%pumps%%'")
    night.nights.halt(night.batch, "cap", "enough")
    assert night.nights.queue() == {"research": (0, 1)}
    night.nights._database.rows("update pgqueuer set heartbeat = now() - interval '1 hour'")
    night.nights.advance()
    assert night.nights.queue()[CLOSE] == (1, 0)
