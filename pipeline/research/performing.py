"""Which function does the work of which step of a session; a talk has steps of its own and loads none of these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pipeline.domain import steps as s
from pipeline.domain.state import SessionState
from pipeline.research import choosing, compare_with_earlier, cross_checking, planning, reporting, writing
from pipeline.research.claims.checking import check_changes, check_section
from pipeline.research.claims.editing import edit_report
from pipeline.research.gathering import context_compression, gap_look_up, page_observation, worker_steps
from pipeline.research.step_context import Outcome, StepContext


def _make_report(step: s.MakeReport, state: SessionState) -> Outcome:
    return Outcome((choosing.report_of_passages(state),)) if state.passages else reporting.make_report(step, state)


_PURE: dict[type[s.Step], Callable[[Any, SessionState], Outcome]] = {
    s.AskApproval: planning.ask_approval,
    s.StartWorker: worker_steps.start_worker,
    s.FinishWorker: worker_steps.finish_worker,
    s.FailWorker: worker_steps.fail_worker,
    s.StartAnalysis: cross_checking.start_analysis,
    s.ExtendPlan: planning.extend_plan,
    s.StartSynthesis: writing.start_synthesis,
    s.MakeReport: _make_report,
    s.Complete: reporting.complete,
    s.Fail: reporting.fail,
}

_ASKING: dict[type[s.Step], Callable[[Any, SessionState, StepContext], Awaitable[Outcome]]] = {
    s.Survey: planning.survey,
    s.Plan: planning.make_plan,
    s.PlainPlan: planning.make_plain_plan,
    s.Think: worker_steps.think,
    s.SearchFor: worker_steps.search_for,
    s.Read: worker_steps.read,
    s.Observe: page_observation.observe,
    s.ObservePage: page_observation.observe_page,
    s.Evaluate: worker_steps.evaluate,
    s.Fold: context_compression.fold_context,
    s.Validate: cross_checking.validate,
    s.Contrast: cross_checking.contrast,
    s.FindGaps: cross_checking.find_gaps,
    s.LookUp: gap_look_up.look_up,
    s.ChoosePassages: choosing.choose_passages,
    s.MakeOutline: writing.make_outline,
    s.PlainOutline: writing.make_plain_outline,
    s.WriteSection: writing.write_section,
    s.CheckSection: check_section,
    s.CheckChanges: check_changes,
    s.ReviseSection: writing.revise_section,
    s.EditReport: edit_report,
    s.Compare: compare_with_earlier.compare,
}


def perform_pure(step: s.Step, state: SessionState) -> Outcome:
    """Perform a step that needs no outside answer."""
    return _PURE[type(step)](step, state)


async def perform(step: s.Step, state: SessionState, context: StepContext) -> Outcome:
    """Perform a step that needs an outside answer.

    Raises:
        StepError: the outside service failed, or its answer is unusable.
    """
    return await _ASKING[type(step)](step, state, context)
