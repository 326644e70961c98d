"""The note of a topic: its questions with their reports, its open questions, and the sources that its reports cite most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pipeline.text.normalise import slug
from pipeline.vault.mornings.entries import dated_link
from pipeline.vault.notes.asked_since import AskedRow
from pipeline.vault.notes.note_parts import (
    Cited,
    best_link,
    cited,
    present,
    properties_of,
    source_link,
    status_words,
    topic_link,
    topic_of,
    topic_path,
)
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.note import Note
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

MOST_SOURCES, MOST_EARLIER = 15, 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the topic. ``link`` leads to its latest report, else to its latest session; ``at`` is when that was finished.

    ``first`` is the report's answer in a sentence; ``earlier`` are links to the latest earlier reports on the same question,
    shown as their day and news, ``more_earlier`` counts the others.
    """

    link: Link
    outcome: str
    at: str
    first: Cited | None
    sources: int
    facts: int
    earlier: tuple[Link, ...]
    more_earlier: int = 0


@dataclass(frozen=True, slots=True)
class StillOpen:
    """The open questions of the latest session on one question."""

    link: Link
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A source of the topic's latest reports: the number of reports that cite it, and of their quotes."""

    source: Link
    reports: int
    quotes: int


@dataclass(frozen=True, slots=True)
class TopicView:
    """What ``topic.md.j2`` is given."""

    title: str
    tag: Inert
    answered: tuple[Asked, ...]
    unanswered: tuple[Asked, ...]
    asked: tuple[AskedRow, ...]
    open: tuple[StillOpen, ...]
    sources: tuple[CitedSource, ...]
    further_sources: int
    related: tuple[Link, ...]


class _Tagged(Protocol):
    @property
    def tags(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=_Tagged)


def topics_of(cards: Iterable[T]) -> dict[str, tuple[T, ...]]:
    """Return the cards of each topic by its slug, topics and cards in order; tags with the same slug are one topic."""
    found: dict[str, list[T]] = {}
    for card in cards:
        for topic in dict.fromkeys(map(topic_of, card.tags)):
            found.setdefault(topic, []).append(card)
    return {topic: tuple(found[topic]) for topic in sorted(found)}


def former_topics(topic: str, cards: Iterable[Card]) -> list[str]:
    """Return the slugs that the topic had when file names were of Latin letters only: one for each of its tags."""
    tags = (tag for card in cards for tag in card.tags if topic_of(tag) == topic)
    return sorted({slug(tag) for tag in tags} - {topic})


def topic_note(model: VaultModel, topic: str, cards: Sequence[Card], asked: tuple[AskedRow, ...] = ()) -> Note:
    """Return the note of a topic, given by its slug; ``cards`` are those of its sessions in order of their start.

    ``asked`` is what was asked about the topic.
    """
    view = _view(model, topic, cards, asked)
    own = present(
        {
            "questions": len(view.answered) + len(view.unanswered),
            "reports": sum(card.answered for card in cards),
            "sources": len(view.sources) + view.further_sources,
            "open_questions": sum(len(entry.questions) for entry in view.open),
        }
    )
    properties = properties_of("topic", view.title, own, topics=(topic,), created=cards[0].started_at)
    return Note(topic_path(topic), "topic", properties, view)


def _view(model: VaultModel, topic: str, cards: Sequence[Card], asked: tuple[AskedRow, ...]) -> TopicView:
    by_query: dict[str, list[Card]] = {}
    for card in cards:
        by_query.setdefault(card.query_id or card.id, []).append(card)
    questions = sorted(by_query.values(), key=_newness, reverse=True)
    latest = [_latest(sessions) for sessions in questions]
    sources = _sources(model, latest)
    still_open = tuple(StillOpen(best_link(card), card.open) for card in latest if card.open)
    return TopicView(
        title=topic_title(topic, cards),
        tag=Inert(f"topic/{topic}"),
        answered=tuple(_asked(model, sessions) for sessions in questions if _latest(sessions).answered),
        unanswered=tuple(_asked(model, sessions) for sessions in questions if not _latest(sessions).answered),
        asked=asked,
        open=still_open,
        sources=sources[:MOST_SOURCES],
        further_sources=max(0, len(sources) - MOST_SOURCES),
        related=_related(topic, cards),
    )


def _newness(sessions: Sequence[Card]) -> tuple[str, str]:
    return _latest(sessions).started_at, _latest(sessions).id


def topic_title(topic: str, cards: Iterable[_Tagged]) -> str:
    """Return the topic as it was first written."""
    return next((tag for card in cards for tag in card.tags if topic_of(tag) == topic), topic)


def _latest(sessions: Sequence[Card]) -> Card:
    """The session of a question's latest report; its latest session if it has none."""
    return next((card for card in reversed(sessions) if card.answered), sessions[-1])


def _asked(model: VaultModel, sessions: Sequence[Card]) -> Asked:
    shown = _latest(sessions)
    outcome = status_words(shown.status, by_model=shown.by_model)
    first = cited(model, shown.learnt.answer) if shown.learnt and shown.learnt.answer else None
    at = shown.reported_at or shown.ended_at or shown.started_at
    earlier = [card for card in reversed(sessions) if card is not shown and card.answered]
    links = tuple(map(dated_link, earlier[:MOST_EARLIER]))
    more = len(earlier) - len(links)
    return Asked(best_link(shown), outcome, at, first, len(shown.drawn), shown.facts, links, more)


def _sources(model: VaultModel, latest: Iterable[Card]) -> tuple[CitedSource, ...]:
    """The sources by number of reports that cite them, then by number of quotes."""
    reports: Counter[str] = Counter()
    quotes: Counter[str] = Counter()
    for entry in (entry for card in latest for entry in card.drawn):
        reports[entry.url] += 1
        quotes[entry.url] += entry.quotes
    order = sorted(reports, key=lambda url: (-reports[url], -quotes[url], url))
    return tuple(CitedSource(source_link(model.sources[url]), reports[url], quotes[url]) for url in order)


def _related(topic: str, cards: Iterable[Card]) -> tuple[Link, ...]:
    """The other topics of its questions."""
    tags = {topic_of(tag): tag for card in cards for tag in reversed(card.tags)}
    return tuple(topic_link(tag) for name, tag in sorted(tags.items()) if name != topic)
