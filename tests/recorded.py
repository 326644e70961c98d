"""Streams of whole scripted sessions, and the states along them. Each configuration is researched once a test process."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import Record
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from tests.fakes import Journal, MemoryStore, begun, context_for, step_context_for

SMALL = {"perspectives": 2, "iterations": 2, "queries_per_thought": 2, "hits_per_query": 2, "pages_per_iteration": 2}


@cache
def recorded(**config: Any) -> MemoryStore:
    """The store after one undisturbed session named ``s1``; not to be changed."""
    store, context = MemoryStore(), context_for()
    session = begun(store, context, **(config or SMALL))
    asyncio.run(run_session(session, store, step_context_for(store, Journal()), context))
    return store


def copied(store: MemoryStore) -> MemoryStore:
    """A store of the same content that a test may change."""
    copy = MemoryStore()
    copy.streams = {name: list(records) for name, records in store.streams.items()}
    copy.objects.update(store.objects)
    return copy


def records(**config: Any) -> tuple[Record, ...]:
    return tuple(recorded(**config).load("s1"))


def stream(**config: Any) -> list[e.EventBase]:
    return list(decode_all(record.data for record in records(**config)))


def before(kind: type[e.EventBase], **config: Any) -> tuple[SessionState, Any]:
    """The state before the stream's first event of that class, and that event."""
    state = SessionState(id="s1")
    for event in stream(**config):
        if isinstance(event, kind):
            return state, event
        fold.apply(state, event)
    raise AssertionError(f"the scripted session has no {kind.__name__}")


def after(kind: type[e.EventBase], **config: Any) -> tuple[SessionState, Any]:
    """The state after the stream's first event of that class, and that event."""
    state, event = before(kind, **config)
    fold.apply(state, event)
    return state, event
