"""A server of embeddings on loopback. Words of the same meaning, as ``MEANINGS`` has them, get the same number of a vector."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.search.embedding_servers import EmbeddingClient, Reranker
from pipeline.search.vectors import VectorModel
from tests.ops.listening import listening

MEANINGS = ({"depth", "deep", "fathoms", "metres"}, {"vessel", "ship", "ships", "boats"}, {"lamp", "beacon", "light"})
DIMENSIONS = 32

Reply = tuple[int, Any]
Answer = Callable[[list[str]], Reply | None]


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return a vector that depends on the words of ``text``, whatever their order; never all zeros."""
    vector = [0.01] * dimensions
    for word in text.lower().replace("?", " ").replace(".", " ").split():
        place = next((n for n, group in enumerate(MEANINGS) if word in group), None)
        vector[zlib.crc32(word.encode()) % (dimensions - 8) + 8 if place is None else place] += 1.0 if place is None else 3.0
    return vector


def reply_to(texts: list[str], dimensions: int = DIMENSIONS) -> Reply:
    """Return the reply of a server in good order."""
    rows = [{"index": place, "embedding": vector_of(text, dimensions)} for place, text in enumerate(texts)]
    tokens = sum(len(text) for text in texts)
    return 200, {"data": rows, "model": "tiny", "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def scores_for(question: str, texts: list[str]) -> Reply:
    """Return a reranker's reply: a text's score is the cosine of its vector and the question's, as a logit, the best first."""
    wanted = vector_of(question)
    scores = [sum(a * b for a, b in zip(wanted, vector_of(text), strict=True)) - 1.0 for text in texts]
    rows = [{"index": place, "relevance_score": score} for place, score in enumerate(scores)]
    return 200, {"results": sorted(rows, key=lambda row: -row["relevance_score"]), "usage": {"total_tokens": 1_000}}


@dataclass
class Stage:
    """A running server. ``asked`` are the texts of each request; ``answer`` may answer in place of the usual reply."""

    url: str
    asked: list[list[str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    answer: Answer = lambda _texts: None

    @property
    def texts(self) -> list[str]:
        """All texts that vectors were asked for, in order."""
        return [text for texts in self.asked for text in texts]

    def reranker(self, floor: float | None = None) -> Reranker:
        """Return a reranker at this server that does not wait long."""
        http = HttpClient(Policy(attempts=2, first_wait_s=0.01), guard=AddressGuard((self.url,)))
        return Reranker(http, VectorModel("order", "reranker", floor=floor, base_url=self.url), price=1.0)

    def client(self, price: float | None = None, worst_price: float = 0.0, **server: Any) -> EmbeddingClient:
        """Return a client of this server that does not wait long."""
        http = HttpClient(Policy(attempts=2, first_wait_s=0.01), guard=AddressGuard((self.url,)))
        return EmbeddingClient(http, VectorModel("tiny", "embeddings", base_url=self.url, **server), price, worst_price)


@contextmanager
def serving() -> Iterator[Stage]:
    """Run a server for the time of the block."""
    stage = Stage("")

    def answer(path: str, asked: Any) -> tuple[int, bytes]:
        texts = asked["documents"] if path.endswith("/rerank") else asked["input"]
        stage.asked.append(texts)
        usual = scores_for(asked["query"], texts) if path.endswith("/rerank") else reply_to(texts)
        status, body = stage.answer(texts) or usual
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    with listening(answer=answer) as one:
        stage.url, stage.headers = f"{one.url}/v1", one.headers
        yield stage
