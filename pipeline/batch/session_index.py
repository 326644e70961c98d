"""A summary of every session in a store; a session with a damaged log is reported and does not hide the others.

Summaries are cached under the fingerprint of their stream, so that only changed logs are read. The cache can be deleted at any
time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache

from pipeline.domain.events.records import NO_TOMBSTONES, Tombstones, kind_of
from pipeline.domain.summary import Summary, fold_id
from pipeline.errors import LogDamaged, LogError
from pipeline.ports import EventStore, SummaryCache
from pipeline.text.normalise import digest_of

_WRITE_OFF = "only what is lost for good is written off: research verify --repair"
Entry = Summary | tuple[str, ...]  # of a session; of a night, the sessions that it names


@dataclass(frozen=True, slots=True)
class SessionIndex:
    """The readable sessions, ordered by id, and why the others cannot be read, by id.

    A session that a batch names but whose log is missing counts as unreadable, unless the user has written it off. ``tombstones``
    say what was pruned and forgotten. ``branched`` are the streams that several machines continued and whose branches are not
    joined yet.
    """

    sessions: tuple[Summary, ...] = ()
    damaged: Mapping[str, LogError] = field(default_factory=dict)
    tombstones: Tombstones = NO_TOMBSTONES
    branched: tuple[str, ...] = ()

    def latest(self) -> dict[str, Summary]:
        """Return each query id's latest session: one that no other followed. Only among several such do their times decide."""
        followed = {summary.previous_session for summary in self.sessions}
        latest: dict[str, Summary] = {}
        for summary in sorted(self.sessions, key=lambda one: (one.id not in followed, one.started_at, one.id)):
            if summary.query_id:
                latest[summary.query_id] = summary
        return latest


def read_all(store: EventStore, kept: SummaryCache | None = None) -> SessionIndex:
    """Return a summary of every session; only sessions that changed since they were written to ``kept`` are opened."""
    marks = store.marks()
    known = kept.read(_layout_id()) if kept else {}
    lines = ((name, line) for name, (mark, line) in known.items() if marks.get(name) == mark)
    entries = {name: entry for name, line in lines if (entry := _decoded(name, line)) is not None}
    fresh: dict[str, Entry] = {}
    damaged: dict[str, LogError] = {}
    for name in [name for name in marks if name not in entries]:
        is_night = kind_of(name) == "batch"
        try:
            if is_night:
                ended = [json.loads(record.data) for record in store.load(name) if record.type == "query.ended"]
                fresh[name] = tuple(session for event in ended if (session := event.get("session")))
            else:
                from pipeline.domain.session import ResearchSession, summary_of  # it folds: only where a session has changed

                fresh[name] = summary_of(ResearchSession.open(store, name).state)
        except LogError as error:
            if not is_night:  # of a night that cannot be read, building the vault says so
                damaged[name] = error
    branched = store.branched(fresh)
    if kept:  # without what has branches that are still to be joined: the next run must meet them again
        lines_now = {name: (marks[name], _encoded(entry)) for name, entry in fresh.items() if name not in branched}
        outdated = known.keys() - entries.keys()
        if lines_now or outdated:
            kept.write(_layout_id(), lines_now, outdated - lines_now.keys())
    entries |= fresh
    there = {name: entry for name in marks if isinstance(entry := entries.get(name), Summary)}
    named = {session for entry in entries.values() if isinstance(entry, tuple) for session in entry}
    lost = named - {name for name, summary in there.items() if summary.version} - damaged.keys()
    stones = store.tombstones()
    for name in sorted(lost):
        if name not in stones.written_off and not stones.is_forgotten(name):
            hint = f"bring events/sessions/{name} back from a backup or from git (another branch may have it); {_WRITE_OFF}"
            damaged[name] = LogDamaged(f"the log of {name} is missing, but a run refers to it", hint=hint)
    sessions = tuple(summary for name, summary in there.items() if name not in damaged)
    return SessionIndex(sessions, damaged, stones, tuple(branched))


def _encoded(entry: Entry) -> str:
    return json.dumps([getattr(entry, name) for name in _NAMES] if isinstance(entry, Summary) else entry)


def _decoded(name: str, line: str) -> Entry | None:
    try:
        values = json.loads(line)
        if kind_of(name) == "batch":
            return tuple(values)
        values[_TAGS] = tuple(values[_TAGS])
        return Summary(*values)
    except (ValueError, TypeError, IndexError):
        return None


_NAMES = [part.name for part in fields(Summary)]
_TAGS = _NAMES.index("tags")


@cache
def _layout_id() -> str:
    """An id of the summary's fields and the fold's code, so that summaries of another program version are not used."""
    return digest_of(f"{fold_id()} {_NAMES}".encode())[:16]
