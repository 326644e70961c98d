"""The night: what is due, in which order, what ends it early, and what its own stream says."""

from __future__ import annotations

import asyncio
import time as clock
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from pipeline import batch
from pipeline import events as e
from pipeline import night_events as n
from pipeline.batch import Decision, Night, NightResult, deadline_after, decide, reopened, within
from pipeline.codec import decode_all
from pipeline.errors import CommandRefused, LogDamaged, LogError, LogUnwritable, ObjectMissing, ProviderRefused, SearchFailed
from pipeline.events import moment_of
from pipeline.overview import Overview, summary_of
from pipeline.queue.model import Limits, Query, Queue, Settings
from pipeline.research import Desk
from pipeline.session import ResearchSession
from pipeline.settings import config_for
from pipeline.state import SessionState, Status
from pipeline.values import ResearchConfig
from tests.fakes import START, Journal, MemoryStore, context_for, desk_for

NOW = START


def known(latest: dict[str, SessionState]) -> Overview:
    return Overview(tuple(map(summary_of, latest.values())))


def query(name: str, **fields: Any) -> Query:
    return Query(text=f"How do {name} behave?", id=name, line=1, perspectives=1, iterations=1, gap_rounds=0, **fields)


def queue(*queries: Query, **limits: Any) -> Queue:
    return Queue(Settings(limits=Limits(**limits)), queries, digest="d" * 64)


def last(name: str, status: Status = "complete", days_ago: float = 1, **fields: Any) -> dict[str, SessionState]:
    at = e.timestamp(NOW - timedelta(days=days_ago))
    state = SessionState(id=f"s-{name}", query=f"How do {name} behave?", query_id=name, status=status, started_at=at, ended_at=at)
    return {name: replace(state, **fields)}


def decided(one: Query, latest: dict[str, SessionState], *only: str) -> Decision:
    (decision,) = decide(queue(one), known(latest), NOW, only)
    return decision


# ---- what is due ---------------------------------------------------------------------------------------------------


def test_a_query_without_a_session_is_new() -> None:
    decision = decided(query("pumps"), {})
    assert (decision.action, decision.due, decision.session) == ("new", True, "")


@pytest.mark.parametrize("status", ["planning", "searching", "analyzing", "synthesizing"])
def test_an_interrupted_session_is_resumed(status: Status) -> None:
    decision = decided(query("pumps"), last("pumps", status))
    assert (decision.action, decision.due, decision.session) == ("resume", True, "s-pumps")
    assert status in decision.reason


def test_what_is_complete_is_done_even_when_it_is_named() -> None:
    for only in ((), ("pumps",)):
        decision = decided(query("pumps"), last("pumps"), *only)
        assert (decision.action, decision.due) == ("done", False)


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_what_failed_is_not_tried_again_unless_it_is_named(status: Status) -> None:
    latest = last("pumps", status, end_reason="the pump was on fire")
    decision = decided(query("pumps"), latest)
    assert (decision.action, decision.due, decision.reason) == (status, False, "the pump was on fire")
    assert decided(query("pumps"), latest, "pumps").action == "new"


@pytest.mark.parametrize("status", ["complete", "failed", "searching"])
def test_a_changed_question_is_new_and_follows_the_session_before(status: Status) -> None:
    decision = decided(query("pumps"), last("pumps", status, query="How do valves behave?"))
    assert (decision.action, decision.session) == ("new", "s-pumps")
    assert "changed" in decision.reason


@pytest.mark.parametrize(("days_ago", "action"), [(6.9, "done"), (7, "new"), (30, "new")])
def test_a_recurring_query_is_due_again_when_its_time_has_passed(days_ago: float, action: str) -> None:
    decision = decided(query("pumps", every=timedelta(days=7)), last("pumps", days_ago=days_ago))
    assert decision.action == action
    assert "due again" in decision.reason
    assert decision.session == "s-pumps"


def test_interrupted_queries_come_first_then_by_priority_then_as_in_the_file() -> None:
    names = ("low", "first", "second", "high", "halfway")
    queries = [query(name, priority={"low": -1, "high": 9}.get(name, 0)) for name in names]
    decisions = decide(queue(*queries), known(last("halfway", "searching")), NOW)
    assert [decision.query.id for decision in decisions] == ["halfway", "high", "first", "second", "low"]


