"""The dry run: what a run would do, in which order and at what worst-case cost. Writes nothing and contacts no service."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from pipeline.batch.batch_runner import ends_at
from pipeline.batch.due_queries import ANNOUNCED, Decision, split_at_limit
from pipeline.batch.session_lifecycle import adopted_config, has_work_left
from pipeline.cli.arguments_and_builds import report_left_out
from pipeline.cli.run_inputs import Request, RunEnvironment, environment_of, say_reworded
from pipeline.cli.run_setup_and_progress import sessions_at_once
from pipeline.config.services import LOCAL, SearchChoice, search_for
from pipeline.domain.session import ResearchSession
from pipeline.ops.console_output import Console
from pipeline.research.page_reading import expected
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import first_few, money
from pipeline.text.times import timestamp
from pipeline.wiring import corpus_status
from pipeline.wiring.session_adapters import AdapterFactory

_REPLY_TOKENS = 1_000  # of a usual reply, the report's own words aside


def print_dry_run(console: Console, request: Request) -> None:
    """Print what the run would do; write nothing, contact no service.

    Raises:
        ResearchError: what would keep the run from starting.
    """
    env = environment_of(console, request)
    report_left_out(console, env.workspace)
    decided = env.decisions_for(request, read_only=True)
    say_reworded(env, decided)
    decisions = decided.decisions
    due, beyond = split_at_limit(decisions, request.selection.limit)
    entries = asyncio.run(_entries(env, due))
    limits, worst = env.workspace.queue.settings.limits, [entry["worst_usd"] for entry in entries]
    until = ends_at(limits, datetime.now(UTC), request.until)
    plan = {
        "dry_run": True,
        "due": entries,
        "beyond_limit": [_about(decision) for decision in beyond],
        "left": [_about(decision) for decision in decisions if decision.action in ANNOUNCED],
        "done": sum(decision.action == "done" for decision in decisions),
        "sessions_at_once": sessions_at_once(env.workspace),
        "ends_at": timestamp(until) if until else "",
        "worst_usd": _least(limits.cost_usd, None if None in worst else round(sum(worst), 6)),
    }
    if any(entry["search"] == [LOCAL] for entry in entries):
        corpus_status.corpus_files(env.workspace)
    console.data(_lines(plan, {decision.action: decision.word for decision in decisions}), plan)


async def _entries(env: RunEnvironment, due: list[Decision]) -> list[dict[str, Any]]:
    async with aclosing(AdapterFactory(env.workspace, env.store, env.keys)) as factory:
        return [_entry(env, decision, factory) for decision in due]


def _entry(env: RunEnvironment, decision: Decision, factory: AdapterFactory) -> dict[str, Any]:
    """Return what would be done about a due query; ``worst_usd`` is None if there is no cap."""
    query, settings = decision.query, env.workspace.queue.settings
    state = ResearchSession.open(env.store, decision.session).state if decision.action in {"resume", "retry"} else None
    fresh = env.config_of(query)
    if state and decision.action == "retry" and not has_work_left(state, fresh):
        state = None
    config = adopted_config(state.config, fresh) if state else fresh
    unchanged = state is not None and config.search == state.config.search
    calls, tokens = expected(config) if config.has_model else (0, 0)
    price, received = dict(settings.prices).get(config.reasoner), calls * _REPLY_TOKENS + 2 * config.report_words
    spent = state.spent.usd if state else 0.0
    left = None if config.budget_usd is None else max(0.0, round(config.budget_usd - spent, 6))
    return {
        **_about(decision),
        "reasoner": config.reasoner,
        "search": list(config.search),
        "search_why": "as when the session started" if unchanged else search_for(query, settings, env.keys, env.documents()).why,
        "approve": config.approve,
        "worst_usd": _least(left, settings.limits.cost_usd) if factory.may_cost(config) else 0.0,
        "calls": calls,
        "tokens_in": tokens,
        "about_usd": round((tokens * price.input_usd + received * price.output_usd) / 1e6, 6) if price else None,
    }


def _about(decision: Decision) -> dict[str, Any]:
    about = {"id": decision.query.id, "query": decision.query.text}
    return about | {name: getattr(decision, name) for name in ("action", "reason", "session")}


def _least(*caps: float | None) -> float | None:
    """Return the least cap; None if there is none."""
    return min((cap for cap in caps if cap is not None), default=None)


def _lines(plan: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return a plan as lines for a person; ``words`` maps each action to what a list calls it."""
    due = plan["due"]
    lines = [f"{len(due)} to research, {plan['sessions_at_once']} at once; dry run: nothing was written"]
    for place, entry in enumerate(due, start=1):
        lines.append(f"{place:>4}. {words[entry['action']]:<11} {entry['id']:<40}  {_money(entry['worst_usd'])}")
        asked = f", at most {entry['calls']} calls with about {entry['tokens_in']:,} tokens" if entry["calls"] else ""
        asked += f", about {money(entry['about_usd'])} by your prices" if entry["about_usd"] is not None else ""
        lines.append(f"      {one_line(entry['reason'], 100)}; {entry['reasoner']}, {' '.join(entry['search'])}{asked}")
    for name, why in (("beyond_limit", "beyond the limit"), ("left", "left as it is")):
        shown = [f"      {words[entry['action']]:<11} {entry['id']:<40}  {why}: {entry['reason']}" for entry in plan[name]]
        lines += first_few(shown, f" are {why}")
    chosen = dict.fromkeys((tuple(entry["search"]), entry["search_why"]) for entry in due)
    lines += [f"searches {SearchChoice(names, why).words}: {why}" for names, why in chosen]
    ends = f"; ends at {plan['ends_at']}" if plan["ends_at"] else ""
    return [*lines, f"{plan['done']} done; cost of the run: {_money(plan['worst_usd'])}{ends}"]


def _money(worst: float | None) -> str:
    if worst is None:
        return "without a cap (cost_usd under limits or query_limits sets one)"
    return f"at most {money(worst)}" if worst else "no cost"
