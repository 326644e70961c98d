"""What can happen in a night, as frozen models with the envelope of ``events``: the stream of one batch."""

from __future__ import annotations

from typing import Literal

from pipeline.events import EventBase
from pipeline.values import Cost


class BatchStarted(EventBase):
    """A night begins. ``due`` holds query ids in the order they will be taken up."""

    type: Literal["batch.started"] = "batch.started"
    due: tuple[str, ...]
    queue_digest: str = ""


class QuerySkipped(EventBase):
    """A query of the queue that this night did not take up, and why."""

    type: Literal["query.skipped"] = "query.skipped"
    query_id: str
    query: str
    reason: str


class QueryEnded(EventBase):
    """What became of a query tonight. ``status`` is the session's; ``session`` its id."""

    type: Literal["query.ended"] = "query.ended"
    query_id: str
    query: str
    session: str
    status: str
    reason: str = ""
    cost: Cost = Cost()
    duration_s: float = 0.0


class BatchEnded(EventBase):
    """The night's last word. ``exit_code`` is the process's."""

    type: Literal["batch.ended"] = "batch.ended"
    done: int
    failed: int
    skipped: int
    exit_code: int
    cost: Cost = Cost()
    duration_s: float = 0.0