def test_only_the_named_queries_are_taken_up() -> None:
    decisions = decide(queue(query("pumps"), query("valves"), query("seals")), known({}), NOW, ("seals", "pumps"))
    assert [decision.query.id for decision in decisions] == ["pumps", "seals"]


def test_the_latest_session_of_a_query_is_the_one_that_started_last() -> None:
    older, newer = last("pumps", days_ago=3)["pumps"], last("pumps", days_ago=1, id="s-2")["pumps"]
    stray = SessionState(id="stray")
    sessions = tuple(map(summary_of, (newer, stray, older)))
    assert Overview(sessions).latest() == {"pumps": sessions[0]}


def test_the_deadline_is_the_next_time_the_local_clock_shows_it() -> None:
    limits = Limits(deadline=time(6, 30))
    moment = deadline_after(limits, NOW)
    assert moment is not None
    assert timedelta(0) < moment - NOW <= timedelta(days=1)
    assert moment.astimezone().strftime("%H:%M:%S") == "06:30:00"
    later = deadline_after(limits, moment)
    assert later is not None
    assert later - moment == timedelta(days=1)
    assert deadline_after(Limits(), NOW) is None


def test_a_deadline_keeps_to_the_clock_when_the_clocks_are_put_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    clock.tzset()
    evening = datetime(2026, 3, 28, 21, 0, tzinfo=UTC)  # 22:00 in winter time; the morning after is in summer time
    assert deadline_after(Limits(deadline=time(6, 30)), evening) == datetime(2026, 3, 29, 4, 30, tzinfo=UTC)
    monkeypatch.undo()
    clock.tzset()


# ---- a night at work -----------------------------------------------------------------------------------------------


@dataclass
class Bench:
    """A night over a store in memory; ``troubled`` gives the journal of a query's desk."""

    night: Night
    store: MemoryStore

    def work(self, latest: dict[str, SessionState] | None = None) -> NightResult:
        return asyncio.run(self.night.work(decide(self.night.queue, known(latest or {}), NOW)))


def bench(
    work: Queue, troubled: Callable[[Query], Journal] = lambda _query: Journal(), store: MemoryStore | None = None, **context: Any
) -> Bench:
    store = store or MemoryStore()
    by_id = {one.id: one for one in work.queries}
    desk: Callable[[SessionState], Desk] = lambda state: desk_for(store, troubled(by_id[state.query_id]))  # noqa: E731
    config: Callable[[Query], ResearchConfig] = lambda one: config_for(one, work.settings)  # noqa: E731
    return Bench(Night(store, work, desk, config, context_for("night-1", **context), sessions_at_once=1), store)


def down(*names: str) -> Callable[[Query], Journal]:
    """Desks whose search is down for these queries."""

    class Down(Journal):
        async def call(self, name: str) -> None:
            await super().call(name)
            if name == "survey":
                raise SearchFailed("the search service is down")

    return lambda one: Down() if one.id in names else Journal()


def events_of(store: MemoryStore, result: NightResult) -> list[e.EventBase]:
    return list(decode_all(record.data for record in store.load(result.batch)))


def sessions(store: MemoryStore) -> dict[str, SessionState]:
    return {state.query_id: state for name in store.session_ids() if (state := ResearchSession.open(store, name).state)}


def endings(result: NightResult) -> dict[str, str]:
    return {event.query_id: event.status for event in result.ended}


def test_a_night_without_work_leaves_no_trace() -> None:
    night = bench(queue(query("pumps")))
    result = night.work(last("pumps"))
    assert (result, night.store.streams) == (NightResult(), {})


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
    assert (start.due, start.queue_digest) == (("valves", "pumps"), "d" * 64)
    assert isinstance(end, n.BatchEnded)
    assert (end.done, end.failed, end.skipped, end.exit_code) == (2, 0, 1, 0)
    assert endings(result) == {"valves": "complete", "pumps": "complete"}
    assert list(night.store.batch_ids()) == [result.batch]
    assert [event.reason for event in result.skipped] == ["failed: no luck"]


