"""The note of an entity: what is known of it night by night, what was superseded, where sources disagree, what is open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.domain.memory.fold import Memory, Remembered
from pipeline.domain.memory.values import NamedEntity
from pipeline.text.normalise import one_line
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import stems
from pipeline.vault.notes.note_parts import best_link, present, properties_of, quote_link, without_note
from pipeline.vault.output.escaping import Inert, Link, plain
from pipeline.vault.output.note import Note
from pipeline.vault.vault_model import VaultModel

MOST_STATEMENTS, MOST_OPEN = 60, 15
_LONGEST = 360  # characters of a sentence
_KINDS = {"name": "a name", "code": "a piece of code", "term": "a term"}


@dataclass(frozen=True, slots=True)
class Known:
    """A sentence on the entity, the link to its quote in the source's note, the night it was found first, and its standing.

    ``session`` is the session that said last that it holds, or the one in which it was superseded.
    """

    text: str
    source: Link | Inert
    day: str
    session: Link | None
    standing: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question on the entity that a session left open."""

    question: str
    session: Link


@dataclass(frozen=True, slots=True)
class EntityView:
    """What ``entity.md.j2`` is given. ``more`` counts the statements that are not listed."""

    title: str
    kind_words: str
    aliases: tuple[str, ...]
    known: tuple[Known, ...]
    more: int
    superseded: tuple[Known, ...]
    disputed: tuple[Known, ...]
    open: tuple[OpenQuestion, ...]
    sources: int
    first_day: str
    last_day: str


def entity_path(entity: str) -> str:
    """Return the path of the note of an entity, given by its id."""
    return f"entities/entity-{entity}"


def entity_link(entity: NamedEntity) -> Link:
    """Return the link to an entity's note."""
    return Link(entity_path(entity.id), entity.name)


def entity_note(model: VaultModel, memory: Memory, entity: NamedEntity) -> Note:
    """Return the note of an entity."""
    found = [memory.statements[name] for name in entity.statements]
    found.sort(key=lambda one: (_day(memory, one), one.statement.fact))
    view = _view(model, memory, entity, found)
    own = present({"quotes": len(found), "sources": view.sources, "open_questions": len(view.open)})
    created = memory.sessions[found[0].sessions[0]].episode.at
    properties = properties_of("entity", entity.name, own, created=created)
    properties["aliases"] = tuple(dict.fromkeys(map(plain, (entity.name, *entity.aliases))))
    return Note(entity_path(entity.id), "entity", properties, view)


def _view(model: VaultModel, memory: Memory, entity: NamedEntity, found: list[Remembered]) -> EntityView:
    names = (entity.name, *entity.aliases)
    known = [known_of(model, memory, one, names) for one in found if one.holds]
    days = [_day(memory, one) for one in found]
    return EntityView(
        title=entity.name,
        kind_words=_KINDS[entity.kind],
        aliases=entity.aliases,
        known=tuple(one for one in known if one.standing != "disputed")[-MOST_STATEMENTS:],
        more=max(0, sum(one.standing != "disputed" for one in known) - MOST_STATEMENTS),
        superseded=tuple(known_of(model, memory, one, names) for one in found if not one.holds),
        disputed=tuple(one for one in known if one.standing == "disputed"),
        open=tuple(_open(model, memory, names))[:MOST_OPEN],
        sources=len({one.statement.url for one in found}),
        first_day=min(days),
        last_day=max(days),
    )


def _day(memory: Memory, one: Remembered) -> str:
    return memory.sessions[one.sessions[0]].episode.at[:10]


def known_of(model: VaultModel, memory: Memory, one: Remembered, names: Iterable[str] = ()) -> Known:
    """Return a statement as notes show it: the sentence of it that holds one of the ``names``, or its first."""
    session = model.by_id.get(one.superseded_in or one.sessions[-1])
    text = sentence_about(names, one.statement.claim or one.statement.quote)
    link = best_link(session) if session else None
    return Known(text, _source(model, one), _day(memory, one), link, one.statement.standing)


def _source(model: VaultModel, one: Remembered) -> Link | Inert:
    """Return the link to the quote; to the page itself if the vault has no note of it."""
    place = model.sources.get(one.statement.url)
    return quote_link(place, one.statement.fact) if place else without_note(one.statement.url, one.statement.url)


def sentence_about(names: Iterable[str], text: str) -> str:
    """Return the first sentence of a text that holds one of the names; its beginning if none does."""
    sentences = [one for line in text.splitlines() for one in split_sentences(line.strip(" |-*`#"))] or [text]
    wanted = [frozenset(stems(name)) for name in names]
    about = (one for one in sentences if any(name <= frozenset(stems(one)) for name in wanted))
    return one_line(next(about, sentences[0]), _LONGEST)


def _open(model: VaultModel, memory: Memory, names: Iterable[str]) -> Iterable[OpenQuestion]:
    """Yield the open questions of the latest session on each query that name the entity."""
    wanted = [frozenset(stems(name)) for name in names]
    latest = {one.query_id or one.session: one for one in memory.sessions.values()}
    for one in latest.values():
        for question in one.episode.open:
            if one.session in model.by_id and any(name <= frozenset(stems(question)) for name in wanted):
                yield OpenQuestion(one_line(question, _LONGEST), best_link(model.by_id[one.session]))
