"""How far a session is: its steps so far and those ahead, what it holds, and its summary. Pure."""

from __future__ import annotations

from pipeline.domain.agenda import node_ended, part_step, passages_steps
from pipeline.domain.state import SessionState, cost_of, outcome_of, working_seconds
from pipeline.domain.steps import Read, SearchFor
from pipeline.domain.summary import Summary
from pipeline.domain.values import EXTRACTIVE


def progress(state: SessionState) -> tuple[int, int]:
    """Return how many steps have ended, and how many there will be as far as can be seen: of each worker, one iteration more."""
    iterations = [iteration for worker in state.workers.values() for iteration in worker.iterations]
    done = len(state.searches) + len(state.pages)
    done += (state.survey is not None) + bool(state.nodes) + (state.passages is not None)
    done += sum(1 + bool(iteration.observed) for iteration in iterations)
    done += sum(1 + (analysis.gaps is not None) for analysis in state.analyses)
    # A part of revision n was written n + 1 times, and each text but the last was checked for certain.
    done += sum(2 * part.revision + 1 + part.checked for part in state.parts.values())
    done += sum(failure.final for failure in state.failures.values())
    if state.pruned:
        done = state.pruned.get("steps", 0)
    if state.ended:
        return done, done
    if not state.nodes:
        return done, done + (state.survey is None) + 1
    if state.config.reasoner == EXTRACTIVE:
        return done, done + (state.passages is None) + sum(isinstance(step, SearchFor | Read) for step in passages_steps(state))
    ahead = sum(part_step(state, number) is not None for number in state.parts) if state.parts else 2
    for node in (one for one in state.nodes.values() if not node_ended(state, one.id)):
        ahead += {"search": 3 + state.config.pages_per_iteration, "validate": 2}.get(node.task, 0)
    return done, done + ahead


def counts_of(state: SessionState) -> dict[str, int]:
    """Return how many workers, searches, pages, facts, sources and events a session has, or had before it was pruned.

    The pages are those that a model was shown; without one, those that were read.
    """
    return state.pruned or {
        "events": state.version,
        "workers": len(state.workers),
        "searches": len(state.searches),
        "pages": len(state.observed) or len(state.pages),
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
        handed_to=state.handed_to,
    )
