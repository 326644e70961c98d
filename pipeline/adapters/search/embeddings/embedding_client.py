"""Asks a server for the vectors of texts: budget, retries, and smaller requests where it takes no larger ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.adapters.http.call_and_reply import Good, Reply, Verdict
from pipeline.adapters.search.embeddings.wire_format import EmbeddingServer, TooLarge, judged, tokens_in, usd_in, vectors_in
from pipeline.domain.budget import CombinedBudget, Reservation, paying
from pipeline.domain.values import Cost
from pipeline.errors import ServiceFailed, ServiceUnavailable, StepError
from pipeline.search.vectors import LONGEST, Embedded, added
from pipeline.text.normalise import tokens

if TYPE_CHECKING:  # a search by words needs no HTTP
    from pipeline.adapters.http.client import HttpClient

BATCH = 32  # texts a request: the least of the usual servers' limits
_SHORTEST = 200  # characters; a server that takes no such text takes none


class EmbeddingClient:
    """Asks one server. ``price`` is that of a million tokens in USD; None: not known, and ``worst_price`` is assumed.

    Costs are charged to the budgets of ``domain.budget.paying``.
    """

    def __init__(self, http: HttpClient, server: EmbeddingServer, price: float | None = None, worst_price: float = 0.0) -> None:
        self._http, self.server = http, server
        self._price, self._price_known = worst_price if price is None else price, price is not None
        self._most = BATCH  # texts in one request, as far as is known

    @property
    def batch(self) -> int:
        """How many texts the server takes in one request, as far as is known."""
        return self._most

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of ``texts``, in one request or, if the server takes no such request, in several.

        Raises:
            ServiceUnavailable, ServiceFailed: there is no usable reply; ``cost`` is what was spent.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the request does not fit under a cap.
        """
        found = await self._sent([text[:LONGEST] for text in texts])
        if isinstance(found, Embedded):
            return found
        if len(texts) > 1:
            self._most = max(1, min(self._most, len(texts) // 2))
            return await self._in_parts([texts[: len(texts) // 2], texts[len(texts) // 2 :]])
        half = texts[0][: min(LONGEST, len(texts[0])) // 2]
        if len(half) < _SHORTEST:
            raise ServiceFailed(f"{self.server.name} takes no text: {found.why}")
        return await self.embed([half])

    async def _in_parts(self, parts: Sequence[Sequence[str]]) -> Embedded:
        done: list[Embedded] = []
        try:
            for part in parts:
                done.append(await self.embed(part))
        except StepError as error:
            error.cost = added([one.cost for one in done] + ([error.cost] if error.cost else []))
            raise
        vectors = tuple(vector for one in done for vector in one.vectors)
        return Embedded(vectors, sum(one.tokens for one in done), added([one.cost for one in done]))

    async def _sent(self, texts: Sequence[str]) -> Embedded | TooLarge:
        attempts = _Attempts(paying.get(), self._worst(texts))
        refused: list[TooLarge] = []

        def judge(reply: Reply) -> Verdict:
            verdict = judged(reply, self.server)
            if isinstance(verdict, TooLarge):
                refused.append(verdict)
                return Good()
            if isinstance(verdict, Good):
                vectors_in(reply, len(texts))  # a reply that cannot be used is asked for again
            return verdict

        try:
            reply = await self._http.send(self.server.call(texts), judge, attempts.before)
        except (ServiceUnavailable, ServiceFailed) as error:
            error.cost = attempts.ended(error.lost)
            raise
        except BaseException:
            attempts.ended(0)
            raise
        if refused:
            attempts.ended(reply.lost)
            return refused[0]
        counted = tokens_in(reply)
        cost = attempts.ended(reply.lost, self._billed(reply, counted, texts))
        return Embedded(tuple(vectors_in(reply, len(texts))), counted or 0, cost)

    def _worst(self, texts: Sequence[str]) -> Cost:
        usd = sum(map(tokens, texts)) * self._price / 1_000_000
        return Cost(usd=usd, assumed_usd=usd)

    def _billed(self, reply: Reply, counted: int | None, texts: Sequence[str]) -> Cost:
        stated = usd_in(reply)
        if stated is not None:
            return Cost(usd=stated)
        if counted is None:
            return self._worst(texts)
        usd = counted * self._price / 1_000_000
        return Cost(usd=usd) if self._price_known else Cost(usd=usd, assumed_usd=usd)


class _Attempts:
    """The reservations of one request's attempts. Free requests are not announced, so that they leave no event of their own."""

    def __init__(self, budget: CombinedBudget, worst: Cost) -> None:
        self._budget, self._worst = budget, worst
        self._open: list[tuple[Reservation, ...]] = []

    async def before(self) -> None:
        self._open.append(await self._budget.reserve(self._worst, calls=0, announced=self._worst.usd > 0))

    def ended(self, lost: int, last: Cost | None = None) -> Cost:
        """Charge ``last`` for the last attempt and the worst case for ``lost`` others; release the rest; return the sum."""
        charges = [self._worst] * lost + ([last] if last else [])
        costs = charges[: len(self._open)]
        for number, reservation in enumerate(self._open):
            if number < len(costs):
                self._budget.settle(reservation, costs[number])
            else:
                self._budget.release(reservation)
        self._open.clear()
        return added(costs)
