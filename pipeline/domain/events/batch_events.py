"""What can happen in a night, as frozen models with the envelope of ``events``: the stream of one batch."""

from __future__ import annotations

from typing import Literal

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.values import Cost


class BatchStarted(EventBase):
    """A night begins. ``due`` holds query ids in the order they will be taken up, ``archived`` those gone from the file."""

    type: Literal["batch.started"] = "batch.started"
    due: tuple[str, ...]
    queue_digest: str = ""
    archived: tuple[str, ...] = ()


class QuerySkipped(EventBase):
    """A query of the queue that this night did not take up, and why: ``cause`` in one word, ``reason`` in full.

    Causes: ``left`` (failed, not found, cancelled or waiting for approval since an earlier night), ``damaged`` (its log),
    ``unreadable`` (the system does not let us read its log), ``newer`` (a newer program wrote it), ``limit`` (on the number of
    queries), ``cap`` (money, tokens, calls or time), ``failures`` (too many), ``refused`` (by a provider), ``stopped``.
    """

    type: Literal["query.skipped"] = "query.skipped"
    query_id: str
    query: str
    reason: str
    cause: str = ""


class QueryEnded(EventBase):
    """What became of a query tonight. ``session`` is its session's id, ``cost`` and ``duration_s`` that session's sums so far.

    ``status`` is ``complete``, ``not-found`` (the sources hold no answer), ``failed``, ``waiting`` (its plan, for approval) or
    ``interrupted``, by ``cause``: ``refused``, ``cap`` or ``stopped``. The cause of a failure is ``damaged``, ``unreadable``
    or ``newer`` if its own log brought it about.
    """

    type: Literal["query.ended"] = "query.ended"
    query_id: str
    query: str
    session: str
    status: str
    reason: str = ""
    cost: Cost = Cost()
    duration_s: float = 0.0
    cause: str = ""


class BatchEnded(EventBase):
    """The night's last word. ``exit_code`` is the process's; ``cost`` what was spent tonight; the others are counts of queries.

    ``not_found`` counts those that the sources do not answer, ``open`` those that were worked on and go on another time.
    """

    type: Literal["batch.ended"] = "batch.ended"
    done: int
    failed: int
    skipped: int
    exit_code: int
    cost: Cost = Cost()
    duration_s: float = 0.0
    open: int = 0
    not_found: int = 0


class VaultFailed(EventBase):
    """After the night a ``part`` was not made, or not all of it. ``exit_code`` is what the process ends with because of it."""

    type: Literal["vault.failed"] = "vault.failed"
    reason: str
    exit_code: int
    part: Literal["vault", "site"] = "vault"
