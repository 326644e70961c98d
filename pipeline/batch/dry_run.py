"""The dry run: what a run would do, in which order and at what worst-case cost. Writes nothing and contacts no service."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.batch.due_queries import ANNOUNCED, Decision, split_at_limit
from pipeline.batch.session_actions import adopted_config, has_work_left
from pipeline.config.queue_values import Query, Settings
from pipeline.config.services import SearchChoice
from pipeline.domain.events.records import stream_id
from pipeline.domain.state import SessionState
from pipeline.domain.values import ResearchConfig
from pipeline.research.reading import expected
from pipeline.text.normalise import first_few, one_line
from pipeline.text.times import timestamp

_REPLY_TOKENS = 1_000  # of a usual reply, the report's own words aside


@dataclass(frozen=True, slots=True)
class DryRun:
    """The inputs of a dry run.

    ``config_of`` and ``search_of`` describe a new session on a query; ``opened`` returns the state of a stored session by id.
    """

    decisions: Sequence[Decision]
    limit: int | None
    settings: Settings
    until: datetime | None
    sessions_at_once: int
    now: datetime
    config_of: Callable[[Query], ResearchConfig]
    search_of: Callable[[Query], SearchChoice]
    opened: Callable[[str], SessionState]
    may_cost: Callable[[ResearchConfig], bool]

    def plan(self) -> dict[str, Any]:
        """Return the plan as plain values; ``worst_usd`` is None if there is no cap.

        Raises:
            UsageError: a query names a model or a provider that is not set up.
            LogError: a session that would be resumed cannot be read.
        """
        due, beyond = split_at_limit(self.decisions, self.limit)
        entries = [self._entry(decision) for decision in due]
        worst = [entry["worst_usd"] for entry in entries]
        return {
            "dry_run": True,
            "due": entries,
            "beyond_limit": [_about(decision) for decision in beyond],
            "left": [_about(decision) for decision in self.decisions if decision.action in ANNOUNCED],
            "done": sum(decision.action == "done" for decision in self.decisions),
            "sessions_at_once": self.sessions_at_once,
            "ends_at": timestamp(self.until) if self.until else "",
            "worst_usd": _least(self.settings.limits.cost_usd, None if None in worst else round(sum(worst), 6)),
        }

    def _entry(self, decision: Decision) -> dict[str, Any]:
        state = self.opened(decision.session) if decision.action in {"resume", "retry"} else None
        fresh = self.config_of(decision.query)
        if state and decision.action == "retry" and not has_work_left(state, fresh):
            state = None
        config = adopted_config(state.config, fresh) if state else fresh
        unchanged = state is not None and config.search == state.config.search
        name = decision.session if state else stream_id("session", timestamp(self.now), "…", decision.query.id)
        calls, tokens = expected(config) if config.has_model else (0, 0)
        price, received = dict(self.settings.prices).get(config.reasoner), calls * _REPLY_TOKENS + 2 * config.report_words
        spent = state.spent.usd if state else 0.0
        left = None if config.budget_usd is None else max(0.0, round(config.budget_usd - spent, 6))
        return {
            **_about(decision),
            "reasoner": config.reasoner,
            "search": list(config.search),
            "search_why": "as when the session started" if unchanged else self.search_of(decision.query).why,
            "approve": config.approve,
            "worst_usd": _least(left, self.settings.limits.cost_usd) if self.may_cost(config) else 0.0,
            "calls": calls,
            "tokens_in": tokens,
            "about_usd": round((tokens * price.input_usd + received * price.output_usd) / 1e6, 6) if price else None,
            "log": f"events/sessions/{name}/",
            "report": f"vault/reports/{name[:4]}/",
        }


def _about(decision: Decision) -> dict[str, Any]:
    about = {"id": decision.query.id, "query": decision.query.text}
    return about | {name: getattr(decision, name) for name in ("action", "reason", "session")}


def _least(*caps: float | None) -> float | None:
    """Return the least cap; None if there is none."""
    return min((cap for cap in caps if cap is not None), default=None)


def plan_lines(plan: Mapping[str, Any], words: Mapping[str, str]) -> list[str]:
    """Return a plan as lines for a person; ``words`` maps each action to what a list calls it."""
    due = plan["due"]
    lines = [f"{len(due)} to research, {plan['sessions_at_once']} at once; dry run: nothing was written"]
    for place, entry in enumerate(due, start=1):
        lines.append(f"{place:>4}. {words[entry['action']]:<11} {entry['id']:<40}  {_money(entry['worst_usd'])}")
        asked = f", at most {entry['calls']} calls with about {entry['tokens_in']:,} tokens" if entry["calls"] else ""
        asked += f", about {entry['about_usd']:.2f} USD by your prices" if entry["about_usd"] is not None else ""
        lines.append(f"      {one_line(entry['reason'], 100)}; {entry['reasoner']}, {' '.join(entry['search'])}{asked}")
        lines.append(f"      {entry['log']}, {entry['report']}")
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
    return f"at most {worst:.2f} USD" if worst else "no cost"
