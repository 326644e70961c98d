"""Builds the search by meaning from the settings; None where they name no embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.service_selection import embedding_server
from pipeline.domain.budget import CombinedBudget, paying
from pipeline.ports import FoundPassages, Search, SearchResult, StoredPages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.adapters.http.client import HttpClient
    from pipeline.adapters.search.embeddings.embedding_client import EmbeddingClient
    from pipeline.adapters.search.embeddings.semantic_index import SemanticIndex
    from pipeline.config.settings import Keys, Settings

_AT_ONCE = 4  # requests to a server that is not on this machine
_PUBLIC_PRICE = 0.2  # USD a million tokens: the worst case of a model whose price nobody named


def vectors_file(folder: Path) -> Path:
    """Return the path of a workspace's cache of vectors."""
    return folder / "events" / "local" / "embeddings.sqlite"


def embedding_client(settings: Settings, keys: Keys, http: HttpClient) -> EmbeddingClient | None:
    """Return the client of the embeddings that the settings name.

    Raises:
        UsageError: they name a key that is not set, or no server and no key for one.
    """
    from pipeline.adapters.search.embeddings.embedding_client import EmbeddingClient
    from pipeline.adapters.search.embeddings.wire_format import EmbeddingServer

    server, choice = embedding_server(settings, keys), settings.embeddings
    if server is None or choice is None:
        return None
    asked = EmbeddingServer(
        server.name,
        server.base_url,
        server.model,
        server.key,
        choice.dimensions,
        query_prefix=f"{choice.query_prefix} ".lstrip(),
        passage_prefix=f"{choice.passage_prefix} ".lstrip(),
        at_once=server.at_once or _AT_ONCE,
    )
    price = dict(settings.prices).get(server.model)
    return EmbeddingClient(http, asked, price.input_usd if price else None, _PUBLIC_PRICE if server.key else 0.0)


def semantic_index(settings: Settings, keys: Keys, http: HttpClient, vectors: Path) -> SemanticIndex | None:
    """Return the search by meaning with its cache in the file ``vectors``. Raises as ``embedding_client``."""
    if settings.embeddings is None:
        return None
    from pipeline.adapters.search.embeddings.semantic_index import SemanticIndex
    from pipeline.adapters.search.embeddings.vector_cache import VectorCache

    client = embedding_client(settings, keys, http)
    return SemanticIndex(client, VectorCache(vectors, client.server.space)) if client else None


@dataclass(frozen=True, slots=True)
class ChargedSearch:
    """The search ``inner``; what its embeddings cost is charged to ``budget``."""

    inner: Search
    budget: CombinedBudget

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search. Raises as ``inner``."""
        token = paying.set(self.budget)
        try:
            return await self.inner.search(query, limit)
        finally:
            paying.reset(token)


@dataclass(frozen=True, slots=True)
class ChargedPages:
    """The stored pages ``inner``; what their embeddings cost is charged to ``budget``."""

    inner: StoredPages
    budget: CombinedBudget

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Find passages. Raises as ``inner``."""
        token = paying.set(self.budget)
        try:
            return await self.inner.find(question, sessions, limit)
        finally:
            paying.reset(token)
