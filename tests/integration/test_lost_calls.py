"""What calls cost whose process was killed before their answer: the estimate beside the truth, and the bill that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.cli.presentation import price
from pipeline.domain import fold
from pipeline.domain.events.session_events import Answered, EventBase, RunStarted, SearchCompleted, TopicSurveyed
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.text.humanize import money
from tests.integration.stage import SMALL, Stage, queue_text

DEEP = {"perspectives": 3, "iterations": 2, "gap_rounds": 1}


def killed(events: Sequence[EventBase], at: int) -> tuple[SessionState, float]:
    """Fold the log of a run killed after so many events, and the next start; return the state and the lost calls' cost."""
    state = SessionState()
    for event in events[:at]:
        fold.apply(state, event)
    lost = set(state.open_calls)
    fold.apply(state, RunStarted(session_id=state.id, version=state.version + 1, at=events[at - 1].at, run_id="later"))
    answers = (event for event in events[at:] if isinstance(event, Answered) and event.step in lost)
    first = {event.step: event.cost.usd for event in reversed(list(answers))}
    return state, sum(first.values())


def test_the_estimate_of_lost_calls_is_within_twice_the_truth_over_kills_after_each_event(stage: Stage, tmp_path: Path) -> None:
    stage.standin.reset(slots=4, slot_s=1.0)
    text = queue_text(stage.standin).replace("key: OPENROUTER_API_KEY}", "key: OPENROUTER_API_KEY, concurrency: 8}")
    events = stage.night(tmp_path, text, config=DEEP).events()
    kills = [killed(events, at) for at in range(5, len(events))]
    truth, told = sum(cost for _, cost in kills), sum(state.spent.expected_usd for state, _ in kills)
    worst = sum(state.spent.assumed_usd for state, _ in kills)
    print(f"{len(kills)} kills: truth {truth:.4f} USD, estimate {told:.4f}, at most {worst:.4f}")
    assert truth > 0
    assert truth / 2 <= told <= 2 * truth
    assert worst >= truth
    for state, cost in kills:
        assert state.spent.assumed_usd >= cost - 1e-9
        assert cost_of(state).charged_usd == pytest.approx(state.spent.usd - state.spent.assumed_usd)


def test_a_lost_call_is_shown_apart_everywhere(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("chat", "cut_at:18", calls={3})
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    cost = cost_of(ended.state)
    assert 0 < cost.expected_usd < cost.assumed_usd < cost.usd
    searches = sum(event.cost.usd for event in ended.events() if isinstance(event, SearchCompleted | TopicSurveyed))
    assert cost.charged_usd - searches < stage.standin.log.charged().usd < cost.usd - searches
    words = f"up to {money(cost.assumed_usd)} not accounted for (about {money(cost.expected_usd)})"
    assert words in price(cost, cost.total_tokens)
    for kind in ("reports", "sessions", "nights"):
        (note,) = ended.notes(tmp_path, kind)
        assert "not accounted for (about" in note, kind
    (entry,) = ended.result.ended
    assert (entry.cost.assumed_usd, entry.cost.expected_usd) == (cost.assumed_usd, cost.expected_usd)


@pytest.mark.parametrize("usage", ['"cost":48000', '"cost":0.001,"completion_tokens":900000000'])
def test_an_absurd_bill_ends_the_run_and_is_not_taken_for_the_truth(stage: Stage, tmp_path: Path, usage: str) -> None:
    whole = f'{{"prompt_tokens":100,"completion_tokens":10,{usage}}}'
    stage.standin.fault("chat", f"field_set:usage={whole}", calls={4})
    two = "  - {query: 'How do heat pumps behave?', id: a}\n  - {query: 'How do kilns behave?', id: b}\n"
    ended = stage.night(tmp_path, queue_text(stage.standin, queries=two), config=SMALL)
    assert ended.result.exit_code == 4
    assert any("absurd" in event.reason for event in ended.result.ended)
    assert sum(state.spent.usd for state in ended.states) < 1
    stage.standin.clear()
    again = stage.night(tmp_path, queue_text(stage.standin, queries=two), store=ended.store, config=SMALL)
    assert again.result.counts["failed"] == 0
