"""The account of a night: what became of each query, what a run came to, and what all runs since noon have cost.

The cap of a night counts every run of it, also those that were killed. The log says it, so a restart finds it and nothing beside
the log has to be kept. A call in flight at a kill counts at its worst.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.batch.due_queries import cause_of, states_of_builds
from pipeline.domain.events import night_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_records import begin_of
from pipeline.domain.memory import cost_of_calls
from pipeline.domain.research_values import Cost, minus, total
from pipeline.domain.session import state_of
from pipeline.domain.session_state import SessionState, cost_of, outcome_of, seconds_between, working_seconds
from pipeline.domain.summary import Summary
from pipeline.domain.talk import talk_of
from pipeline.engine.stop_and_clock import SIGNALLED
from pipeline.errors import (
    LOG_TROUBLE,
    BudgetSpent,
    ExitCode,
    LogError,
    ProviderRefused,
    ResearchError,
    ServiceUnavailable,
    StepError,
    most_urgent,
)
from pipeline.ports import EventStore
from pipeline.text.cleaning import one_line
from pipeline.text.times import night_start, timestamp

_log = logging.getLogger("pipeline.batch.night_result")


def ended_event(
    query_id: str, query: str, state: SessionState, status: str = "", reason: str = "", cause: str = ""
) -> n.QueryEnded:
    """Return the result of a query; without a ``status`` that of a session which has ended, or waits for its plan's approval."""
    if not status and state.waiting:
        status, reason = "waiting", f"its plan waits for approval: research approve {query_id}"
    return n.QueryEnded(
        query_id=query_id,
        query=query,
        session=state.id,
        status=status or state.status,
        outcome=outcome_of(state),
        reason=reason or ("" if status else state.end_reason),
        cost=cost_of(state),
        duration_s=working_seconds(state),
        cause=cause,
    )


def outage_in_words(error: StepError) -> str:
    """Return an outage in words. That of a model's server says what to do; its session's note has the error."""
    busy = error.outage is not None and error.outage.busy
    if error.outage and not busy and isinstance(error, ServiceUnavailable):
        return f"the model's server, {error.outage.service}, is down: start it if it is yours, and the next run goes on"
    return f"a service is {'busy' if busy else 'down'}: {one_line(error.message, 500)}"


def ended_by_error(query_id: str, query: str, state: SessionState, error: Exception) -> n.QueryEnded:
    """Return the result of a query whose research was broken off by this error.

    After a provider's refusal, a spent budget or an outage its session stays open; else the query has failed. An error that is
    none of ours is a fault of the program.
    """
    why = one_line(str(error), 500)
    if isinstance(error, ProviderRefused | BudgetSpent):
        return ended_event(query_id, query, state, "interrupted", why, "cap" if isinstance(error, BudgetSpent) else "refused")
    if isinstance(error, StepError) and error.outage:
        return ended_event(query_id, query, state, "interrupted", outage_in_words(error), "outage")
    if not isinstance(error, ResearchError):
        _log.error("%s ended unexpectedly", query_id, exc_info=error)
        why = f"unexpected {type(error).__name__}: {why}"
    return ended_event(query_id, query, state, "failed", why, cause_of(error) if isinstance(error, LogError) else "")


_CODE_BY_CAUSE = (
    LOG_TROUBLE | {"refused": ExitCode.REFUSED} | dict.fromkeys(("cap", "limit", "stopped", "outage"), ExitCode.UNFINISHED)
)
_CODE_BY_COUNT = {"failed": ExitCode.FAILED, "not_found": ExitCode.NOT_FOUND}


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The outcome of a batch. ``stopped`` is the exit code of the signal that stopped it, or 0; ``vault`` that of the problem
    that kept vault or site from being built, or 0.
    """

    batch: str = ""
    ended: tuple[n.QueryEnded, ...] = ()
    skipped: tuple[n.QuerySkipped, ...] = ()
    stopped: int = 0
    vault: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """How many queries failed, were ``not_found`` in the sources, or stay ``open``; and how many are ``done``: have a report.

        A report is ``answered`` by a model, in part at least, or shows ``passages`` nobody has judged; older logs do not say.
        """
        found = Counter(_kind_of(event) for event in self.ended)
        done = found["answered"] + found["passages"] + found["done"]
        return {"done": done, **{name: found[name] for name in ("answered", "passages", "not_found", "failed", "open")}}

    @property
    def exit_code(self) -> int:
        """The process's exit code: that of the signal, or of the most urgent problem."""
        causes = [*(event.cause for event in self.ended), *(event.cause for event in self.skipped)]
        codes = {self.vault, *(_CODE_BY_CAUSE.get(cause, ExitCode.DONE) for cause in causes)}
        codes |= {code for name, code in _CODE_BY_COUNT.items() if self.counts[name]}
        return self.stopped or most_urgent(codes)


def _kind_of(event: n.QueryEnded) -> str:
    """Return as what the end of a query is counted."""
    if "not-found" in (event.status, event.outcome):
        return "not_found"
    if event.status != "complete":
        return "failed" if event.status == "failed" else "open"
    return "passages" if event.outcome == "passages" else "answered" if event.outcome else "done"


