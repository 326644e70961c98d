"""Progress: the lines of a run, and which events have one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.cli.running_sessions import Lines
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.errors import SearchFailed
from pipeline.ops.console_output import Console
from tests.fakes import Journal, MemoryStore, begun, context_for, step_context_for

Listener = Callable[[EventBase, SessionState], None]


def console(*, quiet: bool = False, verbose: bool = False) -> Console:
    return Console(Path(), quiet, verbose, as_json=False, color=False)


def research(listen: Listener, journal: Journal | None = None) -> None:
    store, context = MemoryStore(), context_for(listener=listen)
    session = begun(store, context, perspectives=1, iterations=1, gap_rounds=0)
    asyncio.run(run_session(session, store, step_context_for(store, journal or Journal()), context))


def test_lines_name_time_query_and_event_and_only_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    busy: list[Exception] = [SearchFailed("busy"), SearchFailed("busy")]
    research(Lines(console()).listen, Journal(faults={"search:common 1": busy}))
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
