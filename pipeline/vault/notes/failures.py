"""What went wrong in a session, in its reader's words instead of step keys."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.state import Failure, SessionState

_STEPS = {
    "Survey": "the first survey",
    "Plan": "planning",
    "Validate": "cross-checking the facts",
    "Contrast": "looking for disagreements",
    "FindGaps": "looking for what is still unknown",
    "MakeOutline": "outlining the report",
}
_WORKER_STEPS = {"Think": "thinking", "Evaluate": "judging what was found", "Fold": "condensing what was found"}
_SECTION_STEPS = {"WriteSection": "writing", "CheckSection": "checking", "ReviseSection": "revising"}


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that failed: what it was, why, how often it was tried, and whether it was given up."""

    what: str
    message: str
    attempts: int
    given_up: bool


def failures_of(state: SessionState, prefix: str = "") -> tuple[Failed, ...]:
    """Return the session's failures in the order they happened; ``prefix`` picks by the start of the step's key."""
    found = sorted(state.failures.values(), key=lambda failure: (failure.at, failure.step))
    return tuple(failed(state, failure) for failure in found if failure.step.startswith(prefix))


def failed(state: SessionState, failure: Failure) -> Failed:
    """Return one failure in words."""
    return Failed(_what(state, failure.step), failure.message, failure.attempts, failure.final)


def _what(state: SessionState, key: str) -> str:
    kind, _, rest = key.partition(":")
    if kind == "SearchFor":
        return f"searching for “{rest}”"
    if kind == "Read":
        return f"reading {rest}"
    if kind == "Observe":
        return f"taking facts from {rest.split(':', 2)[-1]}"
    if kind in _WORKER_STEPS:
        return f"{_WORKER_STEPS[kind]} ({_perspective(state, rest.partition(':')[0])})"
    if kind in _SECTION_STEPS:
        return f"{_SECTION_STEPS[kind]} the section “{_section(state, rest.partition(':')[0])}”"
    return _STEPS.get(kind, key)


def _perspective(state: SessionState, worker_id: str) -> str:
    worker = state.workers.get(worker_id)
    view = state.perspectives.get(worker.perspective_id) if worker else None
    return view.name if view else worker_id


def _section(state: SessionState, section_id: str) -> str:
    section = state.sections.get(section_id)
    return section.plan.title if section else section_id
