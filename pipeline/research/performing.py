"""Which function does the work of which step of a session; a talk has steps of its own and loads none of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pipeline.domain import steps as s
from pipeline.domain.state import SessionState
from pipeline.research import gathering, planning, reading, reporting, since_last_report, writing
from pipeline.research.step_context import StepContext, StepResult


def _make_report(step: s.MakeReport, state: SessionState) -> StepResult:
    return StepResult((reporting.report_of_passages(state),)) if state.passages else reporting.make_report(step, state)


_PURE: dict[type[s.Step], Callable[[Any, SessionState], StepResult]] = {
    s.AskApproval: planning.ask_approval,
    s.StartWorker: gathering.start_worker,
    s.NextRound: gathering.next_round,
    s.FinishWorker: gathering.finish_worker,
    s.FailWorker: gathering.fail_worker,
    s.StartAnalysis: gathering.start_analysis,
    s.FindGaps: planning.find_gaps,
    s.ExtendPlan: planning.extend_plan,
    s.StartSynthesis: writing.start_synthesis,
    s.MendReport: writing.mend_report,
    s.MakeReport: _make_report,
    s.Complete: reporting.complete,
    s.Fail: reporting.fail,
}

_ASKING: dict[type[s.Step], Callable[[Any, SessionState, StepContext], Awaitable[StepResult]]] = {
    s.Survey: planning.survey,
    s.Plan: planning.make_plan,
    s.PlainPlan: planning.make_plain_plan,
    s.SearchFor: gathering.search_for,
    s.Read: gathering.read,
    s.ReadPages: reading.read_pages,
    s.PlainReading: reading.read_plainly,
    s.ChoosePassages: reporting.choose_passages,
    s.WriteReport: writing.write_report,
    s.CheckReport: writing.check_report,
    s.Compare: since_last_report.compare,
}


def perform_pure(step: s.Step, state: SessionState) -> StepResult:
    """Perform a step that needs no outside answer."""
    return _PURE[type(step)](step, state)


async def perform(step: s.Step, state: SessionState, context: StepContext) -> StepResult:
    """Perform a step that needs an outside answer.

    Raises:
        StepError: the outside service failed, or its answer is unusable.
    """
    return await _ASKING[type(step)](step, state, context)
