"""How far a session is: its steps so far and those ahead, what it holds, and its summary. Pure."""

from __future__ import annotations

from pipeline.domain.agenda import node_ended, open_searches, page_steps, part_step, passages_steps
from pipeline.domain.state import SessionState, Worker, cost_of, outcome_of, working_seconds
from pipeline.domain.steps import Read, SearchFor
from pipeline.domain.summary import Summary
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
        title=state.report.title if state.report else "",
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
    # A part of revision n was written n + 1 times, and each text but the last was checked for certain.
    parts = [2 * part.revision + 1 + part.checked for part in state.parts.values()]
    made = (state.survey is not None, bool(state.nodes), state.passages is not None)
    worked = sum(1 + bool(iteration.observed) for iteration in iterations)
    rounds = sum(1 + (analysis.gaps is not None) for analysis in state.analyses)
    failed = sum(failure.final for failure in state.failures.values())
    return sum(made) + len(state.searches) + len(state.pages) + worked + rounds + sum(parts) + failed


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
            ahead += 2
    if not state.parts:
        return ahead + 2
    return ahead + sum(part_step(state, number) is not None for number in state.parts)


def _iteration_ahead(state: SessionState, worker: Worker | None) -> int:
    pages = state.config.pages_per_iteration
    if worker is None or not worker.iterations or worker.iterations[-1].evaluated:
        return 3 + pages
    if searches := open_searches(state, worker):
        return len(searches) + pages + 1
    return len(list(page_steps(state, worker, len(worker.iterations)))) + 1
