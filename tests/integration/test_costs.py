"""Budgets under concurrency: no cap is passed, and a report that had to do with less says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.stage import Ended, Stage, queue_text
from tests.integration.verdicts import announced, assert_charged, assert_cited, tracebacks

SUBJECTS = ("heat pumps in cold climates", "tidal turbines", "soil moisture sensors", "battery recycling rules")
WIDE = {"perspectives": 4, "iterations": 2, "gap_rounds": 1}


def queries(extra: str = "") -> str:
    return "".join(f"  - {{query: 'How do {name} behave?', id: q{at}{extra}}}\n" for at, name in enumerate(SUBJECTS))


def largest_reservation(ended: Ended) -> float:
    return max((worst.usd for state in ended.states for worst in announced(ended.events(state.id))), default=0.0)


def assert_within(ended: Ended, stage: Stage, cap_usd: float) -> None:
    assert tracebacks(ended.logged) == []
    assert ended.ledger.usd <= cap_usd + largest_reservation(ended)
    assert stage.standin.log.charged().usd <= cap_usd + largest_reservation(ended)
    assert_charged(ended, stage.standin.log, exactly=False)
    for state in ended.states:
        if state.status == "complete":
            assert_cited(state)


def left_open(ended: Ended) -> set[str]:
    """The sessions that the night's cap kept from any fact: they go on another night."""
    found = {entry.session for entry in ended.result.ended if (entry.status, entry.cause) == ("interrupted", "cap")}
    assert not any(state.facts or state.ended for state in ended.states if state.id in found)
    return found | {entry.session for entry in ended.result.ended if (entry.status, entry.cause) == ("interrupted", "outage")}


@pytest.mark.parametrize("cap", [0.001, 0.05, 0.1])
@pytest.mark.parametrize("faulty", [False, True])
def test_the_night_s_budget_holds_for_all_sessions_together(stage: Stage, tmp_path: Path, cap: float, faulty: bool) -> None:
    if faulty:
        stage.standin.mix(7, 0.2)
    text = queue_text(stage.standin, queries=queries(), limits=f"cost_usd: {cap}, concurrency: 16")
    ended = stage.night(tmp_path, text, config=WIDE)
    assert_within(ended, stage, cap)
    waiting = left_open(ended)
    assert all(state.status in ("complete", "failed") for state in ended.states if state.id not in waiting)
    stopped = [state for state in ended.states if state.exhausted]
    assert stopped or waiting or faulty
    for state in stopped:
        said = state.report.limits if state.report else (state.end_reason,)
        assert any("usd" in line for line in said), said


@pytest.mark.parametrize("cap", [0.025, 0.1])  # no call fits; some do, and nothing is found
def test_a_query_s_budget_holds_and_a_question_for_which_nothing_is_found_within_it_stays_open(
    stage: Stage, tmp_path: Path, cap: float
) -> None:
    text = queue_text(stage.standin, queries=queries(f", budget_usd: {cap}"), limits="concurrency: 16")
    ended = stage.night(tmp_path, text, config=WIDE)
    assert_charged(ended, stage.standin.log, exactly=True)
    assert len(left_open(ended)) == len(SUBJECTS)
    assert all("`budget_usd`" in event.reason for event in ended.result.ended)
    assert all(bool(state.spent.calls) == (cap == 0.1) for state in ended.states)
    assert all(state.spent.usd <= cap + largest_reservation(ended) for state in ended.states)


@pytest.mark.parametrize(("name", "limit", "cap"), [("calls", 2, "calls"), ("tokens", 12_000, "tokens")])
def test_calls_and_tokens_are_capped_too(stage: Stage, tmp_path: Path, name: str, limit: int, cap: str) -> None:
    ended = stage.night(tmp_path, queue_text(stage.standin, limits=f"{name}: {limit}, concurrency: 16"), config=WIDE)
    said = ended.state.report.limits if ended.state.report else ()
    assert ended.state.exhausted == cap or ended.state.id in left_open(ended) or any(f"{limit} {cap}" in line for line in said)
    charged = stage.standin.log.charged()
    assert (charged.calls if name == "calls" else charged.total_tokens) <= limit
    assert_charged(ended, stage.standin.log, exactly=True)


def test_a_search_that_costs_money_counts_against_the_budget(stage: Stage, tmp_path: Path) -> None:
    two = "  - {query: 'How do heat pumps behave in cold climates? What do tidal turbines cost?', id: two}\n"  # a search a part
    text = queue_text(stage.standin, search="brave", queries=two, limits="cost_usd: 0.008, concurrency: 16")
    ended = stage.night(tmp_path, text, config={"reasoner": "extractive"})
    assert len(stage.standin.log.of("brave")) == 1
    assert ended.ledger.usd == pytest.approx(0.005)
    assert ended.state.id in left_open(ended)
