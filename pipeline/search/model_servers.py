"""Servers of vectors, with the OpenAI-compatible ``/embeddings``, and of rerankers, with ``/rerank``: request, reply and budget.

``/rerank`` is served by llama.cpp, vLLM, Infinity, Jina and Cohere alike.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.domain.budget import CombinedBudget, Reservation, paying
from pipeline.domain.values import Cost, total
from pipeline.errors import Malformed, ServiceFailed, ServiceUnavailable, StepError
from pipeline.net.calls import Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.search.vectors import LONGEST, Embedded, Vector, VectorModel
from pipeline.text.normalise import one_line, tokens
from pipeline.text.redaction import Redaction, Secret

if TYPE_CHECKING:  # a search by words needs no HTTP
    from pipeline.net.client import HttpClient

T = TypeVar("T")

BATCH = 32  # texts a request: the least of the usual servers' limits
DEADLINE_S = 120.0  # a model on an ordinary processor takes seconds for a batch
_SHORTEST = 200  # characters; a server that takes no such text takes none
_MAX_BYTES = 50_000_000
_MOST_DIMENSIONS = 16_384
_MOST_TOKENS = 100_000_000
# How servers say in their own words that a request is too large: none has a code for it, and without it nothing is cut smaller.
_TOO_LARGE = re.compile(
    r"too (?:large|long|many|big)|exceed|maximum|context (?:length|size|window)|batch|at most|longer than", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ServedModel(VectorModel):
    """A model on a server. ``base_url`` ends before ``/embeddings``; ``name`` is that of the server's circuit breaker."""

    base_url: str = ""
    key: Secret | None = None

    def call(self, path: str, body: dict[str, Any]) -> Call:
        """Return a request to the model. The key is in one header only."""
        headers = {"authorization": f"Bearer {self.key.reveal()}"} if self.key else {}
        url = f"{self.base_url.rstrip('/')}/{path}"
        whole = {"model": self.model, **body}
        return Call(self.name, "POST", url, headers, json=whole, max_bytes=_MAX_BYTES, deadline_s=DEADLINE_S)

    def embeddings(self, texts: Sequence[str]) -> Call:
        """Return the request for the vectors of ``texts``."""
        length = {"dimensions": self.dimensions} if self.dimensions else {}
        return self.call("embeddings", {"input": list(texts), **length})

    def plain(self, text: str) -> str:
        """Return a server's own words on one line, without the key."""
        return one_line((Redaction((self.key,)) if self.key else Redaction(())).text(text), 200)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The server takes fewer or shorter texts in one request; ``why`` is its own message."""

    why: str


def error_text(reply: Reply, server: ServedModel) -> str:
    """Return what a reply that is no success says, in the forms of OpenAI, llama.cpp, Ollama and TEI."""
    try:
        body: dict[str, Any] = reply.envelope()
    except Malformed:
        body = {}
    error = body.get("error")
    said = error.get("message") if isinstance(error, dict) else error or body.get("message") or body.get("detail")
    return server.plain(said) if isinstance(said, str) and said.strip() else f"it answered with status {reply.status}"


def judged(reply: Reply, server: ServedModel) -> Verdict | TooLarge:
    """Return the verdict on a reply by its status and message."""
    if reply.status < 300:
        return Good()
    why = error_text(reply, server)
    if reply.status == 413 or (reply.status in (400, 422, 500) and _TOO_LARGE.search(why)):
        return TooLarge(why)
    verdict = judged_by_status(reply)
    if isinstance(verdict, Refused):
        return Refused(why, "check the key of that model, and the account's credit")
    return Failed(why) if isinstance(verdict, Failed) else verdict


def vectors_in(reply: Reply, count: int) -> list[Vector]:
    """Return the ``count`` vectors of a reply in the order of the texts, all of the same length.

    Raises:
        Malformed: their number, an index, a length or a value is not what was asked for.
    """
    rows = reply.envelope().get("data")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Malformed("shape", "the reply has no list of vectors under data")
    if len(rows) != count:
        raise Malformed("count", f"the reply has {len(rows)} vectors for {count} texts")
    found = {_index(row, place): _vector(row.get("embedding")) for place, row in enumerate(rows)}
    if sorted(found) != list(range(count)):
        raise Malformed("index", "the reply numbers its vectors in another way than the texts")
    lengths = {len(vector) for vector in found.values()}
    if len(lengths) > 1:
        raise Malformed("length", f"the reply has vectors of different lengths: {', '.join(map(str, sorted(lengths)))}")
    return [found[place] for place in range(count)]


def scores_in(reply: Reply, count: int) -> list[float]:
    """Return the ``count`` scores of a reply in the order of the texts.

    Raises:
        Malformed: their number, an index or a value is not what was asked for.
    """
    rows = reply.envelope().get("results")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Malformed("shape", "the reply has no list of scores under results")
    found = {_index(row, place): row.get("relevance_score", row.get("score")) for place, row in enumerate(rows)}
    if len(rows) != count or sorted(found) != list(range(count)):
        raise Malformed("index", "the reply numbers its scores in another way than the texts")
    if not all(isinstance(score, int | float) and math.isfinite(score) for score in found.values()):
        raise Malformed("score", "the reply has a score that is no number")
    return [float(found[place]) for place in range(count)]


def _index(row: dict[str, Any], place: int) -> int:
    index = row.get("index", place)
    return index if isinstance(index, int) and not isinstance(index, bool) else -1


def _vector(values: object) -> Vector:
    if not isinstance(values, list) or not 0 < len(values) <= _MOST_DIMENSIONS:
        raise Malformed("vector", "the reply has a vector that is no list of numbers")
    try:
        vector = array("f", values)
    except (TypeError, ValueError, OverflowError):
        raise Malformed("vector", "the reply has a vector with a value that is no number") from None
    length = math.sqrt(math.fsum(value * value for value in vector))
    if not math.isfinite(length) or length == 0.0:
        raise Malformed("vector", "the reply has a vector that is all zeros, or not finite")
    return vector


def tokens_in(reply: Reply) -> int | None:
    """Return the tokens that a reply says it counted; None if it does not say."""
    usage = reply.envelope().get("usage")
    usage = usage if isinstance(usage, dict) else {}
    count = usage.get("total_tokens", usage.get("prompt_tokens"))
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS else None


def usd_in(reply: Reply) -> float | None:
    """Return the price in USD that a reply states; None if it states none."""
    usage = reply.envelope().get("usage")
    cost = usage.get("cost") if isinstance(usage, dict) else None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1_000 else None


class _PaidServer:
    """Sends requests to one server. ``price`` is that of a million tokens in USD; None: not known, ``worst_price`` is assumed.

    Costs are charged to the budgets of ``domain.budget.paying``.
    """

    def __init__(self, http: HttpClient, server: ServedModel, price: float | None = None, worst_price: float = 0.0) -> None:
        self._http, self.model = http, server
        self._price, self._price_known = worst_price if price is None else price, price is not None

    async def _send(self, call: Call, texts: Sequence[str], read: Callable[[Reply], T]) -> tuple[T | TooLarge, int, Cost]:
        """Send ``call`` for ``texts``; return what ``read`` finds in the reply, the tokens and the cost."""
        attempts = _Attempts(paying.get(), self._worst(texts))
        refused: list[TooLarge] = []

        def judge(reply: Reply) -> Verdict:
            verdict = judged(reply, self.model)
            if isinstance(verdict, TooLarge):
                refused.append(verdict)
                return Good()
            if isinstance(verdict, Good):
                read(reply)  # a reply that cannot be used is asked for again
            return verdict

        try:
            reply = await self._http.send(call, judge, attempts.before)
        except (ServiceUnavailable, ServiceFailed) as error:
            error.cost = attempts.ended(error.lost)
            raise
        except BaseException:
            attempts.ended(0)
            raise
        if refused:
            attempts.ended(reply.lost)
            return refused[0], 0, Cost()
        counted = tokens_in(reply)
        return read(reply), counted or 0, attempts.ended(reply.lost, self._billed(reply, counted, texts))

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


class EmbeddingClient(_PaidServer):
    """Gives vectors; by the protocol ``Embedder`` of ``vectors``."""

    batch = BATCH  # texts in one request, as far as is known

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of ``texts``, in one request or, if the server takes no such request, in several.

        Raises:
            ServiceUnavailable, ServiceFailed: there is no usable reply; ``cost`` is what was spent.
            ProviderRefused: key, quota or credit.
            BudgetSpent: the request does not fit under a cap.
        """
        sent = [text[:LONGEST] for text in texts]
        found, counted, cost = await self._send(self.model.embeddings(sent), sent, lambda reply: vectors_in(reply, len(sent)))
        if not isinstance(found, TooLarge):
            return Embedded(tuple(found), counted, cost)
        if len(texts) > 1:
            self.batch = max(1, min(self.batch, len(texts) // 2))
            return await self._in_parts([texts[: len(texts) // 2], texts[len(texts) // 2 :]])
        half = texts[0][: min(LONGEST, len(texts[0])) // 2]
        if len(half) < _SHORTEST:
            raise ServiceFailed(f"{self.model.name} takes no text: {found.why}")
        return await self.embed([half])

    async def _in_parts(self, parts: Sequence[Sequence[str]]) -> Embedded:
        done: list[Embedded] = []
        try:
            for part in parts:
                done.append(await self.embed(part))
        except StepError as error:
            error.cost = total([one.cost for one in done] + ([error.cost] if error.cost else []))
            raise
        vectors = tuple(vector for one in done for vector in one.vectors)
        return Embedded(vectors, sum(one.tokens for one in done), total([one.cost for one in done]))


class Reranker(_PaidServer):
    """Says how well passages answer a question, from 0 to 1; the ``floor`` of its model is the least that is near."""

    async def scores(self, question: str, texts: Sequence[str]) -> tuple[list[float], Cost]:
        """Return a score for each text, and the cost. A model that gives other numbers than from 0 to 1 gives logits.

        Raises:
            As ``EmbeddingClient.embed``.
        """
        sent = [text[:LONGEST] for text in texts]
        call = self.model.call("rerank", {"query": question, "documents": sent, "top_n": len(sent)})
        found, _, cost = await self._send(call, [question] * len(sent) + sent, lambda reply: scores_in(reply, len(sent)))
        if isinstance(found, TooLarge):
            raise ServiceFailed(f"{self.model.name} takes no such request: {found.why}")
        if any(not 0 <= score <= 1 for score in found):
            found = [1 / (1 + math.exp(-max(-700.0, min(700.0, score)))) for score in found]
        return found, cost


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
        return total(costs)
