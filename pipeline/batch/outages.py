"""The services that are down during a batch: which queries need them, how long the batch waits, and when it gives up.

A query that meets an outage is not failed: its session stays open. The batch goes on with queries that do not need the service,
then waits and tries again, and in the end leaves the rest to the next run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.domain.values import ResearchConfig
from pipeline.errors import SearchFailed, StepError
from pipeline.text.normalise import one_line

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 600.0

Need = tuple[str, ...]


def needs_of(config: ResearchConfig) -> frozenset[Need]:
    """Return what a session with that config cannot do without: its reasoner, and its searches as a whole."""
    return frozenset({("reasoner", config.reasoner), ("search", *config.search)})


@dataclass
class Outages:
    """What is down now, by need, with the error that showed it. ``pauses`` counts the waits since a session last ended."""

    down: dict[Need, StepError] = field(default_factory=dict)
    pauses: int = 0

    def add(self, error: StepError, config: ResearchConfig) -> None:
        """Remember an error with an outage that a session with that config met."""
        need = ("search", *config.search) if isinstance(error, SearchFailed) else ("reasoner", config.reasoner)
        self.down[need] = error

    def reason(self, needs: Iterable[Need]) -> str:
        """Return why a query with those needs must wait, or ""."""
        return next((reason_of(self.down[need]) for need in sorted(needs) if need in self.down), "")

    def pause_s(self, left_s: float) -> float | None:
        """Return how many seconds to wait before trying again; None to give up. ``left_s``: the seconds until the deadline.

        A service that has not answered at all in this run is not waited for.
        """
        shortest = FIRST_PAUSE_S * 2.0**self.pauses
        asked = [max(shortest, error.outage.after_s) for error in self.down.values() if error.outage and error.outage.was_up]
        wait = min(asked, default=LONGEST_PAUSE_S + 1)
        return wait if wait <= LONGEST_PAUSE_S and wait < left_s else None

    def try_again(self) -> None:
        """Let the queries try again after a pause."""
        self.down.clear()
        self.pauses += 1


def reason_of(error: StepError) -> str:
    """Return an outage in words."""
    busy = error.outage is not None and error.outage.busy
    return f"a service is {'busy' if busy else 'down'}: {one_line(error.message, 500)}"
