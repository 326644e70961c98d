"""Consolidating a log: each ended session with a model once for each of its versions, and no finished log is changed."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pipeline.batch.memory_consolidation import Consolidated, consolidate, read_memory
from pipeline.batch.session_index import read_all
from pipeline.domain.events import session_events as e
from tests.fakes import MemoryStore, context_for
from tests.nights import Watched
from tests.vault.builders import Story, a_store


def again(store: MemoryStore, run: str = "run-9") -> Consolidated:
    return asyncio.run(consolidate(store, context_for(run), read_all(store).sessions))


def test_every_ended_session_in_which_a_model_answered_is_consolidated_once_and_no_log_of_a_session_changes() -> None:
    store = a_store()
    before = {name: store.load(name) for name in store.marks()}
    done = again(store)
    assert done.sessions == ("2026-11-21-power-cut-3f2a", "2026-11-28-power-cut-9c01")
    assert {name: store.load(name) for name in store.marks()} == before
    assert [record.type for record in store.load(done.stream)] == [
        "run.started", "memory.started", *["session.consolidated"] * 2, "memory.ended",
    ]  # fmt: skip
    assert again(store, "run-10") == Consolidated()
    assert list(store.ids("memory")) == [done.stream]


def test_a_session_that_went_on_is_consolidated_again() -> None:
    store = MemoryStore()
    story = Story(store).begin().planned().gathered().failed()
    again(store)
    story.scribe.note(e.ResearchReopened(), e.ResearchCancelled(reason="enough"))
    assert again(store, "run-10").sessions == (story.id,)
    memory = read_memory(store)
    assert memory.sessions[story.id].up_to == story.scribe.session.state.version


def test_a_session_that_cannot_be_read_is_named_and_the_others_are_consolidated() -> None:
    store = Watched()
    store.streams = a_store().streams
    known = read_all(store).sessions
    store.damaged = {"2026-11-28-power-cut-9c01"}
    done = asyncio.run(consolidate(store, context_for(), known))
    assert done.failed == {"2026-11-28-power-cut-9c01": "2026-11-28-power-cut-9c01 is damaged"}
    assert len(done.sessions) == 1


def test_what_a_damaged_memory_stream_held_is_due_again(caplog: pytest.LogCaptureFixture) -> None:
    store = Watched()
    store.streams = a_store().streams
    first = again(store)
    store.damaged = {first.stream}
    with caplog.at_level(logging.WARNING, logger="pipeline"):
        assert again(store, "run-10").sessions == first.sessions
    assert "is not remembered" in caplog.text


def test_a_consolidation_that_was_cut_short_is_finished_by_the_next() -> None:
    store = a_store()
    done = again(store)
    del store.streams[done.stream][-2:]  # the process died before the last session
    assert again(store, "run-10").sessions == done.sessions[-1:]
