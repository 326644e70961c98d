"""Sessions and events as lines for a person: complete, aligned, and never with a control character in them."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.cli.presentation import happened, log_line, show_lines
from pipeline.cli.run_setup_and_progress import Lines
from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode, encode
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import progress
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.errors import SearchFailed
from pipeline.ops.console_output import Console
from tests.fakes import Journal, MemoryStore, begun, context_for, step_context_for
from tests.recorded import SMALL, after, stream

CONFIG = SMALL | {"gap_rounds": 1, "context_tokens": 100}
EVIL = "\x1b[2J\x1b]0;title\x07 \x9b31m a\nb\r\n\u202e\u200b\x00 end"


def is_plain(line: str) -> bool:
    return not any(unicodedata.category(c) in {"Cc", "Cs"} for c in line) and not set(line) & set("\u202e\u200b")


def spoilt(value: Any, evil: str) -> Any:
    """The JSON value with every text in it spoilt, but for the words the program itself depends on."""
    if isinstance(value, dict):
        kept = {"type", "at", "schema_version", "digest", "version", "standing", "kind", "mode", "task", "shape", "form", "basis"}
        kept |= {"names", "outcome", "within"}
        return {
            name: part if name in kept or (name == "section_id" and not part) else spoilt(part, evil)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [spoilt(part, evil) for part in value]
    return value + evil if isinstance(value, str) else value


# One of each kind, by name: which of them ended first differs from run to run.
ONE_OF_EACH = sorted({event.type: event for event in stream(**CONFIG)}.values(), key=lambda event: event.type)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: event.type)
def test_no_control_character_of_an_event_reaches_its_line(event: e.EventBase) -> None:
    evil = decode(json.dumps(spoilt(json.loads(encode(event)), EVIL)).encode())
    assert is_plain(log_line(evil))
    assert log_line(event).split()[3] == event.type
    assert is_plain(happened(evil))


def last_at(state: SessionState) -> str:
    return state.runs[-1].last_at


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_no_control_character_of_a_session_reaches_what_is_shown(text: str) -> None:
    state, last = SessionState(id="s1"), None
    for event in stream(**CONFIG):
        last = decode(json.dumps(spoilt(json.loads(encode(event)), text + EVIL)).encode())
        fold.apply(state, last)
    fold.apply(state, e.StepFailed(step=EVIL, error=EVIL, message=EVIL, recoverable=False, attempt=1, at=last_at(state)))
    for worker in state.workers.values():
        worker.reason = EVIL
    lines = list(show_lines(state, last))
    assert len(lines) > 10
    assert all(map(is_plain, lines))


def test_an_event_of_an_unknown_type_is_a_plain_line_too() -> None:
    assert is_plain(log_line(e.UnknownEvent(type=EVIL, at=EVIL, version=3)))


def test_a_log_line_tells_version_time_type_and_what_happened() -> None:
    search = next(event for event in stream() if isinstance(event, e.SearchCompleted))
    line = log_line(search)
    assert line.split()[:4] == [str(search.version), search.at[:10], search.at[11:19], "search.completed"]
    assert line.endswith(f"{search.query}: 2 hits from fake")


def told(state: SessionState) -> str:
    return "\n".join(show_lines(state, None))


STAGES: list[tuple[type[e.EventBase], str, str]] = [
    (e.ResearchStarted, "planning", "next: Survey"),
    (e.PlanCreated, "searching", "next: StartWorker:search_0, StartWorker:search_1"),
    (e.WorkerThought, "searching", "SearchFor:"),
    (e.AnalysisStarted, "analyzing", "next: FindGaps:0"),
    (e.SynthesisStarted, "synthesizing", "next: WriteReport:1"),
    (e.ResearchCompleted, "answered", "nothing; it has ended"),
]


@pytest.mark.parametrize(("kind", "status", "doing"), STAGES, ids=[f"{stage[1]} {stage[2]}" for stage in STAGES])
def test_show_tells_what_a_session_in_any_status_is_doing(kind: type[e.EventBase], status: str, doing: str) -> None:
    state, event = after(kind)
    lines = told(state)
    assert f"status     {status}" in lines
    assert doing in lines
    assert event.type in "\n".join(show_lines(state, event))


DRY = "the well is dry"


@pytest.mark.parametrize("end", [e.ResearchFailed(cause="x", reason=DRY), e.ResearchCancelled(reason=DRY)])
def test_show_tells_why_a_session_ended(end: e.EventBase) -> None:
    state, plan = after(e.PlanCreated)
    fold.apply(state, end.model_copy(update={"at": plan.at}))
    assert f"status     {end.type.removeprefix('research.')}: the well is dry" in told(state)


def test_show_tells_the_last_error() -> None:
    state, _ = after(e.PlanCreated)
    for message in ("early", "late"):
        at = f"2026-11-21T03:00:0{len(message)}.000Z"
        failure = e.StepFailed(step=message, error="ReadFailed", message=message, recoverable=False, attempt=1, at=at)
        fold.apply(state, failure)
    assert "last error early: ReadFailed: early" in told(state)


def test_a_section_that_an_earlier_version_checked_is_named_and_its_sound_sentences_are_no_faults() -> None:
    sound = {"step": "x", "section_id": "section_1", "revision": 0, "verdicts": [{"sentence": 0, "supported": True}]}
    assert happened(e.ClaimsChecked.model_validate(sound)) == "section_1"


def ends_a_step(event: e.EventBase) -> bool:
    """A reading is one step with an event for each page, the check of a report one with two; an analysis has two."""
    if isinstance(event, e.FactsObserved):
        return event.last
    counted = e.Answered | e.AnalysisStarted | e.GapsFound
    return isinstance(event, counted) and not isinstance(event, e.ContradictionsFound)


def steps(events: list[e.EventBase]) -> int:
    return sum(map(ends_a_step, events))


@pytest.mark.parametrize("config", [SMALL, CONFIG], ids=["plain", "with gaps and folds"])
def test_progress_counts_every_step_and_never_goes_back(config: dict[str, Any]) -> None:
    state, done = SessionState(id="s1"), 0
    for event in stream(**config):
        fold.apply(state, event)
        done += ends_a_step(event)
        if isinstance(event, e.FactsObserved) and not event.last:
            continue  # the others of the same reading follow at once
        taken, in_all = progress(state)
        assert taken == done
        assert (
            in_all > taken
            or state.ended
            or event.type in {"claims.checked", "report.edited", "changes.found", "report.generated"}
        )
    assert 0 < done == progress(state)[1]


def test_show_tells_each_node_of_the_plan_with_its_facts() -> None:
    state, _ = after(e.ResearchCompleted)
    lines = told(state).splitlines()
    assert [line.split()[:2] for line in lines[-len(state.nodes) :]] == [
        ["completed" if node.task == "search" else "done", node.id] for node in state.nodes.values()
    ]
    assert f"progress   {steps(stream())} steps" in lines


# ---- the lines of a run ----


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
