"""Servers of vectors, with the OpenAI-compatible ``/embeddings``, and of rerankers, with ``/rerank``: request, reply and budget.

``/rerank`` is served by llama.cpp, vLLM, Infinity, Jina and Cohere alike.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pipeline.domain.budget import paying
from pipeline.domain.research_values import Cost, total
from pipeline.errors import Malformed, ServiceFailed, StepError
from pipeline.net.calls_and_replies import AttemptCharges, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.net.client import HttpClient
from pipeline.search.providers import message_in
from pipeline.search.vectors import LONGEST, Embedded, Vector, VectorModel
from pipeline.text.cleaning import tokens
from pipeline.text.redaction import Redaction

T = TypeVar("T")

BATCH = 32  # texts a request: the least of the usual servers' limits
DEADLINE_S = 120.0  # a model on an ordinary processor takes seconds for a batch
_SHORTEST = 200  # characters; a server that takes no such text takes none
_MAX_BYTES = 50_000_000
_MOST_DIMENSIONS = 16_384
_MOST_TOKENS = 100_000_000
# How servers say in their own words that a request is too large: none has a code for it, and without it nothing is cut smaller.
_TOO_LARGE = (
    "too large", "too long", "too many", "too big", "exceed", "maximum", "context length", "context size", "context window",
    "batch", "at most", "longer than",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _TooLarge:
    """The server takes fewer or shorter texts in one request; ``why`` is its own message."""

    why: str


def vectors_in(reply: Reply, count: int) -> list[Vector]:
    """Return the ``count`` vectors of a reply in the order of the texts, all of the same length.

    Raises:
        Malformed: their number, an index, a length or a value is not what was asked for.
    """
    found = [_vector(row.get("embedding")) for row in _rows(reply, "data", count)]
    if len({len(vector) for vector in found}) > 1:
        raise Malformed("length", "the reply has vectors of different lengths")
    return found


def scores_in(reply: Reply, count: int) -> list[float]:
    """Return the ``count`` scores of a reply in the order of the texts.

    Raises:
        Malformed: their number, an index or a value is not what was asked for.
    """
    said = [row.get("relevance_score", row.get("score")) for row in _rows(reply, "results", count)]
    found = [float(score) for score in said if isinstance(score, int | float) and math.isfinite(score)]
    if len(found) < count:
        raise Malformed("score", "the reply has a score that is no number")
    return found


def _rows(reply: Reply, name: str, count: int) -> list[dict[str, Any]]:
    """Return the rows of a reply in the order of their ``index``, or as they stand if they have none."""
    rows = reply.json_object().get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Malformed("shape", f"the reply has no list under {name}")
    if len(rows) != count:
        raise Malformed("count", f"the reply has {len(rows)} rows for {count} texts")
    placed = {row.get("index", place): row for place, row in enumerate(rows) if type(row.get("index", place)) is int}
    if placed.keys() != set(range(count)):
        raise Malformed("index", "the reply numbers its rows in another way than the texts")
    return [placed[place] for place in range(count)]


def _vector(values: object) -> Vector:
    try:
        vector = array("f", values if isinstance(values, list) else [])
    except (TypeError, ValueError, OverflowError):
        raise Malformed("vector", "the reply has a vector with a value that is no number") from None
    length = math.fsum(value * value for value in vector)
    if not math.isfinite(length) or length == 0.0 or len(vector) > _MOST_DIMENSIONS:
        raise Malformed("vector", "the reply has a vector that is no list of numbers, all zeros, or not finite")
    return vector


def usage_in(reply: Reply) -> tuple[int | None, float | None]:
    """Return the tokens that a reply says it counted, and its price in USD; None for what it does not say, or cannot be true."""
    usage = reply.json_object().get("usage")
    usage = usage if isinstance(usage, dict) else {}
    count, cost = usage.get("total_tokens", usage.get("prompt_tokens")), usage.get("cost")
    is_price = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1_000
    return (
        count if type(count) is int and 0 <= count <= _MOST_TOKENS else None,
        float(cost) if cost is not None and is_price else None,
    )


class _PaidServer:
    """Sends requests to one server. ``price`` is that of a million tokens in USD; None: not known, ``worst_price`` is assumed.

    Costs are charged to the budgets of ``domain.budget.paying``; free requests leave no event of their own.
    """

    def __init__(self, http: HttpClient, server: VectorModel, price: float | None = None, worst_price: float = 0.0) -> None:
        self._http, self.model = http, server
        self._price, self._price_known = worst_price if price is None else price, price is not None

    async def _send(
        self, path: str, body: dict[str, Any], texts: Sequence[str], read: Callable[[Reply], T]
    ) -> tuple[T | _TooLarge, int, Cost]:
        """Send a request for ``texts``; return what ``read`` finds in the reply, the tokens and the cost."""
        server = self.model
        headers = {"authorization": f"Bearer {server.key.reveal()}"} if server.key else {}
        url = f"{server.base_url.rstrip('/')}/{path}"
        whole = {"model": server.model, **body}
        call = Call(server.name, "POST", url, headers, json=whole, max_bytes=_MAX_BYTES, deadline_s=DEADLINE_S)
        usd = sum(map(tokens, texts)) * self._price / 1_000_000
        worst = Cost(usd=usd, assumed_usd=usd)
        costs: list[Cost] = []
        meter = AttemptCharges(paying.get(), worst, costs, calls=0)
        refused: list[str] = []

        def judge(reply: Reply) -> Verdict:
            if reply.status < 300:
                read(reply)  # a reply that cannot be used is asked for again
                counted, stated = usage_in(reply)
                billed = worst if counted is None else Cost(usd=counted * self._price / 1_000_000)
                if counted is not None and not self._price_known:
                    billed = Cost(usd=billed.usd, assumed_usd=billed.usd)
                meter.replied(billed if stated is None else Cost(usd=stated))
                return Good()
            why = self._said(reply)
            if reply.status == 413 or (reply.status in (400, 422, 500) and any(one in why.lower() for one in _TOO_LARGE)):
                refused.append(why)
                return Good()
            verdict = judged_by_status(reply)
            if isinstance(verdict, Refused):
                return Refused(why, "check the key of that model, and the account's credit")
            return Failed(why) if isinstance(verdict, Failed) else verdict

        try:
            reply = await meter.charged(self._http.send(call, judge, meter.before))
        except StepError as error:
            error.cost = total(costs)
            raise
        found = _TooLarge(refused[0]) if refused else read(reply)
        return found, usage_in(reply)[0] or 0, total(costs)

    def _said(self, reply: Reply) -> str:
        """Return a server's own words on one line, without the key."""
        redaction = Redaction((self.model.key,) if self.model.key else ())
        return message_in(replace(reply, body=redaction.data(reply.body))) or f"it answered with status {reply.status}"


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
        reading = self._send("embeddings", {"input": sent}, sent, lambda reply: vectors_in(reply, len(sent)))
        found, counted, cost = await reading
        if not isinstance(found, _TooLarge):
            return Embedded(tuple(found), counted, cost)
        if len(texts) == 1:
            half = sent[0][: len(sent[0]) // 2]
            if len(half) < _SHORTEST:
                raise ServiceFailed(f"{self.model.name} takes no text: {found.why}")
            shorter = await self.embed([half])
            return replace(shorter, cost=total([cost, shorter.cost]))
        middle = len(texts) // 2
        self.batch = max(1, min(self.batch, middle))
        done: list[Embedded] = []
        try:
            for part in (texts[:middle], texts[middle:]):
                done.append(await self.embed(part))
        except StepError as error:
            error.cost = total([cost, *(one.cost for one in done), *([error.cost] if error.cost else [])])
            raise
        vectors = tuple(vector for one in done for vector in one.vectors)
        return Embedded(vectors, sum(one.tokens for one in done), total([cost, *(one.cost for one in done)]))


class Reranker(_PaidServer):
    """Says how well passages answer a question, from 0 to 1; the ``floor`` of its model is the least that is near."""

    async def scores(self, question: str, texts: Sequence[str]) -> tuple[list[float], Cost]:
        """Return a score for each text, and the cost. A model that gives other numbers than from 0 to 1 gives logits.

        Raises:
            As ``EmbeddingClient.embed``.
        """
        sent = [text[:LONGEST] for text in texts]
        body = {"query": question, "documents": sent, "top_n": len(sent)}
        found, _, cost = await self._send("rerank", body, [question] * len(sent) + sent, lambda one: scores_in(one, len(sent)))
        if isinstance(found, _TooLarge):
            raise ServiceFailed(f"{self.model.name} takes no such request: {found.why}")
        if any(not 0 <= score <= 1 for score in found):
            found = [1 / (1 + math.exp(-max(-700.0, min(700.0, score)))) for score in found]
        return found, cost
