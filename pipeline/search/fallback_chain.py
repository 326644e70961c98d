"""Fallback chain of searches: the next is asked when one fails; one that refuses access is not asked again that night."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.domain.values import Cost
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed, StepError
from pipeline.ports import Search, SearchResult

_log = logging.getLogger(__name__)


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
        for member in self._members:
            if member.refusal is None:
                try:
                    result = await member.search.search(query, limit)
                    return replace(result, cost=with_failed_attempts(result.cost, failures))
                except SearchFailed as error:
                    _log.info("%s", error.message)
                    failures.append(error)
                except (ProviderRefused, CorpusUnusable) as error:
                    member.exclude(error)
        raise combined_error([*failures, *(member.refusal for member in self._members if member.refusal is not None)])


def combined_error(errors: Sequence[ResearchError]) -> ResearchError:
    """Return one error for the failures of several searches: a ``SearchFailed`` if any of them may pass later."""
    if len(errors) == 1:
        return errors[0]
    message = "; ".join(error.message for error in errors)
    hint = next((error.hint for error in errors if error.hint), "")
    may_pass = any(isinstance(error, SearchFailed) for error in errors)
    combined = SearchFailed(message, hint=hint) if may_pass else ProviderRefused(message, hint=hint)
    combined.outage = next((error.outage for error in errors if isinstance(error, StepError) and error.outage), None)
    combined.cost = with_failed_attempts(Cost(), [error for error in errors if isinstance(error, SearchFailed)])
    return combined


def with_failed_attempts(cost: Cost, failures: Sequence[StepError]) -> Cost:
    """Return ``cost`` plus the possible cost of the failed attempts."""
    lost = sum(error.cost.usd for error in failures if error.cost is not None)
    return cost.model_copy(update={"usd": round(cost.usd + lost, 9)})
