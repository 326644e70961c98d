"""Asking to stop, the clock that never goes back, and the signals."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.stop_and_clock import SteadyClock, Stop, ending_at, handle_signals
from tests.fakes import (
    START,
    Journal,
    Latency,
    MemoryStore,
    begun,
    context_for,
    event_names,
    no_latency,
    seeded_latency,
    step_context_for,
)


def test_a_stop_remembers_who_asked_first_and_a_signal_outweighs_the_clock() -> None:
    stop = Stop()
    assert not stop.asked
    stop.ask("the deadline has passed", 3)
    stop.ask("stopped by SIGTERM", 143)
    stop.ask("stopped by SIGINT", 130)
    assert (stop.asked, stop.reason, stop.exit_code) == (True, "stopped by SIGTERM", 143)


def test_the_first_signal_asks_to_stop_and_only_a_later_one_ends_at_once() -> None:
    stop, ended = Stop(), list[tuple[int, str]]()
    before = signal.getsignal(signal.SIGTERM)
    clock = iter([10.0, 10.1, 11.0])

    with handle_signals(stop, lambda *how: ended.append(how), passing=lambda: next(clock)):
        os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.reason, stop.exit_code, ended) == ("stopped by SIGTERM", 143, [])
        os.kill(os.getpid(), signal.SIGTERM)
        assert ended == []
        os.kill(os.getpid(), signal.SIGINT)
        assert ended == [(143, "")]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_run_that_does_not_end_after_a_signal_is_broken_off_with_a_message() -> None:
    stop, ended = Stop(grace_s=0.05), list[tuple[int, str]]()
    with mock.patch("pipeline.engine.stop_and_clock.CLOSING_S", 0.05), handle_signals(stop, lambda *how: ended.append(how)):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100):
            time.sleep(0.05)
            if ended:
                break
        ((code, why),) = ended
        assert (code, "broken off" in why) == (143, True)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = Stop()
        with handle_signals(stop, lambda _code, _why: None):
            os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.asked
    finally:
        signal.signal(signal.SIGHUP, before)


@given(st.lists(st.tuples(st.integers(-100_000, 100_000), st.integers(0, 1_000)), max_size=20))
def test_the_steady_clock_never_goes_back_nor_slower_than_time_passes(steps: list[tuple[int, int]]) -> None:
    wall, passed = START, 0
    clock = SteadyClock(lambda: wall, lambda: passed)
    last = clock()
    for jump, seconds in steps:
        wall, passed = wall + timedelta(seconds=jump + seconds), passed + seconds
        assert clock() >= max(wall, last + timedelta(seconds=seconds))
        last = clock()


def test_a_machine_that_slept_finds_the_deadline_passed() -> None:
    wall = START

    async def scene() -> Stop:
        nonlocal wall
        stop = Stop()
        async with ending_at(START + timedelta(hours=4), SteadyClock(lambda: wall, lambda: 0.0), stop):
            await asyncio.sleep(0)
            assert not stop.asked
        wall = START + timedelta(hours=9)
        async with ending_at(START + timedelta(hours=4), SteadyClock(lambda: wall, lambda: 0.0), stop):
            await stop.wait()
        return stop

    assert asyncio.run(scene()).exit_code == 3


# ---- a session that is asked to stop -------------------------------------------------------------------------------


def stopped_at(call: str, grace_s: float = 10.0, latency: Latency = no_latency) -> tuple[MemoryStore, Journal, SessionState]:
    """A session that is asked to stop the moment that ``call`` is made."""
    store, stop = MemoryStore(), Stop(grace_s)
    context = context_for(stop=stop)

    def note(name: str) -> None:
        if name.startswith(call):
            stop.ask("stopped by SIGTERM", 143)

    journal = Journal(note=note, latency=latency)
    session = begun(store, context)
    return store, journal, asyncio.run(run_session(session, store, step_context_for(store, journal), context))


def gone_on(store: MemoryStore) -> Journal:
    """What is asked until the session is complete."""
    journal, session = Journal(), ResearchSession.open(store, "s1")
    state = asyncio.run(run_session(session, store, step_context_for(store, journal), context_for("run-2")))
    assert state.status == "complete"
    return journal


@pytest.mark.parametrize("call", ["survey", "plan", "search", "read:", "reading", "report"])
def test_after_the_stop_what_was_under_way_is_recorded_nothing_begins_and_the_rest_is_done_later(call: str) -> None:
    store, journal, state = stopped_at(call, latency=seeded_latency(3))
    assert not state.ended
    asked = list(journal.calls)
    recorded = set(event_names(list(decode_all(r.data for r in store.load("s1"))), {}))
    ending = [name for name in asked if name.startswith(("survey", "plan", "search", "read", "report"))]
    assert set(ending) <= recorded
    again = gone_on(store)
    assert not set(asked) & set(again.calls)


def test_what_outlasts_the_grace_is_cut_off_and_asked_for_again() -> None:
    store, journal, state = stopped_at("reading", 0.01, latency=lambda name: 3_600 if name.startswith("reading") else 0)
    assert not state.ended
    readings = [name for name in journal.calls if name.startswith("reading")]
    again = gone_on(store)
    assert set(readings) <= set(again.calls)


def test_a_step_that_waits_for_its_turn_does_not_begin_after_the_stop() -> None:
    store, stop = MemoryStore(), Stop()
    context = context_for(stop=stop, gate=asyncio.Semaphore(1))
    journal = Journal(note=lambda name: stop.ask("enough", 143) if name.startswith("reading") else None)
    asyncio.run(run_session(begun(store, context, perspectives=4), store, step_context_for(store, journal), context))
    assert len([name for name in journal.calls if name.startswith("reading")]) == 1


@pytest.mark.parametrize("cap", ["deadline", "time"])
def test_a_cap_of_time_is_noticed_while_steps_are_under_way_and_the_report_is_written_from_what_there_is(cap: str) -> None:
    store, wall = MemoryStore(), [START]
    limits: dict[str, Any] = {"deadline": START + timedelta(minutes=10)} if cap == "deadline" else {}
    context = replace(context_for(stop=Stop(0.01), **limits), now=lambda: wall[0])

    def note(name: str) -> None:
        if name.startswith("reading") and name.endswith(":2"):
            wall[0] = START + timedelta(minutes=10)

    journal = Journal(note=note, latency=lambda name: 3_600 if name.startswith("reading") and name.endswith(":2") else 0)
    session = begun(store, context, timeout_s=600 if cap == "time" else None)
    state = asyncio.run(run_session(session, store, step_context_for(store, journal), context))
    assert (state.exhausted, state.status) == (cap, "complete")


def test_what_gathers_on_at_the_end_leaves_half_of_the_time_for_writing() -> None:
    deadline = START + timedelta(hours=4)
    assert context_for(deadline=deadline, writing=timedelta(minutes=5)).grace_s() == 10
    short = context_for(deadline=deadline, writing=timedelta(seconds=6))
    assert short.grace_s() == 3
    short.stop.ask("enough", 143)
    assert short.grace_s() == 10


def test_a_deadline_before_the_first_fact_leaves_the_session_for_another_night() -> None:
    store = MemoryStore()
    context = context_for(deadline=START + timedelta(seconds=20))
    state = asyncio.run(run_session(begun(store, context), store, step_context_for(store, Journal()), context))
    assert not state.facts
    assert (state.ended, state.exhausted) == (False, "")
