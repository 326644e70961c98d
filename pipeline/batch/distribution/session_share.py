"""A session's part of the budget that all workers share: asked in threads, so that the event loop never waits for it."""

from __future__ import annotations

import asyncio
import logging

from pipeline.domain.distribution.jobs import Share
from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent, QueueUnavailable, StoreUnreachable
from pipeline.ports.distribution import SharedBudget

_log = logging.getLogger("pipeline.batch.distribution")
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)  # before a database that does not answer is given up


class SessionShare:
    """The shared part of one session's budget, for one turn. ``refusal`` is why the last refused call was refused, or ""."""

    def __init__(self, budget: SharedBudget, share: Share) -> None:
        self._budget, self._share = budget, share
        self._settling: set[asyncio.Task[None]] = set()
        self.refusal = ""

    async def reserve(self, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call.

        Raises:
            BudgetSpent: it would exceed a cap of the night.
            StoreUnreachable: the database does not answer, so nothing may be spent.
            VersionConflict: another worker has taken the session over.
        """
        for pause_s in (*_PAUSES_S, None):
            try:
                await asyncio.to_thread(self._budget.reserve, self._share, worst, calls)
                return
            except BudgetSpent as error:
                self.refusal = error.message
                raise
            except QueueUnavailable as error:  # a reservation that was made all the same is freed when the session ends
                if pause_s is None:
                    raise StoreUnreachable(error.message, hint=error.hint) from error
                await asyncio.sleep(pause_s)

    def settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost. It is done in the background; the log corrects it in any case."""
        task = asyncio.get_running_loop().create_task(self._settle(worst, calls, actual))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        try:
            await asyncio.to_thread(self._budget.settle, self._share, worst, calls, actual)
        except QueueUnavailable as error:
            _log.info("a call of %s could not be settled: %s", self._share.session, error.message)

    async def close(self, cost: Cost) -> None:
        """End the turn: whatever is still reserved is freed, and what was spent is set from the session's ``cost``."""
        if self._settling:
            await asyncio.wait(self._settling)
        try:
            await asyncio.to_thread(self._budget.take_over, self._share.batch, self._share.session, cost)
        except QueueUnavailable as error:
            _log.info("the share of %s could not be closed: %s", self._share.session, error.message)
