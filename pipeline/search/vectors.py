"""Ranks passages by meaning: keeps the vectors of a search's passages complete, and compares them with the query's.

A model in this process (``local_model``) and a server of embeddings give vectors in the same way. They are kept as soon as they
have come, so a run that is killed goes on where it was, and asks for none of them twice. A vector is kept in one byte a number.
The nearest are found in two passes, without a numeric library: each vector's *signature*, one bit a number, selects some hundred,
and these are compared number by number. Over 10,000 passages that takes a few milliseconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import sqlite3
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import mul
from typing import Protocol, TypeAlias

from pipeline.domain.values import Cost, FailedSide
from pipeline.errors import ServiceFailed, ServiceUnavailable, StepError
from pipeline.search.vector_cache import VectorCache
from pipeline.text.normalise import counted, one_line

_log = logging.getLogger(__name__)

Vector: TypeAlias = "array[float]"
Cosines: TypeAlias = Callable[[Sequence[int]], Mapping[int, float]]

LONGEST = 2_000  # characters of a text: most models read no more than 512 tokens
NEAREST = 100  # passages that a ranking by meaning holds
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


class VectorModel(Protocol):
    """What a model of vectors is called and wants. ``space``: only vectors of the same space can be compared."""

    @property
    def name(self) -> str:
        """The model and where it is, for messages."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def space(self) -> str:
        """The name of the vector space."""
        ...

    @property
    def query_prefix(self) -> str:
        """What the model wants before a query."""
        ...

    @property
    def passage_prefix(self) -> str:
        """What the model wants before a passage."""
        ...

    @property
    def at_once(self) -> int:
        """Requests that it takes at the same time."""
        ...


class Embedder(Protocol):
    """Gives the vectors of texts."""

    @property
    def server(self) -> VectorModel:
        """The model that gives them."""
        ...

    @property
    def batch(self) -> int:
        """How many texts it takes at a time."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of ``texts``.

        Raises:
            StepError: there are none; ``cost`` is what was spent.
        """
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
    return _Direction(one).cosine(other)


class _Direction:
    """A packed vector with what comparing it with many others needs only once."""

    def __init__(self, vector: bytes) -> None:
        self._values = array("b", vector)
        self._square = sum(map(mul, self._values, self._values))

    def cosine(self, other: bytes) -> float:
        values = array("b", other)
        lengths = math.sqrt(self._square * sum(map(mul, values, values)))
        return sum(map(mul, self._values, values)) / lengths if lengths and len(values) == len(self._values) else 0.0


def nearest(
    query: bytes, signatures: Iterable[tuple[int, int]], vectors: Mapping[int, bytes], limit: int, beside: Iterable[int] = ()
) -> dict[int, float]:
    """Return by number the cosines of the ``limit`` passages nearest to ``query``, the nearest first, then those of ``beside``.

    ``signatures`` are pairs of a signature and a passage's number. Of equally near ones the lower number comes first.
    """
    wanted, direction = signature(query), _Direction(query)
    selected = nsmallest(_OVERSAMPLED * limit, (((wanted ^ bits).bit_count(), number) for bits, number in signatures))
    compared = sorted((-direction.cosine(vectors[number]), number) for _, number in selected)
    found = {number: -distance for distance, number in compared[:limit]}
    return found | {number: direction.cosine(vectors[number]) for number in beside if number in vectors and number not in found}


