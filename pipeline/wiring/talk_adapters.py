"""Builds what a talk works with: the index of stored pages, and the reasoner that its settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pipeline.domain.values import EXTRACTIVE
from pipeline.research.talking.talk_steps import TalkContext
from pipeline.text.ranking.rank_fusion import page_origin
from pipeline.wiring.workspace_adapters import index_file

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.config.keys import Keys
    from pipeline.config.settings import Workspace
    from pipeline.domain.talk import TalkState
    from pipeline.net.client import HttpClient
    from pipeline.ports import EventStore, Reasoner
    from pipeline.search.model_servers import Reranker
    from pipeline.search.passage_search import PassageSearch
    from pipeline.search.vectors import Meaning
    from pipeline.wiring.embedding_adapters import ChargedPages


def passages_of(
    workspace: Workspace, store: EventStore, meaning: Meaning | None = None, reranker: Reranker | None = None
) -> PassageSearch:
    """Return the search over the pages that the workspace's sessions stored, and over its folders of documents."""
    from pipeline.search.passage_search import PassageSearch

    return PassageSearch(index_file(workspace.folder), workspace.corpora, store=store, meaning=meaning, reranker=reranker)


def remove_text_caches(folder: Path) -> None:
    """Delete the index of passages: a cache with the texts of all sessions, a forgotten one's among them.

    Raises:
        OSError: the system refuses.
    """
    from pipeline.search.index import remove_index

    remove_index(index_file(folder))


def talk_reasoner(workspace: Workspace, keys: Keys) -> str:
    """Return the name of the reasoner that answers in talks: the model of the settings, or the extractive one.

    Raises:
        UsageError: the settings name a model that is not set up.
    """
    from pipeline.config.service_selection import reasoner_for

    return reasoner_for(workspace.queue.settings, keys, None).name


def unrecorded_talks(
    workspace: Workspace, keys: Keys, store: EventStore, index: Path
) -> tuple[PassageSearch, Callable[[Sequence[str]], TalkContext]]:
    """Return the search over stored pages, and a function from sessions to the context of a talk about them, without a model.

    Nothing is written into the workspace: ``index``, a file elsewhere, begins as a copy of its index. Passages are compared by
    meaning if a model in this process does it.
    """
    from pipeline.reasoners.no_model import PassageReasoner
    from pipeline.search.index import copy_index
    from pipeline.search.passage_search import PassageSearch
    from pipeline.wiring.embedding_adapters import local_model, meaning_of
    from pipeline.wiring.workspace_adapters import http_of

    settings = workspace.queue.settings
    is_local = local_model(settings, keys, workspace.folder) is not None
    meaning = meaning_of(settings, keys, lambda: http_of(settings, keys), workspace.folder, 0.0) if is_local else None
    copy_index(index_file(workspace.folder), index)
    pages, plain = PassageSearch(index, store=store, meaning=meaning), PassageReasoner()
    return pages, lambda sessions: TalkContext(
        plain, plain, pages, lambda digest: store.get(digest).decode("utf-8"), sessions, ""
    )


def _gone_from(workspace: Workspace) -> Callable[[str], bool]:
    """Return a function from a page's address to whether it was a document that is no longer in its folder.

    If a folder itself is missing, as when a disk is not mounted, nothing is said of its documents.
    """
    from pipeline.search.folders import Corpus

    corpus = Corpus(workspace.corpora)
    unusable = bool(corpus.unusable())
    return lambda url: not unusable and page_origin(url) == "own" and not corpus.path_at(url.partition("#")[0]).exists()


@asynccontextmanager
async def talk_context(
    workspace: Workspace, store: EventStore, keys: Keys, state: TalkState, sessions: Sequence[str]
) -> AsyncIterator[TalkContext]:
    """Yield what a talk's steps may use, and close it afterwards. Its budget is what the talk has left.

    Raises:
        UsageError: the talk's model, or that of the embeddings, is not set up (any more).
    """
    searched = _pages_of(workspace, store, keys, state)
    async with searched as pages, _context_with(pages, workspace, store, keys, state, sessions) as context:
        yield context


@asynccontextmanager
async def _pages_of(workspace: Workspace, store: EventStore, keys: Keys, state: TalkState) -> AsyncIterator[ChargedPages]:
    """Yield the search over stored pages and folders, by meaning too if the settings ask for that; the talk pays for it."""
    from pipeline.domain.budget import Budget, CombinedBudget
    from pipeline.wiring.embedding_adapters import ASK_WAIT_S, ChargedPages, meaning_of, reranker_of
    from pipeline.wiring.workspace_adapters import http_of

    settings = workspace.queue.settings
    opened: list[HttpClient] = []

    def http() -> HttpClient:
        opened.append(http_of(settings, keys))
        return opened[0]

    budget = Budget(state.budget_usd, name="talk", spent=state.cost())
    try:
        meaning = meaning_of(settings, keys, http, workspace.folder, ASK_WAIT_S)
        reranker = reranker_of(settings, keys, lambda: opened[0] if opened else http())
        yield ChargedPages(passages_of(workspace, store, meaning, reranker), CombinedBudget((budget,)))
    finally:
        for client in opened:
            await client.aclose()


@asynccontextmanager
async def _context_with(
    pages: ChargedPages, workspace: Workspace, store: EventStore, keys: Keys, state: TalkState, sessions: Sequence[str]
) -> AsyncIterator[TalkContext]:
    from pipeline.reasoners.no_model import PassageReasoner
    from pipeline.search.folders import Corpus

    plain = PassageReasoner()

    def context(reasoner: Reasoner) -> TalkContext:
        def text_of(digest: str) -> str:
            return store.get(digest).decode("utf-8")

        documents = None if Corpus(workspace.corpora).unusable() else pages
        return TalkContext(reasoner, plain, pages, text_of, sessions, state.last_at[:10], _gone_from(workspace), documents)

    if state.reasoner == EXTRACTIVE:
        yield context(plain)
        return
    from pipeline.wiring.session_adapters import AdapterFactory

    factory = AdapterFactory(workspace, store, keys)
    try:
        yield context(factory.talk_model(state.reasoner, state.budget_usd, state.cost()))
    finally:
        await factory.aclose()