def test_the_nights_bill_is_that_of_its_sessions() -> None:
    night = bench(queue(query("pumps"), query("valves")))
    result = night.work()
    end = events_of(night.store, result)[-1]
    assert isinstance(end, n.BatchEnded)
    assert end.cost.usd == pytest.approx(sum(state.spent.usd for state in sessions(night.store).values()))
    assert end.cost.usd > 0


def test_a_failed_query_gives_exit_code_1_and_does_not_stop_the_others() -> None:
    result = bench(queue(query("pumps"), query("valves")), down("pumps")).work()
    assert endings(result) == {"pumps": "failed", "valves": "complete"}
    assert result.exit_code == 1
    assert "the search service is down" in result.ended[0].reason


def test_too_many_failures_stop_the_night() -> None:
    names = ("pumps", "valves", "seals", "shafts")
    result = bench(queue(*map(query, names), max_failures=2), down(*names)).work()
    assert list(endings(result)) == ["pumps", "valves"]
    assert {event.reason for event in result.skipped} == {"2 failures tonight"}
    assert result.exit_code == 1


def test_a_spent_budget_stops_the_night_with_exit_code_3() -> None:
    night = bench(queue(query("pumps"), query("valves"), cost_usd=0.001))
    result = night.work()
    assert endings(result) == {"pumps": "complete"}
    assert [(event.query_id, event.reason) for event in result.skipped] == [("valves", "tonight's 0.00 USD are spent")]
    assert result.exit_code == 3
    assert isinstance(end := events_of(night.store, result)[-1], n.BatchEnded)
    assert end.exit_code == 3


def test_a_passed_deadline_stops_the_night_with_exit_code_3() -> None:
    work = queue(query("pumps"), query("valves"))
    free = bench(work)
    first_end = next(event.at for event in events_of(free.store, free.work()) if event.type == "query.ended")
    result = bench(work, deadline=moment_of(first_end)).work()
    assert endings(result) == {"pumps": "complete"}
    assert [event.reason for event in result.skipped] == ["the deadline has passed"]
    assert result.exit_code == 3


def refusing(one: Query) -> Journal:
    return Journal(faults={"outline": [ProviderRefused("no credit\x1b[2J left")]} if one.id == "pumps" else {})


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


def test_the_next_night_goes_on_with_the_interrupted_session_and_asks_nothing_again() -> None:
    work = queue(query("pumps"))
    first = bench(work, refusing)
    first.work()
    waiting, journal = sessions(first.store), Journal()
    night = bench(work, lambda _one: journal, first.store)
    night.night.context = replace(night.night.context, run_id="night-2", new_id=context_for("night-2").new_id)
    result = night.work(waiting)
    assert [(event.session, event.status) for event in result.ended] == [(waiting["pumps"].id, "complete")]
    assert journal.calls[0] == "outline"
    assert len(list(first.store.session_ids())) == 1


def test_a_recurring_session_knows_the_one_before() -> None:
    night = bench(queue(query("pumps", every=timedelta(days=1), tags=("water",))))
    night.work(last("pumps", days_ago=2))
    state = sessions(night.store)["pumps"]
    assert (state.previous_session, state.tags, state.query_id) == ("s-pumps", ("water",), "pumps")
    assert state.id.startswith("2026-11-21-pumps-")


def damaged_store() -> tuple[MemoryStore, dict[str, SessionState]]:
    """A store whose session on pumps has a record that is no event."""
    night = bench(queue(query("pumps")), refusing)
    night.work()
    waiting = sessions(night.store)
    stream = night.store.streams[waiting["pumps"].id]
    stream[5] = stream[5]._replace(data=b'{"type":"page.read"}')
    night.store.snapshots.clear()
    return night.store, waiting


def test_a_session_with_a_damaged_log_is_named_and_does_not_stop_the_others() -> None:
    store, waiting = damaged_store()
    result = bench(queue(query("pumps"), query("valves")), store=store).work(waiting)
    assert endings(result) == {"pumps": "failed", "valves": "complete"}
    assert "a record is no event" in result.ended[0].reason
    assert result.ended[0].session == waiting["pumps"].id
    assert result.exit_code == 1


