"""Rules for which event a session may record next: one guard per event class, which returns the objection or "". Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pipeline.domain import plan
from pipeline.domain.events import session_events as e
from pipeline.domain.state import SUMMARY, SessionState, Worker
from pipeline.domain.values import ReportSection

MAX_QUERY = 1_000


def refusal(state: SessionState, event: e.EventBase) -> str:
    """Return why ``event`` must not be recorded in this state, or "" if it may."""
    if isinstance(event, e.RunStarted):
        return ""
    if state.pruned:
        return "the session was pruned, and cannot go on"
    if not state.runs:
        return "no run has been started"
    if isinstance(event, e.ResearchStarted):
        return _research_started(state, event)
    if state.status == "pending":
        return "the research has not been started"
    if isinstance(event, e.ResearchReopened):
        return (
            "" if state.status in {"not-found", "failed", "cancelled"} else f"a session that is {state.status} cannot be reopened"
        )
    if isinstance(event, e.HandoffCompleted):
        return _handed_to(state, event.machine)
    if state.ended:
        return f"the session is {state.status}; it must be reopened first"
    if state.waiting and isinstance(event, _NEEDS_APPROVAL):
        return "the plan waits for approval"
    guard = _GUARDS.get(type(event))
    return guard(state, event) if guard else ""


def _research_started(state: SessionState, event: e.ResearchStarted) -> str:
    if state.status != "pending":
        return "the research has already been started"
    if not event.query.strip():
        return "the query is empty"
    return f"the query is longer than {MAX_QUERY} characters" if len(event.query) > MAX_QUERY else ""


def _earlier_recalled(state: SessionState, _event: e.EarlierRecalled) -> str:
    if state.earlier is not None:
        return "an earlier session is recalled already"
    return "the topic has already been surveyed" if state.survey else ""


def _memory_recalled(state: SessionState, _event: e.MemoryRecalled) -> str:
    if state.recalled is not None:
        return "memory is recalled already"
    return "the topic has already been surveyed" if state.survey else ""


def _topic_surveyed(state: SessionState, _event: e.TopicSurveyed) -> str:
    return "the topic has already been surveyed" if state.survey else ""


def _plan_created(state: SessionState, event: e.PlanCreated) -> str:
    if state.nodes:
        return "there is a plan already"
    return "; ".join(plan.problems(event.nodes, {}, {view.id: view for view in event.perspectives}))


def _approval_requested(state: SessionState, _event: e.ApprovalRequested) -> str:
    if not state.nodes or state.workers:
        return "approval can be requested only after the plan and before the first worker"
    return f"approval was already {state.approval}" if state.approval else ""


def _approval_given(state: SessionState, event: e.ApprovalGiven) -> str:
    if not state.waiting:
        return "no plan waits for approval"
    if not event.nodes and not event.perspectives:
        return ""
    return "; ".join(plan.problems(event.nodes, {}, {view.id: view for view in event.perspectives}))


def _plan_extended(state: SessionState, event: e.PlanExtended) -> str:
    if not state.nodes:
        return "there is no plan to extend"
    if event.round != state.gap_rounds + 1:
        return f"gap round {event.round} cannot follow round {state.gap_rounds}"
    known = state.perspectives | {view.id: view for view in event.perspectives}
    return "; ".join(plan.problems(event.nodes, state.nodes, known))


def _worker_started(state: SessionState, event: e.WorkerStarted) -> str:
    node = state.nodes.get(event.worker_id)
    if node is None or node.task != "search":
        return f"the plan has no search node {event.worker_id!r}"
    return f"worker {event.worker_id} has already been started" if event.worker_id in state.workers else ""


def _running_worker(state: SessionState, worker_id: str) -> tuple[Worker | None, str]:
    worker = state.workers.get(worker_id)
    if worker is None:
        return None, f"worker {worker_id!r} was not started"
    return worker, "" if worker.status == "running" else f"worker {worker_id} has already {worker.status}"


def _worker_thought(state: SessionState, event: e.WorkerThought) -> str:
    worker, why = _running_worker(state, event.worker_id)
    if worker is None or why:
        return why
    if event.iteration != len(worker.iterations) + 1:
        return f"worker {worker.id} is at iteration {len(worker.iterations)}, not before {event.iteration}"
    open_iteration = worker.iterations and not worker.iterations[-1].evaluated
    return f"worker {worker.id} has not evaluated its last iteration" if open_iteration else ""


def _search_completed(state: SessionState, event: e.SearchCompleted) -> str:
    return f"{event.query!r} has already been searched for" if event.query in state.searches else ""


def _page_read(state: SessionState, event: e.PageRead) -> str:
    return f"{event.url} has already been read" if event.url in state.pages else ""


def _facts_observed(state: SessionState, event: e.FactsObserved) -> str:
    worker, why = _running_worker(state, event.worker_id)
    if worker is None or why:
        return why
    if not 1 <= event.iteration <= len(worker.iterations):
        return f"worker {worker.id} has no iteration {event.iteration}"
    page = state.pages.get(event.url)
    if page is None or page.digest != event.digest:
        return f"{event.url} was not read as {event.digest[:12]}"
    seen = event.url in worker.iterations[event.iteration - 1].observed and event.part == 1
    return f"worker {worker.id} has already observed {event.url}" if seen else ""


def _worker_ends(state: SessionState, event: e.WorkerCompleted | e.WorkerFailed) -> str:
    return _running_worker(state, event.worker_id)[1]


def _analysis_started(state: SessionState, event: e.AnalysisStarted) -> str:
    if event.round != len(state.analyses):
        return f"analysis {event.round} cannot follow {len(state.analyses)} rounds"
    busy = sorted(worker.id for worker in state.workers.values() if worker.status == "running")
    return f"workers are still running: {', '.join(busy)}" if busy else ""


def _round_part(state: SessionState, event: Any, part: str) -> str:
    if not 0 <= event.round < len(state.analyses):
        return f"analysis {event.round} was not started"
    done = getattr(state.analyses[event.round], part) is not None
    return f"the {part} of analysis {event.round} are already recorded" if done else ""


def _contradictions_found(state: SessionState, event: e.ContradictionsFound) -> str:
    return "" if 0 <= event.round < len(state.analyses) else f"analysis {event.round} was not started"


def _synthesis_started(state: SessionState, _event: e.SynthesisStarted) -> str:
    if state.synthesis:
        return "the synthesis has already been started"
    return "" if state.facts else "there is no fact to write from"


def _passages_chosen(state: SessionState, event: e.PassagesChosen) -> str:
    if state.passages is not None:
        return "the passages are already chosen"
    read = {page.digest for page in state.pages.values()}
    unread = sorted({fact.url for fact in (*event.passages, *event.more) if fact.digest not in read})
    return f"passages were chosen of pages that were not read: {', '.join(unread)}" if unread else ""


def _outline_created(state: SessionState, event: e.OutlineCreated) -> str:
    if not state.synthesis:
        return "the synthesis has not been started"
    if state.parts and state.sections and event.sections == tuple(section.plan for section in state.sections.values()):
        return "there is an outline already"
    if why := _section_problems([section.id for section in event.sections]):
        return why
    unknown = sorted({fact for section in event.sections for fact in section.facts} - state.facts.keys())
    return f"the outline names unknown facts: {', '.join(unknown)}" if unknown else ""


def _section_problems(ids: list[str]) -> str:
    if not ids:
        return "the outline has no section"
    if SUMMARY in ids:
        return f"the section {SUMMARY} must not be in the outline"
    twice = sorted({name for name in ids if ids.count(name) > 1})
    return f"in the outline twice: {', '.join(twice)}" if twice else ""


def _report_written(state: SessionState, event: e.ReportWritten) -> str:
    if not state.synthesis:
        return "the synthesis has not been started"
    if event.part in state.parts:
        return f"part {event.part} of the report is already written"
    return _unknown_facts(state, event.sections)


def _unknown_facts(state: SessionState, sections: Iterable[ReportSection]) -> str:
    cited = {fact for s in sections for p in s.paragraphs for sentence in p.sentences for fact in sentence.facts}
    unknown = sorted(cited - state.facts.keys())
    return f"the report cites unknown facts: {', '.join(unknown)}" if unknown else ""


def _claims_checked(state: SessionState, event: e.ClaimsChecked) -> str:
    if event.section_id:  # of an earlier version
        return ""
    part = state.parts.get(event.part)
    if part is None or part.revision != event.revision:
        return f"part {event.part} of the report has no text of revision {event.revision}"
    return f"part {event.part} of the report is already checked" if part.checked else ""


def _report_revised(state: SessionState, event: e.ReportRevised) -> str:
    if event.section_id:  # of an earlier version
        return ""
    part = state.parts.get(event.part)
    if part is None or not part.checked or event.revision != part.revision + 1:
        return f"part {event.part} of the report cannot be revised to revision {event.revision}"
    return _unknown_facts(state, event.sections)


def _changes_found(state: SessionState, event: e.ChangesFound) -> str:
    if state.earlier is None or event.changes.session != state.earlier.session:
        return "no such earlier session was recalled"
    if state.changes is not None:
        return "the changes are already recorded"
    found = {*event.changes.added, *event.changes.noticed, *(change.after for change in event.changes.changed)}
    unknown = sorted(found - state.facts.keys())
    return f"the changes name unknown facts: {', '.join(unknown)}" if unknown else ""


def _report_generated(state: SessionState, event: e.ReportGenerated) -> str:
    if state.report is not None:
        return "there is a report already"
    cited = {fact for sentence in event.summary for fact in sentence.facts}
    cited |= {f for s in event.sections for p in s.paragraphs for sentence in p.sentences for f in sentence.facts}
    if not cited and event.outcome != "not-found":
        return "the report cites no fact"
    unknown = sorted(cited - state.facts.keys())
    return f"the report cites unknown facts: {', '.join(unknown)}" if unknown else ""


def _research_completed(state: SessionState, _event: e.ResearchCompleted) -> str:
    return "" if state.report is not None else "there is no report"


def _handed_to(state: SessionState, machine: str) -> str:
    return "" if state.handoff and state.handoff.to == machine else f"the session was not handed over to {machine}"


_NEEDS_APPROVAL = (e.PlanExtended, e.WorkerStarted, e.AnalysisStarted, e.SynthesisStarted)
_GUARDS: dict[type[e.EventBase], Callable[[SessionState, Any], str]] = {
    e.EarlierRecalled: _earlier_recalled,
    e.MemoryRecalled: _memory_recalled,
    e.TopicSurveyed: _topic_surveyed,
    e.PlanCreated: _plan_created,
    e.ApprovalRequested: _approval_requested,
    e.ApprovalGiven: _approval_given,
    e.PlanExtended: _plan_extended,
    e.WorkerStarted: _worker_started,
    e.WorkerThought: _worker_thought,
    e.SearchCompleted: _search_completed,
    e.PageRead: _page_read,
    e.FactsObserved: _facts_observed,
    e.WorkerCompleted: _worker_ends,
    e.WorkerFailed: _worker_ends,
    e.AnalysisStarted: _analysis_started,
    e.ContradictionsFound: _contradictions_found,
    e.GapsFound: lambda state, event: _round_part(state, event, "gaps"),
    e.SynthesisStarted: _synthesis_started,
    e.PassagesChosen: _passages_chosen,
    e.OutlineCreated: _outline_created,
    e.ReportWritten: _report_written,
    e.ClaimsChecked: _claims_checked,
    e.ReportRevised: _report_revised,
    e.ChangesFound: _changes_found,
    e.ReportGenerated: _report_generated,
    e.ResearchCompleted: _research_completed,
    e.HandoffInitiated: lambda _state, event: "" if event.to.strip() else "no machine is named",
    e.HandoffAccepted: lambda state, event: _handed_to(state, event.machine),
}
