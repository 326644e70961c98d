"""Builds the searches over documents and stored pages, by words and by meaning: with a server, or a model in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.config.keys import Keys
from pipeline.config.service_selection import embedding_server, reranking_server
from pipeline.config.settings import Workspace
from pipeline.config.values import EmbeddingChoice, Settings
from pipeline.documents.extraction_process import Extractor
from pipeline.domain.budget import CombinedBudget, paying
from pipeline.ports import EventStore, FoundPassages, Page, Search, SearchResult
from pipeline.search.index import FILE, remove_index
from pipeline.search.local_model import LocalEmbedder, files_of, minilm, missing_packages
from pipeline.search.model_servers import EmbeddingClient, Reranker
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Embedder, Meaning, VectorModel

if TYPE_CHECKING:  # a search in this process needs no HTTP
    from pipeline.net.client import HttpClient

OFF = "RESEARCH_EMBEDDINGS"  # "off" in the environment: then ``auto`` is by words alone
WAIT_S = 600.0  # how long a run waits for vectors of passages, some 20,000 on two processors; the next one goes on
ASK_WAIT_S = 20.0  # how long a person who asks waits for them
_AT_ONCE = 4  # requests to a server that is not on this machine
_PUBLIC_PRICE = 0.2  # USD a million tokens: the worst case of a model whose price nobody named


def embedding_client(settings: Settings, keys: Keys, http: HttpClient) -> EmbeddingClient | None:
    """Return the client of the embeddings that the settings name.

    Raises:
        UsageError: they name a key that is not set, or no server and no key for one.
    """
    server, choice = embedding_server(settings, keys), settings.embeddings
    if server is None or not isinstance(choice, EmbeddingChoice):
        return None
    asked = VectorModel(
        server.model,
        server.name,
        choice.dimensions,
        *choice.prefixes,
        server.at_once or _AT_ONCE,
        choice.floor,
        server.base_url,
        server.key,
    )
    price = dict(settings.prices).get(server.model)
    return EmbeddingClient(http, asked, price.input_usd if price else None, _PUBLIC_PRICE if server.key else 0.0)


def _choice(settings: Settings, keys: Keys) -> Literal["auto", "off"] | EmbeddingChoice:
    return "off" if settings.embeddings == "auto" and keys.value(OFF) == "off" else settings.embeddings


def local_model(settings: Settings, keys: Keys, folder: Path) -> VectorModel | None:
    """Return the model in this process that the workspace in ``folder`` uses; None for a server, or for words alone."""
    choice = _choice(settings, keys)
    if choice == "off":
        return None
    if isinstance(choice, EmbeddingChoice):
        place = folder / choice.folder
        model = VectorModel(place.name, f"the model {place.name}", None, *choice.prefixes, floor=choice.floor, folder=str(place))
        return model if choice.folder else None
    return None if missing_packages() else minilm()


def meaning_of(
    settings: Settings, keys: Keys, http: Callable[[], HttpClient], folder: Path, wait_s: float = WAIT_S
) -> Meaning | None:
    """Return the search by meaning of the workspace in ``folder``; None for words alone. Raises as ``embedding_client``.

    ``http`` gives the client for a server; ``wait_s`` is how long searches wait for vectors of passages.

    Raises:
        UsageError: the folder of the model holds none, or a package for it is missing.
    """
    choice = _choice(settings, keys)
    if choice == "off":
        return None
    client: Embedder | None
    if model := local_model(settings, keys, folder):
        files_of(model)
        client = LocalEmbedder(model)
    else:
        client = embedding_client(settings, keys, http()) if isinstance(choice, EmbeddingChoice) else None
    return Meaning(client, wait_s) if client else None


def reranker_of(settings: Settings, keys: Keys, http: Callable[[], HttpClient]) -> Reranker | None:
    """Return the reranker that the settings name. Raises as ``embedding_client``."""
    if settings.reranker is None:
        return None
    server = reranking_server(settings, keys)
    assert server is not None  # noqa: S101 - the settings name one
    asked = VectorModel(server.model, server.name, floor=settings.reranker.floor, base_url=server.base_url, key=server.key)
    price = dict(settings.prices).get(server.model)
    return Reranker(http(), asked, price.input_usd if price else None, _PUBLIC_PRICE if server.key else 0.0)


@contextmanager
def _paid_by(budget: CombinedBudget) -> Iterator[None]:
    token = paying.set(budget)
    try:
        yield
    finally:
        paying.reset(token)


@dataclass(frozen=True, slots=True)
class ChargedSearch:
    """The search ``inner``; what its embeddings cost is charged to ``budget``."""

    inner: Search
    budget: CombinedBudget

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search. Raises as ``inner``."""
        with _paid_by(self.budget):
            return await self.inner.search(query, limit)


@dataclass(frozen=True, slots=True)
class ChargedPages:
    """The passages that ``inner`` finds; what their embeddings cost is charged to ``budget``."""

    inner: PassageSearch
    budget: CombinedBudget

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Find passages of stored pages. Raises as ``inner``."""
        with _paid_by(self.budget):
            return await self.inner.find(question, sessions, limit)

    async def search(self, query: str, limit: int) -> SearchResult:
        """Find passages of the folders. Raises as ``inner``."""
        with _paid_by(self.budget):
            return await self.inner.search(query, limit)

    async def read(self, url: str) -> Page:
        """Read a document. Raises as ``inner``."""
        return await self.inner.read(url)


def documents_of(
    workspace: Workspace,
    meaning: Meaning | None = None,
    extractor: Extractor | None = None,
    reranker: Reranker | None = None,
) -> PassageSearch:
    """Return the search over the workspace's own documents."""
    file = index_file(workspace.folder)
    return PassageSearch(file, workspace.corpora, meaning=meaning, reranker=reranker, extractor=extractor)


def index_file(folder: Path) -> Path:
    """Return the path of a workspace's index of passages."""
    return folder / "events" / "local" / FILE


def thin_documents(workspace: Workspace) -> list[str]:
    """Return what lacks much of its text among the documents that are indexed, as the last refresh found them."""
    thin = documents_of(workspace).thin() if index_file(workspace.folder).is_file() else ()
    return [f"{workspace.document_name(one.path)}: {one.reason}" for one in thin]


def passages_of(
    workspace: Workspace, store: EventStore, meaning: Meaning | None = None, reranker: Reranker | None = None
) -> PassageSearch:
    """Return the search over the pages that the workspace's sessions stored, and over its folders of documents."""
    return PassageSearch(index_file(workspace.folder), workspace.corpora, store=store, meaning=meaning, reranker=reranker)


def remove_text_caches(folder: Path) -> None:
    """Delete the index of passages: a cache with the texts of all sessions, a forgotten one's among them.

    Raises:
        OSError: the system refuses.
    """
    remove_index(index_file(folder))