def test_a_missing_page_stops_its_own_session_alone() -> None:
    night = bench(queue(query("pumps"), query("valves")))
    desk_of = night.night.desk_of

    def missing(digest: str) -> str:
        raise ObjectMissing(f"the object {digest[:12]} is gone")

    night.night.desk_of = lambda one: replace(desk_of(one), page_text=missing) if one.query_id == "pumps" else desk_of(one)
    result = night.work()
    assert endings(result) == {"pumps": "failed", "valves": "complete"}
    assert "is gone" in result.ended[0].reason


def test_a_disk_that_refuses_ends_the_night() -> None:
    class Full(MemoryStore):
        def append(self, *args: Any) -> int:
            if len(self.streams) > 1 and not args[0].startswith("batch-"):
                raise LogUnwritable("no space left on the device")
            return super().append(*args)

    with pytest.raises(LogUnwritable, match="no space left"):
        bench(queue(query("pumps"), query("valves")), store=Full()).work()


def test_the_nights_concurrency_bounds_all_its_sessions_together() -> None:
    most = Counting()
    night = bench(queue(*(query(name) for name in "abcd"), concurrency=3), lambda _one: most)
    night.night.context = within(night.night.context, night.night.queue.settings.limits)
    night.night.sessions_at_once = 4
    result = night.work()
    assert set(endings(result).values()) == {"complete"}
    assert most.most == 3


class Counting(Journal):
    """Notes how many calls were under way at once, but for pages: those wait for their hosts."""

    now = most = 0

    async def call(self, name: str) -> None:
        if name.startswith("read:"):
            return await super().call(name)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.0005)
        await super().call(name)
        self.now -= 1
        return None


def test_within_a_nights_limits_a_context_keeps_the_rest() -> None:
    context = context_for("night-1")
    bound = within(context, Limits(deadline=time(6, 30), concurrency=2))
    assert (bound.concurrency, bound.run_id, bound.agent) == (2, "night-1", context.agent)
    assert bound.deadline is not None
    assert context.deadline is None


# ---- going on by hand ----------------------------------------------------------------------------------------------


def ended(status: Iterable[str]) -> tuple[MemoryStore, str]:
    night = bench(queue(query("pumps")), down("pumps") if "failed" in status else lambda _one: Journal())
    night.work()
    return night.store, sessions(night.store)["pumps"].id


def test_a_failed_session_is_reopened_and_an_open_one_taken_as_it_is() -> None:
    store, name = ended(["failed"])
    session = reopened(store, name, context_for("again"))
    assert session.state.status == "planning"
    events = list(decode_all(record.data for record in store.load(name)))
    assert [event.type for event in events[-2:]] == ["run.started", "research.reopened"]
    reopened(store, name, context_for("again"))
    assert len(store.load(name)) == len(events)


def test_a_complete_session_cannot_be_gone_on_with() -> None:
    store, name = ended(["complete"])
    with pytest.raises(CommandRefused, match="is complete") as caught:
        reopened(store, name, context_for("again"))
    assert name in caught.value.hint


def test_a_session_is_named_for_its_day_and_query_and_never_like_another() -> None:
    store, context = MemoryStore(), context_for()
    decision = Decision(query("pumps"), "new", "")
    names = {asyncio.run(batch.new_session(store, decision, ResearchConfig(), context)).id for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("2026-11-21-pumps-") for name in names)


def test_a_query_whose_session_is_damaged_is_left_alone_and_the_others_go_on() -> None:
    damaged: dict[str, LogError] = {"2026-11-20-pumps-1a2b": LogDamaged("line 3 was altered")}
    decisions = decide(queue(query("pumps"), query("valves")), Overview((), damaged), NOW)
    assert [(d.query.id, d.action) for d in decisions] == [("pumps", "damaged"), ("valves", "new")]
    assert decisions[0].session == "2026-11-20-pumps-1a2b"


def test_a_damaged_session_that_a_sound_one_has_followed_is_history() -> None:
    damaged: dict[str, LogError] = {"2020-01-01-pumps-1a2b": LogDamaged("line 3 was altered")}
    (decision,) = decide(queue(query("pumps")), Overview(known(last("pumps", "complete")).sessions, damaged), NOW)
    assert decision.action == "done"
