"""Ranks passages by meaning: keeps the vectors of a scope's passages complete, and compares them with the query's.

A model in this process (``local_embedder``) and a server (``embedding_servers``) give vectors in the same way. They are kept in
the index as soon as they have come, so a run that is killed goes on where it was, and asks for none of them twice. A vector is
kept in one byte a number. The nearest are found in two passes, without a numeric library: each vector's *signature*, one bit a
number, selects some hundred, and these are compared number by number. Over 10,000 passages that takes less than a tenth of a
second.
"""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import mul
from typing import Protocol, TypeAlias, TypeVar

from pipeline.domain.research_values import Cost, FailedSide, total
from pipeline.errors import ServiceFailed, ServiceUnavailable, StepError
from pipeline.search.index import Index, Scope, key_of
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted
from pipeline.text.redaction import Secret

_log = logging.getLogger(__name__)
T = TypeVar("T")

Vector: TypeAlias = "array[float]"
Cosines: TypeAlias = Callable[[Sequence[int]], Mapping[int, float]]

LONGEST = 2_000  # characters of a text: most models read no more than 512 tokens
NEAREST = 100  # passages that a ranking by meaning holds
_KEPT = 50_000  # vectors of sentences in one process, half a kilobyte each
_PROBE = "The harbour master counts the ships before the tide turns."
_SAME_MODEL = 0.98  # cosine of two vectors of the same text: servers round differently, other models differ far more
_REQUESTS = 2  # of a group for each that the server takes at once: after a group its cost is recorded
_LONGEST_REASON = 500  # characters
# A byte of a vector → the digit of its sign: bytes are two's complement, so those from 128 on are negative.
_SIGNS = bytes(b"1"[0] if 0 < byte < 128 else b"0"[0] for byte in range(256))
_OVERSAMPLED = 4  # signatures selected for each passage wanted: 98% of the nearest hundred are among them


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors in the order of the texts, the tokens that they took, and what they cost."""

    vectors: tuple[Vector, ...]
    tokens: int = 0
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True)
class VectorModel:
    """A model of vectors. ``name`` is the model and where it is, for messages.

    The prefixes are words that it wants before a query and before a passage; ``at_once`` is how many requests it takes at the
    same time. ``floor`` is the least cosine of a passage that is near its question, None if nobody has measured it. On a server,
    ``base_url`` ends before ``/embeddings`` and ``name`` is that of its circuit breaker; in this process, ``folder`` is "" for
    MiniLM.
    """

    model: str
    name: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    at_once: int = 1
    floor: float | None = None
    base_url: str = ""
    key: Secret | None = None
    folder: str = ""

    @property
    def space(self) -> str:
        """The name of the vector space: only vectors of the same space can be compared."""
        return " ".join(filter(None, (self.model, self.passage_prefix)))


class Embedder(Protocol):
    """Gives the vectors of texts, of ``batch`` texts at a time, with ``model``."""

    model: VectorModel
    batch: int

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of ``texts``.

        Raises:
            StepError: there are none; ``cost`` is what was spent.
        """
        ...


class Base(Protocol):
    """Runs an action on the open index, one at a time, and returns what it returns."""

    async def __call__(self, action: Callable[[Index], T]) -> T:
        """Run ``action``. Raises what it raises."""
        ...


def packed(vector: Vector) -> bytes:
    """Return the vector in one signed byte a number, the largest number as 127. Its direction is kept, its length is not."""
    scale = 127.0 / max(abs(value) for value in vector)
    return array("b", [round(value * scale) for value in vector]).tobytes()


