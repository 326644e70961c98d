"""What a night or a person does to one session as a whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from pipeline.batch.due_queries import Decision
from pipeline.batch.session_lifecycle import approve_plan, has_work_left, new_session, record_wish, reopen_session
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import ResearchCancelled
from pipeline.domain.research_values import Perspective, ResearchConfig
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.errors import CommandRefused
from tests.fakes import Journal, MemoryStore, context_for
from tests.nights import bench, down, query, queue, searched_in_vain, sessions


def ended(*names: str) -> tuple[MemoryStore, str]:
    """A night on pumps; the search is down for what is named."""
    night = bench(queue(query("pumps")), down(*names))
    night.work()
    return night.store, sessions(night.store)["pumps"].id


def test_a_failed_session_is_reopened_and_an_open_one_taken_as_it_is() -> None:
    store, name = ended("pumps")
    session = reopen_session(store, name, context_for("again"))
    assert session.state.status == "planning"
    events = list(decode_all(record.data for record in store.load(name)))
    assert [event.type for event in events[-2:]] == ["run.started", "research.reopened"]
    reopen_session(store, name, context_for("again"))
    assert len(store.load(name)) == len(events)


def test_a_complete_session_cannot_be_gone_on_with() -> None:
    store, name = ended()
    with pytest.raises(CommandRefused, match="is complete") as caught:
        reopen_session(store, name, context_for("again"))
    assert name in caught.value.hint


def state_of(store: MemoryStore, name: str) -> SessionState:
    return ResearchSession.open(store, name).state


def test_a_session_leads_somewhere_again_only_if_it_would_ask_something_and_may_pay_for_it() -> None:
    store, name = ended("pumps")
    failed = state_of(store, name)
    assert not has_work_left(replace(failed, status="complete"), failed.config)
    assert has_work_left(failed, failed.config)  # its search was down; it may be up again
    assert not has_work_left(failed, failed.config.model_copy(update={"within": "notes/"}))
    failed.config = failed.config.model_copy(update={"budget_usd": 0.5})
    assert has_work_left(failed, failed.config)
    failed.spent.usd = 0.5
    assert not has_work_left(failed, failed.config)
    night = searched_in_vain()
    night.work()
    nothing = sessions(night.store)["pumps"]
    assert (nothing.status, has_work_left(nothing, nothing.config)) == ("not-found", False)  # it looked, and there was nothing


def test_a_cancelled_session_stays_so_until_it_is_reopened() -> None:
    store = MemoryStore()
    session = asyncio.run(new_session(store, Decision(query("pumps"), "new", ""), ResearchConfig(), context_for("one")))
    cancelled = ResearchCancelled(reason="no longer needed")
    assert record_wish(store, session.id, context_for("two"), cancelled).state.status == "cancelled"
    assert state_of(store, session.id).end_reason == "no longer needed"
    with pytest.raises(CommandRefused, match="is cancelled already"):
        record_wish(store, session.id, context_for("three"), cancelled)
    assert reopen_session(store, session.id, context_for("four")).state.status == "planning"


def waiting() -> tuple[MemoryStore, str]:
    night = bench(queue(query("pumps", approve="plan")))
    result = night.work()
    assert [(event.status, event.cause) for event in result.ended] == [("waiting", "")]
    assert result.exit_code == 0
    return night.store, result.ended[0].session


def test_an_approved_plan_is_carried_out_by_the_next_night_and_nothing_is_asked_again() -> None:
    store, name = waiting()
    planned = state_of(store, name).perspectives
    approve_plan(store, name, context_for("by-hand"))
    journal = Journal()
    night = bench(queue(query("pumps", approve="plan")), lambda _one: journal, store, run_id="night-2")
    result = night.work(sessions(store))
    assert [event.status for event in result.ended] == ["complete"]
    assert not {"survey", "plan"} & set(journal.calls)
    assert state_of(store, name).perspectives == planned


def test_a_plan_is_approved_with_other_perspectives() -> None:
    store, name = waiting()
    views = (Perspective(id="", name="Costs", focus="money", questions=("What does a pump cost?",)),)
    state = approve_plan(store, name, context_for("by-hand"), views).state
    assert list(state.perspectives) == ["costs"]
    assert list(state.nodes) == ["search_0", "cross_validate", "synthesize"]
    assert state_of(store, name) == state
    with pytest.raises(CommandRefused, match="waits for approval"):
        approve_plan(store, name, context_for("again"))


def test_a_plan_that_waits_can_be_cancelled_but_not_gone_on_with() -> None:
    store, name = waiting()
    with pytest.raises(CommandRefused, match="waits for its plan") as caught:
        reopen_session(store, name, context_for("again"))
    assert "research approve" in caught.value.hint
    record_wish(store, name, context_for("again"), ResearchCancelled())
    assert reopen_session(store, name, context_for("later")).state.waiting
