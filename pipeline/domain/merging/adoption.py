"""Which outcomes of another branch a branch adopts: those of steps that it still has to take, with the same question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pipeline.domain import fold
from pipeline.domain.agenda import agenda
from pipeline.domain.event_rules import refusal
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import facts_of
from pipeline.domain.merging.gist import gist
from pipeline.domain.report_parts import BEGINNING
from pipeline.domain.session import state_of
from pipeline.domain.state import SessionState
from pipeline.domain.steps import (
    AskApproval,
    ExtendPlan,
    FindGaps,
    FinishWorker,
    NextRound,
    StartAnalysis,
    StartSynthesis,
    StartWorker,
    Step,
)

_NOT_COMPARED = {"id", "session_id", "version", "at", "run_id", "cost", "exchange", "seconds"}
# What a run decides for itself, by its own clock, network and money, is no answer that another run could use.
_ITS_OWN = (
    e.RunStarted, e.CallSent, e.BranchMerged, e.StepFailed, e.WorkerFailed, e.ResearchFailed, e.ResearchReopened,
    e.BudgetExhausted, e.SettingsChanged, e.ReportGenerated, e.ResearchCompleted, e.EarlierRecalled, e.UnknownEvent,
)  # fmt: skip
# What a person said counts, on whichever machine they said it.
_SAID = (e.ApprovalGiven, e.ResearchCancelled, e.HandoffInitiated, e.HandoffAccepted, e.HandoffCompleted)


class Adoption:
    """Goes through the events of the other branch, beside the states of both branches.

    ``events`` are those of this branch, ``base`` of which both have. ``adopted``, ``same`` and ``left`` are ids of the other
    branch's events, in its order; see ``BranchMerged``. ``fresh`` are the ids of those that this branch does not account for yet.
    """

    def __init__(self, session: str, events: Sequence[e.EventBase], base: int, fresh: set[str]) -> None:
        self._ours, self._theirs = state_of(session, events), state_of(session, events[:base])
        ended = [(name, outcome) for name, outcome in _outcomes(events[base:]) if name]
        self._known = dict(sorted(ended, key=lambda entry: not _is_failure(entry[1])))  # an answer counts before a failure
        self._fresh = fresh
        self.adopted: list[str] = []
        self.same: list[str] = []
        self.left: list[str] = []
        self.conflicts: list[e.Conflict] = []

    def reopen(self) -> None:
        """Let this branch go on after its failure."""
        fold.apply(self._ours, e.ResearchReopened(version=self._ours.version))

    def go_through(self, theirs: Iterable[e.EventBase]) -> None:
        """Decide about each outcome of the other branch, in its order."""
        for name, outcome in _outcomes(theirs):
            if outcome[0].id in self._fresh and not isinstance(outcome[0], _ITS_OWN):
                self._decide(name, outcome)
            for event in outcome:
                fold.apply(self._theirs, event)

    def _decide(self, name: str, outcome: Sequence[e.EventBase]) -> None:
        if self._is_open(outcome[0]) and _asked_alike(self._ours, self._theirs, outcome[0]):
            for event in outcome:
                self._adopt(event)
        elif not name:
            return
        elif name in self._known and _payloads(self._known[name]) == _payloads(outcome):
            self.same += [event.id for event in outcome]
        elif name in self._known:
            ours, theirs = self._known[name][0], outcome[0]
            conflict = e.Conflict(step=name, ours=ours.id, theirs=theirs.id, kept=gist(ours), other=gist(theirs))
            self.conflicts.append(conflict)
        else:
            self.left += [event.id for event in outcome]

    def _adopt(self, event: e.EventBase) -> None:
        if refusal(self._ours, event):
            self.left.append(event.id)
            return
        fold.apply(self._ours, event)
        self.adopted.append(event.id)

    def _is_open(self, event: e.EventBase) -> bool:
        """Return whether this branch still has to take the step that the event ended."""
        if self._ours.report is not None or refusal(self._ours, event):
            return False
        if isinstance(event, _SAID):
            return True
        steps = agenda(self._ours)
        if isinstance(event, e.Answered) and event.step:
            return any(step.key == event.step for step in steps)
        return _pure_step(event) in steps


def _outcomes(events: Iterable[e.EventBase]) -> Iterator[tuple[str, list[e.EventBase]]]:
    """Yield step and events of each outcome; an event that no answer came with is one by itself, without a step."""
    for (name, _), group in groupby(events, key=lambda event: (_step(event), isinstance(event, e.StepFailed))):
        outcome = list(group)
        yield from [(name, outcome)] if name else [("", [event]) for event in outcome]


def _step(event: e.EventBase) -> str:
    return event.step if isinstance(event, e.Answered) else ""


def _is_failure(outcome: Sequence[e.EventBase]) -> bool:
    return isinstance(outcome[-1], e.StepFailed)


def _payloads(outcome: Iterable[e.EventBase]) -> list[dict[str, Any]]:
    return [event.model_dump(exclude=_NOT_COMPARED) for event in outcome]


def _pure_step(event: e.EventBase) -> Step | None:
    """Return the step that ends in this event without an answer from outside."""
    match event:
        case e.WorkerStarted():
            return StartWorker(event.worker_id)
        case e.WorkerThought():
            return NextRound(event.worker_id, event.iteration)
        case e.WorkerCompleted():
            return FinishWorker(event.worker_id, event.reason)
        case e.AnalysisStarted():
            return StartAnalysis(event.round)
        case e.GapsFound():
            return FindGaps(event.round)
        case e.PlanExtended():
            return ExtendPlan(event.round - 1)
        case e.SynthesisStarted():
            return StartSynthesis()
        case e.ApprovalRequested():
            return AskApproval()
    return None


def _asked_alike(ours: SessionState, theirs: SessionState, event: e.EventBase) -> bool:
    """Return whether both branches know the same of what the event's answer depends on."""
    basis = _BASES.get(type(event), _of_the_report)
    return bool(basis(ours, event) == basis(theirs, event))


