"""Reads sessions and batches from the log: a session completely, or only its outline (what links to it need)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.domain import fold
from pipeline.domain.events import batch_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.pruning_events import ResearchPruned
from pipeline.domain.events.records import Record
from pipeline.domain.state import SessionState
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.vault.paths import Names, Workers
from pipeline.vault.session_card import Card, card_of, named_card
from pipeline.vault.vault_model import Batch, LoadedSession

# The events that decide the paths, titles and links of a session's notes and sources.
_OUTLINE = frozenset(
    kind.model_fields["type"].default
    for kind in (
        e.RunStarted,
        e.ResearchStarted,
        e.PlanCreated,
        e.PlanExtended,
        e.ApprovalGiven,
        e.WorkerStarted,
        e.PageRead,
        e.ReportGenerated,
        e.ResearchFailed,
        e.ResearchCancelled,
        e.ResearchReopened,
        ResearchPruned,
    )
)


@dataclass(frozen=True, slots=True)
class FoldedSession:
    """A session folded from its events: its state, and the events (none for an outline)."""

    state: SessionState
    events: tuple[e.EventBase, ...]

    @property
    def reported_at(self) -> str:
        """When the report was finished; "" if there is none."""
        return next((event.at for event in reversed(self.events) if isinstance(event, e.ReportGenerated)), "")

    def named(self, taken: Names, workers: Workers = "notes") -> Card:
        """Return the session's card with only what links need; its names are claimed from ``taken``.

        ``workers``: notes of their own, or folded.
        """
        return named_card(self.state, taken, workers)

    def loaded(self, named: Card) -> LoadedSession:
        """Return the session with its complete card and the paths of the card ``named``."""
        return LoadedSession(card_of(self.state, self.reported_at, named), self.state, self.events)


def whole(session_id: str, events: Iterable[bytes]) -> FoldedSession:
    """Return a complete session; ``events`` are its events as JSON.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    return _folded(session_id, events)


def outline(session_id: str, records: Sequence[Record]) -> FoldedSession:
    """Return only what paths and links depend on, because many outlines are in memory at once.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    state = _folded(session_id, (record.data for record in records if record.type in _OUTLINE)).state
    state.version = records[-1].version if records else 0
    if state.report:
        first = state.report.contradictions[:1]  # whether there is one
        state.report = replace(state.report, summary=(), sections=(), references=(), contradictions=first, unknowns=())
    return FoldedSession(state, ())


@dataclass(frozen=True, slots=True)
class ReadSession:
    """A session as it was read from the log: its outline, and its events as JSON; or why it cannot be read."""

    name: str
    opened: FoldedSession | None = None
    events: tuple[bytes, ...] = ()
    error: LogError | None = None


def read_session(store: EventStore, name: str) -> ReadSession:
    """Return the outline and the events of a session."""
    try:
        records = store.load(name)
        return ReadSession(name, outline(name, records), tuple(record.data for record in records))
    except LogError as error:
        return ReadSession(name, error=error)


def _folded(session_id: str, events: Iterable[bytes]) -> FoldedSession:
    state = SessionState(id=session_id)
    history = tuple(decode_all(events))
    for event in history:
        fold.apply(state, event)
    return FoldedSession(state, history)


def batch_of(batch_id: str, records: Sequence[Record]) -> Batch | None:
    """Return a run over the queue, None if it never began.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    history = tuple(decode_all(record.data for record in records))
    started = next((event for event in history if isinstance(event, n.BatchStarted)), None)
    if started is None:
        return None
    return Batch(
        batch_id,
        started.at,
        started.due,
        tuple(event for event in history if isinstance(event, n.QuerySkipped)),
        tuple(event for event in history if isinstance(event, n.QueryEnded)),
        next((event for event in reversed(history) if isinstance(event, n.BatchEnded)), None),
        started.archived,
        tuple(f"{event.part}: {event.reason}" for event in history if isinstance(event, n.VaultFailed)),
    )
