"""The events of pruning (a stream ``prune-…``), and the event that stands for the pruned events of a session."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.values import Contradiction, Fact, Gap, PageDone, Spent, ValidatedFact


class ResearchPruned(EventBase):
    """It takes the place of a session's events of work, in what is kept of a pruned session.

    ``facts`` are those that the report, its disagreements and its comparison with an earlier report refer to, in order, with the
    results of their cross-check; ``pages`` are their pages. ``claims`` as in the state. ``run_ends`` holds the time of each
    run's last event, by run. ``spent`` is the whole session's; ``counts`` as in ``counts_of``, with the steps.
    """

    type: Literal["research.pruned"] = "research.pruned"
    counts: dict[str, int]
    spent: Spent
    facts: tuple[Fact, ...] = ()
    pages: tuple[PageDone, ...] = ()
    validated: tuple[ValidatedFact, ...] | None = None
    contradictions: tuple[Contradiction, ...] | None = None
    gaps: tuple[Gap, ...] | None = None
    claims: dict[str, bool] = Field(default_factory=dict)
    run_ends: dict[str, str] = Field(default_factory=dict)
    models: tuple[str, ...] = ()
    title: str = ""


class SessionPruned(EventBase):
    """A tombstone: the log of ``session`` up to version ``up_to`` is pruned; ``head`` is the SHA-256 of its last event's JSON.

    ``report`` is the stored object with what is kept of it, ``quotes`` the number of its quotes that were found in their pages,
    ``objects`` the pages and exchanges that nothing else uses and that go with it, ``bytes`` the size of its files.
    """

    type: Literal["session.pruned"] = "session.pruned"
    session: str
    up_to: int
    head: str
    report: str
    quotes: int = 0
    objects: tuple[str, ...] = ()
    bytes: int = 0


class ObjectsPruned(EventBase):
    """A tombstone of pages, exchanges or originals of imports; ``quotes`` counts the quotes found in these pages before."""

    type: Literal["objects.pruned"] = "objects.pruned"
    kind: Literal["pages", "exchanges", "originals"]
    objects: tuple[str, ...]
    quotes: int = 0
    bytes: int = 0


class SessionForgotten(EventBase):
    """A tombstone of a session that its user had forgotten: ``session`` and ``query`` are the SHA-256 of the two ids.

    Neither the question's words nor any found text is in it. ``objects`` as in ``SessionPruned``.
    """

    type: Literal["session.forgotten"] = "session.forgotten"
    session: str
    query: str = ""
    objects: tuple[str, ...] = ()
    bytes: int = 0


class PruneEnded(EventBase):
    """All that this stream's tombstones name is gone from the disk. Without this event, the next prune removes it."""

    type: Literal["prune.ended"] = "prune.ended"


class RecordForgotten(EventBase):
    """It takes the place of a record about a forgotten session in the stream of a night, a consolidation or a talk."""

    type: Literal["record.forgotten"] = "record.forgotten"