def _nothing(_state: SessionState, _event: Any) -> Any:
    return None


def _of_the_plan(state: SessionState, _event: e.PlanCreated) -> Any:
    return state.survey


def _of_a_page(state: SessionState, event: e.FactsObserved) -> Any:
    worker = state.workers.get(event.worker_id)
    return state.perspectives, state.pages[event.url].digest, state.observed.get(event.url), worker and len(worker.iterations)


def _of_a_worker(state: SessionState, event: Any) -> Any:
    node, worker = state.nodes.get(event.worker_id), state.workers.get(event.worker_id)
    view = state.perspectives.get(node.perspective) if node else None
    return view, worker and (worker.iterations, facts_of(state, worker))


def _of_the_cross_check(state: SessionState, _event: Any) -> Any:
    return state.facts, state.analyses


def _of_the_passages(state: SessionState, _event: e.PassagesChosen) -> Any:
    return state.survey, state.searches, {url: page.digest for url, page in state.pages.items()}


def _of_the_report(state: SessionState, event: Any) -> Any:
    part = getattr(event, "part", BEGINNING)
    return state.facts, state.synthesis, state.parts if part == BEGINNING else state.parts.get(part)


_BASES: dict[type[e.EventBase], Callable[[SessionState, Any], Any]] = {
    e.TopicSurveyed: _nothing,
    e.SearchCompleted: _nothing,
    e.PageRead: _nothing,
    **dict.fromkeys(_SAID, _nothing),
    e.PlanCreated: _of_the_plan,
    e.ApprovalRequested: _of_the_plan,
    e.FactsObserved: _of_a_page,
    e.WorkerStarted: _of_a_worker,
    e.WorkerThought: _of_a_worker,
    e.WorkerEvaluated: _of_a_worker,
    e.WorkerCompleted: _of_a_worker,
    e.AnalysisStarted: _of_the_cross_check,
    e.GapsFound: _of_the_cross_check,
    e.PlanExtended: _of_the_cross_check,
    e.SynthesisStarted: _of_the_cross_check,
    e.PassagesChosen: _of_the_passages,
}