def signature(vector: bytes) -> int:
    """Return one bit for each number of a packed vector: whether it is positive."""
    return int(vector.translate(_SIGNS), 2)


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of the angle between two packed vectors, -1 to 1; 0 if one is all zeros or they differ in length."""
    left, right = array("b", one), array("b", other)
    lengths = math.sqrt(sum(map(mul, left, left)) * sum(map(mul, right, right)))
    return sum(map(mul, left, right)) / lengths if lengths and len(left) == len(right) else 0.0


def nearest(query: bytes, vectors: Mapping[int, bytes], limit: int, beside: Iterable[int] = ()) -> dict[int, float]:
    """Return by number the cosines of the ``limit`` passages nearest to ``query``, the nearest first, then those of ``beside``.

    Of equally near ones the lower number comes first.
    """
    wanted = signature(query)
    distances = (((wanted ^ signature(vector)).bit_count(), number) for number, vector in vectors.items())
    selected = nsmallest(_OVERSAMPLED * limit, distances)
    compared = sorted((-cosine(query, vectors[number]), number) for _, number in selected)
    found = {number: -distance for distance, number in compared[:limit]}
    return found | {number: cosine(query, vectors[number]) for number in beside if number in vectors and number not in found}


@dataclass(frozen=True, slots=True)
class Progress:
    """One group of passages whose vectors were asked for: their number, how many are left, tokens, and what they cost."""

    done: int
    left: int
    tokens: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """How near passages are to a query; the cost; and why that is not known, if it is not.

    ``cosines`` takes the numbers of passages and returns their cosines and those of the nearest. ``floor`` as in ``VectorModel``.
    """

    cosines: Cosines | None = None
    floor: float | None = None
    cost: Cost = field(default_factory=Cost)
    failed: tuple[FailedSide, ...] = ()


class Nearness:
    """How near texts are to another by meaning, with a model in this process. Vectors are kept: questions share documents."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._vectors = embedder, dict[str, bytes]()

    async def __call__(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the cosine of each of ``others`` and ``text``.

        Raises:
            StepError: the model fails.
        """
        known = self._vectors = {} if len(self._vectors) > _KEPT else self._vectors
        missing = [one for one in dict.fromkeys([text, *others]) if one not in known]
        prefix = self._embedder.model.query_prefix
        try:
            found = await self._embedder.embed([f"{prefix} {one}".lstrip() for one in missing]) if missing else Embedded(())
        except StepError as error:
            _log.warning("sentences are compared by words alone, not by meaning: %s", error.message)
            raise
        known |= {one: packed(vector) for one, vector in zip(missing, found.vectors, strict=True)}
        return [cosine(known[text], known[one]) for one in others]


class Meaning:
    """The search by meaning with one model. Belongs to one event loop; may be shared by all searches of a run.

    ``wait_s`` is how long all searches together wait in this process for vectors of passages.
    """

    def __init__(self, client: Embedder, wait_s: float = math.inf) -> None:
        self._client, self._left_s = client, wait_s
        self.nearness = None if client.model.base_url else Nearness(client)  # a server is not asked for more than it has to be
        self._lock = asyncio.Lock()
        self._dimensions = 0  # of the replies in this process
        self._warned = False

    @property
    def model(self) -> str:
        """The model's name."""
        return self._client.model.model

    async def rank(self, query: str, scope: Scope, base: Base) -> ByMeaning:
        """Return how near the passages of ``scope`` are to ``query``, or why that is not known."""
        costs: list[Cost] = []
        try:
            vector = await self._query_vector(query, base, costs)
            while progress := await self.complete(scope, base):
                costs.append(progress.cost)
            vectors = await base(lambda index: index.vectors_of(scope))
        except (StepError, sqlite3.Error, OSError) as error:
            costs += [error.cost] if isinstance(error, StepError) and error.cost else []
            said = error.message if isinstance(error, StepError) else f"the index of passages: {error}"
            reason = one_line(said, _LONGEST_REASON)
            if not self._warned:
                _log.warning("searching by words alone, not by meaning: %s", reason)
            self._warned = True
            return ByMeaning(cost=total(costs), failed=(FailedSide(origin="embeddings", reason=reason),))

        def cosines(numbers: Sequence[int]) -> Mapping[int, float]:
            return nearest(vector, vectors, NEAREST, numbers)

        return ByMeaning(cosines, self._client.model.floor, total(costs))

    async def complete(self, scope: Scope, base: Base) -> Progress | None:
        """Ask for the vectors of one group of passages that have none; return None if all have one.

        Raises:
            StepError: the model failed, or no time is left; what was answered before is kept, and ``cost`` is what was spent.
            sqlite3.Error, OSError: the index cannot be used.
        """
        async with self._lock:
            costs = [await self._check_model(base)]
            if scope.missing is None:
                scope.missing = await base(lambda index: index.without_vector(scope))
            group = scope.missing[: _REQUESTS * self._client.batch * self._client.model.at_once]
            if not group:
                return None
            if self._left_s <= 0:
                have = "has" if len(scope.missing) == 1 else "have"
                raise ServiceUnavailable(f"{counted(len(scope.missing), 'passage')} {have} no vector yet; the next run goes on")
            began = time.monotonic()
            texts = await base(lambda index: index.texts_of(group))
            tokens = await self._embed_group([text for text in texts if text], base, costs)
            scope.missing = scope.missing[len(group) :]
            self._left_s -= time.monotonic() - began
            return Progress(len(group), len(scope.missing), tokens, total(costs))

    async def _embed_group(self, texts: Sequence[str], base: Base, costs: list[Cost]) -> int:
        """Embed the texts in requests side by side; each reply is kept when it comes. Return the tokens."""
        size = self._client.batch
        parts = [texts[start : start + size] for start in range(0, len(texts), size)]
        prefix = self._client.model.passage_prefix
        done = await asyncio.gather(*(self._embed(part, prefix, base) for part in parts), return_exceptions=True)
        costs += [one.cost for one in done if isinstance(one, Embedded)]
        for error in done:
            if isinstance(error, StepError):
                error.cost = total(costs + ([error.cost] if error.cost else []))
            if isinstance(error, BaseException):
                raise error
        return sum(one.tokens for one in done if isinstance(one, Embedded))

    async def _embed(self, texts: Sequence[str], prefix: str, base: Base) -> Embedded:
        """Embed texts in one request and keep their vectors."""
        found = await self._client.embed([f"{prefix} {text}".lstrip() for text in texts])
        vectors = {key_of(text): packed(vector) for text, vector in zip(texts, found.vectors, strict=True)}
        for vector in vectors.values():
            if len(vector) != self._dimensions:
                why = f"its vectors have {len(vector)} numbers, and had {self._dimensions} a moment ago"
                raise ServiceFailed(f"{self._client.model.name}: {why}", hint="name one model under embeddings: in queries.yaml")
        await base(lambda index: index.put_vectors(vectors))
        return found

    async def _query_vector(self, query: str, base: Base, costs: list[Cost]) -> bytes:
        asked = f"{self._client.model.query_prefix} {one_line(query, LONGEST)}".lstrip()
        key = key_of(f"query: {asked}")
        async with self._lock:
            costs.append(await self._check_model(base))
            if known := await base(lambda index: index.vector(key)):
                return known
        found = await self._client.embed([asked])
        costs.append(found.cost)
        vector = packed(found.vectors[0])
        await base(lambda index: index.put_vectors({key: vector}))
        return vector

    async def _check_model(self, base: Base) -> Cost:
        """Once in a process, compare a known text's vector with the one kept: under one name there may be another model now."""
        if self._dimensions:
            return Cost()
        found = await self._client.embed([_PROBE])
        vector = packed(found.vectors[0])

        def check(index: Index) -> bool:
            kept = index.use_space(self._client.model.space, vector)
            differs = kept is not None and cosine(kept, vector) < _SAME_MODEL
            if differs:
                index.forget_vectors()
            return differs

        if await base(check):
            _log.warning("%s gives other vectors than before: those of all passages are asked for again", self._client.model.name)
        self._dimensions = len(vector)
        return found.cost
