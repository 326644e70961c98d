"""What became known on a topic over nights, and what a model said of each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.domain.events.memory_events import SessionConsolidated
from pipeline.domain.memory.fold import Memory
from pipeline.text.normalise import one_line
from pipeline.text.sentences import split_sentences
from pipeline.vault.notes.note_parts import best_link
from pipeline.vault.output.escaping import Inert, Link
from pipeline.vault.output.prose import prose
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

MOST_OPENLY = 20  # nights that a timeline shows openly; older ones are folded
MOST_SUPERSEDED = 3
_LONGEST = 360  # characters of what a session found


@dataclass(frozen=True, slots=True)
class Told:
    """A session in short: the link to its report, when it ended, and a model's sentences on it."""

    session: Link
    at: str
    text: Inert


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A session of a topic: when it ended, what became known, and what no longer holds since.

    ``known`` is a model's sentences on it, or the beginning of its answer; for a session without a report its outcome.
    ``added`` counts the statements that no session of the topic had found before. ``superseded`` are the first three statements
    that its sources no longer make, ``more_superseded`` counts the others.
    """

    session: Link
    at: str
    known: Inert
    added: int
    superseded: tuple[str, ...]
    more_superseded: int


@dataclass(frozen=True, slots=True)
class Timeline:
    """The sessions of a topic, the newest first; beyond the first twenty they are ``earlier``."""

    entries: tuple[TimelineEntry, ...] = ()
    earlier: tuple[TimelineEntry, ...] = ()


def told(memory: Memory, cards: Iterable[Card]) -> Iterator[Told]:
    """Yield what a model said of each session, the newest first; nothing of those that none was asked about."""
    for card in reversed(tuple(cards)):
        one = memory.sessions.get(card.id)
        if one and one.episode.sentences:
            yield Told(best_link(card), one.episode.at, sentences_of(one))


def sentences_of(one: SessionConsolidated) -> Inert:
    """Return a model's sentences on a session on one line; empty without any."""
    return prose(" ".join(sentence.text for sentence in one.episode.sentences))


def timeline(model: VaultModel, memory: Memory, cards: Iterable[Card]) -> Timeline:
    """Return the timeline of a topic, given by the cards of its sessions."""
    wanted = {card.id for card in cards}
    known: set[str] = set()
    entries = []
    for name, one in memory.sessions.items():
        if name in wanted and name in model.by_id:
            entries.append(_entry(model.by_id[name], memory, one, known))
            known.update(statement.fact for statement in one.statements)
    entries.reverse()
    return Timeline(tuple(entries[:MOST_OPENLY]), tuple(entries[MOST_OPENLY:]))


def _entry(card: Card, memory: Memory, one: SessionConsolidated, known: set[str]) -> TimelineEntry:
    gone = [memory.statements[entry.fact].statement for entry in one.superseded if entry.fact in memory.statements]
    return TimelineEntry(
        session=best_link(card),
        at=one.episode.at,
        known=sentences_of(one) or _answer(one),
        added=sum(statement.fact not in known for statement in one.statements),
        superseded=tuple(one_line(statement.claim or statement.quote, 200) for statement in gone[:MOST_SUPERSEDED]),
        more_superseded=max(0, len(gone) - MOST_SUPERSEDED),
    )


def _answer(one: SessionConsolidated) -> Inert:
    """Return the first sentence of the answer, or of the reason why there is none."""
    return prose(one_line(next(iter(split_sentences(one.episode.answer)), ""), _LONGEST))
