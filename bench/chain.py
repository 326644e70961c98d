"""The longest chain of outside calls in a finished session: how long it must take however many calls run side by side.

Each call counts 1: the survey and the plan; of each round the searches, the pages and the readings of the worker with most
iterations; then the writing, the check and, where it was mended, the mending and a second check.
"""

from __future__ import annotations

from pipeline.domain.report_parts import BEGINNING
from pipeline.domain.state import SessionState, workers_in_order


def longest_chain(state: SessionState) -> int:
    """Return the number of calls in the longest chain, from the survey to the last check."""
    ended = 2
    for analysis in state.analyses:
        rounds = [len(worker.iterations) for worker in workers_in_order(state) if worker.round == analysis.round]
        ended += 3 * max(rounds, default=0)
    parts = {number: 2 + 2 * part.revision for number, part in state.parts.items()}
    return ended + parts.pop(BEGINNING, 0) + max(parts.values(), default=0)
