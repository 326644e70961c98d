"""The outcome of a batch, computed from its events: counts, cost and exit code for log, summary, note and process. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.batch.scheduling import LOG_TROUBLE, parts
from pipeline.domain.events import stream_events as n
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.state import seconds_between
from pipeline.domain.values import Cost
from pipeline.engine.stopping import INTERRUPTED
from pipeline.errors import NOT_FOUND


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
    def done(self) -> int:
        """Count the queries that have a report now that answers them, or shows passages."""
        return sum(event.status == "complete" and event.outcome != "not-found" for event in self.ended)

    @property
    def answered(self) -> int:
        """Count the queries that a model answered, in part at least."""
        return sum(event.outcome in ("answered", "in-part") for event in self.ended)

    @property
    def passages(self) -> int:
        """Count the queries for which passages are shown that nobody has judged."""
        return sum(event.outcome == "passages" for event in self.ended)

    @property
    def failed(self) -> int:
        """Count the queries that failed in this batch."""
        return sum(event.status == "failed" for event in self.ended)

    @property
    def not_found(self) -> int:
        """Count the queries that the sources do not answer."""
        return sum("not-found" in (event.status, event.outcome) for event in self.ended)

    @property
    def open(self) -> int:
        """Count the queries that were researched but not finished."""
        return len(self.ended) - self.done - self.not_found - self.failed

    @property
    def exit_code(self) -> int:
        """The process's exit code: that of the most urgent problem."""
        causes = {event.cause for event in self.ended} | {event.cause for event in self.skipped}
        needs = (
            (self.stopped, bool(self.stopped)),
            (4, "refused" in causes),
            *((code, cause in causes) for cause, code in LOG_TROUBLE.items()),
            (1, self.failed > 0),
            (self.vault, bool(self.vault)),
            (3, bool({"cap", "limit", "stopped", "outage"} & causes)),
            (NOT_FOUND, self.not_found > 0),
        )
        return next((code for code, needed in needs if needed), 0)


def batch_ended(result: BatchResult, cost: Cost, started_at: str, now: str) -> n.BatchEnded:
    """Return the end of a batch that had this result and cost; the times are events' timestamps."""
    return n.BatchEnded(
        done=result.done,
        failed=result.failed,
        not_found=result.not_found,
        skipped=len(result.skipped),
        exit_code=result.exit_code,
        cost=cost,
        duration_s=round(seconds_between(started_at, now), 3),
        open=result.open,
        answered=result.answered,
        passages=result.passages,
    )


def result_of(events: Sequence[EventBase]) -> BatchResult:
    """Return the outcome of a batch from its stream. A killed batch has no end event, and so no exit code of a signal."""
    end = next((event for event in events if isinstance(event, n.BatchEnded)), None)
    return BatchResult(
        events[0].session_id if events else "",
        tuple(event for event in events if isinstance(event, n.QueryEnded)),
        tuple(event for event in events if isinstance(event, n.QuerySkipped)),
        end.exit_code if end and end.exit_code >= INTERRUPTED else 0,
        next((event.exit_code for event in events if isinstance(event, n.VaultFailed)), 0),
    )


def account(events: Sequence[EventBase]) -> dict[str, Any]:
    """Return the outcome of a batch as plain values: the output of ``--json`` and the content of ``last-run.json``."""
    result = result_of(events)
    end = next(
        (event for event in events if isinstance(event, n.BatchEnded)), n.BatchEnded(done=0, failed=0, skipped=0, exit_code=0)
    )
    return {
        "batch": result.batch,
        "started_at": events[0].at if events else "",
        "ended_at": end.at,
        "duration_s": end.duration_s,
        "exit_code": result.exit_code,
        "done": result.done,
        "answered": result.answered,
        "passages": result.passages,
        "not_found": result.not_found,
        "failed": result.failed,
        "open": result.open,
        "left_out": len(result.skipped),
        **_bill(end.cost),
        "tokens": end.cost.total_tokens,
        **parts((event.part, event.reason) for event in events if isinstance(event, n.VaultFailed)),
        "ended": [_outcome(event) for event in result.ended],
        "skipped": [event.model_dump(include={"query_id", "reason", "cause"}) for event in result.skipped],
    }


def _outcome(event: n.QueryEnded) -> dict[str, Any]:
    values = event.model_dump(include={"query_id", "session", "status", "outcome", "reason", "cause", "duration_s"})
    return {**values, **_bill(event.cost), "tokens": event.cost.total_tokens}


def _bill(cost: Cost) -> dict[str, float]:
    """Return what was charged, what may have been charged besides, and an estimate of the latter."""
    return {
        "cost_usd": cost.charged_usd,
        "not_accounted_usd": cost.assumed_usd,
        "not_accounted_estimate_usd": cost.expected_usd,
    }
