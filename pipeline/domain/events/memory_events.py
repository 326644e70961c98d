"""The events of a consolidation (a stream ``memory-…``): what the sessions of the log left behind."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain.events.event_base import Answered, EventBase
from pipeline.domain.memory.values import Episode, Procedure, Solution, Statement, Superseded, Yield
from pipeline.domain.values import Value


class Due(Value):
    """A session to consolidate, and its version at that time."""

    session: str
    up_to: int


class MemoryStarted(EventBase):
    """A consolidation begins. ``due`` are the ended sessions that changed since they were consolidated last."""

    type: Literal["memory.started"] = "memory.started"
    due: tuple[Due, ...]


class SessionConsolidated(Answered):
    """What a ``session`` leaves behind at its version ``up_to``; ``head`` is the SHA-256 of its last event's JSON.

    ``superseded`` are statements of earlier sessions. The cost is that of a model's sentences; without one there is none.
    """

    type: Literal["session.consolidated"] = "session.consolidated"
    session: str
    up_to: int
    head: str
    query: str
    query_id: str
    tags: tuple[str, ...]
    outcome: str
    episode: Episode
    statements: tuple[Statement, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    yields: tuple[Yield, ...] = ()
    procedures: tuple[Procedure, ...] = ()
    solutions: tuple[Solution, ...] = ()


class EntitiesNamed(Answered):
    """The names that statements were about, and what a model cost that proposed some. Only earlier versions recorded it."""

    type: Literal["entities.named"] = "entities.named"


class EntityJoined(EventBase):
    """Two names were one. Only earlier versions recorded it."""

    type: Literal["entity.joined"] = "entity.joined"


class MemoryEnded(EventBase):
    """A consolidation ended. ``failed`` are the sessions that could not be read, with the reason."""

    type: Literal["memory.ended"] = "memory.ended"
    sessions: int
    statements: int
    failed: dict[str, str] = Field(default_factory=dict)
