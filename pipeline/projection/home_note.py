"""The vault's front page: last night, what needs a look, what is new, and what it all comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.projection.cards import Card
from pipeline.projection.inert import Link
from pipeline.projection.library import Library
from pipeline.projection.names import HOME
from pipeline.projection.night_note import NightView, night_view
from pipeline.projection.notes import Note
from pipeline.projection.topic_note import topic_title, topics_of
from pipeline.projection.views import Cited, best_link, cited, night_link, properties_of, session_link, topic_link

LATEST_REPORTS, LATEST_NIGHTS, MOST_ATTENTION, MOST_TOPICS = 15, 7, 20, 40


@dataclass(frozen=True, slots=True)
class Latest:
    """A recent report with the first sentence of its summary. ``at``: when it was finished."""

    report: Link
    at: str
    first: Cited | None
    sources: int


@dataclass(frozen=True, slots=True)
class Attention:
    """A question whose latest session has no report: failed or cancelled (with the reason), unfinished, or waiting for its
    plan to be approved.
    """

    session: Link
    outcome: str
    reason: str
    at: str


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic, and how many questions it has."""

    topic: Link
    questions: int


@dataclass(frozen=True, slots=True)
class HomeView:
    """What ``home.md.j2`` is given. ``last_night`` is None before the first; totals are over all sessions."""

    title: str
    last_night: NightView | None
    last_night_link: Link | None
    nights: tuple[Link, ...]
    attention: tuple[Attention, ...]
    more_attention: int
    reports: tuple[Latest, ...]
    older_reports: int
    topics: tuple[TopicRow, ...]
    more_topics: int
    total_reports: int
    total_sessions: int
    total_sources: int
    total_facts: int
    total_seconds: float
    total_usd: float
    total_tokens: int


def home_note(library: Library) -> Note:
    """Return the front page."""
    view = home_view(library)
    own = {
        "reports": view.total_reports,
        "sessions": view.total_sessions,
        "sources": view.total_sources,
        "facts": view.total_facts,
        "cost_usd": round(view.total_usd, 6),
    }
    return Note(HOME, "home", properties_of("home", view.title, own), view)


def home_view(library: Library) -> HomeView:
    """Return what the front page says."""
    reported = sorted((card for card in library.cards if card.report_path), key=lambda card: (card.reported_at, card.id))
    latest = tuple(_latest(library, card) for card in reversed(reported[-LATEST_REPORTS:]))
    last = library.nights[-1] if library.nights else None
    unanswered = [card for card in _latest_of_each_query(library) if not card.report_path and card.id not in library.archived]
    topics = _topics(library)
    return HomeView(
        title="Research",
        last_night=night_view(library, last) if last else None,
        last_night_link=night_link(last) if last else None,
        nights=tuple(map(night_link, reversed(library.nights[-LATEST_NIGHTS - 1 : -1]))),
        attention=tuple(map(_attention, unanswered[:MOST_ATTENTION])),
        more_attention=max(0, len(unanswered) - MOST_ATTENTION),
        reports=latest,
        older_reports=len(reported) - len(latest),
        topics=tuple(topics[:MOST_TOPICS]),
        more_topics=max(0, len(topics) - MOST_TOPICS),
        total_reports=len(reported),
        total_sessions=len(library.cards),
        total_sources=len(library.sources),
        total_facts=sum(card.facts for card in library.cards),
        total_seconds=sum(card.seconds for card in library.cards),
        total_usd=sum(card.usd for card in library.cards),
        total_tokens=sum(card.tokens for card in library.cards),
    )


def _latest(library: Library, card: Card) -> Latest:
    first = cited(library, card.first) if card.first else None
    return Latest(best_link(card), card.reported_at, first, card.sources)


def _topics(library: Library) -> list[TopicRow]:
    """The topics with the most questions first, those with as many by name."""
    rows = (_topic_row(topic, cards) for topic, cards in topics_of(library.cards).items())
    return sorted(rows, key=lambda row: (-row.questions, row.topic.path))


def _topic_row(topic: str, cards: Sequence[Card]) -> TopicRow:
    return TopicRow(topic_link(topic_title(topic, cards)), len({card.query_id or card.id for card in cards}))


def _latest_of_each_query(library: Library) -> list[Card]:
    latest = {card.query_id or card.id: card for card in library.cards}
    return sorted(latest.values(), key=lambda card: (card.started_at, card.id), reverse=True)


def _attention(card: Card) -> Attention:
    outcome = card.status if card.ended else "its plan waits for approval" if card.waiting else "unfinished"
    return Attention(session_link(card), outcome, card.end_reason, card.ended_at or card.started_at)
