"""The fold: applies one event after another to a ``SessionState``, and keeps the session's bill. Pure, no I/O."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from pipeline.domain import session_state as s
from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.events.stream_records import MERGE
from pipeline.domain.events.upkeep_events import ResearchPruned
from pipeline.domain.research_values import Cost
from pipeline.domain.steps import CheckReport, PlainPlan, PlainReading, Plan, ReadPages, Step, WriteReport, parts_of

_log = logging.getLogger("pipeline.domain.fold")
_OF_THE_MODEL = (Plan, ReadPages, WriteReport, CheckReport)  # without one of them, a report may show passages


def apply(state: s.SessionState, event: e.EventBase) -> None:
    """Apply one stamped event to ``state``. An unknown type changes only the version and logs a warning."""
    _change(state, event)
    if isinstance(event, e.Answered):
        _settle(state, event)
    state.version = event.version
    if state.runs and not event.run_id.startswith(MERGE):
        state.runs[-1].last_at = event.at


def _change(state: s.SessionState, event: e.EventBase) -> None:
    """Change the state by an event of a known type."""
    match event:  # what comes most often is asked for first
        case e.CallSent():
            state.open_calls.setdefault(event.step, []).append(event.worst)
        case e.PageRead():
            state.pages[event.url] = event
        case e.FactsObserved():
            _facts_observed(state, event)
        case e.SearchCompleted():
            state.searches[event.query] = event
        case e.WorkerThought():
            state.workers[event.worker_id].iterations.append(s.Iteration(event.reasoning, event.queries, pages=event.pages))
        case e.RunStarted():
            state.id = event.session_id
            _count_lost_calls(state)
            state.runs.append(s.RunSpan(event.run_id, event.host, event.at, event.at))
        case e.ResearchStarted():
            state.query, state.query_id, state.tags = event.query, event.query_id, event.tags
            state.config, state.previous_session, state.names = event.config, event.previous_session, event.names
            state.started_at, state.status = event.at, "planning"
        case e.EarlierRecalled():
            state.earlier = event.earlier
        case e.MemoryRecalled():
            state.recalled = event.recalled
        case e.TopicSurveyed():
            state.survey = event
        case e.PlanCreated():
            state.perspectives = {view.id: view for view in event.perspectives}
            state.nodes = {node.id: node for node in event.nodes}
            state.kind, state.recent, state.window, state.status = event.kind, event.recent, event.window, "searching"
            _note_substitute(state, event, PlainPlan(), Plan())
        case e.PlanExtended():
            state.perspectives |= {view.id: view for view in event.perspectives}
            state.nodes |= {node.id: node for node in event.nodes}
            state.gap_rounds, state.status = event.round, "searching"
        case e.ApprovalRequested():
            state.approval, state.status = "requested", "planning"
        case e.ApprovalGiven():
            state.approval, state.status = "given", "searching"
            if event.nodes:
                state.perspectives = {view.id: view for view in event.perspectives}
                state.nodes = {node.id: node for node in event.nodes}
        case e.WorkerStarted():
            state.workers[event.worker_id] = s.Worker(event.worker_id, event.perspective_id, event.round, event.at)
        case e.WorkerEvaluated():
            iteration = state.workers[event.worker_id].iterations[event.iteration - 1]
            iteration.evaluated, iteration.sufficient, iteration.gaps = True, event.sufficient, event.gaps
            iteration.reason, iteration.next_queries = event.reason, event.queries
        case e.WorkerCompleted() | e.WorkerFailed():
            worker = state.workers[event.worker_id]
            worker.status = "completed" if isinstance(event, e.WorkerCompleted) else "failed"
            worker.reason = event.reason
        case e.AnalysisStarted():
            state.analyses.append(s.Analysis(event.round))
            state.status = "analyzing"
        case e.ContradictionsFound():
            known = (*(state.analyses[event.round].contradictions or ()), *event.contradictions)  # each part has its own
            state.analyses[event.round].contradictions = tuple({pair.id: pair for pair in known}.values())
        case e.AnalysisCompleted() | e.GapsFound():
            state.analyses[event.round].gaps = event.gaps
        case e.GapLookedUp():
            for fact in event.facts:
                state.facts.setdefault(fact.id, fact)
        case e.SynthesisStarted():
            state.synthesis, state.status = True, "synthesizing"
        case e.PassagesChosen():
            state.passages, state.more_places = tuple(fact.id for fact in event.passages), event.more
            state.nearest_sentence = event.said
            state.facts |= {fact.id: fact for fact in event.passages if fact.id not in state.facts}
            state.status = "synthesizing"
        case e.ReportWritten():
            state.parts[event.part] = s.ReportPart(event.sections, event.outcome, event.lacks)
        case e.ClaimsChecked():
            for name in event.claims:
                state.claims[name] = state.claims.get(name, True) and name not in event.overstated
            if not event.section_id:  # else of a log of an earlier version
                part = state.parts[event.part]
                part.checked, part.verdicts = True, {verdict.sentence: verdict for verdict in event.verdicts}
                if event.revision == 0:
                    part.additions, part.outcome = event.additions, event.outcome or part.outcome
                    part.answered, part.unfound = event.answered, event.unfound
        case e.ReportRevised() if not event.section_id:  # else of a log of an earlier version
            part = state.parts[event.part]
            part.sections, part.revision, part.checked, part.verdicts = event.sections, event.revision, False, {}
            part.new, part.lost = event.new, event.lost
        case e.ChangesFound():
            state.changes = event.changes
        case e.ReportGenerated():
            state.report = event
        case e.ResearchCompleted():
            state.status, state.ended_at = "complete", event.at
            asked = [failure for step, failure in state.failures.items() if any(kind.is_of(step) for kind in _OF_THE_MODEL)]
            if state.passages and state.config.has_model and asked:
                state.end_reason = f"the model failed: {asked[0].message}"
            if state.report and state.report.outcome == "not-found":
                state.end_reason = "the language model says that what it found does not answer the question"
        case e.ResearchFailed():
            state.resume_status = state.status
            state.status = "not-found" if event.cause == e.NO_EVIDENCE else "failed"
            state.ended_at, state.end_reason = event.at, event.reason
        case e.ResearchCancelled():
            state.resume_status = state.status
            state.status, state.ended_at, state.end_reason = "cancelled", event.at, event.reason
        case e.ResearchReopened():
            state.status, state.ended_at, state.end_reason = state.resume_status, "", ""
            state.failures, state.exhausted = {}, ""
            for worker in state.workers.values():  # those that failed or that a cap stopped, if no analysis began without them
                cut_short = worker.status == "failed" or worker.reason.startswith(s.STOPPED)
                if cut_short and worker.round >= len(state.analyses) and not state.synthesis:
                    worker.status, worker.reason = "running", ""
        case e.StepFailed():
            attempts, is_final = event.attempt - 1 if event.outage else event.attempt, not event.recoverable
            state.failures[event.step] = s.Failure(event.step, attempts, is_final, event.error, event.message, event.at)
        case e.BudgetExhausted():
            state.exhausted = event.cap
        case e.SettingsChanged():
            changed = event.model_dump(include={"reasoner", "search", "budget_usd"}, exclude_unset=True)
            state.config = state.config.model_copy(update=changed)
        case ResearchPruned():  # what is kept of the events in whose place it is; those that followed are folded after it
            state.pruned = dict(event.counts)
            state.facts = {fact.id: fact for fact in event.facts}
            state.pages = {page.url: page for page in event.pages}
            state.analyses = [s.Analysis(0, event.contradictions, event.gaps)]
            state.claims, state.spent = dict(event.claims), replace(event.spent)
            for run in state.runs:
                run.last_at = event.run_ends.get(run.run_id, run.last_at)
        case e.BranchMerged():
            _add_branch(state, event)
        case e.HandoffInitiated():
            state.handed_to, state.handoff_accepted = event.to, False
        case e.HandoffAccepted():
            state.handoff_accepted = True
        case e.HandoffCompleted():
            state.handed_to, state.handoff_accepted = "", False
        case e.UnknownEvent():
            _log.warning("skipped an event of the unknown type %r (a newer version wrote it)", event.type)


def _facts_observed(state: s.SessionState, event: e.FactsObserved) -> None:
    found = s.PageObserved(event.facts, event.rejected, event.whole, event.shown)
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
    _note_substitute(state, event, PlainReading(event.worker_id, event.iteration), ReadPages(event.worker_id, event.iteration))


def _note_substitute(state: s.SessionState, event: e.Answered, plain: Step, step: Step) -> None:
    """Note why a step was done without the model; reopening the session forgets the failure itself."""
    if event.step == plain.key:
        state.without_model[step.key] = state.failures[step.key].message if step.key in state.failures else ""


def _both_readings(first: s.PageObserved, second: s.PageObserved) -> s.PageObserved:
    """Return what two readings of a page found together; a fact takes the place of a rejected one with the same claim."""
    corrected = {fact.claim for fact in second.facts} | {entry.claim for entry in second.rejected}
    rejected = (*(entry for entry in first.rejected if entry.claim not in corrected), *second.rejected)
    known = {fact.id for fact in first.facts}
    facts = (*first.facts, *(fact for fact in second.facts if fact.id not in known))
    return s.PageObserved(facts, rejected, first.whole or second.whole, (*first.shown, *second.shown))


def _settle(state: s.SessionState, event: e.Answered) -> None:
    """Charge an answer. The calls announced for its step end with it, and show what such calls cost."""
    sent, cost = state.open_calls.pop(event.step, []), event.cost
    _charge(state, cost)
    if sent and cost.calls and not cost.assumed_usd:
        for kind in (parts_of(event.step)[0], s.ANY_STEP):
            state.call_histories.setdefault(kind, CallHistory()).add(sent[-1], cost)
    if cost.assumed_usd:
        worst = sent[-1] if sent else Cost(usd=cost.assumed_usd)
        share = cost.assumed_usd / worst.usd if worst.usd else 0.0
        _assume(state, cost.assumed_usd, share * s.expected_usd(state, event.step, worst))


def _assume(state: s.SessionState, usd: float, expected: float) -> None:
    state.spent.assumed_usd = round(state.spent.assumed_usd + usd, 9)
    state.spent.expected_usd = round(state.spent.expected_usd + expected, 9)


def _charge(state: s.SessionState, cost: Cost, times: Literal[1, -1] = 1) -> None:
    spent = state.spent
    spent.calls += times * cost.calls
    spent.input_tokens += times * cost.input_tokens
    spent.output_tokens += times * cost.output_tokens
    spent.total_tokens += times * cost.total_tokens
    spent.usd = round(spent.usd + times * cost.usd, 9)


def _count_lost_calls(state: s.SessionState) -> None:
    """Charge the calls of a process that died before it recorded their answers: each may have been billed in full."""
    for step, worst in ((step, cost) for step, costs in state.open_calls.items() for cost in costs):
        _charge(state, worst)
        _assume(state, worst.usd, s.expected_usd(state, step, worst))
        state.spent.lost += 1
        state.spent.lost_usd = round(state.spent.lost_usd + worst.usd, 9)
    state.open_calls = {}


def lost_calls(events: Iterable[e.EventBase]) -> list[e.CallSent]:
    """Return the calls of any streams that their own runs announced and never settled: only they could."""
    sent: dict[tuple[str, str, str], list[e.CallSent]] = {}
    for event in sorted(events, key=lambda event: event.version):
        if isinstance(event, e.CallSent):
            sent.setdefault((event.session_id, event.run_id, event.step), []).append(event)
        elif isinstance(event, e.Answered):
            sent.pop((event.session_id, event.run_id, event.step), None)
    return [call for _, calls in sorted(sent.items()) for call in calls]


def _add_branch(state: s.SessionState, event: e.BranchMerged) -> None:
    """Count the lost calls of both branches: no run will record their answers in this one. What else it cost is settled later."""
    _count_lost_calls(state)
    spent = state.spent
    spent.lost += event.lost - len(event.answered)
    spent.lost_usd = round(spent.lost_usd + event.lost_usd - sum(worst.usd for worst in event.answered), 9)
    for worst in event.answered:
        _charge(state, worst, -1)
        _assume(state, -worst.usd, -min(spent.expected_usd, s.expected_usd(state, s.ANY_STEP, worst)))
