"""A session's part of the shared budget: what a step sees when the cap is reached or the database is away."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.batch.distribution import session_share
from pipeline.batch.distribution.session_share import SessionShare
from pipeline.domain.budget import Budget, CombinedBudget, budget_spent
from pipeline.domain.distribution.jobs import Share
from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent, QueueUnavailable, StoreUnreachable

WORST = Cost(usd=0.003, total_tokens=30)


class Recorded:
    """A shared budget that notes what it is asked, and fails as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.asked = list(failures), list[tuple[object, ...]]()

    def reserve(self, share: Share, worst: Cost, calls: int) -> None:
        self.asked.append(("reserve", worst.usd, calls))
        if self.failures:
            raise self.failures.pop(0)

    def settle(self, share: Share, worst: Cost, calls: int, actual: Cost | None) -> None:
        self.asked.append(("settle", worst.usd, calls, None if actual is None else actual.usd))

    def take_over(self, batch: str, session: str, so_far: Cost) -> Share:
        self.asked.append(("take over", so_far.usd))
        return Share(batch, session, 2)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_share, "_PAUSES_S", (0.0, 0.0))


def share_of(budget: Recorded) -> tuple[SessionShare, CombinedBudget]:
    share = SessionShare(budget, Share("night", "s", 1))
    return share, CombinedBudget((Budget(1.0), Budget(name="night", shared=share)))


def test_a_call_is_reserved_for_all_workers_and_settled_with_its_price() -> None:
    async def call() -> list[tuple[object, ...]]:
        budget = Recorded()
        share, purse = share_of(budget)
        reserved = await purse.reserve(WORST)
        purse.settle(reserved, Cost(usd=0.001))
        purse.release(await purse.reserve(WORST))
        await share.close(Cost(usd=0.25))
        return budget.asked

    assert asyncio.run(call()) == [
        ("reserve", 0.003, 1),
        ("reserve", 0.003, 1),
        ("settle", 0.003, 1, 0.001),
        ("settle", 0.003, 1, None),
        ("take over", 0.25),
    ]  # fmt: skip


def test_a_refusal_by_the_shared_cap_leaves_nothing_reserved_here_and_is_remembered() -> None:
    async def call() -> tuple[str, float]:
        share, purse = share_of(Recorded(budget_spent("night", "usd", "1.00", "0.9990")))
        with pytest.raises(BudgetSpent):
            await purse.reserve(WORST)
        for _ in range(333):
            await purse.reserve(WORST)  # the query's own cap of a dollar still has room for all of them
        return share.refusal, purse.budgets[0].usd

    refusal, _ = asyncio.run(call())
    assert refusal.startswith("the night's budget of 1.00 USD does not allow another call")


def test_a_database_that_is_away_for_a_moment_is_asked_again() -> None:
    async def call(*failures: Exception) -> int:
        budget = Recorded(*failures)
        await share_of(budget)[1].reserve(WORST)
        return len(budget.asked)

    away = QueueUnavailable("the database cannot be reached")
    assert asyncio.run(call(away, away)) == 3
    with pytest.raises(StoreUnreachable):
        asyncio.run(call(away, away, away))
