"""All sessions of a store at once; one whose log is damaged is named and does not hide the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.session import ResearchSession
from pipeline.state import SessionState


@dataclass(frozen=True, slots=True)
class Overview:
    """The sessions that can be read, in order of their ids, and why the others cannot, by id."""

    states: tuple[SessionState, ...]
    damaged: Mapping[str, LogError]

    def latest(self) -> dict[str, SessionState]:
        """Return each query id's latest session."""
        latest: dict[str, SessionState] = {}
        for state in sorted(self.states, key=lambda state: (state.started_at, state.id)):
            if state.query_id:
                latest[state.query_id] = state
        return latest


def read_all(store: EventStore) -> Overview:
    """Open every session of the store."""
    states: list[SessionState] = []
    damaged: dict[str, LogError] = {}
    for name in store.session_ids():
        try:
            states.append(ResearchSession.open(store, name).state)
        except LogError as error:
            damaged[name] = error
    return Overview(tuple(states), damaged)
