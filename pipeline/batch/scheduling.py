"""What a night does about each query of the queue, and why. Pure: the queue and the sessions at a glance in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pipeline.batch.edited_queries import edited_from
from pipeline.batch.session_index import SessionIndex, Summary
from pipeline.config.queries.model import Query, Queue
from pipeline.errors import LogError, LogUnreadable, SchemaTooNew
from pipeline.text.normalise import slug
from pipeline.text.times import moment_of

CLOCK_SLACK = timedelta(days=1)  # a session further ahead than that was begun by a clock that was wrong

Action = Literal["resume", "new", "changed", "again", "retry", "done", "waiting", "not-found", "failed", "cancelled", "damaged"]
DUE: frozenset[Action] = frozenset({"resume", "new", "changed", "again", "retry"})
LEFT: frozenset[Action] = frozenset({"waiting", "not-found", "failed", "cancelled", "damaged"})
_WORDS: dict[Action, str] = {"resume": "interrupted", "new": "due", "again": "due", "retry": "due", "not-found": "not found"}


@dataclass(frozen=True, slots=True)
class Selection:
    """What its user asks of a night. Without ids and tags it is the whole queue; else all that has one of them.

    A query without a report is tried again when its id is named; with ``retry_failed`` every failed one is, with
    ``retry_not_found`` every one that the sources did not answer. ``limit`` bounds the number of queries that are taken up.
    """

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    retry_failed: bool = False
    limit: int | None = None
    retry_not_found: bool = False

    def holds(self, query: Query) -> bool:
        """Tell whether the night is about this query. A tag stands for those below it: ``law`` for ``law/patents``."""
        if not self.ids and not self.tags:
            return True
        mine = [f"{tag.casefold()}/" for tag in query.tags]
        return query.id in self.ids or any(tag.startswith(f"{wanted.casefold()}/") for wanted in self.tags for tag in mine)


@dataclass(frozen=True, slots=True)
class Decision:
    """What tonight does about one query, and why. ``session`` is the latest one's id, or "" for none yet.

    ``resume`` goes on with that session. ``new`` (never researched), ``changed`` (edited since) and ``again`` (its time has come)
    begin one that follows it; ``retry`` goes on with a failed one if that can lead anywhere, else begins one. The rest is left
    as it is, by ``cause``: ``not-found`` was researched, and the sources hold no answer.
    """

    query: Query
    action: Action
    reason: str
    session: str = ""
    cause: str = "left"

    @property
    def due(self) -> bool:
        """Tell whether there is work to do."""
        return self.action in DUE

    @property
    def word(self) -> str:
        """What a list calls it."""
        return _WORDS.get(self.action, self.action)


def decide(queue: Queue, known: SessionIndex, now: datetime, selection: Selection | None = None) -> tuple[Decision, ...]:
    """Return what is to be done about each query: interrupted ones first, then by priority, then in the file's order.

    A query whose session cannot be read is left alone: its answers may be in there, and would be paid for again.
    """
    wanted = selection or Selection()
    latest = _latest(queue, known)
    decisions = [
        _damaged(query, latest.get(query.id), known) or _decision(query, latest.get(query.id), now, wanted)
        for query in queue.queries
        if wanted.holds(query)
    ]
    return tuple(sorted(decisions, key=lambda decision: (decision.action != "resume", -decision.query.priority)))


def taken_up(decisions: Sequence[Decision], limit: int | None) -> tuple[list[Decision], list[Decision]]:
    """Return what is due within the limit, and what is due beyond it."""
    due = [decision for decision in decisions if decision.due]
    return due[:limit], due[len(due) if limit is None else limit :]


def archived(queue: Queue, known: SessionIndex) -> tuple[Summary, ...]:
    """Return the sessions whose query stands in the file no more."""
    ids = {query.id for query in queue.queries}
    return tuple(summary for summary in known.sessions if summary.query_id not in ids)


def _latest(queue: Queue, known: SessionIndex) -> dict[str, Summary]:
    """Each query's latest session; that of a question which goes by another id since it was edited is one too."""
    latest = known.latest()
    fresh = [query for query in queue.queries if query.id not in latest]
    ids = {query.id for query in queue.queries}
    gone = [summary for name, summary in latest.items() if name not in ids] if fresh else []
    return latest | edited_from(fresh, gone)


def _damaged(query: Query, last: Summary | None, known: SessionIndex) -> Decision | None:
    """Tell the query's damaged sessions, by their names, from those that a sound one has followed since."""
    since = last.started_at[:10] if last else ""
    mine = [name for name in known.damaged if name[11:-5] == slug(query.id, 40) and name[:10] >= since]
    if not mine:
        return None
    error = known.damaged[mine[-1]]
    return Decision(query, "damaged", f"{error.message} → {error.hint or 'research verify'}", mine[-1], cause_of(error))


def cause_of(error: LogError) -> str:
    """Return the night's word for why a log cannot be read."""
    return "newer" if isinstance(error, SchemaTooNew) else "unreadable" if isinstance(error, LogUnreadable) else "damaged"


def _decision(query: Query, last: Summary | None, now: datetime, wanted: Selection) -> Decision:
    if last is None:
        return Decision(query, "new", "not researched yet")
    if why := _edited(query, last):
        return Decision(query, "changed", why, last.id)
    if not last.ended:
        return _unfinished(query, last)
    if last.status == "complete":
        return _recurrence(query, last, now, f"done on {last.ended_at[:10]}", "done")
    if last.status == "not-found" and not (wanted.retry_not_found or query.id in wanted.ids):
        return _recurrence(query, last, now, last.end_reason or "the sources do not answer it", "not-found")
    return _without_report(query, last, wanted)


def _edited(query: Query, last: Summary) -> str:
    if last.query != query.text:
        return "the question was changed"
    return "it is to be researched in depth now" if (last.mode, query.mode) == ("fast", "deep") else ""


def _unfinished(query: Query, last: Summary) -> Decision:
    if last.waiting:
        return Decision(query, "waiting", f"its plan waits for approval: research approve {query.id}", last.id)
    reason = "its plan is approved" if last.approved else f"interrupted while {last.status}"
    return Decision(query, "resume", reason, last.id)


def _recurrence(query: Query, last: Summary, now: datetime, done: str, action: Action) -> Decision:
    if query.every is None:
        return Decision(query, action, done, last.id)
    started = moment_of(last.started_at)
    if started > now + CLOCK_SLACK:
        return Decision(query, "again", f"{done}, by a clock that was ahead; due again", last.id)
    next_time = started + query.every
    if next_time <= now:
        return Decision(query, "again", f"{done}; due again since {next_time.date()}", last.id)
    return Decision(query, action, f"{done}; due again on {next_time.date()}", last.id)


def _without_report(query: Query, last: Summary, wanted: Selection) -> Decision:
    why = last.end_reason or last.status
    if query.id in wanted.ids:
        ended = "found no answer" if last.status == "not-found" else last.status
        return Decision(query, "retry", f"asked for by name; the last try {ended}: {why}", last.id)
    if last.status == "not-found":
        return Decision(query, "retry", f"not found last time: {why}", last.id)
    if last.status == "failed" and wanted.retry_failed:
        return Decision(query, "retry", f"failed ones are to be tried again: {why}", last.id)
    return Decision(query, "failed" if last.status == "failed" else "cancelled", why, last.id)
