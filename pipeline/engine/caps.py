"""The caps of a session (money, working time, the deadline of the run), and which of them is reached."""

from __future__ import annotations

from pipeline.domain.events.session_events import BudgetExhausted
from pipeline.domain.state import SessionState, seconds_between, working_seconds
from pipeline.engine.run_context import RunContext
from pipeline.errors import BudgetSpent
from pipeline.text.times import timestamp


def reached_cap(state: SessionState, context: RunContext, spent: BudgetSpent | None) -> BudgetExhausted | None:
    """Return the cap that ends the gathering now, if one is reached."""
    config = state.config
    if state.ended or state.waiting or state.exhausted or state.synthesis:
        return None
    if spent is not None:
        return BudgetExhausted(cap=spent.cap, limit=spent.limit, spent=spent.spent)
    if config.budget_usd is not None and state.spent.usd >= config.budget_usd:
        return BudgetExhausted(cap="usd", limit=f"{config.budget_usd:.2f}", spent=f"{state.spent.usd:.4f}")
    worked = _worked_s(state, context)
    if config.timeout_s is not None and worked >= config.timeout_s:
        return BudgetExhausted(cap="time", limit=f"{config.timeout_s:g} s", spent=f"{worked:.0f} s")
    if context.deadline is not None and context.gathering_left_s() <= 0:
        return BudgetExhausted(cap="deadline", limit=timestamp(context.deadline), spent=timestamp(context.now()))
    return None


def _worked_s(state: SessionState, context: RunContext) -> float:
    worked = working_seconds(state)
    if state.runs and state.runs[-1].run_id == context.run_id:
        worked += seconds_between(state.runs[-1].last_at, timestamp(context.now()))
    return worked


def time_left_s(state: SessionState, context: RunContext) -> float:
    """Return the seconds until a cap of time ends the gathering; infinite when there is none, or no gathering any more."""
    if state.ended or state.exhausted or state.synthesis:
        return float("inf")
    timeout_s = state.config.timeout_s
    left = float("inf") if timeout_s is None else timeout_s - _worked_s(state, context)
    return min(left, context.gathering_left_s())
