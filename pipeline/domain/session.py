"""One session: the rules decide whether an event may be added, the fold adds it; opened again from stored events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Protocol, TypeVar

from pydantic import TypeAdapter

from pipeline.domain import fold, fold_id
from pipeline.domain.event_rules import refusal
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.records import Record, Snapshot
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.state import SessionState
from pipeline.errors import CommandRefused


class Snapshots(Protocol):
    """Snapshots of sessions; see ``pipeline.ports.Snapshots``."""

    def load(self, session_id: str, fold_id: str) -> Snapshot | None:
        """Return the latest snapshot of that fold."""
        ...


class StoredEvents(Protocol):
    """What a session needs of a store to be opened; see ``pipeline.ports.EventStore``."""

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records after the version ``after``."""
        ...

    @property
    def snapshots(self) -> Snapshots:
        """Where the latest snapshots of sessions are."""
        ...


@cache
def _state_codec() -> TypeAdapter[SessionState]:
    return TypeAdapter(SessionState)


class ResearchSession:
    """The events so far as a state, and the only way to add one."""

    def __init__(self, session_id: str, state: SessionState | None = None) -> None:
        self.state = state or SessionState(id=session_id)
        self.id = session_id

    @classmethod
    def open(cls, store: StoredEvents, session_id: str) -> ResearchSession:
        """Return the session as the store holds it: the latest snapshot that still fits, and the events after it.

        Raises:
            LogError: the log is damaged, forked, or written by a newer major version.
        """
        snapshot = store.snapshots.load(session_id, fold_id())
        state = _state_codec().validate_json(snapshot.state) if snapshot else SessionState(id=session_id)
        session = cls(session_id, state)
        session.replay(record.data for record in store.load(session_id, after=state.version))
        return session

    def replay(self, datas: Iterable[bytes]) -> None:
        """Fold stored events, which are facts: no guard is asked."""
        for event in decode_all(datas):
            fold.apply(self.state, event)

    def record(self, event: EventBase) -> None:
        """Guard and fold the next event, which is stamped.

        Raises:
            CommandRefused: the session's state does not allow it; nothing has changed.
        """
        if why := refusal(self.state, event):
            raise CommandRefused(f"{event.type} was refused: {why}", hint="this is a fault of the program; the log is unharmed")
        fold.apply(self.state, event)

    def snapshot(self) -> Snapshot:
        """Return the state as a snapshot of its version."""
        return Snapshot(self.state.version, fold_id(), _state_codec().dump_json(self.state))


E = TypeVar("E", bound=EventBase)


def stamped(draft: E, session_id: str, version: int, run_id: str, event_id: str, at: str) -> E:
    """Return a drafted event with its envelope."""
    return draft.model_copy(update={"id": event_id, "session_id": session_id, "version": version, "at": at, "run_id": run_id})


def record_of(event: EventBase) -> Record:
    """Return a stamped event as storage sees it."""
    return Record(event.id, event.session_id, event.version, event.type, event.at, event.run_id, encode(event))


def state_at(store: StoredEvents, session_id: str, version: int) -> SessionState:
    """Return the session's state after the event ``version`` (1-based; beyond the last: the latest).

    Raises:
        LogError: the log is damaged, forked, or written by a newer major version.
    """
    return state_of(session_id, decode_all(record.data for record in store.load(session_id) if record.version <= version))


def state_of(session_id: str, events: Iterable[EventBase]) -> SessionState:
    """Return the state that a session's events fold to."""
    state = SessionState(id=session_id)
    for event in events:
        fold.apply(state, event)
    return state
