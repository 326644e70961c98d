"""The memory that all consolidations together give. Any order of streams, from any machine, gives the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.memory_events import SessionConsolidated
from pipeline.domain.memory.values import OriginRecord, Statement, Yield


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

    A session's last consolidation is that of the stream whose id, which begins with its time, comes last.
    """

    sessions: dict[str, SessionConsolidated] = field(default_factory=dict)

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


def remember(events: Iterable[EventBase]) -> Memory:
    """Return the memory that events of any number of streams, in any order, fold to. Events of other types are skipped."""
    latest: dict[str, SessionConsolidated] = {}
    for event in events:
        if isinstance(event, SessionConsolidated):
            before = latest.setdefault(event.session, event)
            latest[event.session] = max(before, event, key=_when)
    ordered = sorted(latest.values(), key=lambda event: (event.episode.at, event.session))
    return Memory({event.session: event for event in ordered})


def _place(event: EventBase) -> tuple[str, int]:
    return event.session_id, event.version


def _when(event: SessionConsolidated) -> tuple[str, int, str, int]:
    """The second in which the consolidation began; in the same second the later version of the session counts."""
    return event.session_id.rpartition("-")[0], event.up_to, *_place(event)


def _remembered(entries: list[tuple[str, Statement]], superseded_in: str, by: str) -> Remembered:
    last = entries[-1][1]
    cited = any(statement.cited for _name, statement in entries)
    statement = last if last.cited == cited else last.model_copy(update={"cited": cited})
    return Remembered(statement, tuple(name for name, _statement in entries), superseded_in, by)


def _added(record: OriginRecord, entry: Yield) -> OriginRecord:
    sums = {name: getattr(record, name) + getattr(entry, name) for name in ("read", "facts", "cited")}
    return record.model_copy(update={**sums, "failed": record.failed + sum(entry.failed.values())})
