"""A provider of web search behind the port ``Search``: paced, judged, its hits in one spelling, its price told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from pipeline.adapters.http.call_and_reply import Call, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.search.providers.rate_limit import Pacer, pace_of
from pipeline.adapters.search.url_normalisation import distinct
from pipeline.domain.values import Cost, Hit
from pipeline.errors import SearchFailed, ServiceFailed, ServiceUnavailable
from pipeline.ports import SearchResult
from pipeline.text.normalise import one_line

MAX_BYTES = 2_000_000
DEADLINE_S = 30.0
_LONGEST_QUERY = 1_000


class Provider(Protocol):
    """What is particular to one provider; nothing here waits or sends."""

    @property
    def name(self) -> str:
        """How settings, log and circuit call it."""
        ...

    @property
    def price(self) -> float:
        """What a search costs in USD when its reply does not say."""
        ...

    def call(self, query: str, limit: int) -> Call:
        """Return the request for a search."""
        ...

    def judge(self, reply: Reply) -> Verdict:
        """Say what a reply means, as far as its status and its errors go; ``Malformed`` counts as ``Again``."""
        ...

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits of a reply that was judged good, best first.

        Raises:
            Malformed: it has another shape; so it was not good.
        """
        ...

    def usd(self, reply: Reply) -> float:
        """Return what a reply that was judged good cost, in USD."""
        ...


class WebSearch:
    """One provider, by the port ``Search``. ``headers`` go with every request (``user-agent``)."""

    def __init__(
        self, provider: Provider, http: HttpClient, pacer: Pacer | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._provider = provider
        self._http = http
        self._pacer = pacer or Pacer()
        self._headers = dict(headers or {})

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._provider.name

    @property
    def price(self) -> float:
        """What a search usually costs in USD."""
        return self._provider.price

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits, each page once, under its canonical address.

        Raises:
            SearchFailed: it cannot be made, now or at all; its ``cost`` is what lost attempts may have cost.
            ProviderRefused: key, quota or credit.
        """
        wanted = one_line(query, _LONGEST_QUERY)
        if not wanted:
            raise SearchFailed(f"{self.name} was asked for nothing", hint="write a query")
        call = self._provider.call(wanted, limit)
        headers = {**self._headers, **call.headers}
        gap_s = self._pacer.gap_s
        reply = await self._sent(replace(call, headers=headers, max_bytes=MAX_BYTES, deadline_s=DEADLINE_S, gap_s=gap_s))
        hits = distinct(self._provider.hits(reply))[:limit]
        return SearchResult(self.name, hits, _cost(self._provider.usd(reply) + reply.lost * self._provider.price))

    async def _sent(self, call: Call) -> Reply:
        try:
            return await self._pacer.run(lambda: self._http.send(call, self._judged))
        except (ServiceUnavailable, ServiceFailed) as error:
            failure = SearchFailed(f"no search at {error.message}", hint=error.hint)
            failure.cost = _cost(error.lost * self._provider.price) if error.lost else None
            raise failure from error

    def _judged(self, reply: Reply) -> Verdict:
        self._pacer.told(pace_of(reply.headers))
        verdict = self._provider.judge(reply)
        if isinstance(verdict, Good):
            self._provider.hits(reply)
        return verdict


def _cost(usd: float) -> Cost:
    return Cost(usd=round(usd, 9))
