"""The agenda: the steps that a session may take now, as a pure function of its state.

It goes through the plan's nodes in plan order; a node whose dependencies have ended gives its next steps. The steps are
independent and may run in parallel. A step that failed for good is not returned again: its dependants continue without it, or
the worker or the session ends, as the modules beside this one say. An empty agenda means that the session has ended or waits
for approval.
"""

from __future__ import annotations

from itertools import chain

from pipeline.domain.agenda.endings import no_evidence, step_or_fail, with_substitute
from pipeline.domain.agenda.node_agenda import is_ready, node_steps
from pipeline.domain.agenda.passages_agenda import passages_steps, report_of_passages, reread_steps
from pipeline.domain.agenda.report_agenda import report_steps
from pipeline.domain.state import SessionState
from pipeline.domain.steps import AskApproval, Fail, PlainPlan, Plan, Step, Survey
from pipeline.domain.values import EXTRACTIVE


def agenda(state: SessionState) -> tuple[Step, ...]:
    """Return the steps that may start now, each once, in a fixed order; empty if it has ended or waits for approval."""
    if state.ended or state.waiting or state.status == "pending":
        return ()
    if state.exhausted and not state.nodes:
        return (no_evidence(state),)
    if state.survey is None:
        return (step_or_fail(state, Survey()),)
    if not state.nodes:
        return (with_substitute(state, Plan(), PlainPlan()),)
    if state.config.approve == "plan" and not (state.approval or state.workers or state.exhausted):
        return (AskApproval(),)
    if state.config.reasoner == EXTRACTIVE:
        return tuple(passages_steps(state))
    if state.passages:
        return tuple(report_of_passages(state))
    if state.synthesis:
        return tuple(report_steps(state))
    nodes = (node for node in state.nodes.values() if is_ready(state, node))
    steps = chain.from_iterable(node_steps(state, node) for node in nodes)
    found = tuple(dict.fromkeys(chain(steps, reread_steps(state))))
    # A Fail step must come last: no other step, such as finishing a worker, can be recorded after it.
    return tuple(step for step in found if not isinstance(step, Fail)) or found
