"""The wire format of OpenAI-compatible ``/embeddings``: the request for some texts, and the vectors in a reply. Pure."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.adapters.http.call_and_reply import Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.errors import Malformed
from pipeline.search.vectors import Vector
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Redaction, Secret

DEADLINE_S = 120.0  # a model on an ordinary processor takes seconds for a batch
_MAX_BYTES = 50_000_000
_MOST_DIMENSIONS = 16_384
_MOST_TOKENS = 100_000_000
_TOO_LARGE = re.compile(
    r"too (?:large|long|many|big)|exceed|maximum|context (?:length|size|window)|batch|at most|longer than", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class EmbeddingServer:
    """Where vectors are asked for. ``name`` is that of the server's circuit breaker; ``base_url`` ends before ``/embeddings``.

    ``dimensions`` is the length of vector that is asked for; None is the model's own. Some models want ``query_prefix`` before a
    query, and ``passage_prefix`` before a passage.
    """

    name: str
    base_url: str
    model: str
    key: Secret | None = None
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    at_once: int = 1

    @property
    def space(self) -> str:
        """The name of the model's vector space: only vectors of the same space can be compared."""
        return f"{self.model} {self.dimensions}" if self.dimensions else self.model

    def call(self, texts: Sequence[str]) -> Call:
        """Return the request for the vectors of ``texts``. The key is in one header only."""
        headers = {"authorization": f"Bearer {self.key.reveal()}"} if self.key else {}
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        url = f"{self.base_url.rstrip('/')}/embeddings"
        return Call(self.name, "POST", url, headers, json=body, max_bytes=_MAX_BYTES, deadline_s=DEADLINE_S)

    def plain(self, text: str) -> str:
        """Return a server's own words on one line, without the key."""
        return one_line((Redaction((self.key,)) if self.key else Redaction(())).text(text), 200)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """The server takes fewer or shorter texts in one request; ``why`` is its own message."""

    why: str


def error_text(reply: Reply, server: EmbeddingServer) -> str:
    """Return what a reply that is no success says, in the forms of OpenAI, llama.cpp, Ollama and TEI."""
    try:
        body: dict[str, Any] = reply.envelope()
    except Malformed:
        body = {}
    error = body.get("error")
    said = error.get("message") if isinstance(error, dict) else error or body.get("message") or body.get("detail")
    return server.plain(said) if isinstance(said, str) and said.strip() else f"it answered with status {reply.status}"


def judged(reply: Reply, server: EmbeddingServer) -> Verdict | TooLarge:
    """Return the verdict on a reply by its status and message."""
    if reply.status < 300:
        return Good()
    why = error_text(reply, server)
    if reply.status == 413 or (reply.status in (400, 422, 500) and _TOO_LARGE.search(why)):
        return TooLarge(why)
    verdict = judged_by_status(reply)
    if isinstance(verdict, Refused):
        return Refused(why, "check the key of the embeddings, and the account's credit")
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
