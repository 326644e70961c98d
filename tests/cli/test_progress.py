"""Progress: what is counted, what is printed where nobody looks, and which display suits which console."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli.progress import Lines, Live, Tally, progress_on
from pipeline.domain.agenda import progress
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.errors import SearchFailed
from pipeline.ops.console_output import Console
from pipeline.research import Outcome
from tests.fakes import Journal, MemoryStore, context_for, desk_for, started

Listener = Callable[[EventBase, SessionState], None]


def console(*, quiet: bool = False, verbose: bool = False, terminal: bool = False) -> Console:
    return Console(Path(), quiet, verbose, as_json=False, color=False, terminal=terminal)


def research(
    listen: Listener, journal: Journal | None = None, name: str = "s1", store: MemoryStore | None = None
) -> SessionState:
    store = store or MemoryStore()
    context = context_for(listener=listen)
    session = ResearchSession(name)
    Recorder(session, store, context).record([Outcome((started(perspectives=1, iterations=1, gap_rounds=0),))])
    return asyncio.run(run_session(session, store, desk_for(store, journal or Journal()), context))


def test_steps_sessions_and_money_are_counted_as_the_session_counts_them() -> None:
    tally = Tally()
    first = research(tally.take)
    second = research(tally.take, name="s2")
    assert tally.steps == progress(first)[0] + progress(second)[0]
    assert tally.usd == pytest.approx(first.spent.usd + second.spent.usd)
    assert tally.tokens == first.spent.total_tokens + second.spent.total_tokens
    assert tally.line(3) == f"2 of 3 sessions, {tally.steps} steps, {tally.usd:.4f} USD"


def test_what_a_session_cost_before_this_run_is_not_counted() -> None:
    tally, state = Tally(), SessionState(id="s1")
    state.spent.usd = 5.0
    tally.take(started(), state)
    state.spent.usd = 5.25
    tally.take(started(), state)
    assert tally.usd == pytest.approx(0.25)


def test_lines_name_time_query_and_event_and_only_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal(faults={"search:common 1": [SearchFailed("busy"), SearchFailed("busy")]})
    research(Lines(console()).listen, journal)
    lines = capsys.readouterr().err.splitlines()
    assert all(line.startswith("2026-11-21T02:") and line[19:21] == "Z " and "pumps" in line for line in lines)
    types = [line.split()[2] for line in lines]
    assert types[0] == "research.started"
    assert types[-1] == "research.completed"
    assert "step.failed" in types
    assert "page.read" not in types


def test_verbose_lines_are_all_events_and_quiet_ones_none(capsys: pytest.CaptureFixture[str]) -> None:
    events: list[EventBase] = []
    research(lambda event, _state: events.append(event))
    research(Lines(console(verbose=True)).listen)
    assert len(capsys.readouterr().err.splitlines()) == len(events)
    research(Lines(console(quiet=True)).listen)
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_there_is_a_display_and_it_leaves_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    progress = progress_on(console(terminal=True), 2, "xterm")
    assert isinstance(progress, Live)
    with progress:
        research(progress.listen, Journal(faults={"search:common 1": [SearchFailed("[red]busy[/red]")]}))
    said = capsys.readouterr()
    assert said.out == ""
    assert "[red]busy[/red]" in said.err.replace("\n", " ")