@dataclass(eq=False)
class PassageScope:
    """The passages that a search ranks. ``numbers``: a passage for each digest; ``texts`` returns texts by passage number."""

    numbers: dict[bytes, int]
    texts: Callable[[Sequence[int]], list[str]]
    missing: list[bytes] | None = None
    signatures: list[tuple[int, int]] = field(default_factory=list)
    vectors: dict[int, bytes] = field(default_factory=dict)
    generation: int = -1


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

    ``cosines`` takes the numbers of passages and returns their cosines and those of the nearest. ``floor`` is the least cosine
    of a passage that is near its question, None if nobody has measured it for this model.
    """

    cosines: Cosines | None = None
    floor: float | None = None
    cost: Cost = field(default_factory=Cost)
    failed: tuple[FailedSide, ...] = ()


class SemanticIndex:
    """The vectors of one model. Belongs to one event loop; may be shared by all searches of a run.

    ``wait_s`` is how long all searches together wait in this process for vectors of passages; ``floor`` as in ``ByMeaning``.
    """

    def __init__(self, client: Embedder, cache: VectorCache, wait_s: float = math.inf, floor: float | None = None) -> None:
        self._client, self._cache = client, cache
        self._left_s, self._floor = wait_s, floor
        self._lock = asyncio.Lock()
        self._dimensions = 0  # of the replies in this process
        self._generation = 0  # raised with each change of the passages' vectors
        self._warned = False

    @property
    def model(self) -> str:
        """The model's name."""
        return self._client.server.model

    def scope(self, passages: Iterable[tuple[int, str]], texts: Callable[[Sequence[int]], list[str]]) -> PassageScope:
        """Return the scope of these passages, given by number and text; of equal texts the lowest number stands for all."""
        numbers: dict[bytes, int] = {}
        for number, text in passages:
            numbers.setdefault(self._digest(text), number)
        return PassageScope(numbers, texts)

    async def rank(self, query: str, scope: PassageScope) -> ByMeaning:
        """Return how near the passages are to ``query``. After a failure that is not known, and ``failed`` says why."""
        costs: list[Cost] = []
        try:
            vector = await self._query_vector(query, costs)
            while progress := await self.complete(scope):
                costs.append(progress.cost)
            await asyncio.to_thread(self._load, scope)
        except (StepError, sqlite3.Error, OSError) as error:
            costs += [error.cost] if isinstance(error, StepError) and error.cost else []
            return ByMeaning(cost=added(costs), failed=(FailedSide(origin="embeddings", reason=self._reason(error)),))

        def cosines(numbers: Sequence[int]) -> Mapping[int, float]:
            return nearest(vector, scope.signatures, scope.vectors, NEAREST, numbers)

        return ByMeaning(cosines, self._floor, added(costs))

    async def complete(self, scope: PassageScope) -> Progress | None:
        """Ask for the vectors of one group of passages that have none; return None if all have one.

        Raises:
            StepError: the model failed, or no time is left; what was answered before is kept, and ``cost`` is what was spent.
            sqlite3.Error, OSError: the cache cannot be used.
        """
        async with self._lock:
            costs = [await self._check_model()]
            if scope.missing is None:
                known = await asyncio.to_thread(self._cache.known)
                scope.missing = sorted(scope.numbers.keys() - known, key=scope.numbers.__getitem__)
            group = scope.missing[: _REQUESTS * self._client.batch * self._client.server.at_once]
            if not group:
                return None
            if self._left_s <= 0:
                have = "has" if len(scope.missing) == 1 else "have"
                raise ServiceUnavailable(f"{counted(len(scope.missing), 'passage')} {have} no vector yet; the next run goes on")
            began = time.monotonic()
            texts = await asyncio.to_thread(scope.texts, [scope.numbers[digest] for digest in group])
            tokens = await self._embed_group([(d, t) for d, t in zip(group, texts, strict=True) if t], costs)
            scope.missing = scope.missing[len(group) :]
            self._left_s -= time.monotonic() - began
            return Progress(len(group), len(scope.missing), tokens, added(costs))

    async def _embed_group(self, group: Sequence[tuple[bytes, str]], costs: list[Cost]) -> int:
        """Embed the texts in requests side by side; each reply is kept when it comes. Return the tokens."""
        size = self._client.batch
        parts = [group[start : start + size] for start in range(0, len(group), size)]
        done = await asyncio.gather(*(self._embed_part(part) for part in parts), return_exceptions=True)
        costs += [one.cost for one in done if isinstance(one, Embedded)]
        for error in done:
            if isinstance(error, StepError):
                error.cost = added(costs + ([error.cost] if error.cost else []))
            if isinstance(error, BaseException):
                raise error
        return sum(one.tokens for one in done if isinstance(one, Embedded))

    async def _embed_part(self, part: Sequence[tuple[bytes, str]]) -> Embedded:
        prefix = self._client.server.passage_prefix
        found = await self._client.embed([prefix + text for _, text in part])
        vectors = {digest: self._checked(vector) for (digest, _), vector in zip(part, map(packed, found.vectors), strict=True)}
        await asyncio.to_thread(self._cache.put, vectors)
        self._generation += 1
        return found

    async def _query_vector(self, query: str, costs: list[Cost]) -> bytes:
        text = self._client.server.query_prefix + one_line(query, LONGEST)
        digest = _sha256(text)
        async with self._lock:
            costs.append(await self._check_model())
            known = await asyncio.to_thread(self._cache.get, [digest])
            if digest in known:
                return known[digest]
        found = await self._client.embed([text])
        costs.append(found.cost)
        vector = self._checked(packed(found.vectors[0]))
        await asyncio.to_thread(self._cache.put, {digest: vector})
        return vector

    async def _check_model(self) -> Cost:
        """Once in a process, compare a known text's vector with the one kept: under one name there may be another model now."""
        if self._dimensions:
            return Cost()
        digest = _sha256(_PROBE)
        kept = (await asyncio.to_thread(self._cache.get, [digest])).get(digest)
        found = await self._client.embed([_PROBE])
        vector = packed(found.vectors[0])
        if kept is not None and cosine(kept, vector) < _SAME_MODEL:
            _log.warning(
                "%s gives other vectors than before: those of all passages are asked for again", self._client.server.name
            )
            await asyncio.to_thread(self._cache.clear)
            self._generation += 1
        await asyncio.to_thread(self._cache.put, {digest: vector})
        self._dimensions = len(vector)
        return found.cost

    def _checked(self, vector: bytes) -> bytes:
        if len(vector) != self._dimensions:
            why = f"its vectors have {len(vector)} numbers, and had {self._dimensions} a moment ago"
            raise ServiceFailed(f"{self._client.server.name}: {why}", hint="name one model under embeddings: in queries.yaml")
        return vector

    def _load(self, scope: PassageScope) -> None:
        generation = self._generation
        if scope.generation != generation:
            known = ((scope.numbers.get(digest), vector) for digest, vector in self._cache.all())
            scope.vectors = {number: vector for number, vector in known if number is not None}
            scope.signatures = [(signature(vector), number) for number, vector in scope.vectors.items()]
            scope.generation = generation

    def _digest(self, text: str) -> bytes:
        return _sha256(self._client.server.passage_prefix + text)

    def _reason(self, error: Exception) -> str:
        reason = one_line(error.message if isinstance(error, StepError) else f"the cache of vectors: {error}", _LONGEST_REASON)
        if not self._warned:
            _log.warning("searching by words alone, not by meaning: %s", reason)
        self._warned = True
        return reason


def added(costs: Sequence[Cost]) -> Cost:
    """Return the sum of costs in USD."""
    usd, assumed = sum(cost.usd for cost in costs), sum(cost.assumed_usd for cost in costs)
    return Cost(usd=round(usd, 9), assumed_usd=round(assumed, 9))


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
