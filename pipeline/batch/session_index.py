"""A summary of every session in a store; a session with a damaged log is reported and does not hide the others.

Summaries are cached under the fingerprint of their stream, so that only changed logs are read. The cache can be deleted at any
time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING

from pipeline.domain import fold_id
from pipeline.errors import LogDamaged, LogError
from pipeline.ports import EventStore, SummaryCache
from pipeline.text.normalise import digest_of

if TYPE_CHECKING:
    from pipeline.domain.state import SessionState

ENDED = frozenset(
    {"complete", "not-found", "failed", "cancelled"}
)  # as ``pipeline.domain.state.TERMINAL``, which is slow to import


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in short. ``facts``, ``sources``, ``steps`` and ``calls`` (paid calls) are counts.

    ``usd``, ``assumed_usd`` and ``expected_usd`` are as in ``Cost``.
    ``waiting``: its plan waits for approval; ``approved``: it does no longer, and nothing was begun yet.
    """

    id: str
    version: int = 0
    status: str = "pending"
    query: str = ""
    query_id: str = ""
    mode: str = "deep"
    waiting: bool = False
    approved: bool = False
    tags: tuple[str, ...] = ()
    previous_session: str = ""
    started_at: str = ""
    ended_at: str = ""
    end_reason: str = ""
    title: str = ""
    facts: int = 0
    sources: int = 0
    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    assumed_usd: float = 0.0
    expected_usd: float = 0.0
    seconds: float = 0.0
    steps: int = 0
    steps_in_all: int = 0

    @property
    def ended(self) -> bool:
        """Tell whether the session has ended; it can be reopened."""
        return self.status in ENDED


Entry = Summary | tuple[str, ...]  # of a session; of a night, the sessions that it names


def summary_of(state: SessionState) -> Summary:
    """Return the summary of a session."""
    from pipeline.domain.agenda import progress
    from pipeline.domain.state import cost_of, working_seconds

    cost = cost_of(state)
    done, in_all = progress(state)
    return Summary(
        id=state.id,
        version=state.version,
        status=state.status,
        query=state.query,
        query_id=state.query_id,
        mode=state.config.mode,
        waiting=state.waiting,
        approved=state.approval == "given" and not state.workers,
        tags=state.tags,
        previous_session=state.previous_session,
        started_at=state.started_at,
        ended_at=state.ended_at,
        end_reason=state.end_reason,
        title=state.title,
        facts=len(state.facts),
        sources=len({fact.url for fact in state.facts.values()}),
        calls=state.spent.calls,
        tokens=state.spent.total_tokens,
        usd=cost.usd,
        assumed_usd=cost.assumed_usd,
        expected_usd=cost.expected_usd,
        seconds=working_seconds(state),
        steps=done,
        steps_in_all=in_all,
    )


@dataclass(frozen=True, slots=True)
class SessionIndex:
    """The readable sessions, ordered by id, and why the others cannot be read, by id.

    A session that a batch names but whose log is missing counts as unreadable, unless the user has written it off.
    """

    sessions: tuple[Summary, ...] = ()
    damaged: Mapping[str, LogError] = field(default_factory=dict)

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
    if kept:
        _keep(kept, marks, fresh, known.keys() - entries.keys())
    entries |= fresh
    there = {name: entry for name in marks if isinstance(entry := entries.get(name), Summary)}
    named = {session for entry in entries.values() if isinstance(entry, tuple) for session in entry}
    lost = named - {name for name, summary in there.items() if summary.version} - damaged.keys()
    damaged |= {name: _log_missing(name) for name in sorted(lost - set(store.written_off() if lost else ()))}
    return SessionIndex(tuple(summary for name, summary in there.items() if name not in damaged), damaged)


def _log_missing(name: str) -> LogDamaged:
    hint = f"bring events/sessions/{name} back from a backup or from git, or write it off: research verify --repair"
    return LogDamaged(f"the log of {name} is missing, but a run refers to it", hint=hint)


def refresh(store: EventStore, kept: SummaryCache, marks: Mapping[str, str]) -> None:
    """Update ``kept`` with the sessions that changed; no other is read. ``marks`` are the store's fingerprints by stream."""
    known = {name: mark for name, (mark, _line) in kept.read(_layout_id()).items()}
    fresh, _damaged = _read_streams(store, (name for name, mark in marks.items() if known.get(name) != mark))
    _keep(kept, marks, fresh, {name for name, mark in known.items() if marks.get(name) != mark})


def _read_streams(store: EventStore, names: Iterable[str]) -> tuple[dict[str, Entry], dict[str, LogError]]:
    """The entries of the streams, and why some sessions cannot be read."""
    entries: dict[str, Entry] = {}
    damaged: dict[str, LogError] = {}
    for name in names:
        is_session = not name.startswith("batch-")
        try:
            from pipeline.domain.session import ResearchSession  # heavy, and seldom needed: most sessions are kept

            entries[name] = summary_of(ResearchSession.open(store, name).state) if is_session else _sessions_named_in(store, name)
        except LogError as error:
            if is_session:  # of a night that cannot be read, building the vault says so
                damaged[name] = error
    return entries, damaged


def _sessions_named_in(store: EventStore, batch: str) -> tuple[str, ...]:
    ended = (json.loads(record.data) for record in store.load(batch) if record.type == "query.ended")
    return tuple(session for event in ended if (session := event.get("session")))


def _keep(kept: SummaryCache, marks: Mapping[str, str], fresh: Mapping[str, Entry], outdated: AbstractSet[str]) -> None:
    if fresh or outdated:
        plain = {name: astuple(entry) if isinstance(entry, Summary) else entry for name, entry in fresh.items()}
        lines = {name: (marks[name], json.dumps(values)) for name, values in plain.items()}
        kept.write(_layout_id(), lines, outdated - fresh.keys())


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
