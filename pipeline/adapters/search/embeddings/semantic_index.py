"""Ranks passages by meaning: keeps the vectors of a search's passages complete, and compares them with the query's.

Vectors are kept as soon as a reply has come, so a run that is killed goes on where it was, and asks for none of them twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.adapters.search.embeddings.embedding_client import LONGEST, Embedded, EmbeddingClient, added
from pipeline.adapters.search.embeddings.nearest import cosine, nearest, packed, signature
from pipeline.adapters.search.embeddings.vector_cache import VectorCache
from pipeline.domain.values import Cost, FailedSide
from pipeline.errors import ServiceFailed, StepError
from pipeline.text.normalise import one_line

_log = logging.getLogger(__name__)

NEAREST = 100  # passages that a ranking by meaning holds
_PROBE = "The harbour master counts the ships before the tide turns."
_SAME_MODEL = 0.98  # cosine of two vectors of the same text: servers round differently, other models differ far more
_REQUESTS = 2  # of a group for each that the server takes at once: after a group its cost is recorded
_LONGEST_REASON = 500  # characters


@dataclass(eq=False)
class PassageScope:
    """The passages that a search ranks. ``numbers``: a passage for each digest; ``texts`` returns texts by passage number."""

    numbers: dict[bytes, int]
    texts: Callable[[Sequence[int]], list[str]]
    missing: list[bytes] | None = None
    signatures: list[tuple[int, int]] = field(default_factory=list)
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
    """Passage numbers, the nearest to the query first; the cost; and why there is no such ranking, if there is none."""

    numbers: tuple[int, ...] = ()
    cost: Cost = field(default_factory=Cost)
    failed: tuple[FailedSide, ...] = ()


class SemanticIndex:
    """The vectors of one model. Belongs to one event loop; may be shared by all searches of a run."""

    def __init__(self, client: EmbeddingClient, cache: VectorCache) -> None:
        self._client, self._cache = client, cache
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
        """Return the passages nearest to ``query``. After a failure there are none, and ``failed`` says why."""
        costs: list[Cost] = []
        try:
            vector = await self._query_vector(query, costs)
            while progress := await self.complete(scope):
                costs.append(progress.cost)
            found = await asyncio.to_thread(self._nearest, vector, scope)
        except (StepError, sqlite3.Error, OSError) as error:
            costs += [error.cost] if isinstance(error, StepError) and error.cost else []
            return ByMeaning(cost=added(costs), failed=(FailedSide(origin="embeddings", reason=self._reason(error)),))
        return ByMeaning(tuple(found), added(costs))

    async def complete(self, scope: PassageScope) -> Progress | None:
        """Ask for the vectors of one group of passages that have none; return None if all have one.

        Raises:
            StepError: the server failed; what was answered before is kept, and ``cost`` is what was spent.
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
            texts = await asyncio.to_thread(scope.texts, [scope.numbers[digest] for digest in group])
            tokens = await self._embed_group([(d, t) for d, t in zip(group, texts, strict=True) if t], costs)
            scope.missing = scope.missing[len(group) :]
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

    def _nearest(self, query: bytes, scope: PassageScope) -> list[int]:
        digests = {number: digest for digest, number in scope.numbers.items()}
        if scope.generation != self._generation:
            vectors = ((scope.numbers.get(digest), vector) for digest, vector in self._cache.all())
            scope.signatures = sorted((number, signature(vector)) for number, vector in vectors if number is not None)
            scope.generation = self._generation

        def kept(numbers: Sequence[int]) -> list[tuple[int, bytes]]:
            found = self._cache.get([digests[number] for number in numbers])
            return [(number, found[digests[number]]) for number in numbers if digests[number] in found]

        return nearest(query, ((bits, number) for number, bits in scope.signatures), kept, NEAREST)

    def _digest(self, text: str) -> bytes:
        return _sha256(self._client.server.passage_prefix + text)

    def _reason(self, error: Exception) -> str:
        reason = one_line(error.message if isinstance(error, StepError) else f"the cache of vectors: {error}", _LONGEST_REASON)
        if not self._warned:
            _log.warning("searching by words alone, not by meaning: %s", reason)
        self._warned = True
        return reason


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
