"""The fold: applies one event after another to a ``SessionState``, by a table from event class to function. Pure, no I/O."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.events.records import MERGE
from pipeline.domain.events.stream_events import ResearchPruned
from pipeline.domain.state import (
    ANY_STEP,
    STOPPED,
    SUMMARY,
    Analysis,
    Failure,
    GapSearch,
    Handoff,
    Iteration,
    PageObserved,
    Report,
    ReportPart,
    RunSpan,
    SearchDone,
    Section,
    SessionState,
    Worker,
    expected_usd,
)
from pipeline.domain.steps import PlainPlan, PlainReading, Plan, ReadPages, Step
from pipeline.domain.values import Cost, PageDone, SectionPlan
from pipeline.text.page_format import what_is_missing

_log = logging.getLogger("pipeline.domain.fold")


def apply(state: SessionState, event: e.EventBase) -> None:
    """Apply one stamped event to ``state``. An unknown type changes only the version and logs a warning."""
    change = _CHANGES.get(type(event))
    if change is not None:
        change(state, event)
    elif isinstance(event, e.UnknownEvent):
        _log.warning("skipped an event of the unknown type %r (a newer version wrote it)", event.type)
    if isinstance(event, e.Answered):
        settle(state, event)
        _note_met(state, event)
    state.version = event.version
    if state.runs and not event.run_id.startswith(MERGE):
        state.runs[-1].last_at = event.at


def _note_met(state: SessionState, event: e.Answered) -> None:
    """Note that a step succeeded that had failed before."""
    if event.step and not isinstance(event, e.StepFailed):
        for failure in (state.failures.get(event.step), *state.past_failures):
            if failure is not None and failure.step == event.step:
                failure.met = True


def _run_started(state: SessionState, event: e.RunStarted) -> None:
    state.id = event.session_id
    count_lost_calls(state)
    state.runs.append(RunSpan(event.run_id, event.host, event.process, event.program, event.at, event.at))


def _handoff_initiated(state: SessionState, event: e.HandoffInitiated) -> None:
    state.handoff = Handoff(event.to, event.until)


def _handoff_accepted(state: SessionState, _event: e.HandoffAccepted) -> None:
    if state.handoff:
        state.handoff.accepted = True


def _handoff_completed(state: SessionState, _event: e.HandoffCompleted) -> None:
    state.handoff = None


def _research_started(state: SessionState, event: e.ResearchStarted) -> None:
    state.query, state.query_id, state.tags = event.query, event.query_id, event.tags
    state.config, state.previous_session, state.names = event.config, event.previous_session, event.names
    state.started_at, state.status = event.at, "planning"


def _earlier_recalled(state: SessionState, event: e.EarlierRecalled) -> None:
    state.earlier = event.earlier


def _memory_recalled(state: SessionState, event: e.MemoryRecalled) -> None:
    state.recalled = event.recalled


def _topic_surveyed(state: SessionState, event: e.TopicSurveyed) -> None:
    seconds = event.seconds or 0.0
    said = (event.provider, event.hits, event.failed, event.statistics, event.languages, event.absent)
    state.survey = SearchDone(*said, seconds)


def _plan_created(state: SessionState, event: e.PlanCreated) -> None:
    state.perspectives = {view.id: view for view in event.perspectives}
    state.nodes = {node.id: node for node in event.nodes}
    state.kind, state.recent, state.window, state.status = event.kind, event.recent, event.window, "searching"
    _note_substitute(state, event, PlainPlan(), Plan())


def _note_substitute(state: SessionState, event: e.Answered, plain: Step, step: Step) -> None:
    """Note why a step was done without the model; reopening the session forgets the failure itself."""
    if event.step == plain.key:
        state.without_model[step.key] = state.failures[step.key].message if step.key in state.failures else ""


def _plan_extended(state: SessionState, event: e.PlanExtended) -> None:
    state.perspectives |= {view.id: view for view in event.perspectives}
    state.nodes |= {node.id: node for node in event.nodes}
    state.gap_rounds, state.status = event.round, "searching"


def _approval_requested(state: SessionState, _event: e.ApprovalRequested) -> None:
    state.approval, state.status = "requested", "planning"


def _approval_given(state: SessionState, event: e.ApprovalGiven) -> None:
    state.approval, state.status = "given", "searching"
    if event.nodes:
        state.perspectives = {view.id: view for view in event.perspectives}
        state.nodes = {node.id: node for node in event.nodes}


def _worker_started(state: SessionState, event: e.WorkerStarted) -> None:
    state.workers[event.worker_id] = Worker(event.worker_id, event.perspective_id, event.round, event.at)


def _worker_thought(state: SessionState, event: e.WorkerThought) -> None:
    state.workers[event.worker_id].iterations.append(Iteration(event.reasoning, event.queries, pages=event.pages))


def _search_completed(state: SessionState, event: e.SearchCompleted) -> None:
    state.searches[event.query] = SearchDone(event.provider, event.hits, event.failed, seconds=event.seconds or 0.0)


def _page_read(state: SessionState, event: e.PageRead) -> None:
    state.pages[event.url] = PageDone(
        event.url,
        event.title,
        event.digest,
        event.characters,
        event.at,
        event.final_url,
        event.media_type,
        event.author,
        event.published,
        event.notices,
        event.seconds or 0.0,
        event.sheets,
        what_is_missing(event.visible, event.stored, event.empty_pages),
    )


def _facts_observed(state: SessionState, event: e.FactsObserved) -> None:
    found = PageObserved(event.facts, event.rejected, event.whole, event.shown)
    of_worker = state.workers[event.worker_id].iterations[event.iteration - 1].observed
    for observed in (state.observed, of_worker):
        before = observed.get(event.url)
        observed[event.url] = _both_readings(before, found) if before else found
    for fact in event.facts:
        state.facts.setdefault(fact.id, fact)
    if event.last:
        iteration = state.workers[event.worker_id].iterations[event.iteration - 1]
        iteration.evaluated, iteration.sufficient = True, not (event.gaps and event.queries)
        iteration.gaps, iteration.next_queries = event.gaps, event.queries
    step = ReadPages(event.worker_id, event.iteration)
    _note_substitute(state, event, PlainReading(event.worker_id, event.iteration), step)


def _both_readings(first: PageObserved, second: PageObserved) -> PageObserved:
    """Return what two readings of a page found together; a fact takes the place of a rejected one with the same claim."""
    corrected = {fact.claim for fact in second.facts} | {entry.claim for entry in second.rejected}
    rejected = (*(entry for entry in first.rejected if entry.claim not in corrected), *second.rejected)
    known = {fact.id for fact in first.facts}
    facts = (*first.facts, *(fact for fact in second.facts if fact.id not in known))
    return PageObserved(facts, rejected, first.whole or second.whole, (*first.shown, *second.shown))


def _gap_looked_up(state: SessionState, event: e.GapLookedUp) -> None:
    state.analyses[event.round].looked_up.append(GapSearch(event.gap, event.url, event.facts))
    for fact in event.facts:
        state.facts.setdefault(fact.id, fact)


def _worker_evaluated(state: SessionState, event: e.WorkerEvaluated) -> None:
    iteration = state.workers[event.worker_id].iterations[event.iteration - 1]
    iteration.evaluated, iteration.sufficient, iteration.gaps = True, event.sufficient, event.gaps
    iteration.reason, iteration.next_queries = event.reason, event.queries


def _worker_completed(state: SessionState, event: e.WorkerCompleted) -> None:
    worker = state.workers[event.worker_id]
    worker.status, worker.reason = "completed", event.reason


def _worker_failed(state: SessionState, event: e.WorkerFailed) -> None:
    worker = state.workers[event.worker_id]
    worker.status, worker.reason = "failed", event.reason


def _analysis_started(state: SessionState, event: e.AnalysisStarted) -> None:
    state.analyses.append(Analysis(event.round))
    state.status = "analyzing"


def _facts_validated(state: SessionState, event: e.FactsValidated) -> None:
    state.analyses[event.round].validated = event.facts


def _contradictions_found(state: SessionState, event: e.ContradictionsFound) -> None:
    """Add what a check found: each part of a report has its own."""
    known = {pair.id: pair for pair in (*(state.analyses[event.round].contradictions or ()), *event.contradictions)}
    state.analyses[event.round].contradictions = tuple(known.values())


def _gaps_found(state: SessionState, event: e.AnalysisCompleted | e.GapsFound) -> None:
    state.analyses[event.round].gaps = event.gaps


def _synthesis_started(state: SessionState, _event: e.SynthesisStarted) -> None:
    state.synthesis, state.status = True, "synthesizing"


def _passages_chosen(state: SessionState, event: e.PassagesChosen) -> None:
    state.passages, state.more_places = tuple(fact.id for fact in event.passages), event.more
    state.facts |= {fact.id: fact for fact in event.passages if fact.id not in state.facts}
    state.status = "synthesizing"


def _outline_created(state: SessionState, event: e.OutlineCreated) -> None:
    state.title = event.title
    state.sections = {plan.id: Section(plan) for plan in event.sections}


def _report_written(state: SessionState, event: e.ReportWritten) -> None:
    state.parts[event.part] = ReportPart(event.sections, event.outcome, event.lacks)
    state.title = next((section.title for section in event.sections if section.id == SUMMARY), state.title)


def _section_written(state: SessionState, event: e.SectionWritten) -> None:
    section = state.sections.setdefault(
        event.section_id, Section(SectionPlan(id=event.section_id, title=event.section_id.capitalize(), facts=()))
    )
    section.paragraphs = event.paragraphs


def _claims_checked(state: SessionState, event: e.ClaimsChecked) -> None:
    for name in event.claims:
        state.claims[name] = state.claims.get(name, True) and name not in event.overstated
    if event.section_id:
        _section_checked(state, event)
        return
    part = state.parts[event.part]
    part.checked, part.faults = True, {verdict.sentence: verdict.reason for verdict in event.verdicts}
    if event.revision == 0:
        part.missing, part.outcome, part.answered = event.missing, event.outcome or part.outcome, event.answered


def _section_checked(state: SessionState, event: e.ClaimsChecked) -> None:
    section = state.sections[event.section_id]
    verdicts = {verdict.sentence: verdict for verdict in (*section.carried, *event.verdicts)}
    section.verdicts = tuple(verdicts[place] for place in sorted(verdicts))
    section.heading = event.heading or section.heading


def _report_revised(state: SessionState, event: e.ReportRevised) -> None:
    if event.section_id:
        _section_revised(state, event)
        return
    part = state.parts[event.part]
    part.sections, part.revision, part.checked, part.faults = event.sections, event.revision, False, {}
    part.new, part.lost = event.new, event.lost


def _section_revised(state: SessionState, event: e.ReportRevised) -> None:
    section = state.sections[event.section_id]
    section.paragraphs, section.revision, section.verdicts = event.paragraphs, event.revision, None
    section.carried = event.carried
    if event.title:
        section.heading = None
        if event.section_id == SUMMARY:
            state.title = event.title
        else:
            section.plan = section.plan.model_copy(update={"title": event.title})


def _report_edited(state: SessionState, event: e.ReportEdited) -> None:
    state.edited = True
    for edited in event.sections:
        section = state.sections.setdefault(edited.plan.id, Section(edited.plan))
        section.unasked += 1 if section.paragraphs is not None else 3
        section.plan, section.paragraphs, section.verdicts = edited.plan, edited.paragraphs, None
        section.carried, section.replaced = edited.carried, edited.replaced
        section.revision += 1
    places = {name: place for place, name in enumerate(event.order)}
    state.sections = dict(sorted(state.sections.items(), key=lambda entry: places.get(entry[0], len(places))))


def _changes_found(state: SessionState, event: e.ChangesFound) -> None:
    state.changes = event.changes


def _report_generated(state: SessionState, event: e.ReportGenerated) -> None:
    state.report = Report(
        event.title,
        event.summary,
        event.sections,
        event.references,
        event.contradictions,
        event.unknowns,
        event.limits,
        event.words,
        event.cut,
        event.outcome,
        event.cut_sentences,
    )


def _research_completed(state: SessionState, event: e.ResearchCompleted) -> None:
    state.status, state.ended_at = "complete", event.at


def _research_failed(state: SessionState, event: e.ResearchFailed) -> None:
    state.resume_status = state.status
    state.status = "not-found" if event.cause == e.NO_EVIDENCE else "failed"
    state.ended_at, state.end_reason = event.at, event.reason
    state.missing, state.nearest = event.missing, event.nearest


def _research_cancelled(state: SessionState, event: e.ResearchCancelled) -> None:
    state.resume_status = state.status
    state.status, state.ended_at, state.end_reason = "cancelled", event.at, event.reason


def _research_reopened(state: SessionState, _event: e.ResearchReopened) -> None:
    """Allow failed steps again, and workers that failed or were stopped by a cap, if the analysis has not begun without them."""
    state.status, state.ended_at, state.end_reason = state.resume_status, "", ""
    state.missing, state.nearest = (), ()
    state.past_failures += state.failures.values()
    state.failures, state.exhausted = {}, ""
    for worker in state.workers.values():
        cut_short = worker.status == "failed" or worker.reason.startswith(STOPPED)
        if cut_short and worker.round >= len(state.analyses) and not state.synthesis:
            worker.status, worker.reason = "running", ""


def _step_failed(state: SessionState, event: e.StepFailed) -> None:
    attempts = event.attempt - 1 if event.outage else event.attempt
    state.failures[event.step] = Failure(event.step, attempts, not event.recoverable, event.error, event.message, event.at)


def _settings_changed(state: SessionState, event: e.SettingsChanged) -> None:
    state.config = state.config.model_copy(update={"reasoner": event.reasoner, "search": event.search})


def _budget_exhausted(state: SessionState, event: e.BudgetExhausted) -> None:
    state.exhausted = event.cap


def _research_pruned(state: SessionState, event: ResearchPruned) -> None:
    """Take over what is kept of the events in whose place this one is; those that followed are folded after it."""
    state.pruned, state.pruned_models = dict(event.counts), event.models
    state.facts = {fact.id: fact for fact in event.facts}
    state.pages = {page.url: page for page in event.pages}
    state.analyses = [Analysis(0, event.validated, event.contradictions, event.gaps)]
    state.claims, state.spent, state.title = dict(event.claims), replace(event.spent), event.title
    for run in state.runs:
        run.last_at = event.run_ends.get(run.run_id, run.last_at)


def settle(state: SessionState, event: e.Answered) -> None:
    """Charge an answer. The calls announced for its step end with it, and show what such calls cost."""
    sent, cost = state.open_calls.pop(event.step, []), event.cost
    _charge(state, cost)
    if sent and cost.calls and not cost.assumed_usd:
        for kind in (event.step.partition(":")[0], ANY_STEP):
            state.call_histories.setdefault(kind, CallHistory()).add(sent[-1], cost)
    if cost.assumed_usd:
        worst = sent[-1] if sent else Cost(usd=cost.assumed_usd)
        share = cost.assumed_usd / worst.usd if worst.usd else 0.0
        _assume(state, cost.assumed_usd, share * expected_usd(state, event.step, worst))


def _assume(state: SessionState, usd: float, expected: float) -> None:
    state.spent.assumed_usd = round(state.spent.assumed_usd + usd, 9)
    state.spent.expected_usd = round(state.spent.expected_usd + expected, 9)


def _charge(state: SessionState, cost: Cost, times: Literal[1, -1] = 1) -> None:
    spent = state.spent
    spent.calls += times * cost.calls
    spent.input_tokens += times * cost.input_tokens
    spent.output_tokens += times * cost.output_tokens
    spent.total_tokens += times * cost.total_tokens
    spent.usd = round(spent.usd + times * cost.usd, 9)


def add_call(state: SessionState, event: e.CallSent) -> None:
    """Note a call that was sent, with the most that it may cost, until an answer to its step is recorded."""
    state.open_calls.setdefault(event.step, []).append(event.worst)


def count_lost_calls(state: SessionState) -> None:
    """Charge the calls of a process that died before it recorded their answers: each may have been billed in full."""
    for step, worst in ((step, cost) for step, costs in state.open_calls.items() for cost in costs):
        _charge(state, worst)
        _assume(state, worst.usd, expected_usd(state, step, worst))
        state.spent.lost += 1
        state.spent.lost_usd = round(state.spent.lost_usd + worst.usd, 9)
    state.open_calls = {}


def add_branch(state: SessionState, event: e.BranchMerged) -> None:
    """Count the lost calls of both branches: no run will record their answers in this one. What else it cost is settled later."""
    count_lost_calls(state)
    spent = state.spent
    spent.lost += event.lost - len(event.answered)
    spent.lost_usd = round(spent.lost_usd + event.lost_usd - sum(worst.usd for worst in event.answered), 9)
    for worst in event.answered:
        _charge(state, worst, -1)
        _assume(state, -worst.usd, -min(spent.expected_usd, expected_usd(state, ANY_STEP, worst)))


_CHANGES: dict[type[e.EventBase], Callable[[SessionState, Any], None]] = {
    e.RunStarted: _run_started,
    e.ResearchStarted: _research_started,
    e.EarlierRecalled: _earlier_recalled,
    e.MemoryRecalled: _memory_recalled,
    e.TopicSurveyed: _topic_surveyed,
    e.PlanCreated: _plan_created,
    e.PlanExtended: _plan_extended,
    e.ApprovalRequested: _approval_requested,
    e.ApprovalGiven: _approval_given,
    e.WorkerStarted: _worker_started,
    e.WorkerThought: _worker_thought,
    e.SearchCompleted: _search_completed,
    e.PageRead: _page_read,
    e.FactsObserved: _facts_observed,
    e.WorkerEvaluated: _worker_evaluated,
    e.WorkerCompleted: _worker_completed,
    e.WorkerFailed: _worker_failed,
    e.AnalysisStarted: _analysis_started,
    e.FactsValidated: _facts_validated,
    e.ContradictionsFound: _contradictions_found,
    e.AnalysisCompleted: _gaps_found,
    e.GapsFound: _gaps_found,
    e.GapLookedUp: _gap_looked_up,
    e.SynthesisStarted: _synthesis_started,
    e.PassagesChosen: _passages_chosen,
    e.OutlineCreated: _outline_created,
    e.ReportWritten: _report_written,
    e.SectionWritten: _section_written,
    e.ClaimsChecked: _claims_checked,
    e.ReportRevised: _report_revised,
    e.ReportEdited: _report_edited,
    e.ChangesFound: _changes_found,
    e.ReportGenerated: _report_generated,
    e.ResearchCompleted: _research_completed,
    e.ResearchFailed: _research_failed,
    e.ResearchCancelled: _research_cancelled,
    e.ResearchReopened: _research_reopened,
    e.StepFailed: _step_failed,
    e.BudgetExhausted: _budget_exhausted,
    e.SettingsChanged: _settings_changed,
    e.CallSent: add_call,
    ResearchPruned: _research_pruned,
    e.BranchMerged: add_branch,
    e.HandoffInitiated: _handoff_initiated,
    e.HandoffAccepted: _handoff_accepted,
    e.HandoffCompleted: _handoff_completed,
}
