"""The home note: the last night, questions that need attention, latest reports, topics, and totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest

from pipeline.vault.notes.night_note import NightView, night_view
from pipeline.vault.notes.note_parts import Cited, best_link, cited, night_link, properties_of, topic_link
from pipeline.vault.notes.topic_note import topic_title, topics_of
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.paths import HOME
from pipeline.vault.session_card import Brief, Card
from pipeline.vault.vault_model import VaultModel

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
    """What ``home.md.j2`` is given. ``last_night`` is None before the first; totals are over all sessions."""

    title: str
    last_night: NightView | None
    last_night_link: Link | None
    nights: tuple[Link, ...]
    attention: tuple[Attention, ...]
    more_attention: int
    not_found: tuple[Attention, ...]
    more_not_found: int
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


def home_note(model: VaultModel, briefs: Sequence[Brief]) -> Note:
    """Return the home note; ``briefs`` are of all sessions in order of their start."""
    view = home_view(model, briefs)
    own = {
        "reports": view.total_reports,
        "sessions": view.total_sessions,
        "sources": view.total_sources,
        "facts": view.total_facts,
        "cost_usd": round(view.total_usd, 6),
    }
    return Note(HOME, "home", properties_of("home", view.title, own), view)


def home_view(model: VaultModel, briefs: Sequence[Brief]) -> HomeView:
    """Return the values for ``home.md.j2``."""
    reported = [brief for brief in briefs if brief.reported]
    latest = tuple(_latest(model, model.by_id[brief.id]) for brief in nlargest(LATEST_REPORTS, reported, key=_reported_at))
    last = model.nights[-1] if model.nights else None
    open_ = [one for one in _latest_of_each_query(briefs) if not one.reported and one.query_id not in model.archived]
    not_found = [one for one in open_ if one.status == "not-found"]
    unanswered = [one for one in open_ if one.status != "not-found"]
    topics = _topics(briefs)
    return HomeView(
        title="Research",
        last_night=night_view(model, last) if last else None,
        last_night_link=night_link(last) if last else None,
        nights=tuple(map(night_link, reversed(model.nights[-LATEST_NIGHTS - 1 : -1]))),
        attention=tuple(_attention(model.by_id[brief.id]) for brief in unanswered[:MOST_ATTENTION]),
        more_attention=max(0, len(unanswered) - MOST_ATTENTION),
        not_found=tuple(_attention(model.by_id[brief.id]) for brief in not_found[:MOST_ATTENTION]),
        more_not_found=max(0, len(not_found) - MOST_ATTENTION),
        reports=latest,
        older_reports=len(reported) - len(latest),
        topics=tuple(topics[:MOST_TOPICS]),
        more_topics=max(0, len(topics) - MOST_TOPICS),
        total_reports=len(reported),
        total_sessions=len(briefs),
        total_sources=len(model.sources),
        total_facts=sum(brief.facts for brief in briefs),
        total_seconds=sum(brief.seconds for brief in briefs),
        total_usd=sum(brief.usd for brief in briefs),
        total_tokens=sum(brief.tokens for brief in briefs),
    )


def _latest(model: VaultModel, card: Card) -> Latest:
    first = cited(model, card.first) if card.first else None
    return Latest(best_link(card), card.reported_at, first, len(card.drawn))


def _reported_at(brief: Brief) -> tuple[str, str]:
    return brief.reported_at, brief.id


def _topics(briefs: Iterable[Brief]) -> list[TopicRow]:
    """The topics with the most questions first; equal ones by name."""
    rows = (_topic_row(topic, found) for topic, found in topics_of(briefs).items())
    return sorted(rows, key=lambda row: (-row.questions, row.topic.path))


def _topic_row(topic: str, briefs: Sequence[Brief]) -> TopicRow:
    return TopicRow(topic_link(topic_title(topic, briefs)), len({brief.query_id or brief.id for brief in briefs}))


def _latest_of_each_query(briefs: Iterable[Brief]) -> list[Brief]:
    """The latest session of each query, the one that started last first."""
    latest: dict[str, Brief] = {}
    for brief in briefs:
        key = brief.query_id or brief.id
        latest.pop(key, None)
        latest[key] = brief
    return list(reversed(latest.values()))


def _attention(card: Card) -> Attention:
    outcome = card.status if card.ended else "its plan waits for approval" if card.waiting else "unfinished"
    return Attention(best_link(card), outcome, card.end_reason, card.ended_at or card.started_at)
