"""Which function does the work of which step of a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from pipeline.domain import steps as s
from pipeline.domain.events import session_events as e
from pipeline.domain.session_state import SessionState
from pipeline.research import changes, planning_and_searching, report_assembly
from pipeline.research.step_context import StepContext, StepResult

Pure = Callable[[Any, SessionState], StepResult]
Asking = Callable[[Any, SessionState, StepContext], Awaitable[StepResult]]

_PURE: dict[type[s.Step], Pure] = {
    s.AskApproval: lambda _step, _state: StepResult((e.ApprovalRequested(),)),
    s.StartWorker: planning_and_searching.start_worker,
    s.NextRound: planning_and_searching.next_round,
    s.FinishWorker: planning_and_searching.finish_worker,
    s.FailWorker: planning_and_searching.fail_worker,
    s.StartAnalysis: lambda step, _state: StepResult((e.AnalysisStarted(round=step.round),)),
    s.FindGaps: planning_and_searching.find_gaps,
    s.ExtendPlan: planning_and_searching.extend_plan,
    s.MakeReport: report_assembly.make_report,
    s.Complete: report_assembly.complete,
    s.Fail: lambda step, _state: StepResult((e.ResearchFailed(cause=step.cause, reason=step.reason),)),
}

_ASKING: dict[type[s.Step], Asking] = {
    s.Survey: planning_and_searching.survey,
    s.Plan: planning_and_searching.make_plan,
    s.PlainPlan: planning_and_searching.make_plan,
    s.SearchFor: planning_and_searching.search_for,
    s.FetchPage: planning_and_searching.fetch_page,
    s.ChoosePassages: report_assembly.choose_passages,
    s.Compare: changes.compare,
}


@cache
def _of_a_model() -> tuple[dict[type[s.Step], Pure], dict[type[s.Step], Asking]]:
    """Return both tables for the steps that only a session with a model takes: no other waits until they are imported."""
    from pipeline.research import page_reading, writing

    return {s.StartSynthesis: writing.start_synthesis, s.MendReport: writing.mend_report}, {
        s.ReadPages: page_reading.read_pages,
        s.PlainReading: page_reading.read_plainly,
        s.WriteReport: writing.write_report,
        s.CheckReport: writing.check_report,
    }


def perform_pure(step: s.Step, state: SessionState) -> StepResult:
    """Perform a step that needs no outside answer."""
    work = _PURE.get(type(step)) or _of_a_model()[0][type(step)]
    return work(step, state)


async def perform(step: s.Step, state: SessionState, context: StepContext) -> StepResult:
    """Perform a step that needs an outside answer.

    Raises:
        StepError: the outside service failed, or its answer is unusable.
    """
    work = _ASKING.get(type(step)) or _of_a_model()[1][type(step)]
    return await work(step, state, context)
