"""Builds what a talk works with: the index of stored pages, and the reasoner that its settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.keys import Keys
from pipeline.config.service_selection import reasoner_for
from pipeline.config.settings import Workspace
from pipeline.domain.budget import Budget, CombinedBudget
from pipeline.domain.talk import TalkState
from pipeline.domain.values import EXTRACTIVE
from pipeline.ports import EventStore, Reasoner
from pipeline.reasoners.no_model import PassageReasoner
from pipeline.research.talk_steps import TalkContext
from pipeline.search.folders import Corpus
from pipeline.search.index import copy_index
from pipeline.search.passage_search import PassageSearch
from pipeline.text.ranking.rank_fusion import page_origin
from pipeline.wiring.search_adapters import (
    ASK_WAIT_S,
    ChargedPages,
    index_file,
    local_model,
    meaning_of,
    passages_of,
    reranker_of,
)

if TYPE_CHECKING:
    from pipeline.net.client import HttpClient


def _http_of(workspace: Workspace, keys: Keys) -> HttpClient:
    from pipeline.wiring.session_adapters import http_of  # it takes longer than most answers, and few need it

    return http_of(workspace.queue.settings, keys)


def talk_reasoner(workspace: Workspace, keys: Keys) -> str:
    """Return the name of the reasoner that answers in talks: the model of the settings, or the extractive one.

    Raises:
        UsageError: the settings name a model that is not set up.
    """
    return reasoner_for(workspace.queue.settings, keys, None).name


def unrecorded_talks(
    workspace: Workspace, keys: Keys, store: EventStore, index: Path
) -> tuple[PassageSearch, Callable[[Sequence[str]], TalkContext]]:
    """Return the search over stored pages, and a function from sessions to the context of a talk about them, without a model.

    Nothing is written into the workspace: ``index``, a file elsewhere, begins as a copy of its index. Passages are compared by
    meaning if a model in this process does it.
    """
    settings = workspace.queue.settings
    is_local = local_model(settings, keys, workspace.folder) is not None
    meaning = meaning_of(settings, keys, lambda: _http_of(workspace, keys), workspace.folder, 0.0) if is_local else None
    copy_index(index_file(workspace.folder), index)
    pages, plain = PassageSearch(index, store=store, meaning=meaning), PassageReasoner()
    return pages, lambda sessions: TalkContext(
        plain, plain, pages, lambda digest: store.objects.get(digest).decode("utf-8"), sessions, ""
    )


@asynccontextmanager
async def talk_context(
    workspace: Workspace, store: EventStore, keys: Keys, state: TalkState, sessions: Sequence[str], night: Budget | None
) -> AsyncIterator[TalkContext]:
    """Yield what a talk's steps may use, and close it afterwards. Its budget is what the talk and the night have left.

    Raises:
        UsageError: the talk's model, or that of the embeddings, is not set up (any more).
    """
    settings, corpus = workspace.queue.settings, Corpus(workspace.corpora)
    is_unusable = bool(corpus.unusable())

    def is_gone(url: str) -> bool:  # nothing is said of documents whose folder is missing, as when a disk is not mounted
        return not is_unusable and page_origin(url) == "own" and not corpus.path_at(url.partition("#")[0]).exists()

    async with AsyncExitStack() as opened:

        @cache
        def http() -> HttpClient:
            client = _http_of(workspace, keys)
            opened.push_async_callback(client.aclose)
            return client

        budget = Budget(state.budget_usd, name="talk", spent=state.cost())
        meaning = meaning_of(settings, keys, http, workspace.folder, ASK_WAIT_S)
        searched = passages_of(workspace, store, meaning, reranker_of(settings, keys, http))
        pages = ChargedPages(searched, CombinedBudget((budget, night) if night else (budget,)))
        plain = PassageReasoner()
        reasoner: Reasoner = plain
        if state.reasoner != EXTRACTIVE:
            from pipeline.wiring.session_adapters import AdapterFactory

            factory = AdapterFactory(workspace, store, keys, night=night)
            opened.push_async_callback(factory.aclose)
            reasoner = factory.talk_model(state.reasoner, state.budget_usd, state.cost())
        yield TalkContext(
            reasoner, plain, pages, lambda digest: store.objects.get(digest).decode("utf-8"), sessions, state.last_at[:10],
            is_gone, None if is_unusable else pages,
        )  # fmt: skip
