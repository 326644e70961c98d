"""A summary of every session in a store; a session with a damaged log is reported and does not hide the others.

Summaries are kept in a file under the mark of their stream, so that only changed logs are read. It can be deleted at any time.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.domain.events.stream_records import NO_TOMBSTONES, Tombstones, kind_of
from pipeline.domain.summary import Summary, fold_id
from pipeline.errors import LogDamaged, LogError
from pipeline.ports import EventStore
from pipeline.system import files
from pipeline.text.cleaning import digest_of

_log = logging.getLogger("pipeline.batch.session_index")
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


def read_all(store: EventStore, kept: Path | None = None, *, writable: bool = True) -> SessionIndex:
    """Return a summary of every session; only sessions that changed since they were written to the file ``kept`` are opened."""
    marks = store.marks()
    known = _known_in(kept) if kept else {}
    lines = ((name, values) for name, (mark, values) in known.items() if marks.get(name) == mark)
    entries = {name: entry for name, values in lines if (entry := _decoded(name, values)) is not None}
    fresh: dict[str, Entry] = {}
    damaged: dict[str, LogError] = {}
    for name in [name for name in marks if name not in entries]:
        is_night = kind_of(name) == "batch"
        try:
            if is_night:
                ended = [json.loads(record.data) for record in store.load(name) if record.type == "query.ended"]
                fresh[name] = tuple(session for event in ended if (session := event.get("session")))
            else:
                from pipeline.domain import session  # it folds: only where a session has changed

                fresh[name] = session.summary_of(session.ResearchSession.open(store, name).state)
        except LogError as error:
            if not is_night:  # of a night that cannot be read, building the vault says so
                damaged[name] = error
    branched = store.branched(fresh)
    if kept and writable:  # without what has branches that are still to be joined: the next run must meet them again
        new = {name: (marks[name], _encoded(entry)) for name, entry in fresh.items() if name not in branched}
        if new or known.keys() != entries.keys():
            _keep(kept, {name: known[name] for name in entries} | new)
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


def _known_in(path: Path) -> dict[str, tuple[str, list[Any]]]:
    """Return the mark and the values of each stream; none if the file is missing, damaged, or of another program."""
    try:
        said = json.loads(files.read_bytes(path))
        streams = said["streams"].items() if said["layout"] == _layout_id() else ()
        return {name: (mark, values) for name, (mark, values) in streams}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.info("no summaries can be read in %s: %s", path, error)
        return {}


def _keep(path: Path, streams: Mapping[str, tuple[str, list[Any]]]) -> None:
    try:
        files.write(path, json.dumps({"layout": _layout_id(), "streams": streams}).encode(), mode=0o600)
    except OSError as error:
        _log.info("the summaries in %s were not kept: %s", path, error)


def _encoded(entry: Entry) -> list[Any]:
    return [getattr(entry, name) for name in _NAMES] if isinstance(entry, Summary) else list(entry)


def _decoded(name: str, values: list[Any]) -> Entry | None:
    try:
        if kind_of(name) == "batch":
            return tuple(values)
        named = dict(zip(_NAMES, values, strict=True))
        return Summary(**named | {"tags": tuple(named["tags"])})
    except (TypeError, ValueError):
        return None


_NAMES = [part.name for part in fields(Summary)]


@cache
def _layout_id() -> str:
    """An id of the summary's fields and the fold's code, so that summaries of another program version are not used."""
    return digest_of(f"{fold_id()} {_NAMES}".encode())[:16]
