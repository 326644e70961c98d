"""Looking on while others write: each event once, in order, from one session or from all."""

from __future__ import annotations

import asyncio

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.engine.run_context import RunContext
from pipeline.ops.watching import LogTail, is_over
from pipeline.research import StepResult
from pipeline.store.file_store import FileStore
from tests.fakes import Journal, MemoryStore, context_for, started, step_context_for


def research(store: MemoryStore | FileStore, name: str, context: RunContext) -> SessionState:
    session = ResearchSession(name)
    Recorder(session, store, context).record([StepResult((started(perspectives=1, iterations=1, gap_rounds=0),))])
    return asyncio.run(run_session(session, store, step_context_for(store, Journal()), context))


def stored(store: MemoryStore, name: str) -> list[EventBase]:
    return list(decode_all(record.data for record in store.load(name)))


def test_a_session_is_followed_from_the_beginning_to_its_end_each_event_once() -> None:
    store = MemoryStore()
    following = LogTail(store, "s1")
    seen: list[EventBase] = []
    assert following.new() == ()

    def look(_event: EventBase, _state: SessionState) -> None:
        seen.extend(following.new())

    research(store, "s1", context_for(listener=look))
    assert seen == stored(store, "s1")
    assert following.new() == ()
    assert is_over(following.last)
    assert not is_over(seen[-2])
    assert not is_over(None)


def test_all_sessions_are_followed_from_now_on_new_ones_too() -> None:
    store = MemoryStore()
    research(store, "old", context_for("run-0"))
    context = context_for("run-1")
    following = LogTail(store)
    before = len(store.load("old"))
    research(store, "s1", context)
    assert list(following.new()) == stored(store, "s1")
    assert len(store.load("old")) == before
    assert following.new() == ()
