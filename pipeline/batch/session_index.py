"""A summary of every session in a store; a session with a damaged log is reported and does not hide the others.

Summaries are cached under the fingerprint of their stream, so that only changed logs are read. The cache can be deleted at any
time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from functools import cache

from pipeline.domain.events.records import NO_TOMBSTONES, Tombstones
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
    fresh, damaged = _read_streams(store, (name for name in marks if name not in entries))
    branched = store.branched(fresh)
    if kept:
        _keep(kept, marks, _settled(fresh, branched), known.keys() - entries.keys())
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


def refresh(store: EventStore, kept: SummaryCache, marks: Mapping[str, str], read: Mapping[str, Summary]) -> None:
    """Update ``kept`` with the sessions that changed; no other is opened. ``marks`` are the store's fingerprints by stream.

    ``read`` are sessions that were read under these marks already.
    """
    known = {name: mark for name, (mark, _line) in kept.read(_layout_id()).items()}
    changed = [name for name, mark in marks.items() if known.get(name) != mark]
    fresh, _damaged = _read_streams(store, (name for name in changed if name not in read))
    fresh |= {name: read[name] for name in changed if name in read}
    _keep(kept, marks, _settled(fresh, store.branched(fresh)), {name for name, mark in known.items() if marks.get(name) != mark})


def _read_streams(store: EventStore, names: Iterable[str]) -> tuple[dict[str, Entry], dict[str, LogError]]:
    """The entries of the streams, and why some sessions cannot be read."""
    entries: dict[str, Entry] = {}
    damaged: dict[str, LogError] = {}
    for name in names:
        is_session = not name.startswith("batch-")
        try:
            from pipeline.domain.progress import summary_of
            from pipeline.domain.session import ResearchSession

            if is_session:
                entries[name] = summary_of(ResearchSession.open(store, name).state)
            else:
                ended = [json.loads(record.data) for record in store.load(name) if record.type == "query.ended"]
                entries[name] = tuple(session for event in ended if (session := event.get("session")))
        except LogError as error:
            if is_session:  # of a night that cannot be read, building the vault says so
                damaged[name] = error
    return entries, damaged


def _settled(entries: Mapping[str, Entry], branched: Iterable[str]) -> dict[str, Entry]:
    """Return the entries without those of streams whose branches are still to be joined: the next run must meet them again."""
    return {name: entry for name, entry in entries.items() if name not in {*branched}}


def _keep(kept: SummaryCache, marks: Mapping[str, str], fresh: Mapping[str, Entry], outdated: AbstractSet[str]) -> None:
    if fresh or outdated:
        lines = {name: (marks[name], _encoded(entry)) for name, entry in fresh.items()}
        kept.write(_layout_id(), lines, outdated - fresh.keys())


def _encoded(entry: Entry) -> str:
    return json.dumps([getattr(entry, name) for name in _NAMES] if isinstance(entry, Summary) else entry)


def _decoded(name: str, line: str) -> Entry | None:
    try:
        values = json.loads(line)
        if name.startswith("batch-"):
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
