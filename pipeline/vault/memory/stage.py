"""The stage of a build that renders what is remembered: the notes of entities, the note on memory, what topics know by now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.memory.fold import Memory, Remembered, remember
from pipeline.domain.memory.values import NamedEntity
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.stream_mark import MEMORY, stream_mark
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.memory.entity_note import Known, entity_link, entity_note, known_of
from pipeline.vault.memory.memory_note import memory_note
from pipeline.vault.memory.quoting_sessions import cited_facts
from pipeline.vault.memory.timeline import Timeline, Told, timeline, told
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import VaultModel

MOST_KNOWN = 12  # statements that a topic's note shows
MOST_NAMES, MOST_NAMES_OF_TOPIC = 8, 24  # links to entities at the end of a report, and in a topic's note
_NAMES = "names in reports"  # the catalogue's entry for the entities that the last build showed of each session
_ENTITIES = "entities"  # the catalogue's entry for what the last build showed of each entity


@dataclass
class MemoryNotes:
    """What a build shows of memory. ``relinked``: the links to other notes may have changed since the last build."""

    store: EventStore
    catalogue: Catalogue
    changes: LogChanges
    relinked: bool

    @cached_property
    def is_changed(self) -> bool:
        """Whether memory, or what its notes link to, may differ from what the last build showed."""
        mark = stream_mark(self.store, "memory")
        changed = self.relinked or mark != self.catalogue.recall(MEMORY)
        self.catalogue.keep(MEMORY, mark)
        return changed

    @cached_property
    def memory(self) -> Memory:
        """What the readable memory streams hold; the others are among the build's problems."""
        return remember(self._events())

    def _events(self) -> Iterator[EventBase]:
        for name in self.store.ids("memory"):
            try:
                yield from list(decode_all(record.data for record in self.store.load(name)))
            except LogError as error:
                self.changes.problems.append(f"what {name} remembers: {error}; run `research verify` for details")

    @property
    def entities(self) -> dict[str, NamedEntity]:
        """The entities that have a note, by id."""
        return self.memory.entities

    def new_entities(self, model: VaultModel) -> set[str]:
        """Return the ids of the entities whose notes changed; remember what all of them show."""
        if not self.is_changed:
            return set()
        before = self._shown_before
        now = {name: _fingerprint(entity_note(model, self.memory, one)) for name, one in self.entities.items()}
        self.catalogue.keep(_ENTITIES, json.dumps(now))
        return {name for name, shown in now.items() if before.get(name) != shown}

    @cached_property
    def _shown_before(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.catalogue.recall(_ENTITIES) or "{}")
        return found

    def names_in(self, sessions: Iterable[str], most: int = MOST_NAMES) -> tuple[Link, ...]:
        """Return the links to the entities that most of the sessions' statements name."""
        facts = {fact for name in sessions for fact in self._facts_of.get(name, ())}
        found = Counter(entity for fact in facts for entity in self.memory.entities_of.get(fact, ()))
        best = sorted(found, key=lambda name: (-found[name], name))[:most]
        return tuple(entity_link(self.entities[name]) for name in best)

    @cached_property
    def _facts_of(self) -> dict[str, list[str]]:
        return {name: sorted(cited_facts(self.memory, name) & self.memory.statements.keys()) for name in self.memory.sessions}

    def sessions_renamed(self) -> set[str]:
        """Return the sessions whose entities are not those that the last build showed; remember those of now."""
        if not self.is_changed:
            return set()
        before: dict[str, str] = json.loads(self.catalogue.recall(_NAMES) or "{}")
        now = {name: str(found) for name in sorted(self._facts_of) if (found := self.names_in([name]))}
        self.catalogue.keep(_NAMES, json.dumps(now))
        return {name for name in now.keys() | before.keys() if now.get(name) != before.get(name)}

    def gone(self) -> set[str]:
        """Return the owners of notes that the last build knew and that no longer exist."""
        if not self.is_changed:
            return set()
        gone = {f"entity:{name}" for name in self._shown_before.keys() - self.entities.keys()}
        return gone if self.has_note else {*gone, "memory:"}

    @property
    def has_note(self) -> bool:
        """Whether anything is remembered."""
        return bool(self.memory.sessions)

    def entity_note(self, model: VaultModel, name: str) -> Note:
        """Return the note of an entity, given by its id."""
        return entity_note(self._noted(model), self.memory, self.entities[name])

    def memory_note(self, model: VaultModel) -> Note:
        """Return the note on memory."""
        return memory_note(self._noted(model), self.memory)

    def _noted(self, model: VaultModel) -> VaultModel:
        """Return the vault with only those sources that have a note, to which a page that was read may be linked."""
        return replace(model, sources=self.catalogue.noted_sources())

    def known_on(self, model: VaultModel, cards: Iterable[Card]) -> tuple[Known, ...]:
        """Return what the sessions of a topic found: confirmed statements first, then those that most sessions found."""
        sessions = {card.id for card in cards}
        found = [one for one in self.memory.statements.values() if one.holds and not sessions.isdisjoint(one.sessions)]
        found.sort(key=_worth)
        return tuple(known_of(model, self.memory, one) for one in found[:MOST_KNOWN])

    def timeline_of(self, model: VaultModel, cards: Iterable[Card]) -> Timeline:
        """Return what became known on a topic over nights; ``cards`` are those of its sessions."""
        return timeline(model, self.memory, cards)

    def told_of(self) -> set[str]:
        """Return the sessions that a model said something of."""
        return {name for name, one in self.memory.sessions.items() if one.episode.sentences}

    def episodes_of(self, cards: Iterable[Card]) -> tuple[Told, ...]:
        """Return what a model said of sessions, the newest first."""
        return tuple(told(self.memory, cards))


def _worth(one: Remembered) -> tuple[bool, bool, int, str]:
    statement = one.statement
    return statement.standing != "corroborated", not statement.cited, -len(one.sessions), statement.fact


def _fingerprint(note: Note) -> str:
    return digest_of(f"{sorted(note.properties.items())} {note.view}".encode("utf-8", "replace"))[:16]
