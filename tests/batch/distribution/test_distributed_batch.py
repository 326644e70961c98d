"""A batch whose sessions are researched by workers: what they do, how they stop, and what happens when one is lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from pipeline.batch.distribution import job_runner
from pipeline.domain.distribution.jobs import Job, Night, WorkerProcess
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.stopping import Stop
from pipeline.errors import Outage, ProviderRefused, SearchFailed, UsageError
from tests.batch.distribution.stage import LEASE_S, Stage
from tests.fakes import Journal, desk_for, event_names
from tests.nights import endings, query, queue

THREE = queue(query("pumps"), query("valves"), query("modes"))


def machines(stage: Stage) -> Counter[str]:
    """How many sessions each machine has worked on."""
    states = [ResearchSession.open(stage.store, name).state for name in stage.store.session_ids()]
    return Counter(span.host for state in states for span in state.runs if span.host != "here")


class Troubled(Journal):
    """The first of these calls raises that error, once for all sessions."""

    left: dict[str, Exception] = {}  # noqa: RUF012 - shared on purpose

    async def call(self, name: str) -> None:
        await super().call(name)
        if name in self.left:
            raise self.left.pop(name)


def troubled(name: str, error: Exception) -> Any:
    class Once(Troubled):
        left = {name: error}  # noqa: RUF012

    return lambda _state: Once()


def test_two_workers_research_all_queries_and_the_run_records_each() -> None:
    stage = Stage(THREE)
    result = asyncio.run(stage.run(stage.worker("north", 1), stage.worker("south", 1)))
    assert endings(result) == {"pumps": "complete", "valves": "complete", "modes": "complete"}
    assert result.exit_code == 0
    assert set(machines(stage)) == {"north", "south"}
    assert sum(machines(stage).values()) == 3
    assert stage.dispatcher.jobs("batch-night") == []


def test_the_run_sees_every_event_of_every_machine_once_and_in_order() -> None:
    stage = Stage(THREE)
    asyncio.run(stage.run(stage.worker("north"), stage.worker("south")))
    for name in stage.store.session_ids():
        stored = [event.type for event in decode_all(record.data for record in stage.store.load(name))]
        assert [kind for kind, session in stage.events if session == name] == stored


def test_without_any_worker_the_run_says_so_and_ends_with_work_left() -> None:
    stage = Stage(queue(*(query(f"q{n}") for n in range(12))))
    result = asyncio.run(stage.run(patience_s=0.1))
    assert result.exit_code == 3
    assert [line for line in stage.said if "no worker is connected" in line] == stage.said
    assert len(stage.said) == 1
    assert len(result.ended) == job_runner.JOBS_AHEAD
    assert len(result.skipped) == 4


def test_a_worker_that_falls_silent_is_replaced_and_refused_when_it_wakes_up() -> None:
    async def night(stage: Stage) -> Any:
        frozen = stage.worker("north", 1)
        asleep = asyncio.Event()

        class Sleepy(Journal):
            async def call(self, name: str) -> None:
                await super().call(name)
                if name == "plan" and not asleep.is_set():
                    asleep.set()
                    await asyncio.sleep(4 * LEASE_S)

        frozen.prepare = lambda _state, _claim: desk_for(stage.store, Sleepy())
        real_beat = stage.dispatcher.beat
        stage.dispatcher.beat = lambda worker, sessions: (  # type: ignore[method-assign]
            {} if worker.machine == "north" else real_beat(worker, sessions)
        )
        frozen._obey = lambda sessions, orders: None  # type: ignore[method-assign]  # noqa: ARG005
        first = asyncio.create_task(frozen.work())

        async def later() -> Any:
            await asleep.wait()
            return stage.worker("south", 1)

        helper = asyncio.create_task(_work_when(later()))
        try:
            return await stage.run()
        finally:
            await asyncio.sleep(5 * LEASE_S)
            for worker in (frozen, await helper):
                worker.context.stop.ask("over", 143)
            await first

    stage = Stage(queue(query("pumps")))
    result = asyncio.run(night(stage))
    assert endings(result) == {"pumps": "complete"}
    assert machines(stage) == {"north": 1, "south": 1}
    assert any("another worker has taken it over" in line for line in stage.told["north"])


async def _work_when(made: Any) -> Any:
    worker = await made
    asyncio.get_running_loop().create_task(worker.work())
    return worker


def test_a_worker_that_is_stopped_puts_its_sessions_back_and_another_goes_on_without_asking_again() -> None:
    calls: dict[str, list[str]] = {}

    async def night(stage: Stage) -> Any:
        first, second = stage.worker("north", 3), stage.worker("south", 3)

        class Slow(Journal):
            async def call(self, name: str) -> None:
                await super().call(name)
                await asyncio.sleep(0.01)
                if name.startswith("reading"):
                    first.context.stop.ask("SIGTERM", 143)

        stage.journal = lambda state: Slow(calls.setdefault(state.id, []))
        running = asyncio.create_task(stage.run(first))
        await first.context.stop.wait()
        ending = asyncio.create_task(second.work())
        result = await running
        second.context.stop.ask("over", 143)
        await ending
        return result

    stage = Stage(THREE)
    result = asyncio.run(night(stage))
    assert set(endings(result).values()) == {"complete"}
    assert any("put back" in line for line in stage.told["north"])
    for name in stage.store.session_ids():
        recorded = event_names(list(decode_all(record.data for record in stage.store.load(name))), {})
        assert {call: count for call, count in Counter(calls[name]).items() if count > 1 and call in recorded} == {}


def test_a_stop_of_the_run_reaches_the_workers_and_leaves_the_sessions_open() -> None:
    async def night(stage: Stage) -> Any:
        worker = stage.worker("north", 1)
        worker.context.stop.grace_s = 0.0
        stops: list[str] = []

        class Slow(Journal):
            async def call(self, name: str) -> None:
                await super().call(name)
                if name == "plan" and not stops:
                    stops.append(name)
                    stop.ask("stopped by SIGTERM", 143)
                    await asyncio.sleep(10)

        stop = Stop(0.0)
        stage.journal = lambda _state: Slow()
        return await stage.run(worker, stop=stop)

    stage = Stage(THREE)
    result = asyncio.run(night(stage))
    assert result.exit_code == 143
    assert set(endings(result).values()) <= {"interrupted"}
    assert stage.dispatcher.jobs("batch-night") == []


def test_after_too_many_failures_jobs_that_nobody_has_taken_are_ended() -> None:
    def journal(_state: SessionState) -> Journal:
        class Down(Journal):
            async def call(self, name: str) -> None:
                await super().call(name)
                await asyncio.sleep(0.1)
                if name == "survey":
                    raise SearchFailed("the search service is down")

        return Down()

    stage = Stage(queue(*(query(f"q{n}") for n in range(10)), max_failures=1), journal=journal)
    result = asyncio.run(stage.run(stage.worker("north", 1)))
    statuses = Counter(endings(result).values())
    assert statuses["failed"] >= 1
    assert statuses["failed"] <= 3
    assert result.exit_code == 1
    assert len(result.ended) + len(result.skipped) == 10


def test_a_refusal_by_a_provider_ends_the_run_as_it_does_without_workers() -> None:
    stage = Stage(THREE, journal=troubled("plan", ProviderRefused("the key was refused")))
    result = asyncio.run(stage.run(stage.worker("north", 1)))
    assert result.exit_code == 4


def test_an_outage_leaves_the_session_open() -> None:
    error = SearchFailed("brave is down")
    error.outage = Outage("brave", 0.0, was_up=False)
    stage = Stage(queue(query("pumps")), journal=troubled("survey", error))
    result = asyncio.run(stage.run(stage.worker("north", 1)))
    assert endings(result) == {"pumps": "interrupted"}
    assert result.ended[0].cause == "outage"


def test_a_worker_that_is_not_set_up_for_a_session_leaves_it_to_another() -> None:
    stage = Stage(queue(query("pumps")))
    poor, rich = stage.worker("north", 1), stage.worker("south", 1)

    def refuse(_state: SessionState, _claim: Any) -> Any:
        raise UsageError("no key for the model m")

    poor.prepare = refuse
    result = asyncio.run(stage.run(poor, rich))
    assert endings(result) == {"pumps": "complete"}
    assert all("refused: no key for the model m" in line for line in stage.told["north"])
    assert machines(stage) == {"south": 1}


def test_jobs_that_no_worker_can_take_are_named_with_the_reasons_and_left_open() -> None:
    stage = Stage(THREE, documents="a" * 64)
    result = asyncio.run(stage.run(stage.worker("north", documents="b" * 64), stage.worker("south", documents="")))
    assert set(endings(result).values()) == {"interrupted"}
    assert result.exit_code == 3
    (line,) = stage.said
    assert "north: its documents differ from those of the run (bbbbbbbb instead of aaaaaaaa)" in line
    assert "and 2 more" in line
    assert all("no worker can take it: north: its documents differ" in ended.reason for ended in result.ended)


def test_a_query_for_one_machine_is_researched_there() -> None:
    stage = Stage(queue(query("pumps", machine="south"), query("valves")))
    result = asyncio.run(stage.run(stage.worker("north", 1), stage.worker("south", 1)))
    assert set(endings(result).values()) == {"complete"}
    states = [ResearchSession.open(stage.store, name).state for name in stage.store.session_ids()]
    assert {span.host for state in states if state.query_id == "pumps" for span in state.runs} - {"here"} == {"south"}


def test_a_worker_that_loses_the_queue_says_so_once_and_goes_on_when_it_is_back() -> None:
    async def night(stage: Stage) -> Any:
        worker = stage.worker("north", 2)
        stage.dispatcher.down = "the database cannot be reached"
        working = asyncio.create_task(worker.work())
        await asyncio.sleep(0.1)
        stage.dispatcher.down = ""
        result = await stage.run()
        worker.context.stop.ask("over", 143)
        await working
        return result

    stage = Stage(THREE)
    result = asyncio.run(night(stage))
    assert set(endings(result).values()) == {"complete"}
    told = [line for line in stage.told["north"] if "reach" in line]
    assert told == ["the database cannot be reached; this worker tries again", "the database can be reached again"]


def test_once_ends_a_worker_as_soon_as_there_is_nothing_that_it_can_take() -> None:
    stage = Stage(THREE)
    asyncio.run(asyncio.wait_for(stage.worker("north").work(once=True), 5))
    assert stage.dispatcher.workers() == [], "it has left"


def test_a_session_that_costs_worker_after_worker_is_given_up() -> None:
    async def night(stage: Stage) -> Any:
        async def take_and_die() -> None:
            for number in range(100):
                gone = WorkerProcess(f"w{number}", "north", 1, -1.0)
                stage.dispatcher.claim(gone, 1)
                stage.dispatcher.beat(WorkerProcess("alive", "south", 1, 60.0, "other"), [])
                await asyncio.sleep(0.03)

        dying = asyncio.create_task(take_and_die())
        result = await stage.run()
        dying.cancel()
        return result

    result = asyncio.run(night(Stage(queue(query("pumps")))))
    assert endings(result) == {"pumps": "failed"}
    assert "5 workers in a row were lost on it" in result.ended[0].reason


@pytest.mark.parametrize("left_s", [0.0, 3_600.0])
def test_a_worker_ends_a_session_with_the_night_and_not_before(left_s: float) -> None:
    stage = Stage(queue(query("pumps")), night=Night("batch-night", left_s, 0.0))
    result = asyncio.run(stage.run(stage.worker("north")))
    assert endings(result) == {"pumps": "interrupted" if left_s == 0 else "complete"}


def test_a_job_of_a_session_that_has_ended_already_is_ended_without_work() -> None:
    async def night(stage: Stage) -> list[str]:
        await stage.run(stage.worker("north"))
        before = {name: len(stage.store.load(name)) for name in stage.store.session_ids()}
        stage.dispatcher.enqueue(Night("batch-again"), [Job(name) for name in before])
        await stage.worker("south").work(once=True)
        assert {name: len(stage.store.load(name)) for name in before} == before
        return [job.status for job in stage.dispatcher.jobs("batch-again")]

    assert asyncio.run(night(Stage(queue(query("pumps"))))) == ["done"]
