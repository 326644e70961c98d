"""One session: stamps, refusals that change nothing, and its state at any version."""

from __future__ import annotations

import pytest

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.errors import CommandRefused
from tests.recorded import SMALL, records, stream

# A stream with folds, gap workers, two rounds of analysis and a report.
CONFIG = SMALL | {"gap_rounds": 1, "context_tokens": 100}


def folded(version: int) -> SessionState:
    session = ResearchSession("s1")
    session.replay(record.data for record in records(**CONFIG)[:version])
    return session.state


def test_a_refused_event_changes_nothing_and_says_why() -> None:
    session = ResearchSession("s1", folded(10))
    with pytest.raises(CommandRefused, match=r"research\.completed was refused: there is no report"):
        session.record(stream(**CONFIG)[-1])
    assert session.state == folded(10)


def test_a_reopened_session_goes_on_where_it_was_with_its_failures_forgotten() -> None:
    state = folded(20)
    was = state.status
    fold.apply(state, e.StepFailed(step="Read:u", error="ReadFailed", message="m", recoverable=False, attempt=1))
    fold.apply(state, e.BudgetExhausted(cap="usd", limit="1", spent="1"))
    fold.apply(state, e.ResearchFailed(cause="x", reason="because"))
    assert (state.status, state.end_reason) == ("failed", "because")
    fold.apply(state, e.ResearchReopened())
    assert (state.status, state.end_reason, state.failures, state.exhausted) == (was, "", {}, "")
