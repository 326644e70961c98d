"""The plan's nodes: which have ended, which are ready, and the next steps of each."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.analysis_agenda import analysis_ended, analysis_steps, needs_gap_workers
from pipeline.domain.agenda.endings import no_evidence
from pipeline.domain.agenda.worker_agenda import worker_steps
from pipeline.domain.plan import validation_round
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Step
from pipeline.domain.values import EXTRACTIVE, PlanNode


def node_ended(state: SessionState, node_id: str) -> bool:
    """Return whether the nodes that depend on this one may start."""
    node = state.nodes[node_id]
    if node.task == "search":
        worker = state.workers.get(node_id)
        return worker.status != "running" if worker else bool(state.exhausted)
    if node.task == "validate":
        if state.exhausted or state.config.reasoner == EXTRACTIVE:  # without a model nobody cross-checks
            return True
        number = validation_round(node)
        ended = number < len(state.analyses) and analysis_ended(state, state.analyses[number])
        return ended and not needs_gap_workers(state, number)
    return state.report is not None


def is_ready(state: SessionState, node: PlanNode) -> bool:
    """Return whether a node may give steps: it is open, and all that it depends on has ended."""
    return not node_ended(state, node.id) and all(node_ended(state, name) for name in node.depends_on)


def node_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    """Return the steps of a ready node that may start now."""
    if node.task == "search":
        return worker_steps(state, node)
    if node.task == "validate":
        return analysis_steps(state, validation_round(node))
    from pipeline.domain.not_found_gate import step_after_gathering  # the ranking, which lists and builds do not need

    return iter([step_after_gathering(state) if state.facts else no_evidence(state)])
