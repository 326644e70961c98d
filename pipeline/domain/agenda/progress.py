"""How far a session is: its steps, counted, and its summary."""

from __future__ import annotations

from pipeline.domain import Summary
from pipeline.domain.agenda.node_agenda import node_ended
from pipeline.domain.agenda.passages_agenda import passages_steps
from pipeline.domain.agenda.report_agenda import editing_steps
from pipeline.domain.agenda.worker_agenda import open_searches, page_steps
from pipeline.domain.outcome import outcome_of
from pipeline.domain.plan import validation_round
from pipeline.domain.state import SUMMARY, Analysis, SessionState, Worker, cost_of, working_seconds
from pipeline.domain.steps import Read, SearchFor
from pipeline.domain.values import EXTRACTIVE


def progress(state: SessionState) -> tuple[int, int]:
    """Return how many steps have ended, and how many there will be as far as can be seen: of each worker, one iteration more."""
    done = state.pruned.get("steps", 0) if state.pruned else _steps_done(state)
    return done, done + (0 if state.ended else _steps_ahead(state))


def counts_of(state: SessionState) -> dict[str, int]:
    """Return how many workers, searches, pages, facts, sources and events a session has, or had before it was pruned."""
    return state.pruned or {
        "events": state.version,
        "workers": len(state.workers),
        "searches": len(state.searches),
        "pages": len(state.pages),
        "facts": len(state.facts),
        "sources": len({fact.url for fact in state.facts.values()}),
    }


def summary_of(state: SessionState) -> Summary:
    """Return the summary of a session."""
    cost = cost_of(state)
    done, in_all = progress(state)
    found = counts_of(state)
    return Summary(
        id=state.id,
        version=state.version,
        status=state.status,
        outcome=outcome_of(state),
        query=state.query,
        query_id=state.query_id,
        mode=state.config.mode,
        waiting=state.waiting,
        approved=state.approval == "given" and not state.workers,
        tags=state.tags,
        previous_session=state.previous_session,
        started_at=state.started_at,
        ended_at=state.ended_at,
        end_reason=state.end_reason,
        title=state.title,
        facts=found["facts"],
        sources=found["sources"],
        calls=state.spent.calls,
        tokens=state.spent.total_tokens,
        usd=cost.usd,
        assumed_usd=cost.assumed_usd,
        expected_usd=cost.expected_usd,
        seconds=working_seconds(state),
        steps=done,
        steps_in_all=in_all,
        handed_to=state.handoff.to if state.handoff else "",
        handed_until=state.handoff.until if state.handoff else "",
    )


def _steps_done(state: SessionState) -> int:
    iterations = [iteration for worker in state.workers.values() for iteration in worker.iterations]
    # A section of revision n was written n + 1 times, and each text but the last was checked for certain.
    written = state.sections.values()
    sections = [2 * one.revision + (one.paragraphs is not None) + (one.verdicts is not None) - one.unasked for one in written]
    made = (state.survey is not None, bool(state.nodes), state.passages is not None, bool(state.sections), state.edited)
    worked = sum(1 + len(iteration.observed) + iteration.evaluated for iteration in iterations)
    worked += sum(seen.part for seen in state.observed.values())
    worked += sum(worker.folds for worker in state.workers.values())
    cross_checked = sum(2 - _checks_open(analysis) + len(analysis.looked_up) for analysis in state.analyses)
    failed = sum(failure.final for failure in state.failures.values())
    return sum(made) + len(state.searches) + len(state.pages) + worked + cross_checked + sum(sections) + failed


def _steps_ahead(state: SessionState) -> int:
    if not state.nodes:
        return (state.survey is None) + 1
    if state.config.reasoner == EXTRACTIVE:
        return (state.passages is None) + sum(isinstance(step, SearchFor | Read) for step in passages_steps(state))
    ahead = 0
    for node in state.nodes.values():
        if node.task == "search" and not node_ended(state, node.id):
            ahead += _iteration_ahead(state, state.workers.get(node.id))
        elif node.task == "validate" and not node_ended(state, node.id):
            number = validation_round(node)
            ahead += _checks_open(state.analyses[number]) if number < len(state.analyses) else 2
    sections = state.sections.values()
    checked = state.config.reasoner != EXTRACTIVE
    texts = [(one.paragraphs is None) + (checked and one.verdicts is None) for one in sections]
    texts = texts or [1, *[1 + checked] * state.config.min_sections]
    return ahead + sum(texts) + (1 + checked) * (SUMMARY not in state.sections) + len(editing_steps(state))


def _iteration_ahead(state: SessionState, worker: Worker | None) -> int:
    pages = 2 * state.config.pages_per_iteration  # each is read and observed
    if worker is None or not worker.iterations or worker.iterations[-1].evaluated:
        return 3 + pages
    if searches := open_searches(state, worker):
        return len(searches) + pages + 1
    reading = list(page_steps(state, worker, len(worker.iterations)))
    return sum(1 + isinstance(step, Read) for step in reading) + 1


def _checks_open(analysis: Analysis) -> int:
    """Count what is left of the two steps of a round: the cross-check, which ends in two events, and the search for gaps."""
    return (analysis.validated is None) + (analysis.gaps is None)
