"""Builds what a talk works with: the index of stored pages, and the reasoner that its settings ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pipeline.domain.values import EXTRACTIVE
from pipeline.research.talking.talk_steps import TalkContext

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.adapters.search.stored.stored_pages import StoredPageSearch
    from pipeline.config.settings import Keys, Workspace
    from pipeline.domain.talk.state import TalkState
    from pipeline.ports import EventStore, Reasoner


def stored_pages_of(folder: Path, store: EventStore) -> StoredPageSearch:
    """Return the search over the pages that the workspace's sessions stored."""
    from pipeline.adapters.search.stored.stored_pages import StoredPageSearch

    return StoredPageSearch(store, folder / "events" / "local" / "stored-pages.sqlite")


def talk_reasoner(workspace: Workspace, keys: Keys) -> str:
    """Return the name of the reasoner that answers in talks: the model of the settings, or the extractive one.

    Raises:
        UsageError: the settings name a model that is not set up.
    """
    from pipeline.config.service_selection import reasoner_for

    return reasoner_for(workspace.queue.settings, keys, None).name


def unrecorded_talks(store: EventStore, index: Path) -> Callable[[Sequence[str]], TalkContext]:
    """Return a function from sessions to the context of a talk about them, without a model; ``index`` is a file for its cache."""
    from pipeline.adapters.reasoners.extractive import ExtractiveReasoner
    from pipeline.adapters.search.stored.stored_pages import StoredPageSearch

    pages, plain = StoredPageSearch(store, index), ExtractiveReasoner()
    return lambda sessions: TalkContext(plain, plain, pages, lambda digest: store.get(digest).decode("utf-8"), sessions, "")


@asynccontextmanager
async def talk_context(
    workspace: Workspace, store: EventStore, keys: Keys, state: TalkState, sessions: Sequence[str]
) -> AsyncIterator[TalkContext]:
    """Yield what a talk's steps may use, and close it afterwards. Its budget is what the talk has left.

    Raises:
        UsageError: the talk's model is not set up (any more).
    """
    from pipeline.adapters.reasoners.extractive import ExtractiveReasoner

    pages, plain = stored_pages_of(workspace.folder, store), ExtractiveReasoner()

    def context(reasoner: Reasoner) -> TalkContext:
        return TalkContext(reasoner, plain, pages, lambda digest: store.get(digest).decode("utf-8"), sessions, state.last_at[:10])

    if state.reasoner == EXTRACTIVE:
        yield context(plain)
        return
    from pipeline.wiring.session_adapters import AdapterFactory

    factory = AdapterFactory(workspace, store, keys)
    try:
        yield context(factory.talk_model(state.reasoner, state.budget_usd, state.cost()))
    finally:
        await factory.aclose()
