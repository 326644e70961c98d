"""Searches made of others: a chain that falls back, and one of own documents and web at once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.domain.research_values import Cost, FailedSide, total
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed, StepError
from pipeline.ports import Search, SearchResult
from pipeline.text.cleaning import one_line
from pipeline.text.ranking import Origin, fused_ranking

_log = logging.getLogger(__name__)
_LONGEST_REASON = 500  # characters


class NamedSearch(Search, Protocol):
    """A search that has a name."""

    @property
    def name(self) -> str:
        """The name that settings and log use."""
        ...


@dataclass(slots=True)
class Member:
    """One search of a chain. ``refusal`` is why it is no longer asked; ``price`` is the cost of one search in USD.

    All chains of a night share their members, so that a search that refused one session is not asked for another.
    """

    search: NamedSearch
    refusal: ProviderRefused | CorpusUnusable | None = None
    price: float = 0.0

    def exclude(self, error: ProviderRefused | CorpusUnusable) -> None:
        """Do not ask this search again in this run; log that once."""
        if self.refusal is None:
            self.refusal = error
            _log.warning("%s; it is not asked again tonight%s", error.message, f" ({error.hint})" if error.hint else "")


class FallbackChain:
    """Asks its members in order until one answers. An empty result is an answer."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = tuple(members)

    @property
    def name(self) -> str:
        """The members' names in order, separated by spaces."""
        return " ".join(member.search.name for member in self._members)

    @property
    def price(self) -> float:
        """The cost of one search in USD at the most expensive member."""
        return max((member.price for member in self._members), default=0.0)

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return the hits of the first member that answers; their cost includes failed attempts before it.

        Raises:
            SearchFailed: no member answers, but one of them may later.
            ProviderRefused: all members refuse access.
            CorpusUnusable: the folder of documents is the only member, and cannot be searched.
        """
        failures: list[StepError] = []
        costs: list[Cost] = []
        for member in self._members:
            if member.refusal is None:
                try:
                    result = await member.search.search(query, limit)
                    return replace(result, cost=total([result.cost, *costs]))
                except SearchFailed as error:
                    _log.info("%s", error.message)
                    failures.append(error)
                    costs += _costs_of([error])
                except (ProviderRefused, CorpusUnusable) as error:
                    member.exclude(error)
                    costs += _costs_of([error])
        refusals = [member.refusal for member in self._members if member.refusal is not None]
        raise _combined([*failures, *refusals], costs)  # what earlier searches that were refused had cost is paid


@dataclass(frozen=True, slots=True)
class OwnAndWeb:
    """Asks the folder of documents ``own``, then the providers ``web``, in every search, and fuses the two rankings.

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
        found: dict[Origin, SearchResult] = {}
        down: dict[Origin, ResearchError] = {}
        sides: tuple[tuple[Origin, Search], ...] = (("own", self.own), ("web", self.web))
        for origin, side in sides:
            try:
                found[origin] = await side.search(query, limit)
            except (SearchFailed, ProviderRefused, CorpusUnusable) as error:
                down[origin] = error
        if not found:
            raise _combined(list(down.values()), _costs_of(down.values()))
        hits = {origin: result.hits for origin, result in found.items()}
        own = found.get("own", SearchResult("", ()))
        return replace(
            own,
            provider="+".join(result.provider for result in found.values()),
            hits=fused_ranking(hits.get("own", ()), hits.get("web", ()), limit, lambda hit: hit.url),
            cost=total([*(result.cost for result in found.values()), *_costs_of(down.values())]),
            failed=(
                *(side for result in found.values() for side in result.failed),
                *(FailedSide(origin=origin, reason=one_line(error.message, _LONGEST_REASON)) for origin, error in down.items()),
            ),
            statistics=own.statistics.model_copy(update={"documents": 0}),  # as they do not cover the web's hits
            absent=() if "web" in found else own.absent,  # nobody knows what all pages of the web mention
        )


def _combined(errors: Sequence[ResearchError], costs: Sequence[Cost]) -> ResearchError:
    """Return one error for the failures of several searches: a ``SearchFailed`` if any of them may pass later."""
    if len(errors) == 1:
        if isinstance(errors[0], StepError):
            errors[0].cost = total(costs)
        return errors[0]
    message = "; ".join(error.message for error in errors)
    hint = next((error.hint for error in errors if error.hint), "")
    may_pass = any(isinstance(error, SearchFailed) for error in errors)
    combined = SearchFailed(message, hint=hint) if may_pass else ProviderRefused(message, hint=hint)
    combined.outage = next((error.outage for error in errors if isinstance(error, StepError) and error.outage), None)
    combined.cost = total(costs)
    return combined


def _costs_of(errors: Iterable[ResearchError]) -> list[Cost]:
    return [error.cost for error in errors if isinstance(error, StepError) and error.cost is not None]
