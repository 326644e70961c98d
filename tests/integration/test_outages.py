"""A service that goes down during a run: no question is lost, the dead server is left alone, and the next run goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.domain.events.session_events import SettingsChanged
from tests.integration.stage import QUESTION, SMALL, Ended, Stage, queue_text
from tests.integration.verdicts import tracebacks
from tests.seeds import drawn

TOPICS = 8
QUESTIONS = "".join(
    f"  - {{query: 'How do heat pumps in cold climates behave, part {at}?', id: q{at}}}\n" for at in range(TOPICS)
)
OUTAGES = (
    ("chat", "status:503"),
    ("chat", "status:429+Retry-After=3600"),
    ("chat", "status:529"),
    ("brave", "status:503"),
    ("brave", "status:429+Retry-After=3600"),
)
MOST_A_QUESTION = 2


def statuses(ended: Ended) -> list[str]:
    return [state.status for state in ended.states]


def assert_left_open(ended: Ended) -> None:
    """Nothing failed, what is not done is open or was not begun, and the exit code says that work remains."""
    assert tracebacks(ended.logged) == []
    assert ended.result.counts["failed"] == 0
    assert "failed" not in statuses(ended)
    assert {event.cause for event in ended.result.ended} | {event.cause for event in ended.result.skipped} <= {"", "outage"}
    assert len(ended.result.ended) + len(ended.result.skipped) == TOPICS
    assert ended.result.exit_code == (0 if ended.result.counts["done"] == TOPICS else 3)


@pytest.mark.parametrize(("outage", "first"), drawn(5, OUTAGES, (1, 2, 9, 16, 30)))
def test_an_outage_at_any_time_leaves_questions_open_and_the_next_run_finishes_them(
    stage: Stage, tmp_path: Path, outage: tuple[str, str], first: int
) -> None:
    route, verbs = outage
    stage.standin.fault(route, verbs, calls=range(first, 100_000))
    text = queue_text(stage.standin, queries=QUESTIONS)
    ended = stage.night(tmp_path, text, config=SMALL)
    assert_left_open(ended)
    assert len([hit for hit in stage.standin.log.of(route) if hit.fault != "ok"]) <= MOST_A_QUESTION * TOPICS
    stage.standin.clear()
    again = stage.night(tmp_path, text, store=ended.store, config=SMALL)
    assert again.result.exit_code == 0
    assert statuses(again) == ["complete"] * TOPICS


@pytest.mark.parametrize("verbs", ["status:503", "status:429+Retry-After=20"])
@pytest.mark.parametrize("first", [2, 9])
def test_a_short_outage_is_waited_for_in_the_same_run(stage: Stage, tmp_path: Path, verbs: str, first: int) -> None:
    stage.standin.fault("chat", verbs, calls=range(first, first + 5))
    ended = stage.night(tmp_path, queue_text(stage.standin, queries=QUESTIONS), config=SMALL)
    assert (ended.result.counts["done"], ended.result.exit_code) == (TOPICS, 0)


def test_a_server_that_refuses_connections_costs_two_tries_in_all_and_no_question(stage: Stage, tmp_path: Path) -> None:
    good = queue_text(stage.standin, queries=QUESTIONS)
    dead = good.replace(stage.standin.openrouter_url, "http://127.0.0.1:9/api/v1")
    ended = stage.night(tmp_path, dead, config=SMALL)
    assert_left_open(ended)
    assert len(stage.standin.log.of("brave")) <= 4  # the sessions that began side by side; no other was begun
    again = stage.night(tmp_path, good, store=ended.store, config=SMALL)
    assert again.result.counts["done"] == TOPICS


def test_queries_that_do_not_need_the_dead_service_are_researched_all_the_same(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("brave", "status:503")
    queries = f"  - {{query: 'How do heat pumps behave?', id: a}}\n  - {{query: '{QUESTION}', id: b, search: [wikipedia]}}\n"
    ended = stage.night(tmp_path, queue_text(stage.standin, queries=queries), config=SMALL)
    assert {event.query_id: (event.status, event.cause) for event in ended.result.ended} == {
        "a": ("interrupted", "outage"),
        "b": ("complete", ""),
    }
    assert ended.result.exit_code == 3


def test_pages_that_cannot_be_read_are_no_outage(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("pages", "status:503")
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    assert [event.cause for event in ended.result.ended] == [""]


def changes(ended: Ended) -> list[tuple[str, tuple[str, ...]]]:
    events = (event for state in ended.states for event in ended.events(state.id))
    return [(event.reasoner, event.search) for event in events if isinstance(event, SettingsChanged)]


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("model: openai/gpt-5.2", "model: acme/new", ("acme/new", ("brave",))),
        (r"search: \[brave]", "search: [wikipedia]", ("openai/gpt-5.2", ("wikipedia",))),
        (r"search: \[brave]", "search: [wikipedia, brave]", None),
        ("limits: {}", "query_limits: {cost_usd: 3}", ("openai/gpt-5.2", ("brave",))),
        ("reasoner: {.*}", "reasoner: extractive", ("extractive", ("brave",))),
    ],
)
def test_an_interrupted_session_goes_on_under_the_settings_of_the_next_run_also_without_its_model(
    stage: Stage, tmp_path: Path, before: str, after: str, change: tuple[str, tuple[str, ...]] | None
) -> None:
    stage.standin.fault("chat", "status:503", calls=range(3, 1_000))
    text = queue_text(stage.standin)
    first = stage.night(tmp_path, text, config=SMALL)
    assert not first.state.ended
    new = re.sub(before, after, text)
    stage.standin.reset()
    again = stage.night(tmp_path, new, store=first.store, config=SMALL)
    assert again.state.status == "complete"
    assert (stage.standin.log.of("chat") == ()) == ("extractive" in after)
    assert changes(again) == ([change] if change else [])
    assert again.state.config.budget_usd == (3 if "cost_usd" in after else None)


def test_a_session_with_other_searches_than_the_settings_is_not_asked_again_and_again_in_an_outage(
    stage: Stage, tmp_path: Path
) -> None:
    stage.standin.fault("brave", "status:503")
    text = queue_text(stage.standin)
    first = stage.night(tmp_path, text, config=SMALL)
    asked = len(stage.standin.log.of("brave"))
    again = stage.night(tmp_path, text.replace("search: [brave]", "search: [wikipedia, brave]"), store=first.store, config=SMALL)
    assert [(event.status, event.cause) for event in again.result.ended] == [("interrupted", "outage")]
    assert len(stage.standin.log.of("brave")) <= asked + MOST_A_QUESTION
