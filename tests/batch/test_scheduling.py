"""What a night does about each query, in which order, and why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from pipeline.batch.scheduling import Decision, Selection, archived, decide
from pipeline.batch.session_index import SessionIndex
from pipeline.config.queue_file import distinct_id
from pipeline.config.values import Query
from pipeline.domain.progress import summary_of
from pipeline.domain.state import SessionState, Status
from pipeline.domain.summary import Summary
from pipeline.domain.values import ResearchConfig
from pipeline.errors import LogDamaged, LogError
from pipeline.text.normalise import slug
from pipeline.text.times import moment_of, timestamp
from tests.nights import NOW, known, last, query, queue


def decided(one: Query, latest: dict[str, SessionState], *only: str) -> Decision:
    (decision,) = decide(queue(one), known(latest), NOW, Selection(only))
    return decision


def test_a_query_without_a_session_is_new() -> None:
    decision = decided(query("pumps"), {})
    assert (decision.action, decision.due, decision.session) == ("new", True, "")


@pytest.mark.parametrize("status", ["planning", "searching", "analyzing", "synthesizing"])
def test_an_interrupted_session_is_resumed(status: Status) -> None:
    decision = decided(query("pumps"), last("pumps", status))
    assert (decision.action, decision.due, decision.session) == ("resume", True, "s-pumps")
    assert status in decision.reason


def test_what_is_complete_is_researched_once_more_if_that_is_asked_for() -> None:
    (decision,) = decide(queue(query("pumps")), known(last("pumps")), NOW, Selection(("pumps",), again=True))
    assert (decision.action, decision.due, decision.session) == ("again", True, "s-pumps")
    assert "asked for again" in decision.reason


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_what_failed_is_not_tried_again_unless_it_is_named(status: Status) -> None:
    latest = last("pumps", status, end_reason="the pump was on fire")
    decision = decided(query("pumps"), latest)
    assert (decision.action, decision.due, decision.reason) == (status, False, "the pump was on fire")
    named = decided(query("pumps"), latest, "pumps")
    assert (named.action, named.due, named.word) == ("retry", True, "due")
    assert "the pump was on fire" in named.reason


@pytest.mark.parametrize(("status", "action"), [("failed", "retry"), ("cancelled", "cancelled"), ("complete", "done")])
def test_all_that_failed_is_tried_again_if_the_user_says_so_but_not_what_was_cancelled(status: Status, action: str) -> None:
    (decision,) = decide(queue(query("pumps")), known(last("pumps", status)), NOW, Selection(retry_failed=True))
    assert decision.action == action


def test_a_plan_that_waits_for_approval_keeps_its_query_waiting() -> None:
    decision = decided(query("pumps"), last("pumps", "planning", approval="requested"))
    assert (decision.action, decision.due) == ("waiting", False)
    assert "research approve pumps" in decision.reason
    approved = decided(query("pumps"), last("pumps", "searching", approval="given"))
    assert (approved.action, approved.reason) == ("resume", "its plan is approved")


@pytest.mark.parametrize("status", ["complete", "failed", "searching"])
def test_a_changed_question_is_new_and_follows_the_session_before(status: Status) -> None:
    decision = decided(query("pumps"), last("pumps", status, query="How do valves behave?"))
    assert (decision.action, decision.due, decision.session) == ("changed", True, "s-pumps")
    assert "changed" in decision.reason


@pytest.mark.parametrize(
    ("before", "now", "action"), [("fast", "deep", "changed"), ("deep", "fast", "done"), ("fast", "fast", "done")]
)
def test_a_query_that_is_to_be_researched_in_depth_now_was_changed(before: Any, now: Any, action: str) -> None:
    assert decided(query("pumps", mode=now), last("pumps", config=ResearchConfig(mode=before))).action == action


@pytest.fixture(params=["Europe/Berlin", "America/New_York", "Pacific/Chatham", "UTC"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def nights_researched(every: timedelta, starts: list[datetime]) -> list[datetime]:
    """Those of a question's starts at which it was due; each session begins some minutes after its run."""
    sessions: list[Summary] = []
    for start in starts:
        recurring = query("pumps", every=every)
        (decision,) = decide(queue(recurring), SessionIndex(tuple(sessions)), start.astimezone(UTC))
        if decision.due:
            at = timestamp(start + timedelta(minutes=5))
            name, before = f"s-{len(sessions)}", decision.session
            latest = last("pumps", id=name, started_at=at, ended_at=at, previous_session=before)
            sessions.append(summary_of(latest["pumps"]))
    return [moment_of(state.started_at) - timedelta(minutes=5) for state in sessions]


