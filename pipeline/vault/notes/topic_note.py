"""The note of a topic: its questions, each once, what was asked about it, and what is still open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pipeline.text.normalise import slug
from pipeline.vault.mornings.entries import Entry, entry_of
from pipeline.vault.notes.asked_since import AskedRow
from pipeline.vault.notes.note_parts import best_link, present, properties_of, topic_of, topic_path
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.note import Note
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel


@dataclass(frozen=True, slots=True)
class TopicView:
    """What ``topic.md.j2`` is given: an entry for each question with a report, and links to the others."""

    title: str
    tag: Inert
    answered: tuple[Entry, ...]
    others: tuple[Link, ...]
    asked: tuple[AskedRow, ...]


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
    questions = list(map(latest, of_questions(cards)))
    view = TopicView(
        title=topic_title(topic, cards),
        tag=Inert(f"topic/{topic}"),
        answered=tuple(entry_of(model, card) for card in questions if card.answered),
        others=tuple(best_link(card) for card in questions if not card.answered),
        asked=asked,
    )
    own = present(
        {
            "questions": len(questions),
            "reports": sum(card.answered for card in cards),
            "sources": len({drawn.url for card in questions for drawn in card.drawn}),
            "open_questions": sum(len(card.open) for card in questions),
        }
    )
    properties = properties_of("topic", view.title, own, topics=(topic,), created=cards[0].started_at)
    return Note(topic_path(topic), "topic", properties, view)


def of_questions(cards: Iterable[Card]) -> list[list[Card]]:
    """Return the sessions of each question in order of their start; the question that was asked last comes first."""
    found: dict[str, list[Card]] = {}
    for card in cards:
        same = found.pop(card.query_id or card.id, [])
        found[card.query_id or card.id] = [*same, card]
    return list(reversed(found.values()))


def latest(sessions: Sequence[Card]) -> Card:
    """Return the session of a question's latest report; its latest session if it has none."""
    return next((card for card in reversed(sessions) if card.answered), sessions[-1])


def topic_title(topic: str, cards: Iterable[_Tagged]) -> str:
    """Return the topic as it was first written."""
    return next((tag for card in cards for tag in card.tags if topic_of(tag) == topic), topic)