def batch_ended(result: BatchResult, cost: Cost, started_at: str, now: str) -> n.BatchEnded:
    """Return the end of a batch that had this result and cost; the times are events' timestamps."""
    return n.BatchEnded(
        **result.counts,
        skipped=len(result.skipped),
        exit_code=result.exit_code,
        cost=cost,
        duration_s=round(seconds_between(started_at, now), 3),
    )


def result_of(events: Sequence[EventBase]) -> BatchResult:
    """Return the outcome of a batch from its stream. A killed batch has no end event, and so no exit code of a signal."""
    end = next((event for event in events if isinstance(event, n.BatchEnded)), None)
    return BatchResult(
        events[0].session_id if events else "",
        tuple(event for event in events if isinstance(event, n.QueryEnded)),
        tuple(event for event in events if isinstance(event, n.QuerySkipped)),
        end.exit_code if end and end.exit_code >= SIGNALLED else 0,
        next((event.exit_code for event in events if isinstance(event, n.VaultFailed)), 0),
    )


def account(events: Sequence[EventBase]) -> dict[str, Any]:
    """Return the outcome of a batch as plain values: the output of ``--json`` and the content of ``last-run.json``."""
    result, said = result_of(events), {"query_id", "session", "status", "outcome", "reason", "cause", "duration_s"}
    unread = next((event.unread for event in events if isinstance(event, n.BatchStarted)), ())
    none = n.BatchEnded(done=0, failed=0, skipped=0, exit_code=ExitCode.DONE)
    end = next((event for event in events if isinstance(event, n.BatchEnded)), none)
    return {
        "batch": result.batch,
        "started_at": events[0].at if events else "",
        "ended_at": end.at,
        "duration_s": end.duration_s,
        "exit_code": result.exit_code,
        **result.counts,
        "in_part": sum(event.outcome == "in-part" for event in result.ended),  # of those answered
        "left_out": len(result.skipped),
        "unread": list(unread),
        **_bill(end.cost),
        **states_of_builds((event.part, event.reason) for event in events if isinstance(event, n.VaultFailed)),
        "ended": [event.model_dump(include=said) | _bill(event.cost) for event in result.ended],
        "skipped": [event.model_dump(include={"query_id", "reason", "cause"}) for event in result.skipped],
    }


def _bill(cost: Cost) -> dict[str, float]:
    """Return what was charged, what may have been charged besides, an estimate of the latter, and the tokens."""
    return {
        "cost_usd": cost.charged_usd,
        "not_accounted_usd": cost.assumed_usd,
        "not_accounted_estimate_usd": cost.expected_usd,
        "tokens": cost.total_tokens,
    }


Events = Iterable[EventBase]


def spent_tonight(store: EventStore, sessions: Iterable[Summary], now: datetime, zone: str) -> Cost:
    """Return the cost of all work recorded since the night began at noon, without what runs were granted beside the cap.

    Sessions, talks, consolidations and the documents' embeddings count. ``sessions`` are all that can be read; a log that turns
    out to be unreadable is left out, and ``research verify`` names it.
    """
    begin = timestamp(night_start(now, zone))
    costs = [_since(store, one.id, begin, _of_session) for one in sessions if not one.ended_at or one.ended_at >= begin]
    costs += [_since(store, talk, begin, lambda name, events: talk_of(name, events).cost()) for talk in store.ids("talk")]
    consolidations = [name for name in store.ids("memory") if begin_of(name) >= begin[:10]]
    costs += [_since(store, name, begin, lambda _name, events: cost_of_calls(events)) for name in consolidations]
    granted = 0.0
    for name in store.ids("batch"):
        if begin_of(name) >= begin[:10]:  # ids begin with the time at which the stream began
            with suppress(LogError):
                records = [record for record in store.load(name) if record.at >= begin]
                for event in decode_all(one.data for one in records if one.type in ("batch.started", "passages.embedded")):
                    granted += event.granted_usd if isinstance(event, n.BatchStarted) else 0.0
                    costs.append(getattr(event, "cost", Cost()))
    spent = total(costs)
    return spent.model_copy(update={"usd": max(0.0, round(spent.usd - granted, 9))})


def spent_since(store: EventStore, sessions: Iterable[str], begin: str) -> Cost:
    """Return what these sessions have cost since the moment ``begin``, an event's timestamp."""
    return total(_since(store, session, begin, _of_session) for session in sessions)


def _since(store: EventStore, stream: str, begin: str, cost: Callable[[str, Events], Cost]) -> Cost:
    """Return what a stream has cost since the moment ``begin``, by the cost of all its events."""
    try:
        records = store.load(stream)
        if not records or records[-1].at < begin:
            return Cost()
        before = cost(stream, decode_all(record.data for record in records if record.at < begin))
        return minus(cost(stream, decode_all(record.data for record in records)), before)
    except LogError:
        return Cost()


def _of_session(session: str, events: Events) -> Cost:
    return cost_of(state_of(session, events))
