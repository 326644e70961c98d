"""The day of a session and of its sources, for prompts: from events, never from a clock."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact


def today_of(state: SessionState) -> str:
    """Return the day on which the session started: ``2026-11-21``; "" before its start."""
    return state.started_at[:10]


def published_of(state: SessionState, facts: Iterable[Fact]) -> dict[str, str]:
    """Return the day that each page of these facts gives as its own, by address; a page that gives none is left out."""
    urls = dict.fromkeys(fact.url for fact in facts)
    return {url: state.pages[url].published for url in urls if url in state.pages and state.pages[url].published}
