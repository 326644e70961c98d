"""Consolidates ended sessions: each leaves its statements, yields, procedures and solutions in a stream of its own kind."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.batch.memory.reading import read_memory
from pipeline.domain import Summary
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.memory_events import Due, MemoryEnded, MemoryStarted, SessionConsolidated
from pipeline.domain.memory.consolidation import consolidated
from pipeline.domain.memory.fold import Memory
from pipeline.domain.session import state_of
from pipeline.domain.state import SessionState
from pipeline.domain.values import Cost
from pipeline.engine.run_context import RunContext
from pipeline.engine.stream_log import StreamLog
from pipeline.errors import LogError, LogUnwritable
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.batch.memory")


@dataclass(frozen=True, slots=True)
class Consolidated:
    """The outcome: the stream ("" if nothing was due), the sessions' ids, their statements, why some could not be read.

    ``cost`` is what a model cost; ``problems`` is what it failed to do, in words: there the rules' results stand.
    """

    stream: str = ""
    sessions: tuple[str, ...] = ()
    statements: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    problems: tuple[str, ...] = ()


def due_sessions(memory: Memory, summaries: Iterable[Summary]) -> tuple[Due, ...]:
    """Return the ended sessions that were not consolidated at their present version, in order of their ends."""
    ended = sorted((one for one in summaries if one.ended), key=lambda one: (one.ended_at, one.id))
    known = {name: one.up_to for name, one in memory.sessions.items()}
    return tuple(Due(session=one.id, up_to=one.version) for one in ended if known.get(one.id) != one.version)


def consolidate(store: EventStore, context: RunContext, summaries: Iterable[Summary]) -> Consolidated:
    """Consolidate what is due; a session that cannot be read is left out, and named in the outcome.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    due = due_sessions(read_memory(store), summaries)
    if not due:
        return Consolidated()
    log = StreamLog(store, context, new_memory_id(timestamp(context.now())))
    try:
        log.record(MemoryStarted(due=due))
        return _consolidate(store, log, due)
    finally:
        store.release(log.id)


def new_memory_id(at: str) -> str:
    """Return an id for a consolidation that starts at ``at``, an event's timestamp; ids sort by time."""
    return f"memory-{at[:19].replace(':', '').lower()}-{secrets.token_hex(2)}"


def consolidation_of(store: EventStore, session: str) -> SessionConsolidated:
    """Return what a session leaves behind as the log holds it now.

    Raises:
        LogError: its log cannot be read.
    """
    return consolidated(*ended_session(store, session))


def ended_session(store: EventStore, session: str) -> tuple[SessionState, str]:
    """Return a session's state, and the SHA-256 of its last event's JSON ("" if it has none).

    Raises:
        LogError: its log cannot be read.
    """
    records = store.load(session)
    state = state_of(session, decode_all(record.data for record in records))
    return state, digest_of(records[-1].data) if records else ""


def consolidations(
    store: EventStore, due: Iterable[Due], failed: dict[str, str]
) -> Iterator[tuple[SessionState, SessionConsolidated]]:
    """Yield state and consolidation of each session that is due; why one cannot be read is put into ``failed``.

    Raises:
        LogUnwritable: the log is gone.
    """
    for entry in due:
        try:
            state, head = ended_session(store, entry.session)
        except LogUnwritable:
            raise
        except LogError as error:
            _log.warning("%s is not consolidated: %s", entry.session, error.message)
            failed[entry.session] = error.message
        else:
            yield state, consolidated(state, head)


def record_end(log: StreamLog, done: Sequence[SessionConsolidated], failed: dict[str, str]) -> Consolidated:
    """Record the end, and return the outcome."""
    statements = sum(len(one.statements) for one in done)
    log.record(MemoryEnded(sessions=len(done), statements=statements, failed=failed))
    return Consolidated(log.id, tuple(one.session for one in done), statements, failed)


def _consolidate(store: EventStore, log: StreamLog, due: Iterable[Due]) -> Consolidated:
    done: list[SessionConsolidated] = []
    failed: dict[str, str] = {}
    for _, one in consolidations(store, due, failed):
        log.record(one)
        done.append(one)
    return record_end(log, done, failed)
