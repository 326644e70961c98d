"""A night in this process: the real ``Night`` and ``AdapterFactory``, a store in memory, and the stand-in on the same loop."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any, TypeVar

from pipeline.batch import batch_runner, due_queries
from pipeline.batch.night_result import BatchResult
from pipeline.batch.session_index import read_all
from pipeline.config.keys import Keys
from pipeline.config.queue_schema import Query
from pipeline.config.services import config_for
from pipeline.config.workspace_settings import Workspace, load_workspace
from pipeline.documents.extractor import Extractor
from pipeline.domain.budget import Budget
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.research_values import ResearchConfig
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.ports import EventStore, Page
from pipeline.vault import build_vault
from pipeline.wiring import run_context_and_note_ratings
from pipeline.wiring.session_adapters import AdapterFactory
from pipeline.wiring.vault_and_site import templates_of
from tests.fakes import MemoryStore
from tests.integration.skipping import SkippingLoop
from tests.standin.server import Standin

T = TypeVar("T")

KEYS = {
    "OPENROUTER_API_KEY": "sk-or-v1-canary0chat0secret0",
    "BRAVE_API_KEY": "BSAcanary0brave0secret0",
}
SEARCHES = ("brave", "wikipedia")
SMALL = {
    **{"perspectives": 1, "iterations": 1, "gap_rounds": 0, "queries_per_thought": 3, "pages_per_iteration": 3},
    "survey_hits": 5,
}
USUAL: Mapping[str, Any] = {"perspectives": 2, "iterations": 1, "gap_rounds": 0}
QUESTION = "How do heat pumps in cold climates behave?"


def queue_text(standin: Standin, *, search: str = "brave", limits: str = "", queries: str = "", settings: str = "") -> str:
    """Return a ``queries.yaml`` that sends everything to the stand-in. ``queries`` are entries; usually one."""
    urls = ", ".join(f'{name}: "{standin.base_url}"' for name in SEARCHES)
    usual = f"  - {{query: '{QUESTION}', id: pumps}}\n"
    return (
        "settings:\n"
        f'  reasoner: {{model: openai/gpt-5.2, base_url: "{standin.openrouter_url}", key: OPENROUTER_API_KEY}}\n'
        f"  search: [{search}]\n  search_urls: {{{urls}}}\n"
        f"  page_hosts: {json.dumps(standin.addresses)}\n  contact: me@example.org\n"
        f"  limits: {{{limits}}}\n{settings}"
        f"queries:\n{queries or usual}"
    )


@dataclass
class Ended:
    """What a night left behind: its result; the store and its sessions; the log; the ledger."""

    result: BatchResult
    store: EventStore
    states: tuple[SessionState, ...]
    logged: list[logging.LogRecord]
    ledger: Budget

    @property
    def state(self) -> SessionState:
        (state,) = self.states
        return state

    def notes(self, folder: Path, kind: str) -> list[str]:
        """The notes of a kind, in a vault below ``folder``."""
        vault = folder / "vault"
        build_vault(self.store, templates=templates_of(folder), vault=vault, state_dir=folder / "state")
        return [path.read_text() for path in (vault / kind).rglob("*.md")]

    def events(self, session: str = "") -> list[EventBase]:
        """The events of one session (of the only one)."""
        return events_of(self.store, session or self.state.id)


def events_of(store: EventStore, *names: str) -> list[EventBase]:
    """The events of these streams; of all sessions where none is named."""
    return [event for name in names or store.ids("session") for event in decode_all(record.data for record in store.load(name))]


class _SharedExtractor(Extractor):
    """One process for all nights; time goes as it does while it works."""

    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._skipping = loop

    async def document(self, data: bytes, content_type: str, url: str) -> Page:
        with self._skipping.awaited_for_real():
            return await super().document(data, content_type, url)

    async def aclose(self) -> None:
        """Nothing: the next night reads pages too."""

    async def end(self) -> None:
        await super().aclose()


@dataclass
class Stage:
    """One loop, one stand-in and one extracting process for many nights, one after another."""

    loop: SkippingLoop
    standin: Standin
    extractor: Extractor
    slowest_s: float = 60.0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the loop; a hang is an error."""

        async def bounded() -> T:
            task = asyncio.ensure_future(work)
            timer = _real_timer(self.loop, self.slowest_s, task)
            try:
                return await task
            finally:
                timer.cancel()

        return self.loop.run_until_complete(bounded())

    def night(
        self,
        folder: Path,
        text: str,
        *,
        store: EventStore | None = None,
        keys: Mapping[str, str] = KEYS,
        config: Mapping[str, Any] = USUAL,
    ) -> Ended:
        """Let one night work on the queue ``text`` in ``folder``; with the ``store`` of an earlier one it goes on from there.

        ``config`` overrides what the queue's settings make of a new session.
        """
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "queries.yaml").write_text(text)
        workspace = load_workspace(folder)
        with _heard() as logged:
            return self.run(self._work(workspace, store or MemoryStore(), Keys(folder, keys), config, logged))

    async def _work(
        self, workspace: Workspace, store: EventStore, keys: Keys, config: Mapping[str, Any], logged: list[logging.LogRecord]
    ) -> Ended:
        settings = workspace.queue.settings
        context = batch_runner.with_limits(run_context_and_note_ratings.context_of(workspace, keys), settings.limits)

        def config_of(query: Query) -> ResearchConfig:
            return config_for(query, settings, keys).model_copy(update=dict(config))

        factory = AdapterFactory(workspace, store, keys, self.extractor)
        try:
            night = batch_runner.Batch(store, workspace.queue, factory, config_of, context, spent_out=factory.spent_out)
            result = await night.work(due_queries.decide(workspace.queue, read_all(store), context.now()))
        finally:
            await factory.aclose()
        states = tuple(ResearchSession.open(store, name).state for name in store.ids("session"))
        return Ended(result, store, states, logged, factory._night)


def _real_timer(loop: SkippingLoop, seconds: float, task: asyncio.Future[Any]) -> Any:
    timer = threading.Timer(seconds, lambda: loop.call_soon_threadsafe(task.cancel))
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def _heard() -> Iterator[list[logging.LogRecord]]:
    """Collect what is logged as a warning or worse."""
    handler = BufferingHandler(1_000_000)
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
    try:
        yield handler.buffer
    finally:
        logging.getLogger().removeHandler(handler)


@contextmanager
def staged() -> Iterator[Stage]:
    """Set the stage for many nights."""
    loop = SkippingLoop()
    standin, extractor = Standin(), _SharedExtractor(loop)
    try:
        loop.run_until_complete(standin.start())
        yield Stage(loop, standin, extractor)
    finally:
        loop.run_until_complete(extractor.end())
        loop.run_until_complete(standin.stop())
        with suppress(RuntimeError):
            loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
