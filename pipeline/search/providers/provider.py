"""Web search through one provider, by the port ``Search``: rate limit, retries, canonical addresses and cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from pipeline.adapters.http.call_and_reply import Call, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.domain.budget import announce_call
from pipeline.domain.values import Cost, Hit
from pipeline.errors import SearchFailed, ServiceFailed, ServiceUnavailable
from pipeline.ports import SearchResult
from pipeline.search.addresses import distinct
from pipeline.search.providers.rate_limit import Pacer, pace_of
from pipeline.text.normalise import one_line

MAX_BYTES = 2_000_000
DEADLINE_S = 30.0
_LONGEST_QUERY = 1_000


class Provider(Protocol):
    """The base of all providers: functions for request, verdict, hits and price. None of them sends or waits."""

    @property
    def name(self) -> str:
        """The name that settings, log and circuit breaker use."""
        ...

    @property
    def price(self) -> float:
        """The cost of one search in USD if the reply does not state it."""
        ...

    def call(self, query: str, limit: int) -> Call:
        """Return the request for a search."""
        ...

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply by its status and errors; raising ``Malformed`` counts as ``Again``."""
        ...

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits of a reply with the verdict ``Good``, best first.

        Raises:
            Malformed: the reply has another shape, so it is not good after all.
        """
        ...

    def usd(self, reply: Reply) -> float:  # noqa: ARG002 - for providers whose replies state a price
        """Return the cost in USD of a reply with the verdict ``Good``: the usual price, unless the reply states another."""
        return self.price


class WebSearch:
    """Searches one provider. ``headers`` are sent with every request (``user-agent``)."""

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
        """The usual cost of one search in USD."""
        return self._provider.price

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits, each page once, under its canonical address.

        Raises:
            SearchFailed: the search failed, for now or for good; its ``cost`` is what attempts without a reply may have cost.
            ProviderRefused: key, quota or credit is missing or used up.
        """
        wanted = one_line(query, _LONGEST_QUERY)
        if not wanted:
            raise SearchFailed(f"The query for {self.name} is empty", hint="write a query")
        call = self._provider.call(wanted, limit)
        headers = {**self._headers, **call.headers}
        gap_s = self._pacer.gap_s
        reply = await self._send(replace(call, headers=headers, max_bytes=MAX_BYTES, deadline_s=DEADLINE_S, gap_s=gap_s))
        hits = distinct(self._provider.hits(reply))[:limit]
        return SearchResult(self.name, hits, _cost(self._provider.usd(reply) + reply.lost * self._provider.price))

    async def _send(self, call: Call) -> Reply:
        try:
            return await self._pacer.run(lambda: self._http.send(call, self._judge, self._announce))
        except (ServiceUnavailable, ServiceFailed) as error:
            failure = SearchFailed(f"no search at {error.message}", hint=error.hint)
            failure.outage = error.outage
            failure.cost = _cost(error.lost * self._provider.price) if error.lost else None
            raise failure from error

    async def _announce(self) -> None:
        if self.price:
            await announce_call(_cost(self.price))

    def _judge(self, reply: Reply) -> Verdict:
        self._pacer.slow_down(pace_of(reply.headers))
        verdict = self._provider.judge(reply)
        if isinstance(verdict, Good):
            self._provider.hits(reply)
        return verdict


def _cost(usd: float) -> Cost:
    return Cost(usd=round(usd, 9))
