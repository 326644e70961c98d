"""What a model cost that consolidations asked. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.events.event_base import Answered, EventBase
from pipeline.domain.events.session_events import CallSent
from pipeline.domain.values import Cost
from pipeline.text.normalise import digest_of


def episode_step(session: str) -> str:
    """Return the key of the step that shortens a session. It holds a digest of the id: forgetting a session leaves no name."""
    return f"Episode:{digest_of(session.encode())[:12]}"


def cost_of_calls(events: Iterable[EventBase]) -> Cost:
    """Return what a model cost in memory streams. A call without a recorded answer counts at its worst case."""
    answered: list[Cost] = []
    sent: dict[tuple[str, str], list[Cost]] = {}
    for event in events:
        if isinstance(event, CallSent):
            sent.setdefault((event.session_id, event.step), []).append(event.worst)
        elif isinstance(event, Answered):
            answered.append(event.cost)
            sent.pop((event.session_id, event.step), None)
    lost = [worst.model_copy(update={"assumed_usd": worst.usd}) for calls in sent.values() for worst in calls]
    return _sum_of([*answered, *lost])


def _sum_of(costs: Iterable[Cost]) -> Cost:
    names = ("input_tokens", "output_tokens", "total_tokens", "usd", "assumed_usd", "expected_usd", "cached_tokens", "calls")
    known = list(costs)
    return Cost(**{name: round(sum(getattr(cost, name) for cost in known), 9) for name in names})
