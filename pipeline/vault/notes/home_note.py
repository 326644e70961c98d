"""The home note: what the last night found, questions that need attention, the other latest reports, topics, and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.vault.mornings.entries import Entry, entry_of
from pipeline.vault.notes.night_note import NightView, night_view
from pipeline.vault.notes.note_parts import best_link, night_link, properties_of, topic_link
from pipeline.vault.notes.topic_note import topic_title, topics_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.paths import HOME
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import Night, VaultModel

LATEST_REPORTS, LATEST_NIGHTS, MOST_ATTENTION, MOST_TOPICS = 15, 7, 20, 40
LATEST_IMPORTS = 8
MOST_FRESH = 40  # answers of the last night


@dataclass(frozen=True, slots=True)
class Attention:
    """A question whose latest session has no report: not found, failed or cancelled (with the reason), unfinished, or waiting
    for its plan to be approved.
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
    """What ``home.md.j2`` is given. ``last_night`` is None before the first; totals are over all sessions.

    ``fresh`` are the answers of the last night, ``others`` the latest reports on other questions, ``reports`` the latest of both:
    each question has one entry.
    """

    title: str
    last_night: NightView | None
    last_night_link: Link | None
    nights: tuple[Link, ...]
    attention: tuple[Attention, ...]
    more_attention: int
    not_found: tuple[Attention, ...]
    more_not_found: int
    fresh: tuple[Entry, ...]
    more_fresh: int
    others: tuple[Entry, ...]
    more_others: int
    reports: tuple[Entry, ...]
    older_reports: int
    topics: tuple[TopicRow, ...]
    more_topics: int
    imports: tuple[Link, ...]
    more_imports: int
    total_reports: int
    total_sessions: int
    total_sources: int
    total_facts: int
    total_seconds: float
    total_usd: float
    total_tokens: int


def home_note(model: VaultModel, cards: Sequence[Card], imports: Sequence[Link] = ()) -> Note:
    """Return the home note; ``cards`` of all sessions in order of their start, ``imports`` links to imports, latest first."""
    view = home_view(model, cards, imports)
    own = {
        "reports": view.total_reports,
        "sessions": view.total_sessions,
        "sources": view.total_sources,
        "facts": view.total_facts,
        "cost_usd": round(view.total_usd, 6),
    }
    return Note(HOME, "home", properties_of("home", view.title, own), view)


def home_view(model: VaultModel, cards: Sequence[Card], imports: Sequence[Link] = ()) -> HomeView:
    """Return the values for ``home.md.j2``."""
    last = model.nights[-1] if model.nights else None
    open_ = [one for one in _latest_of_each_query(cards) if not one.answered and one.query_id not in model.archived]
    not_found = [one for one in open_ if one.status == "not-found"]
    unanswered = [one for one in open_ if one.status != "not-found"]
    topics = _topics(cards)
    entries = _Entries(model, cards)
    fresh = entries.of_night(last) if last else ()
    others, latest = entries.others(fresh), entries.others()
    return HomeView(
        title="Research",
        last_night=night_view(model, last) if last else None,
        last_night_link=night_link(last.date) if last else None,
        nights=tuple(night_link(night.date) for night in reversed(model.nights[-LATEST_NIGHTS - 1 : -1])),
        attention=tuple(_attention(card) for card in unanswered[:MOST_ATTENTION]),
        more_attention=max(0, len(unanswered) - MOST_ATTENTION),
        not_found=tuple(_attention(card) for card in not_found[:MOST_ATTENTION]),
        more_not_found=max(0, len(not_found) - MOST_ATTENTION),
        fresh=entries.made(fresh[:MOST_FRESH]),
        more_fresh=max(0, len(fresh) - MOST_FRESH),
        others=entries.made(others[:LATEST_REPORTS]),
        more_others=max(0, len(others) - LATEST_REPORTS),
        reports=entries.made(latest[:LATEST_REPORTS]),
        older_reports=max(0, len(latest) - LATEST_REPORTS),
        topics=tuple(topics[:MOST_TOPICS]),
        more_topics=max(0, len(topics) - MOST_TOPICS),
        imports=tuple(imports[:LATEST_IMPORTS]),
        more_imports=max(0, len(imports) - LATEST_IMPORTS),
        total_reports=sum(card.answered for card in cards),
        total_sessions=len(cards),
        total_sources=len(model.sources),
        total_facts=sum(card.facts for card in cards),
        total_seconds=sum(card.seconds for card in cards),
        total_usd=sum(card.charged_usd for card in cards),
        total_tokens=sum(card.tokens for card in cards),
    )


class _Entries:
    """The latest report on each question, and how many there were before it."""

    def __init__(self, model: VaultModel, cards: Sequence[Card]) -> None:
        reported = sorted((card for card in cards if card.answered), key=_reported_at)
        self._model = model
        self._count = Counter(map(_question, reported))
        self._latest = {_question(card): card for card in reported}

    def of_night(self, night: Night) -> tuple[Card, ...]:
        """The latest reports that a night's sessions wrote, in the night's order."""
        made = {card.id: card for card in self._latest.values()}
        ended = dict.fromkeys(entry.session for entry in night.ended)
        return tuple(made[session] for session in ended if session in made)

    def others(self, shown: Sequence[Card] = ()) -> list[Card]:
        """The latest reports on other questions than those shown, newest first."""
        known = {card.id for card in shown}
        return sorted((one for one in self._latest.values() if one.id not in known), key=_reported_at, reverse=True)

    def made(self, cards: Sequence[Card]) -> tuple[Entry, ...]:
        """The entries of these reports."""
        return tuple(entry_of(self._model, card, self._count[_question(card)] - 1) for card in cards)


def _question(card: Card) -> str:
    return card.query_id or card.id


def _reported_at(card: Card) -> tuple[str, str]:
    return card.reported_at, card.id


def _topics(cards: Iterable[Card]) -> list[TopicRow]:
    """The topics with the most questions first; equal ones by name."""
    rows = (_topic_row(topic, found) for topic, found in topics_of(cards).items())
    return sorted(rows, key=lambda row: (-row.questions, row.topic.path))


def _topic_row(topic: str, cards: Sequence[Card]) -> TopicRow:
    return TopicRow(topic_link(topic_title(topic, cards)), len(set(map(_question, cards))))


def _latest_of_each_query(cards: Iterable[Card]) -> list[Card]:
    """The latest session of each query, the one that started last first."""
    latest: dict[str, Card] = {}
    for card in cards:
        key = _question(card)
        latest.pop(key, None)
        latest[key] = card
    return list(reversed(latest.values()))


def _attention(card: Card) -> Attention:
    outcome = card.status if card.ended else "its plan waits for approval" if card.waiting else "unfinished"
    return Attention(best_link(card), outcome, card.end_reason, card.ended_at or card.started_at)
