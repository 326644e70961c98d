"""A search that costs money, charged to the same ledgers as the model: its price is set aside before it is made."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.domain.budget import CombinedBudget
from pipeline.domain.values import Cost
from pipeline.errors import ResearchError, StepError
from pipeline.ports import Search, SearchResult


@dataclass(frozen=True, slots=True)
class MeteredSearch:
    """``inner``, of which one search costs ``price`` USD at most when nothing goes wrong, paid from ``purse``."""

    inner: Search
    price: float
    purse: CombinedBudget

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search, if the budget allows it.

        Raises:
            BudgetSpent: the price does not fit under a cap.
            SearchFailed, ProviderRefused, CorpusUnusable: as the search says.
        """
        worst = Cost(usd=self.price)
        reserved = await self.purse.reserve(worst, calls=0)
        spent = worst  # also when it is cancelled: it may have been made
        try:
            found = await self.inner.search(query, limit)
            spent = found.cost
        except ResearchError as error:
            spent = (error.cost if isinstance(error, StepError) else None) or Cost()
            raise
        finally:
            self.purse.settle(reserved, spent)
        return found
