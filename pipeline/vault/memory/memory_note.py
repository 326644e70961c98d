"""The note on memory: sources by yield, search providers, searches that led to cited facts, errors and what met them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from pipeline.domain.memory.fold import Memory
from pipeline.domain.memory.values import Solution
from pipeline.text.normalise import one_line
from pipeline.vault.memory.entity_note import entity_link
from pipeline.vault.notes.note_parts import address_words, best_link, present, properties_of, source_link
from pipeline.vault.output.escaping import Inert, Link, inert
from pipeline.vault.output.note import Note
from pipeline.vault.vault_model import VaultModel

PATH = "Memory"
MOST_ORIGINS, MOST_SEARCHES, MOST_ERRORS, MOST_ENTITIES = 30, 30, 20, 60


@dataclass(frozen=True, slots=True)
class Origin:
    """A host or document, and the counts of what came of it; ``failed`` reads, ``refused`` pages."""

    name: Link | Inert
    read: int
    failed: int
    facts: int
    cited: int
    refused: int


@dataclass(frozen=True, slots=True)
class Provider:
    """A search provider: its searches, their hits, the pages read of those, and the facts cited."""

    name: str
    searches: int
    hits: int
    read: int
    cited: int


@dataclass(frozen=True, slots=True)
class Way:
    """A search that led to facts which reports cite: in how many sessions, and the latest of them with its day."""

    query: str
    times: int
    session: Link
    day: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error, where it came up, what it was met by and how often, and how often that worked."""

    error: str
    step: str
    where: str
    met: str
    times: int
    worked: int


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity, and the number of its statements."""

    entity: Link
    statements: int


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What ``memory.md.j2`` is given. The ``more_…`` count what is not listed."""

    title: str
    sessions: int
    statements: int
    superseded: int
    origins: tuple[Origin, ...]
    more_origins: int
    providers: tuple[Provider, ...]
    ways: tuple[Way, ...]
    troubles: tuple[Trouble, ...]
    entities: tuple[EntityRow, ...]
    more_entities: int


def memory_note(model: VaultModel, memory: Memory) -> Note:
    """Return the note on memory."""
    view = _view(model, memory)
    own = present({"sessions": view.sessions, "quotes": view.statements})
    first = next(iter(memory.sessions.values()))
    return Note(PATH, "memory", properties_of("memory", view.title, own, created=first.episode.at), view)


def _view(model: VaultModel, memory: Memory) -> MemoryView:
    origins = sorted(memory.origins.values(), key=lambda one: (-one.cited, -one.facts, -one.failed, one.origin))
    entities = sorted(memory.entities.values(), key=lambda one: (-len(one.statements), one.id))
    return MemoryView(
        title="Memory",
        sessions=len(memory.sessions),
        statements=sum(one.holds for one in memory.statements.values()),
        superseded=sum(not one.holds for one in memory.statements.values()),
        origins=tuple(
            Origin(_origin(model, one.origin), one.read, one.failed, one.facts, one.cited, one.refused)
            for one in origins[:MOST_ORIGINS]
        ),
        more_origins=max(0, len(origins) - MOST_ORIGINS),
        providers=tuple(Provider(name, one.searches, one.hits, one.read, one.cited) for name, one in memory.providers.items()),
        ways=tuple(islice(_ways(model, memory), MOST_SEARCHES)),
        troubles=_troubles(memory),
        entities=tuple(EntityRow(entity_link(one), len(one.statements)) for one in entities[:MOST_ENTITIES]),
        more_entities=max(0, len(entities) - MOST_ENTITIES),
    )


def _origin(model: VaultModel, origin: str) -> Link | Inert:
    place = model.sources.get(origin)
    return source_link(place) if place else inert(address_words(origin))


def _ways(model: VaultModel, memory: Memory) -> Iterator[Way]:
    """Yield the searches, those of the latest session first; one that several sessions made comes up once."""
    times: Counter[str] = Counter()
    latest: dict[str, tuple[Link, str]] = {}
    for one in reversed(memory.sessions.values()):
        if one.session in model.by_id:
            place = best_link(model.by_id[one.session]), one.episode.at
            found = dict.fromkeys((one_line(query, 160) for way in one.procedures for query in way.queries), 1)
            times.update(found)
            latest.update((query, place) for query in found if query not in latest)
    for query, (session, day) in latest.items():
        yield Way(query, times[query], session, day)


def _troubles(memory: Memory) -> tuple[Trouble, ...]:
    """Return the errors, the most frequent first."""
    times: Counter[tuple[str, str, str, str]] = Counter()
    worked: Counter[tuple[str, str, str, str]] = Counter()
    for found in (found for one in memory.sessions.values() for found in one.solutions):
        times[_trouble_key(found)] += 1
        worked[_trouble_key(found)] += found.worked
    ordered = sorted(times, key=lambda key: (-times[key], key))
    return tuple(Trouble(*key, times[key], worked[key]) for key in ordered[:MOST_ERRORS])


def _trouble_key(found: Solution) -> tuple[str, str, str, str]:
    return found.error, found.step, found.where, found.met
