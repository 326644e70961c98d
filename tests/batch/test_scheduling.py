"""What a night does about each query, in which order, and why."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from pipeline.batch.due_queries import Selection, archived, decide
from pipeline.batch.session_index import SessionIndex
from pipeline.config.queue_file import distinct_id
from pipeline.config.queue_schema import Query
from pipeline.domain.events.session_events import ReportGenerated
from pipeline.domain.research_values import ResearchConfig
from pipeline.domain.session import summary_of
from pipeline.domain.session_state import SessionState, Status
from pipeline.domain.summary import Summary
from pipeline.errors import LogDamaged, LogError
from pipeline.text.cleaning import slug
from pipeline.text.times import clock_at, moment_of, timestamp
from pipeline.vault.read_model import nights_in
from tests.nights import NOW, bench, known, last, query, queue

DAMAGED: dict[str, LogError] = {"2020-01-01-pumps-1a2b": LogDamaged("line 3 was altered")}
DUE = {"new", "resume", "again", "retry", "changed"}
PUMPS, WEEKLY = query("pumps"), query("pumps", every=timedelta(days=7))
FIRE = "the pump was on fire"
OPEN: tuple[Status, ...] = ("planning", "searching", "analyzing", "synthesizing")
UNANSWERED = ReportGenerated(title="", summary=(), sections=(), references=(), outcome="not-found")
STOPPED: tuple[Status, ...] = ("failed", "cancelled")


@pytest.mark.parametrize(
    ("one", "before", "selection", "action", "words"),
    [
        (PUMPS, {}, {}, "new", ""),
        *((PUMPS, last("pumps", status), {}, "resume", status) for status in OPEN),
        (PUMPS, last("pumps"), {"ids": ("pumps",), "again": True}, "again", "asked for again"),
        *((PUMPS, last("pumps", status, end_reason=FIRE), {}, status, FIRE) for status in STOPPED),
        *((PUMPS, last("pumps", status, end_reason=FIRE), {"ids": ("pumps",)}, "retry", FIRE) for status in STOPPED),
        (PUMPS, last("pumps", "failed"), {"retry_failed": True}, "retry", ""),
        (PUMPS, last("pumps", "cancelled"), {"retry_failed": True}, "cancelled", ""),
        (PUMPS, last("pumps"), {"retry_failed": True}, "done", ""),
        (PUMPS, last("pumps", report=UNANSWERED), {}, "not-found", "not found on"),  # a model's report says so
        (PUMPS, last("pumps", report=UNANSWERED), {"retry_not_found": True}, "retry", "not found on"),
        (PUMPS, last("pumps", "planning", approval="requested"), {}, "waiting", "research approve pumps"),
        (PUMPS, last("pumps", "searching", approval="given"), {}, "resume", "its plan is approved"),
        (PUMPS, last("pumps", query="And valves?"), {}, "changed", "changed"),
        *((PUMPS, last("pumps", status, query="And valves?"), {}, "changed", "changed") for status in STOPPED + OPEN),
        (query("pumps", mode="deep"), last("pumps", config=ResearchConfig(mode="fast")), {}, "changed", ""),
        (query("pumps", mode="fast"), last("pumps", config=ResearchConfig(mode="deep")), {}, "done", ""),
        (query("pumps", mode="fast"), last("pumps", config=ResearchConfig(mode="fast")), {}, "done", ""),
        (WEEKLY, last("pumps", "failed", days_ago=3, end_reason=FIRE), {}, "failed", f"failed on 2026-11-18: {FIRE}; due"),
        (WEEKLY, last("pumps", "failed", days_ago=7, end_reason=FIRE), {}, "again", f": {FIRE}; due again"),
        *((WEEKLY, last("pumps", "failed", days_ago=days), {"ids": ("pumps",)}, "retry", "") for days in (3, 7)),
        *((WEEKLY, last("pumps", "cancelled", days_ago=days), {}, "cancelled", "") for days in (3, 7)),
        *((WEEKLY, last("pumps", "not-found", days_ago=days), {}, what, "") for days, what in ((3, "not-found"), (7, "again"))),
        # a clock that was ahead does not put off a recurring query for years
        (WEEKLY, last("pumps", days_ago=-0.5), {}, "done", ""),
        *((WEEKLY, last("pumps", days_ago=-ahead), {}, "again", "") for ahead in (2, 4_000)),
        # hours are a length of time, and may be a tenth shorter
        *(
            (query("pumps", every=timedelta(hours=6)), last("pumps", days_ago=hours / 24), {}, action, "")
            for hours, action in ((5.3, "done"), (5.5, "again"), (6, "again"), (6.5, "again"))
        ),
    ],
)
def test_what_is_done_about_a_query_follows_from_its_last_session(
    one: Query, before: dict[str, SessionState], selection: dict[str, Any], action: str, words: str
) -> None:
    (decision,) = decide(queue(one), known(before), NOW, Selection(**selection))
    assert (decision.action, decision.due) == (action, action in DUE)
    assert decision.session == ("s-pumps" if before else "")
    assert words in decision.reason
    assert (decision.word == "due") == (action in {"new", "again", "retry"})


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
        (decision,) = decide(queue(query("pumps", every=every)), SessionIndex(tuple(sessions)), start.astimezone(UTC))
        if decision.due:
            at = timestamp(start + timedelta(minutes=5))
            name, before = f"s-{len(sessions)}", decision.session
            latest = last("pumps", id=name, started_at=at, ended_at=at, previous_session=before)
            sessions.append(summary_of(latest["pumps"]))
    return [moment_of(state.started_at) - timedelta(minutes=5) for state in sessions]


@pytest.mark.usefixtures("zone")
def test_without_a_time_zone_a_night_lasts_from_noon_to_noon_by_the_clock_of_this_computer() -> None:
    night = bench(queue(query("pumps")))
    starts = [datetime(2026, 7, 7, 12), datetime(2026, 7, 7, 23), datetime(2026, 7, 8, 2, 15), datetime(2026, 7, 8, 11, 59)]
    for start in starts:
        night.batch.context = replace(night.batch.context, now=partial(start.astimezone, UTC))
        night.batch.begin(())
    ((date, batches),) = [(one.date, one.batches) for one in nights_in(night.store)[0]]
    assert date == "2026-07-08"  # the day of its morning
    assert [clock_at(batch.started.at, batch.zone) for batch in batches] == [f"{start:%H:%M}" for start in starts]


@pytest.mark.parametrize("missed", [0, 0.4])
@pytest.mark.parametrize("at", [(2, 15), (0, 0), (23, 50)])
@pytest.mark.usefixtures("zone")
def test_over_400_nights_a_daily_question_is_researched_once_a_night_and_a_weekly_one_on_its_weekday_or_the_first_night_after_it(
    at: tuple[int, int], missed: float
) -> None:
    chance = Random(f"{at}")
    nights = [0, *(night for night in range(1, 400) if chance.random() >= missed)]
    # by the local clock, up to 20 minutes early or late; the clocks change twice on the way
    moments = (datetime(2026, 1, 5, *at) + timedelta(days=night, minutes=chance.uniform(-20, 20)) for night in nights)
    starts = [moment.astimezone(UTC).replace(microsecond=0) for moment in moments]
    assert nights_researched(timedelta(days=1), sorted(starts * 2)) == starts  # a second run in a night finds nothing due
    weekly = [nights[starts.index(start)] for start in nights_researched(timedelta(days=7), starts)]
    for before, night in pairwise([*weekly, 400]):
        turn = next(turn for turn in range(7 * (before // 7) + 7, 407, 7) if 2 * (turn - before) >= 7)
        assert night == next((one for one in nights if one >= turn), 400)


@pytest.mark.parametrize("every", [1, 3, 7, 14])
def test_after_a_session_that_was_asked_for_or_another_interval_the_nights_count_from_the_last_session(
    every: int,
) -> None:
    days, sessions = (1, 2, 4), list[Summary]()
    for day in days:
        at = timestamp(datetime(2026, 6, day, 2, 15).astimezone(UTC))
        (state,) = last("pumps", id=f"s-{day}", started_at=at, ended_at=at, previous_session=f"s-{day // 2}").values()
        sessions.append(summary_of(state))
    for night in range(1, 16):
        now = datetime(2026, 6, 4 + night, 2, 15).astimezone(UTC)
        (decision,) = decide(queue(query("pumps", every=timedelta(days=every))), SessionIndex(tuple(sessions)), now)
        assert decision.due == (night >= every)


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


@pytest.mark.parametrize(("every", "due_at"), [(1, [25.5, 26]), (0.5, [25.5, 26]), (7, [])])
def test_a_session_that_was_interrupted_counts_for_the_night_in_which_it_was_continued(every: float, due_at: list[float]) -> None:
    begun, continued = (datetime(2026, 11, day, 2).astimezone(UTC) for day in (24, 25))
    (state,) = last("pumps", started_at=timestamp(begun), ended_at=timestamp(continued + timedelta(minutes=8))).values()
    index, one = SessionIndex((replace(summary_of(state), seconds=900.0),)), queue(query("pumps", every=timedelta(days=every)))
    for day in (25 + 1 / 12, 25.5, 26):
        (decision,) = decide(one, index, begun + timedelta(days=day - 24))
        assert decision.due == (day in due_at)


def test_interrupted_queries_come_first_then_by_priority_then_as_in_the_file() -> None:
    names = ("low", "first", "second", "high", "halfway")
    queries = [query(name, priority={"low": -1, "high": 9}.get(name, 0)) for name in names]
    decisions = decide(queue(*queries), known(last("halfway", "searching")), NOW)
    assert [decision.query.id for decision in decisions] == ["halfway", "high", "first", "second", "low"]


def test_a_query_whose_last_session_is_damaged_is_left_alone_and_the_others_go_on() -> None:
    decisions = decide(queue(PUMPS, query("valves")), SessionIndex((), DAMAGED), NOW)
    assert [(d.query.id, d.action, d.session) for d in decisions] == [("pumps", "damaged", *DAMAGED), ("valves", "new", "")]
    (followed,) = decide(queue(PUMPS), SessionIndex(known(last("pumps", "complete")).sessions, DAMAGED), NOW)
    assert followed.action == "done"


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


CUT = "How does an append-only log survive a power cut?"
CAN = "How can an append-only log survive a power cut?"
FAILURE = "How does an append-only log survive a power failure?"


def asked(text: str, name: str = "") -> Query:
    return Query(text=text, id=name or slug(text, 40), line=1)


@pytest.mark.parametrize(
    ("researched", "now", "actions"),
    [
        ("", [asked("How do append-only logs survive a power cut at all?")], ["new"]),
        ("", [asked(CAN)], ["changed"]),
        ("", [asked("Does an append-only log survive a power cut?")], ["changed"]),
        ("", [asked("How does an append-only log survive a power cut on an old drive of 2 TB?")], ["changed"]),
        ("", [asked(f"A full disk, a kernel that crashes, a cable that breaks in two, too: {CUT}")], ["new"]),
        ("", [asked("How does a write-ahead log survive a disk that is full?")], ["new"]),
        ("", [asked("What is the capital of France?")], ["new"]),
        # an id that was given says which question is meant
        ("", [asked(CAN, "power")], ["new"]),
        ("log", [asked(CAN)], ["new"]),
        # a question that still stands in the file was not edited into another
        ("", [asked(CUT), asked(CAN)], ["done", "new"]),
        # it needs a longer id beside a like one
        ("", [asked(CUT, distinct_id(CUT)), asked(FAILURE, distinct_id(FAILURE))], ["done", "new"]),
    ],
)
def test_a_question_without_an_id_of_its_own_is_known_again_after_an_edit(
    researched: str, now: list[Query], actions: list[str]
) -> None:
    name = researched or slug(CUT, 40)
    decisions = decide(queue(*now), known(last(name, query=CUT, id=f"s-{name}")), NOW)
    assert [decision.action for decision in decisions] == actions
    assert [bool(decision.session) for decision in decisions] == [action != "new" for action in actions]


def test_of_two_spellings_the_first_is_researched_unless_the_other_was_and_the_other_is_said_to_be_skipped() -> None:
    first, second = PUMPS, replace(PUMPS, id="again", same_as="pumps", line=2)
    decisions = decide(queue(first, second), known({}), NOW)
    assert [(d.query.id, d.action, d.due) for d in decisions] == [("pumps", "new", True), ("again", "same", False)]
    assert decisions[1].reason == "the question of line 1, pumps: only that one is researched"
    decisions = decide(queue(first, second), known(last("pumps", query_id="again")), NOW)
    assert [(d.query.id, d.action) for d in decisions] == [("pumps", "done"), ("again", "same")]
