"""What a night's events add up to: counts and exit code, the same for log, summary, note and process. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline import night_events as n
from pipeline.values import Cost


@dataclass(frozen=True, slots=True)
class NightResult:
    """What became of a night. ``stopped`` is the exit code of whatever signal stopped it, 0 for none."""

    batch: str = ""
    ended: tuple[n.QueryEnded, ...] = ()
    skipped: tuple[n.QuerySkipped, ...] = ()
    stopped: int = 0

    @property
    def done(self) -> int:
        """Count the queries that have a report now."""
        return sum(event.status == "complete" for event in self.ended)

    @property
    def failed(self) -> int:
        """Count the queries that failed tonight."""
        return sum(event.status == "failed" for event in self.ended)

    @property
    def open(self) -> int:
        """Count the queries that were worked on and go on another time."""
        return len(self.ended) - self.done - self.failed

    @property
    def exit_code(self) -> int:
        """The process's exit code: what needs its user most decides."""
        causes = {event.cause for event in self.ended} | {event.cause for event in self.skipped}
        needs = (
            (self.stopped, bool(self.stopped)),
            (4, "refused" in causes),
            (20, "damaged" in causes),
            (1, self.failed > 0),
            (3, bool({"cap", "limit", "stopped"} & causes)),
        )
        return next((code for code, needed in needs if needed), 0)


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs; it names no model."""
    known = list(costs)
    return Cost(
        input_tokens=sum(cost.input_tokens for cost in known),
        output_tokens=sum(cost.output_tokens for cost in known),
        total_tokens=sum(cost.total_tokens for cost in known),
        usd=round(sum(cost.usd for cost in known), 9),
        assumed_usd=round(sum(cost.assumed_usd for cost in known), 9),
    )


def less(whole: Cost, part: Cost) -> Cost:
    """Return ``whole`` without ``part``, never below zero."""
    return Cost(
        input_tokens=max(0, whole.input_tokens - part.input_tokens),
        output_tokens=max(0, whole.output_tokens - part.output_tokens),
        total_tokens=max(0, whole.total_tokens - part.total_tokens),
        usd=round(max(0.0, whole.usd - part.usd), 9),
        assumed_usd=round(max(0.0, whole.assumed_usd - part.assumed_usd), 9),
    )
