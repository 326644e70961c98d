"""One's own documents and the web in one search: both are asked, and their hits are fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.adapters.search.fallback_chain import nobody, with_lost
from pipeline.domain.values import Cost, FailedSide, Hit
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed
from pipeline.ports import Search, SearchResult
from pipeline.text.normalise import one_line
from pipeline.text.ranking.rank_fusion import Origin, fused_ranking
from pipeline.text.ranking.term_statistics import TermStatistics

Asked = SearchResult | ResearchError

_LONGEST_REASON = 500  # characters


@dataclass(frozen=True, slots=True)
class OwnAndWeb:
    """The folder of documents ``own`` and the providers ``web``, one asked after the other for every search.

    The folder comes first: it is free, so nothing has been paid yet should the search end there.
    """

    own: Search
    web: Search

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits of both, each side's in its own order; ``failed`` names the side that could not be asked.

        Raises:
            SearchFailed: neither side can be asked now, but one may later.
            ProviderRefused: neither side can be asked tonight.
            BudgetSpent: the price of the web does not fit under a cap; it was not asked.
        """
        asked: dict[Origin, Asked] = {"own": await _asked(self.own, query, limit)}
        asked["web"] = await _asked(self.web, query, limit)
        found = [result for result in asked.values() if isinstance(result, SearchResult)]
        down = [error for error in asked.values() if isinstance(error, ResearchError)]
        if not found:
            raise nobody(down)
        return SearchResult(
            provider="+".join(result.provider for result in found),
            hits=fused_ranking(_hits(asked["own"]), _hits(asked["web"]), limit, lambda hit: hit.url),
            cost=with_lost(_sum([result.cost for result in found]), [error for error in down if isinstance(error, SearchFailed)]),
            failed=tuple(_left_out(origin, error) for origin, error in asked.items() if isinstance(error, ResearchError)),
            statistics=_statistics(asked["own"]),
        )


async def _asked(side: Search, query: str, limit: int) -> Asked:
    try:
        return await side.search(query, limit)
    except (SearchFailed, ProviderRefused, CorpusUnusable) as error:
        return error


def _hits(asked: Asked) -> Sequence[Hit]:
    return asked.hits if isinstance(asked, SearchResult) else ()


def _statistics(own: Asked) -> TermStatistics:
    """Return what the documents' index knows of words; it does not count what the web was asked for."""
    known = own.statistics if isinstance(own, SearchResult) else TermStatistics()
    return known.model_copy(update={"documents": 0})


def _sum(costs: Sequence[Cost]) -> Cost:
    """The folder costs nothing, and a search is no call of a model: only money adds up."""
    usd, assumed = sum(cost.usd for cost in costs), sum(cost.assumed_usd for cost in costs)
    return Cost(usd=round(usd, 9), assumed_usd=round(assumed, 9))


def _left_out(origin: Origin, error: ResearchError) -> FailedSide:
    return FailedSide(origin=origin, reason=one_line(error.message, _LONGEST_REASON))
