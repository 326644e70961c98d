"""Builds what a talk works with: the index of stored pages, and the reasoner that its settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
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
        plain, plain, pages, lambda digest: store.objects.get(digest).decode("utf-8"), sessions, ""
    )


@asynccontextmanager
async def talk_context(
    workspace: Workspace, store: EventStore, keys: Keys, state: TalkState, sessions: Sequence[str]
) -> AsyncIterator[TalkContext]:
    """Yield what a talk's steps may use, and close it afterwards. Its budget is what the talk has left.

    Raises:
        UsageError: the talk's model, or that of the embeddings, is not set up (any more).
    """
    from pipeline.domain.budget import Budget, CombinedBudget
    from pipeline.reasoners.no_model import PassageReasoner
    from pipeline.search.folders import Corpus
    from pipeline.wiring.embedding_adapters import ASK_WAIT_S, ChargedPages, meaning_of, reranker_of
    from pipeline.wiring.workspace_adapters import http_of

    settings, corpus = workspace.queue.settings, Corpus(workspace.corpora)
    is_unusable = bool(corpus.unusable())

    def is_gone(url: str) -> bool:  # nothing is said of documents whose folder is missing, as when a disk is not mounted
        return not is_unusable and page_origin(url) == "own" and not corpus.path_at(url.partition("#")[0]).exists()

    async with AsyncExitStack() as opened:

        @cache
        def http() -> HttpClient:
            client = http_of(settings, keys)
            opened.push_async_callback(client.aclose)
            return client

        budget = Budget(state.budget_usd, name="talk", spent=state.cost())
        meaning = meaning_of(settings, keys, http, workspace.folder, ASK_WAIT_S)
        searched = passages_of(workspace, store, meaning, reranker_of(settings, keys, http))
        pages = ChargedPages(searched, CombinedBudget((budget,)))
        plain = PassageReasoner()
        reasoner: Reasoner = plain
        if state.reasoner != EXTRACTIVE:
            from pipeline.wiring.session_adapters import AdapterFactory

            factory = AdapterFactory(workspace, store, keys)
            opened.push_async_callback(factory.aclose)
            reasoner = factory.talk_model(state.reasoner, state.budget_usd, state.cost())
        yield TalkContext(
            reasoner, plain, pages, lambda digest: store.objects.get(digest).decode("utf-8"), sessions, state.last_at[:10],
            is_gone, None if is_unusable else pages,
        )  # fmt: skip
