"""What every part of the agenda does about a step that failed for good, and the end of a session without evidence."""

from __future__ import annotations

from dataclasses import replace

from pipeline.domain.state import Failure, SessionState
from pipeline.domain.steps import Fail, Step
from pipeline.domain.values import EXTRACTIVE
from pipeline.text.normalise import counted


def step_or_fail(state: SessionState, step: Step) -> Step:
    """Return a step that the session cannot do without, or the end of the session if it failed for good."""
    if not state.failed_for_good(step.key):
        return step
    failure = state.failures[step.key]
    return Fail(failure.error, f"{type(step).__name__.lower()}: {failure.message}")


def with_substitute(state: SessionState, step: Step, plain: Step) -> Step:
    """Return a step of the model; if it failed for good, the one that does the same without the model."""
    if state.failed_for_good(step.key) and state.config.reasoner != EXTRACTIVE:
        return step_or_fail(state, plain)
    return step_or_fail(state, step)


def no_evidence(state: SessionState) -> Fail:
    """Return the end of a session without facts. The reason is a spent cap, failed steps, or sources without an answer."""
    if state.exhausted:
        return Fail("budget", f"stopped before any evidence was found: {state.exhausted} exhausted")
    failed = [failure for failure in state.failures.values() if failure.final]
    last = max(failed, key=lambda failure: (failure.at, failure.step), default=None)
    searches, pages = len(state.searches), len(state.pages)
    searched = f"{counted(searches, 'search', 'searches')}, " if searches else ""
    effort = f"{searched}{counted(pages, 'page')} read"
    observed = (
        state.passages is not None
        or state.observed
        or any(step.observed for worker in state.workers.values() for step in worker.iterations)
    )
    if last is not None and not observed:
        return Fail(last.error, f"no evidence could be gathered ({effort}): {_failure_text(last)}")
    without = f"; {counted(len(failed), 'step')} failed, the last: {_failure_text(last)}" if last is not None else ""
    from pipeline.domain.not_found import no_evidence_step  # the ranking, which lists and builds do not need

    refusal = no_evidence_step(state)
    return replace(refusal, reason=f"{refusal.reason} ({effort}{without})")


def _failure_text(failure: Failure) -> str:
    kind, _, what = failure.step.partition(":")
    return f"{kind.lower()} {what}: {failure.message}"
