"""The day of a session and of its sources, for prompts: from events, never from a clock."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact


def today_of(state: SessionState) -> str:
    """Return the day on which the session started: ``2026-11-21``; "" before its start."""
    return state.started_at[:10]


def published_of(state: SessionState, facts: Iterable[Fact]) -> tuple[tuple[str, str], ...]:
    """Return address and day of each page of these facts that gives a day of its own."""
    urls = dict.fromkeys(fact.url for fact in facts)
    return tuple((url, state.pages[url].published) for url in urls if url in state.pages and state.pages[url].published)
