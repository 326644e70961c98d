"""Several searches in order of preference: the next one serves while one is down; one that refuses us is left for the night."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.domain.values import Cost
from pipeline.errors import CorpusUnusable, ProviderRefused, ResearchError, SearchFailed, StepError
from pipeline.ports import Search, SearchResult

_log = logging.getLogger(__name__)


class Named(Search, Protocol):
    """A search with a name."""

    @property
    def name(self) -> str:
        """How settings and log call it."""
        ...


@dataclass(slots=True)
class Member:
    """One search and, once it has refused us, why. Shared by all chains of a night, so that it is asked no more.

    ``price`` is what one search costs in USD.
    """

    search: Named
    out: ProviderRefused | CorpusUnusable | None = None
    price: float = 0.0

    def leave(self, error: ProviderRefused | CorpusUnusable) -> None:
        """Ask it no more tonight, and say so once."""
        if self.out is None:
            self.out = error
            _log.warning("%s; it is not asked again tonight%s", error.message, f" ({error.hint})" if error.hint else "")


class FallbackChain:
    """Asks its members in order until one answers. Finding nothing is an answer."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = tuple(members)

    @property
    def name(self) -> str:
        """The members' names in order."""
        return " ".join(member.search.name for member in self._members)

    @property
    def price(self) -> float:
        """What a search costs in USD, by the dearest member."""
        return max((member.price for member in self._members), default=0.0)

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return the hits of the first member that can be asked.

        Raises:
            SearchFailed: none can be asked now, but one may later.
            ProviderRefused: every one of them refuses us.
            CorpusUnusable: the folder of documents is the only one there is, and cannot be searched.
        """
        failures: list[StepError] = []
        for member in self._members:
            if member.out is None:
                try:
                    found = await member.search.search(query, limit)
                    return replace(found, cost=with_lost(found.cost, failures))
                except SearchFailed as error:
                    _log.info("%s", error.message)
                    failures.append(error)
                except (ProviderRefused, CorpusUnusable) as error:
                    member.leave(error)
        raise nobody([*failures, *(member.out for member in self._members if member.out is not None)])


def nobody(errors: Sequence[ResearchError]) -> ResearchError:
    """Return the errors of all who could have made a search as one: it may pass later if any of them may."""
    if len(errors) == 1:
        return errors[0]
    message = "; ".join(error.message for error in errors)
    hint = next((error.hint for error in errors if error.hint), "")
    later = any(isinstance(error, SearchFailed) for error in errors)
    whole = SearchFailed(message, hint=hint) if later else ProviderRefused(message, hint=hint)
    whole.cost = with_lost(Cost(), [error for error in errors if isinstance(error, SearchFailed)])
    return whole


def with_lost(cost: Cost, failures: Sequence[StepError]) -> Cost:
    """Return ``cost`` and what failed tries may have cost."""
    lost = sum(error.cost.usd for error in failures if error.cost is not None)
    return cost.model_copy(update={"usd": round(cost.usd + lost, 9)})
