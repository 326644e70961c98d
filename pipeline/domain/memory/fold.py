"""The memory that all consolidations together give. Any order of streams, from any machine, gives the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.memory_events import EntitiesNamed, EntityJoined, SessionConsolidated
from pipeline.domain.memory.values import EntityPassage, NamedEntity, OriginRecord, Statement, Yield


@dataclass(frozen=True, slots=True)
class Remembered:
    """A statement over all sessions: as the latest session found it, the sessions that found it, and what became of it.

    ``sessions`` are their ids in order of their ends. ``superseded_in`` is the later session in which its source no longer made
    the statement, "" if it still does; ``by`` is the fact that replaced it, or "".
    """

    statement: Statement
    sessions: tuple[str, ...]
    superseded_in: str = ""
    by: str = ""

    @property
    def holds(self) -> bool:
        """Whether no later session found that its source says something else by now."""
        return not self.superseded_in


@dataclass
class Memory:
    """What all sessions left behind. ``sessions`` holds the last consolidation of each, in order of their ends.

    A session's last consolidation is that of the stream whose id, which begins with its time, comes last. ``naming`` is the
    latest method of naming entities.
    """

    sessions: dict[str, SessionConsolidated] = field(default_factory=dict)
    named: tuple[NamedEntity, ...] = ()
    joins: tuple[EntityJoined, ...] = ()
    naming: str = ""

    @cached_property
    def statements(self) -> dict[str, Remembered]:
        """Each statement by fact id, in order of the sessions that found it first."""
        found: dict[str, list[tuple[str, Statement]]] = {}
        ended: dict[str, tuple[str, str]] = {}
        for name, one in self.sessions.items():
            for statement in one.statements:
                found.setdefault(statement.fact, []).append((name, statement))
                ended.pop(statement.fact, None)  # its source makes it again
            ended |= {gone.fact: (name, gone.by) for gone in one.superseded}
        return {name: _remembered(entries, *ended.get(name, ("", ""))) for name, entries in found.items()}

    @cached_property
    def entities(self) -> dict[str, NamedEntity]:
        """The named entities by id, sorted, after all joins; statements that are not remembered any more are left out."""
        into = {join.entity: join.into for join in self.joins}
        whole: dict[str, NamedEntity] = {}
        for entity in self.named:
            name = _end_of(entity.id, into)
            whole[name] = _joined(whole.get(name), entity, name)
        known = self.statements
        kept = (one.model_copy(update={"statements": tuple(x for x in one.statements if x in known)}) for one in whole.values())
        return {one.id: one for one in sorted(kept, key=lambda one: one.id) if one.statements}

    @cached_property
    def entities_of(self) -> dict[str, tuple[str, ...]]:
        """The ids of the entities that each statement names, by fact id."""
        found: dict[str, list[str]] = {}
        for entity in self.entities.values():
            for fact in entity.statements:
                found.setdefault(fact, []).append(entity.id)
        return {fact: tuple(names) for fact, names in found.items()}

    def yields(self) -> Iterator[tuple[str, Yield]]:
        """Yield each session's id with each of its yields, in order of the sessions' ends."""
        return ((name, entry) for name, one in self.sessions.items() for entry in one.yields)

    @cached_property
    def origins(self) -> dict[str, OriginRecord]:
        """The sums of each host or document over all sessions, sorted by its name; ``failing`` is left open."""
        sums: dict[str, OriginRecord] = {}
        for _name, entry in self.yields():
            if entry.origin:
                sums[entry.origin] = _added(sums.get(entry.origin) or OriginRecord(origin=entry.origin), entry)
        return dict(sorted(sums.items()))

    @cached_property
    def providers(self) -> dict[str, Yield]:
        """The sums of each search provider over all sessions: its searches, and what came of the pages that it found."""
        sums: dict[str, Yield] = {}
        for _name, entry in self.yields():
            if entry.provider:
                sums[entry.provider] = _sum_of(sums.get(entry.provider) or Yield(origin="", provider=entry.provider), entry)
        return dict(sorted(sums.items()))


def remember(events: Iterable[EventBase]) -> Memory:
    """Return the memory that events of any number of streams, in any order, fold to. Events of other types are skipped."""
    latest: dict[str, SessionConsolidated] = {}
    named: list[EntitiesNamed] = []
    joins: list[EntityJoined] = []
    for event in events:
        if isinstance(event, SessionConsolidated):
            before = latest.setdefault(event.session, event)
            latest[event.session] = max(before, event, key=_when)
        elif isinstance(event, EntitiesNamed):
            named.append(event)
        elif isinstance(event, EntityJoined):
            joins.append(event)
    ordered = sorted(latest.values(), key=lambda event: (event.episode.at, event.session))
    method = max((event.method for event in named), default="")
    names = (entity for event in sorted(named, key=_place) if event.method == method for entity in event.names)
    sessions = {event.session: event for event in ordered}
    return Memory(sessions, _names_put_together(names), tuple(sorted(joins, key=_place)), method)


def _place(event: EventBase) -> tuple[str, int]:
    return event.session_id, event.version


def _when(event: SessionConsolidated) -> tuple[str, int, str, int]:
    """The second in which the consolidation began; in the same second the later version of the session counts."""
    return event.session_id.rpartition("-")[0], event.up_to, *_place(event)


def _names_put_together(names: Iterable[NamedEntity]) -> tuple[NamedEntity, ...]:
    """Return each entity once, as it was named last, with the statements and aliases of all its events."""
    whole: dict[str, NamedEntity] = {}
    for entity in names:
        whole[entity.id] = _joined(whole[entity.id], entity, entity.id) if entity.id in whole else entity
    return tuple(whole[name] for name in sorted(whole))


def _remembered(entries: list[tuple[str, Statement]], superseded_in: str, by: str) -> Remembered:
    last = entries[-1][1]
    cited = any(statement.cited for _name, statement in entries)
    statement = last if last.cited == cited else last.model_copy(update={"cited": cited})
    return Remembered(statement, tuple(name for name, _statement in entries), superseded_in, by)


def _end_of(name: str, into: dict[str, str]) -> str:
    seen = {name}
    while (after := into.get(name)) is not None and after not in seen:
        seen.add(name := after)
    return name


def _joined(before: NamedEntity | None, entity: NamedEntity, name: str) -> NamedEntity:
    """Return an entity that has the statements and names of both; that with the id ``name`` keeps its own name."""
    if before is None:
        return entity.model_copy(update={"id": name})
    main, other = (entity, before) if entity.id == name else (before, entity)
    aliases = dict.fromkeys((*main.aliases, other.name, *other.aliases))
    statements = dict.fromkeys((*main.statements, *other.statements))
    found = {"id": name, "aliases": tuple(x for x in aliases if x != main.name), "statements": tuple(statements)}
    return main.model_copy(update={**found, "passages": _passages(before, entity)})


def _passages(before: NamedEntity, entity: NamedEntity) -> tuple[EntityPassage, ...]:
    """Return the passages of both; of a page that the later one knows too, only what it says of that page."""
    renewed = {one.url for one in entity.passages}
    return (*(one for one in before.passages if one.url not in renewed), *entity.passages)


def _added(record: OriginRecord, entry: Yield) -> OriginRecord:
    sums = {name: getattr(record, name) + getattr(entry, name) for name in ("read", "facts", "cited", "refused")}
    return record.model_copy(update={**sums, "failed": record.failed + sum(entry.failed.values())})


def _sum_of(before: Yield, entry: Yield) -> Yield:
    counts = ("read", "facts", "cited", "refused", "searches", "hits")
    sums = {name: getattr(before, name) + getattr(entry, name) for name in counts}
    failed = {name: before.failed.get(name, 0) + entry.failed.get(name, 0) for name in sorted({*before.failed, *entry.failed})}
    return before.model_copy(update={**sums, "failed": failed, "seconds": round(before.seconds + entry.seconds, 3)})
