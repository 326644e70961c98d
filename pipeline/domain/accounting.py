"""What a session has cost: the part of the fold that keeps the bill. Every answer counts, and every call without one."""

from __future__ import annotations

from typing import Literal

from pipeline.domain.budget import CallHistory
from pipeline.domain.events import session_events as e
from pipeline.domain.state import ANY_STEP, SessionState, expected_usd
from pipeline.domain.values import Cost


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
