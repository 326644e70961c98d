"""Budget check for a search that costs money: its price is reserved before the search and settled after it."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.budget import CombinedBudget
from pipeline.domain.values import Cost
from pipeline.errors import ResearchError, StepError
from pipeline.ports import Search, SearchResult


@dataclass(frozen=True, slots=True)
class MeteredSearch:
    """The search ``inner``, charged to ``budget``; ``price`` is the highest cost of one search without retries, in USD.

    ``inner`` announces its calls itself, when they are sent.
    """

    inner: Search
    price: float
    budget: CombinedBudget

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search, if the budget allows it.

        Raises:
            BudgetSpent: the price does not fit under a cap.
            SearchFailed, ProviderRefused, CorpusUnusable: raised by ``inner``.
        """
        worst = Cost(usd=self.price)
        reserved = await self.budget.reserve(worst, calls=0, announced=False)
        spent = worst  # a cancelled search counts too: the provider may have answered it
        try:
            result = await self.inner.search(query, limit)
            spent = result.cost
        except ResearchError as error:
            spent = (error.cost if isinstance(error, StepError) else None) or Cost()
            raise
        finally:
            self.budget.settle(reserved, spent)
        return result
