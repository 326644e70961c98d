"""The plan's nodes: which have ended, which are ready, and the next steps of each."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.domain.agenda.endings import no_evidence
from pipeline.domain.agenda.gap_agenda import gap_steps, round_ended
from pipeline.domain.agenda.worker_agenda import worker_steps
from pipeline.domain.plan import validation_round
from pipeline.domain.state import SessionState
from pipeline.domain.steps import ChoosePassages, StartSynthesis, Step
from pipeline.domain.values import EXTRACTIVE, PlanNode


def node_ended(state: SessionState, node_id: str) -> bool:
    """Return whether the nodes that depend on this one may start."""
    node = state.nodes[node_id]
    if node.task == "search":
        worker = state.workers.get(node_id)
        return worker.status != "running" if worker else bool(state.exhausted)
    if node.task == "validate":  # without a model nobody looks for gaps
        return state.config.reasoner == EXTRACTIVE or round_ended(state, validation_round(node))
    return state.report is not None


def is_ready(state: SessionState, node: PlanNode) -> bool:
    """Return whether a node may give steps: it is open, and all that it depends on has ended."""
    return not node_ended(state, node.id) and all(node_ended(state, name) for name in node.depends_on)


def node_steps(state: SessionState, node: PlanNode) -> Iterator[Step]:
    """Return the steps of a ready node that may start now."""
    if node.task == "search":
        return worker_steps(state, node)
    if node.task == "validate":
        return gap_steps(state, validation_round(node))
    if state.facts:
        return iter([StartSynthesis()])
    unread = state.pages and not state.observed and state.passages is None
    return iter([ChoosePassages() if unread and not state.failed_for_good(ChoosePassages().key) else no_evidence(state)])
