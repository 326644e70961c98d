"""Search in the user's own documents and on the web at once; the two rankings are fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.domain.values import Cost, FailedSide, Hit
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed
from pipeline.ports import Search, SearchResult
from pipeline.search.fallback_chain import combined_error, with_failed_attempts
from pipeline.text.normalise import one_line
from pipeline.text.ranking.rank_fusion import Origin, fused_ranking
from pipeline.text.ranking.term_statistics import TermStatistics

Outcome = SearchResult | ResearchError

_LONGEST_REASON = 500  # characters


@dataclass(frozen=True, slots=True)
class OwnAndWeb:
    """Asks the folder of documents ``own``, then the providers ``web``, in every search.

    The folder comes first because it is free: if its search ends in an error, the web has cost no money.
    """

    own: Search
    web: Search

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits of both sides; each side's hits keep their order. ``failed`` names a side that failed.

        Raises:
            SearchFailed: neither side answers, but one of them may later.
            ProviderRefused: neither side can be asked tonight.
            BudgetSpent: the price of the web search does not fit under a cap; the web was not asked.
        """
        asked: dict[Origin, Outcome] = {"own": await _search_one(self.own, query, limit)}
        asked["web"] = await _search_one(self.web, query, limit)
        found = [result for result in asked.values() if isinstance(result, SearchResult)]
        down = [error for error in asked.values() if isinstance(error, ResearchError)]
        if not found:
            raise combined_error(down)
        return SearchResult(
            provider="+".join(result.provider for result in found),
            hits=fused_ranking(_hits(asked["own"]), _hits(asked["web"]), limit, lambda hit: hit.url),
            cost=with_failed_attempts(
                _sum([result.cost for result in found]), [error for error in down if isinstance(error, SearchFailed)]
            ),
            failed=(
                *(side for result in found for side in result.failed),
                *(_left_out(origin, error) for origin, error in asked.items() if isinstance(error, ResearchError)),
            ),
            statistics=_statistics(asked["own"]),
            absent=tuple(name for result in found for name in result.absent),
        )


async def _search_one(side: Search, query: str, limit: int) -> Outcome:
    try:
        return await side.search(query, limit)
    except (SearchFailed, ProviderRefused, CorpusUnusable) as error:
        return error


def _hits(asked: Outcome) -> Sequence[Hit]:
    return asked.hits if isinstance(asked, SearchResult) else ()


def _statistics(own: Outcome) -> TermStatistics:
    """Return the word statistics of the documents' index, with 0 documents, as they do not cover the web's hits."""
    known = own.statistics if isinstance(own, SearchResult) else TermStatistics()
    return known.model_copy(update={"documents": 0})


def _sum(costs: Sequence[Cost]) -> Cost:
    """Return the sum of the costs in USD; a search uses no tokens."""
    usd, assumed = sum(cost.usd for cost in costs), sum(cost.assumed_usd for cost in costs)
    return Cost(usd=round(usd, 9), assumed_usd=round(assumed, 9))


def _left_out(origin: Origin, error: ResearchError) -> FailedSide:
    return FailedSide(origin=origin, reason=one_line(error.message, _LONGEST_REASON))
