"""Consolidates as ``consolidating`` does, and asks a model for two sentences on each session.

A session is recorded as soon as its sentences are there, so a process that dies costs at most the call that was under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.batch.memory.consolidating import (
    Consolidated,
    consolidations,
    due_sessions,
    new_memory_id,
    record_end,
)
from pipeline.batch.memory.model_questions import MemoryModel
from pipeline.batch.memory.reading import read_memory
from pipeline.domain import Summary
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.memory_events import Due, MemoryStarted, SessionConsolidated
from pipeline.domain.memory.model_calls import cost_of_calls
from pipeline.engine.run_context import RunContext
from pipeline.engine.stream_log import StreamLog
from pipeline.ports import EventStore, Reasoner
from pipeline.text.times import timestamp


async def consolidate_with_model(
    store: EventStore, context: RunContext, summaries: Iterable[Summary], reasoner: Reasoner
) -> Consolidated:
    """Consolidate what is due; where the model fails, the rules' results stand, and the outcome says so.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    due = due_sessions(read_memory(store), summaries)
    if not due:
        return Consolidated()
    log = StreamLog(store, context, new_memory_id(timestamp(context.now())))
    try:
        log.record(MemoryStarted(due=due))
        return await _consolidate(store, log, due, reasoner)
    finally:
        store.release(log.id)


async def _consolidate(store: EventStore, log: StreamLog, due: Sequence[Due], reasoner: Reasoner) -> Consolidated:
    done: list[SessionConsolidated] = []
    failed: dict[str, str] = {}
    model = MemoryModel(reasoner, log)
    for state, found in consolidations(store, due, failed):
        one = await model.with_sentences(state, found)
        log.record(one)
        done.append(one)
    ended = record_end(log, done, failed)
    cost = cost_of_calls(decode_all(record.data for record in store.load(log.id)))
    return replace(ended, cost=cost, problems=tuple(model.problems))
