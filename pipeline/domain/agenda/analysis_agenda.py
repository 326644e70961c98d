"""The next steps of one round of analysis: cross-check, gaps, look-ups, workers for gaps."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.endings import no_evidence
from pipeline.domain.state import Analysis, SessionState
from pipeline.domain.steps import Contrast, ExtendPlan, FindGaps, LookUp, StartAnalysis, Step, Validate
from pipeline.domain.values import Gap

MAX_LOOK_UPS = 3  # pages in which an answer to a gap is looked for


def analysis_steps(state: SessionState, number: int) -> Iterator[Step]:
    """Yield Validate, then FindGaps, then LookUp for each gap, then ExtendPlan if gaps deserve workers."""
    if number == len(state.analyses):
        yield StartAnalysis(number) if state.facts else no_evidence(state)
        return
    analysis = state.analyses[number]
    open_steps = [step for step, done in _cross_checks(analysis) if not done and not state.failed_for_good(step.key)]
    if open_steps:
        yield from open_steps
    elif analysis.gaps is None and not state.failed_for_good(FindGaps(number).key):
        yield FindGaps(number)
    elif searches := look_ups(state, analysis):
        yield from searches
    elif needs_gap_workers(state, number):
        yield ExtendPlan(number)


def _cross_checks(analysis: Analysis) -> tuple[tuple[Step, bool], ...]:
    """Return Validate, which also finds the contradictions; Contrast only for a log that contains nothing but confirmations."""
    if analysis.validated is not None and analysis.contradictions is None:
        return ((Contrast(analysis.round), False),)
    return ((Validate(analysis.round), analysis.validated is not None),)


def analysis_ended(state: SessionState, analysis: Analysis) -> bool:
    """Return whether each step of a round has ended or failed for good."""
    steps = (*_cross_checks(analysis), (FindGaps(analysis.round), analysis.gaps is not None))
    ended = all(done or state.failed_for_good(step.key) for step, done in steps)
    return ended and not look_ups(state, analysis)


def look_ups(state: SessionState, analysis: Analysis) -> list[Step]:
    """Return the searches of the session's pages that are due: of each gap, until a page answers it or none is left."""
    steps: list[Step] = []
    for number in range(len(analysis.gaps or ())):
        searches = [search for search in analysis.looked_up if search.gap == number]
        ended = any(search.facts or not search.url for search in searches) or len(searches) == MAX_LOOK_UPS
        step = LookUp(analysis.round, number, len(searches) + 1)
        if not ended and not state.failed_for_good(step.key):
            steps.append(step)
    return steps


def worthwhile_gaps(state: SessionState, number: int) -> tuple[Gap, ...]:
    """Return a round's (0-based) gaps that deserve a worker, most important first, at most ``max_workers``."""
    gaps = state.analyses[number].open_gaps()
    worth = sorted((gap for gap in gaps if gap.importance >= state.config.gap_importance), key=lambda gap: -gap.importance)
    return tuple(worth[: state.config.max_workers])


def needs_gap_workers(state: SessionState, number: int) -> bool:
    """Return whether workers for this round's gaps still have to be planned."""
    may = number == state.gap_rounds and number < state.config.gap_rounds and not state.exhausted
    return may and bool(worthwhile_gaps(state, number))
