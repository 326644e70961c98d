"""The next steps of one round of gaps: what is still open is collected, and searched for once more."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.state import SessionState
from pipeline.domain.steps import ExtendPlan, FindGaps, StartAnalysis, Step


def gap_steps(state: SessionState, number: int) -> Iterator[Step]:
    """Yield the end of a round of gathering (0-based), its gaps, and the worker for them if one is due."""
    if number == len(state.analyses):
        yield StartAnalysis(number)
    elif state.analyses[number].gaps is None:
        yield FindGaps(number)
    elif needs_gap_worker(state, number):
        yield ExtendPlan(number)


def round_ended(state: SessionState, number: int) -> bool:
    """Return whether a round's gaps are known, and no worker has still to be planned for them."""
    known = number < len(state.analyses) and state.analyses[number].gaps is not None
    return known and not needs_gap_worker(state, number)


def needs_gap_worker(state: SessionState, number: int) -> bool:
    """Return whether a worker for this round's gaps has still to be planned."""
    may = number == state.gap_rounds and number < state.config.gap_rounds and not state.exhausted
    return may and bool(state.analyses[number].open_gaps())
