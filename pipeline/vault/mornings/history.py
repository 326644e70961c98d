"""The sessions on a question: how each ended, what it found new, its work and its cost, and the sums of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.vault.mornings.entries import news_words
from pipeline.vault.notes.note_parts import STATUS_WORDS, best_link, session_link
from pipeline.vault.output import formatting
from pipeline.vault.output.escaping import Link
from pipeline.vault.session_card import Card

MOST_SESSIONS = 60


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session: the day as a link to its report, else to its note; its note; ``news`` is "" without an earlier report."""

    day: Link
    session: Link | None
    outcome: str
    news: str
    facts: int
    seconds: float
    usd: float
    unknown_usd: float
    likely_usd: float


@dataclass(frozen=True, slots=True)
class Sums:
    """What all sessions on a question took together, also those that are not listed."""

    sessions: int
    seconds: float
    usd: float
    unknown_usd: float
    likely_usd: float
    tokens: int


def rows_of(cards: Sequence[Card]) -> tuple[SessionRow, ...]:
    """Return the latest sessions, the newest first; ``cards`` are in order of their start."""
    return tuple(_row(card) for card in reversed(cards[-MOST_SESSIONS:]))


def sums_of(cards: Sequence[Card]) -> Sums:
    """Return the sums over all sessions."""
    return Sums(
        len(cards),
        sum(card.seconds for card in cards),
        sum(card.charged_usd for card in cards),
        sum(card.assumed_usd for card in cards),
        sum(card.expected_usd for card in cards),
        sum(card.tokens for card in cards),
    )


def _row(card: Card) -> SessionRow:
    news = card.learnt.news if card.learnt else None
    return SessionRow(
        Link(best_link(card).path, formatting.day(card.reported_at or card.ended_at or card.started_at)),
        session_link(card, "how") if card.report_path else None,
        STATUS_WORDS.get(card.status, "unfinished"),
        news_words(news, dated=False) if news else "",
        card.facts,
        card.seconds,
        card.charged_usd,
        card.assumed_usd,
        card.expected_usd,
    )
