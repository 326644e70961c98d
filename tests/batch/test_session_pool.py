"""The night: what it works on, what ends it early, and what its own stream says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pipeline.batch.batch_runner import with_limits
from pipeline.batch.due_queries import Decision
from pipeline.batch.night_result import BatchResult
from pipeline.config.queue_schema import Query
from pipeline.domain.events import night_events as n
from pipeline.domain.reasoner_questions import Question
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.errors import BudgetSpent, LogUnwritable, ObjectMissing, ProviderRefused, SearchFailed, UsageError
from pipeline.ports import Answer
from pipeline.research import StepContext
from pipeline.text.humanize import counted
from tests.fakes import A, FakeReasoner, Journal, MemoryStore, batches
from tests.nights import NOW, bench, down, endings, events_of, last, query, queue, searched_in_vain, sessions


def test_a_night_without_work_leaves_no_trace() -> None:
    night = bench(queue(query("pumps")))
    result = night.work(last("pumps"))
    assert (result, night.store.streams) == (BatchResult(), {})


def test_a_night_researches_what_is_due_in_order_and_says_so_in_its_own_stream() -> None:
    night = bench(queue(query("pumps"), query("valves", priority=3), query("seals")))
    result = night.work(last("seals", "failed", end_reason="no luck"))
    events = events_of(night.store, result)
    assert [event.type for event in events] == [
        "run.started", "batch.started", "query.skipped", "query.ended", "query.ended", "batch.ended",
    ]  # fmt: skip
    assert [event.version for event in events] == [1, 2, 3, 4, 5, 6]
    start, end = events[1], events[-1]
    assert isinstance(start, n.BatchStarted)
    assert [*start.queries] == [*start.due] == ["valves", "pumps"]
    assert start.queries["valves"] == query("valves").text
    assert isinstance(end, n.BatchEnded)
    assert (end.done, end.failed, end.skipped, end.exit_code) == (2, 0, 1, 0)
    assert endings(result) == {"valves": "complete", "pumps": "complete"}
    assert batches(night.store) == [result.batch]
    assert [event.reason for event in result.skipped] == ["failed on 2026-11-20: no luck"]
    again = bench(queue(query("pipes")), store=night.store, run_id="night-2").work(last("seals"))
    starts = [event for event in events_of(night.store, again) if isinstance(event, n.BatchStarted)]
    assert [one.after for one in (start, *starts)] == ["", result.batch]


class Crowd(Journal):
    """Notes how many calls were under way at once, or surveys alone; but for pages: those wait for their hosts."""

    def __init__(self, only: str = "", *, down: bool = False) -> None:
        super().__init__()
        self.only, self.down, self.now, self.most = only, down, 0, 0

    async def call(self, name: str) -> None:
        counts = name.startswith(self.only) and not name.startswith("read:")
        self.now += counts
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001 * counts)
        await super().call(name)
        self.now -= counts
        if self.down and name == "survey":
            raise SearchFailed("the search service is down")


@pytest.mark.parametrize(("cap", "side_by_side"), [(1, 1), (3, 3), (9, 4)])
def test_failures_side_by_side_are_never_more_than_the_cap(cap: int, side_by_side: int) -> None:
    journal = Crowd("survey", down=True)
    night = bench(queue(*map(query, "abcdefgh"), max_failures=cap), lambda _one: journal)
    night.batch.sessions_at_once = 4
    result = night.work()
    assert (result.counts["failed"], journal.most) == (min(cap, 8), side_by_side)
    assert len(result.ended) + len(result.skipped) == 8
    assert {event.reason for event in result.skipped} == ({f"{counted(cap, 'failure')} in this run"} if cap < 8 else set())
    assert (result.exit_code, "search service is down" in result.ended[0].reason) == (1, True)


def test_money_spent_side_by_side_counts_while_it_is_spent() -> None:
    night = bench(queue(*map(query, "abcdefgh"), cost_usd=0.001), lambda _one: Crowd())
    night.batch.sessions_at_once = 3
    result = night.work()
    assert len(result.ended) == 3  # those that began before anything was spent
    assert {event.cause for event in result.skipped} == {"cap"}
    assert result.exit_code == 3


@pytest.mark.parametrize(
    ("caps", "words"),
    [({"cost_usd": 0.001}, "the night's limit of 0.001 USD is reached"), ({"tokens": 15}, "15 tokens"), ({"calls": 1}, "1 call")],
)
def test_a_spent_budget_stops_the_night_with_exit_code_3(caps: dict[str, float], words: str) -> None:
    night = bench(queue(query("pumps"), query("valves"), **caps))
    result = night.work()
    assert endings(result) == {"pumps": "complete"}
    assert [event.query_id for event in result.skipped] == ["valves"]
    assert words in result.skipped[0].reason
    end = events_of(night.store, result)[-1]
    assert isinstance(end, n.BatchEnded)
    assert end.exit_code == result.exit_code == 3


def test_a_session_that_the_nights_budget_kept_from_any_fact_goes_on_another_night() -> None:
    spent = BudgetSpent("no more tonight", ledger="night", cap="usd", limit="1.00", spent="0.99")
    night = bench(queue(query("pumps")), lambda _one: Journal(faults={"plan": [spent]}))
    night.batch.spent_out = lambda: "no more tonight" if night.batch._running else ""
    result = night.work()
    assert [(event.status, event.cause, event.reason) for event in result.ended] == [("interrupted", "cap", "no more tonight")]
    assert result.exit_code == 3
    again = bench(queue(query("pumps")), store=night.store, run_id="night-2").work(sessions(night.store))
    assert endings(again) == {"pumps": "complete"}


def test_a_cap_of_nothing_allows_what_costs_nothing() -> None:
    free = queue(query("pumps"), cost_usd=0.0)
    night = bench(free)
    step_context_of = night.batch.step_context_of
    assert step_context_of
    night.batch.step_context_of = lambda state: replace(step_context_of(state), reasoner=Free(Journal()))
    assert endings(night.work()) == {"pumps": "complete"}


class Free(FakeReasoner):
    """Answers for nothing."""

    async def answer(self, question: Question[A]) -> Answer[A]:
        return Answer((await super().answer(question)).value)


def test_the_nights_bill_leaves_out_what_its_sessions_had_cost_before() -> None:
    work = queue(query("pumps"))
    first = bench(work, refusing)
    first.work()
    before = sessions(first.store)["pumps"].spent.usd
    night = bench(work, store=first.store, run_id="night-2")
    end = events_of(night.store, night.work(sessions(first.store)))[-1]
    assert isinstance(end, n.BatchEnded)
    assert before > 0
    assert end.cost.usd == pytest.approx(sessions(first.store)["pumps"].spent.usd - before)


@pytest.mark.parametrize("looked_everywhere", [False, True])
def test_a_failed_session_is_gone_on_with_or_followed_by_a_new_one_if_it_looked_everywhere(looked_everywhere: bool) -> None:
    first = searched_in_vain() if looked_everywhere else bench(queue(query("pumps")), down("pumps"))
    first.work()
    failed = sessions(first.store)["pumps"].id
    night = bench(queue(query("pumps")), store=first.store, run_id="night-2")
    result = asyncio.run(night.batch.work([Decision(query("pumps"), "retry", "", failed)]))
    assert endings(result) == {"pumps": "complete"}
    now = ResearchSession.open(first.store, result.ended[0].session).state
    assert (now.id if not looked_everywhere else now.previous_session) == failed
    assert len(list(first.store.ids("session"))) == 1 + looked_everywhere


def test_a_passed_deadline_stops_the_night_with_exit_code_3() -> None:
    night = bench(queue(query("pumps"), query("valves")), deadline=NOW + timedelta(hours=1))
    clock = lambda: NOW + timedelta(hours=1 if night.batch._ended else 0)  # noqa: E731
    night.batch.context = replace(night.batch.context, now=clock)
    result = night.work()
    assert endings(result) == {"pumps": "complete"}
    assert [event.reason for event in result.skipped] == ["the deadline has passed"]
    assert result.exit_code == 3


def refusing(one: Query) -> Journal:
    return Journal(faults={"report:1": [ProviderRefused("no credit\x1b[2J left")]} if one.id == "pumps" else {})


def test_a_refusing_provider_ends_the_night_with_exit_code_4_and_names_the_session_that_waits() -> None:
    night = bench(queue(query("pumps"), query("valves")), refusing)
    result = night.work()
    (ended,) = result.ended
    state = sessions(night.store)["pumps"]
    assert (ended.status, ended.session, state.ended) == ("interrupted", state.id, False)
    assert "no credit" in ended.reason
    assert "\x1b" not in ended.reason
    assert ended.cost.usd == pytest.approx(state.spent.usd)
    assert [event.query_id for event in result.skipped] == ["valves"]
    assert result.exit_code == 4


def damaged_store() -> tuple[MemoryStore, dict[str, SessionState]]:
    """A store whose session on pumps has a record that is no event."""
    night = bench(queue(query("pumps")), refusing)
    night.work()
    waiting = sessions(night.store)
    stream = night.store.streams[waiting["pumps"].id]
    stream[5] = stream[5]._replace(data=b'{"type":"page.read"}')
    return night.store, waiting


def test_a_session_with_a_damaged_log_is_named_and_does_not_stop_the_others() -> None:
    store, waiting = damaged_store()
    result = bench(queue(query("pumps"), query("valves")), store=store).work(waiting)
    assert endings(result) == {"pumps": "failed", "valves": "complete"}
    assert "is no event" in result.ended[0].reason
    assert result.ended[0].session == waiting["pumps"].id
    assert (result.ended[0].cause, result.exit_code) == ("damaged", 20)


@pytest.mark.parametrize(
    "trouble", [UsageError("no server for that model"), ObjectMissing("a page is gone"), ZeroDivisionError("a fault of ours")]
)
def test_trouble_of_one_session_does_not_cost_the_night_the_others(trouble: Exception) -> None:
    night = bench(queue(query("pumps"), query("valves")))
    step_context_of = night.batch.step_context_of
    assert step_context_of

    def broken(state: SessionState) -> StepContext:
        if state.query_id == "pumps":
            raise trouble
        return step_context_of(state)

    night.batch.step_context_of = broken
    result = night.work()
    assert endings(result) == {"pumps": "failed", "valves": "complete"}
    assert str(trouble) in result.ended[0].reason
    assert result.exit_code == (20 if isinstance(trouble, ObjectMissing) else 1)
    assert not sessions(night.store)["pumps"].ended  # the next night goes on with it


def test_a_disk_that_refuses_ends_the_night() -> None:
    class Full(MemoryStore):
        def append(self, *args: Any) -> int:
            if len(self.streams) > 1 and not args[0].startswith("batch-"):
                raise LogUnwritable("no space left on the device")
            return super().append(*args)

    with pytest.raises(LogUnwritable, match="no space left"):
        bench(queue(query("pumps"), query("valves")), store=Full()).work()


def test_the_nights_concurrency_bounds_all_its_sessions_together() -> None:
    most = Crowd()
    night = bench(queue(*(query(name) for name in ("pumps", "valves", "pump", "valve")), concurrency=3), lambda _one: most)
    night.batch.context = with_limits(night.batch.context, night.batch.queue.settings.limits)
    night.batch.sessions_at_once = 4
    result = night.work()
    assert set(endings(result).values()) == {"complete"}
    assert most.most == 3
