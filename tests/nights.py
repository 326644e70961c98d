"""Queues, sessions at a glance and nights at work, for the tests of deciding and of the night."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from pipeline.batch.batch_runner import Batch
from pipeline.batch.due_queries import decide
from pipeline.batch.night_result import BatchResult
from pipeline.batch.session_index import SessionIndex
from pipeline.config.queue_schema import Limits, ModelChoice, Query, Queue, Settings
from pipeline.config.services import config_for
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import Record
from pipeline.domain.research_values import ResearchConfig
from pipeline.domain.session import ResearchSession, summary_of
from pipeline.domain.session_state import SessionState, Status
from pipeline.errors import LogDamaged
from pipeline.ports import SearchResult
from pipeline.research import StepContext
from pipeline.text.times import timestamp
from tests.fakes import START, Down, Journal, MemoryStore, context_for, step_context_for

NOW = START


def known(latest: dict[str, SessionState]) -> SessionIndex:
    return SessionIndex(tuple(map(summary_of, latest.values())))


def query(name: str, **fields: Any) -> Query:
    return Query(text=f"How do {name} behave?", id=name, line=1, perspectives=1, iterations=1, gap_rounds=0, **fields)


def queue(*queries: Query, **limits: Any) -> Queue:
    return Queue(Settings(limits=Limits(**limits)), queries, digest="d" * 64)


def last(name: str, status: Status = "complete", days_ago: float = 1, **fields: Any) -> dict[str, SessionState]:
    at = timestamp(NOW - timedelta(days=days_ago))
    state = SessionState(id=f"s-{name}", query=f"How do {name} behave?", query_id=name, status=status, started_at=at, ended_at=at)
    return {name: replace(state, **fields)}


@dataclass
class Bench:
    """A night over a store in memory; ``troubled`` gives the journal of a query's step context."""

    batch: Batch
    store: MemoryStore

    def work(self, latest: dict[str, SessionState] | None = None) -> BatchResult:
        return asyncio.run(self.batch.work(decide(self.batch.queue, known(latest or {}), NOW)))


def bench(
    work: Queue,
    troubled: Callable[[Query], Journal] = lambda _query: Journal(),
    store: MemoryStore | None = None,
    run_id: str = "night-1",
    **context: Any,
) -> Bench:
    store = store or MemoryStore()
    by_id = {one.id: one for one in work.queries}

    def step_context(state: SessionState) -> StepContext:
        return step_context_for(store, troubled(by_id[state.query_id]))

    def config(one: Query) -> ResearchConfig:
        return config_for(one, replace(work.settings, reasoner=ModelChoice("a-model", "http://127.0.0.1:1/v1")))

    return Bench(Batch(store, work, step_context, config, context_for(run_id, **context), sessions_at_once=1), store)


class Nothing:
    """A search that finds nothing."""

    async def search(self, _query: str, _limit: int) -> SearchResult:
        return SearchResult("nothing", ())


def searched_in_vain() -> Bench:
    """A night on pumps whose search finds nothing."""
    night = bench(queue(query("pumps")))
    step_context_of = night.batch.step_context_of
    assert step_context_of
    night.batch.step_context_of = lambda state: replace(step_context_of(state), search=Nothing())
    return night


def down(*names: str) -> Callable[[Query], Journal]:
    """Desks whose search is down for these queries."""
    return lambda one: Down("survey") if one.id in names else Journal()


class Watched(MemoryStore):
    """A store that notes which streams are opened; those in ``damaged`` cannot be."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.damaged: set[str] = set()

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        if session_id in self.damaged:
            raise LogDamaged(f"{session_id} is damaged")
        self.opened.append(session_id)
        return super().load(session_id, after)


def events_of(store: MemoryStore, result: BatchResult) -> list[e.EventBase]:
    return list(decode_all(record.data for record in store.load(result.batch)))


def sessions(store: MemoryStore) -> dict[str, SessionState]:
    return {state.query_id: state for name in store.ids("session") if (state := ResearchSession.open(store, name).state)}


def endings(result: BatchResult) -> dict[str, str]:
    return {event.query_id: event.status for event in result.ended}