def starts_of(nights: Iterable[int], at: tuple[int, int], jitter: Random) -> list[datetime]:
    """A start in each night, by the local clock, up to 20 minutes early or late; the clocks change twice on the way."""
    hour, minute = at
    first = datetime(2026, 1, 5, hour, minute)
    moments = (first + timedelta(days=night, minutes=jitter.uniform(-20, 20)) for night in nights)
    return [moment.astimezone(UTC).replace(microsecond=0) for moment in moments]


TIMES = [(2, 15), (0, 0), (23, 50), (6, 30)]


@pytest.mark.parametrize("at", TIMES)
@pytest.mark.usefixtures("zone")
def test_over_400_nights_a_daily_question_is_researched_once_a_night_and_a_weekly_one_on_its_weekday(at: tuple[int, int]) -> None:
    starts = starts_of(range(400), at, Random(f"{at}"))
    assert nights_researched(timedelta(days=1), starts) == starts
    assert nights_researched(timedelta(days=7), starts) == starts[::7]
    assert nights_researched(timedelta(days=1), sorted(starts * 2)) == starts  # a second run in a night finds nothing due


@pytest.mark.parametrize("at", TIMES)
@pytest.mark.usefixtures("zone")
def test_after_missed_nights_a_question_is_caught_up_at_once_and_keeps_its_weekday(at: tuple[int, int]) -> None:
    chance = Random(f"missed {at}")
    nights = [0, *(night for night in range(1, 400) if chance.random() > 0.15)]
    starts = starts_of(nights, at, chance)
    assert nights_researched(timedelta(days=1), starts) == starts
    weekly = [nights[starts.index(start)] for start in nights_researched(timedelta(days=7), starts)]
    for before, night in pairwise(weekly):
        turn = next(turn for turn in range(7 * (before // 7) + 7, 400, 7) if 2 * (turn - before) >= 7)
        assert night == next(one for one in nights if one >= turn)


@pytest.mark.usefixtures("zone")
def test_what_a_person_has_researched_in_the_afternoon_is_not_researched_again_in_the_night_after() -> None:
    def at(day: int, hour: int) -> datetime:
        return datetime(2026, 6, day, hour, 15).astimezone(UTC)

    for first, second, due in (
        (at(1, 15), at(2, 2), False),  # in the afternoon by hand, then at night
        (at(2, 2), at(2, 11), False),  # the morning still belongs to the night before
        (at(2, 2), at(2, 12), True),  # from noon on it is the next night
        (at(2, 12), at(4, 2), True),
    ):
        assert nights_researched(timedelta(days=1), [first, second]) == [first, second][: 1 + due]


@pytest.mark.parametrize(("hours", "due"), [(5.3, False), (5.5, True), (6, True), (6.5, True)])
def test_hours_are_a_length_of_time_and_may_be_a_tenth_shorter(hours: float, due: bool) -> None:
    decision = decided(query("pumps", every=timedelta(hours=6)), last("pumps", days_ago=hours / 24))
    assert decision.due is due


@pytest.mark.parametrize(("days_ago", "action"), [(3, "failed"), (7, "again")])
def test_a_recurring_question_that_failed_is_tried_again_when_it_is_due(days_ago: float, action: str) -> None:
    weekly = query("pumps", every=timedelta(days=7))
    latest = last("pumps", "failed", days_ago=days_ago, end_reason="the pump was on fire")
    decision = decided(weekly, latest)
    assert (decision.action, decision.session) == (action, "s-pumps")
    assert "the pump was on fire; due again" in decision.reason
    assert decided(weekly, latest, "pumps").action == "retry"
    cancelled = decided(weekly, last("pumps", "cancelled", days_ago=days_ago))
    assert cancelled.action == "cancelled"


@pytest.mark.parametrize(("days_ahead", "action"), [(0.5, "done"), (2, "again"), (4_000, "again")])
def test_a_clock_that_was_years_ahead_does_not_put_off_a_recurring_query_for_years(days_ahead: float, action: str) -> None:
    assert decided(query("pumps", every=timedelta(days=7)), last("pumps", days_ago=-days_ahead)).action == action


def test_interrupted_queries_come_first_then_by_priority_then_as_in_the_file() -> None:
    names = ("low", "first", "second", "high", "halfway")
    queries = [query(name, priority={"low": -1, "high": 9}.get(name, 0)) for name in names]
    decisions = decide(queue(*queries), known(last("halfway", "searching")), NOW)
    assert [decision.query.id for decision in decisions] == ["halfway", "high", "first", "second", "low"]


def test_a_query_whose_session_is_damaged_is_left_alone_and_the_others_go_on() -> None:
    damaged: dict[str, LogError] = {"2026-11-20-pumps-1a2b": LogDamaged("line 3 was altered")}
    decisions = decide(queue(query("pumps"), query("valves")), SessionIndex((), damaged), NOW)
    assert [(d.query.id, d.action) for d in decisions] == [("pumps", "damaged"), ("valves", "new")]
    assert decisions[0].session == "2026-11-20-pumps-1a2b"


def test_a_damaged_session_that_a_sound_one_has_followed_is_history() -> None:
    damaged: dict[str, LogError] = {"2020-01-01-pumps-1a2b": LogDamaged("line 3 was altered")}
    (decision,) = decide(queue(query("pumps")), SessionIndex(known(last("pumps", "complete")).sessions, damaged), NOW)
    assert decision.action == "done"


@pytest.mark.parametrize(
    ("tags", "chosen"),
    [
        (("law",), ["pumps", "valves"]),
        (("Law/Patents",), ["valves"]),
        (("law", "sea"), ["pumps", "valves", "seals"]),
        (("la",), []),
    ],
)
def test_a_tag_takes_up_what_has_it_or_one_below_it(tags: tuple[str, ...], chosen: list[str]) -> None:
    all_of_it = queue(query("pumps", tags=("law",)), query("valves", tags=("law/patents",)), query("seals", tags=("sea",)))
    assert [decision.query.id for decision in decide(all_of_it, known({}), NOW, Selection(tags=tags))] == chosen


def test_a_session_whose_query_is_gone_is_archived() -> None:
    sessions = SessionIndex(tuple(summary_of(state) for name in "abc" for state in last(name).values()))
    assert [summary.query_id for summary in archived(queue(query("a"), query("c")), sessions)] == ["b"]


def asked(text: str, name: str = "") -> Query:
    return Query(text=text, id=name or slug(text, 40), line=1)


def researched(text: str, name: str = "") -> dict[str, SessionState]:
    name = name or slug(text, 40)
    return last(name, query=text, id=f"s-{name}")


CUT = "How does an append-only log survive a power cut?"


@pytest.mark.parametrize(
    ("now", "action"),
    [
        ("How do append-only logs survive a power cut at all?", "new"),
        ("How can an append-only log survive a power cut?", "changed"),
        ("Does an append-only log survive a power cut?", "changed"),
        ("How does a write-ahead log survive a disk that is full?", "new"),
        ("What is the capital of France?", "new"),
    ],
)
def test_a_question_without_an_id_of_its_own_is_known_again_after_an_edit(now: str, action: str) -> None:
    assert slug(now, 40) != slug(CUT, 40)
    decision = decided(asked(now), researched(CUT))
    assert (decision.action, decision.session) == (action, f"s-{slug(CUT, 40)}" if action == "changed" else "")


def test_an_id_that_was_given_says_which_question_is_meant() -> None:
    now = "How can an append-only log survive a power cut?"
    assert decided(asked(now, "power"), researched(CUT)).action == "new"
    assert decided(asked(now), researched(CUT, "log")).action == "new"


def test_a_question_that_still_stands_in_the_file_was_not_edited_into_another() -> None:
    both = queue(asked(CUT), asked("How can an append-only log survive a power cut?"))
    assert [decision.action for decision in decide(both, known(researched(CUT)), NOW)] == ["done", "new"]


def test_a_question_that_needs_a_longer_id_beside_a_like_one_is_still_done() -> None:
    other = "How does an append-only log survive a power failure?"
    both = queue(asked(CUT, distinct_id(CUT)), asked(other, distinct_id(other)))
    assert [decision.action for decision in decide(both, known(researched(CUT)), NOW)] == ["done", "new"]


def test_of_two_spellings_the_first_is_researched_unless_the_other_was_and_the_other_is_said_to_be_skipped() -> None:
    first, second = query("pumps"), replace(query("pumps"), id="again", same_as="pumps", line=2)
    decisions = decide(queue(first, second), known({}), NOW)
    assert [(d.query.id, d.action, d.due) for d in decisions] == [("pumps", "new", True), ("again", "same", False)]
    assert decisions[1].reason == "the question of line 1, pumps: only that one is researched"
    decisions = decide(queue(first, second), known(last("pumps", query_id="again")), NOW)
    assert [(d.query.id, d.action) for d in decisions] == [("pumps", "done"), ("again", "same")]
