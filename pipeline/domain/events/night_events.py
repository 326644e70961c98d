"""The events of nights: what was due, what became of each question, how a night ended."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain import research_values as v
from pipeline.domain.events.session_events import EventBase


class BatchStarted(EventBase):
    """A batch begins. ``due`` holds the query ids in order of work, ``archived`` the ids that were removed from the file.

    ``granted_usd`` is what its run may spend beside the night's cap (``--max-cost``). ``timezone`` is that of the night, "" in
    older logs for the machine's. ``unread`` says which questions in the vault and folders of documents could not be read, and
    why; ``skipped_documents`` the same of documents. ``after`` is the batch whose id was the last in the log: it began before
    this one, whatever a clock said. ``queries`` are the words of what is due, by id: {} in older logs. Where nothing is, it has
    those that will be on one day, and ``next_at`` is when the first of them will: the date of a night, or a date and a time.
    """

    type: Literal["batch.started"] = "batch.started"
    due: tuple[str, ...]
    archived: tuple[str, ...] = ()
    granted_usd: float = 0.0
    timezone: str = ""
    unread: tuple[str, ...] = ()
    skipped_documents: tuple[str, ...] = ()
    after: str = ""
    queries: dict[str, str] = Field(default_factory=dict)
    next_at: str = ""


class QuerySkipped(EventBase):
    """A query that this batch did not start, and why: ``cause`` in one word, ``reason`` in full.

    Causes: ``left`` (failed, not found, cancelled or waiting for approval since an earlier night), ``damaged`` (its log),
    ``unreadable`` (the system does not let us read its log), ``newer`` (a newer program wrote it), ``limit`` (on the number of
    queries), ``cap`` (money, tokens, calls or time), ``failures`` (too many), ``refused`` (by a provider), ``stopped``.
    """

    type: Literal["query.skipped"] = "query.skipped"
    query_id: str
    query: str
    reason: str
    cause: str = ""


class PassagesEmbedded(EventBase):
    """The vectors of some of the documents' passages were asked for: their number, how many are left, tokens, and the cost.

    ``failed`` is why the server gave no more, or "": the documents are then searched by words alone.
    """

    type: Literal["passages.embedded"] = "passages.embedded"
    model: str
    passages: int
    left: int = 0
    tokens: int = 0
    cost: v.Cost = v.Cost()
    failed: str = ""


class QueryEnded(EventBase):
    """The result of a query in this batch. ``cost`` and ``duration_s`` are the sums of its ``session`` so far.

    ``outcome`` is one of ``values.Outcome``; "" without one, and in older logs. ``status`` is ``complete``, ``not-found`` (the
    sources hold no answer), ``failed``, ``waiting`` (the plan needs approval) or ``interrupted``, with the ``cause`` ``refused``,
    ``cap`` or ``stopped``. The cause of a failure is ``damaged``, ``unreadable`` or ``newer`` if the session's own log brought it
    about.
    """

    type: Literal["query.ended"] = "query.ended"
    query_id: str
    query: str
    session: str
    status: str
    outcome: v.Outcome | Literal[""] = ""
    reason: str = ""
    cost: v.Cost = v.Cost()
    duration_s: float = 0.0
    cause: str = ""


class BatchEnded(EventBase):
    """A batch ended. ``exit_code`` is the process's; ``cost`` is what this batch spent; the other numbers count queries.

    ``answered`` and ``passages`` count reports by their outcome, ``not_found`` the queries that the sources do not answer,
    ``open`` those that a later batch continues.
    """

    type: Literal["batch.ended"] = "batch.ended"
    done: int
    failed: int
    skipped: int
    exit_code: int
    cost: v.Cost = v.Cost()
    duration_s: float = 0.0
    open: int = 0
    not_found: int = 0
    answered: int = 0
    passages: int = 0


class VaultFailed(EventBase):
    """After the batch a ``part``, vault or site, could not be built. ``exit_code`` is the exit code of the process."""

    type: Literal["vault.failed"] = "vault.failed"
    reason: str
    exit_code: int
    part: Literal["vault", "site"] = "vault"
