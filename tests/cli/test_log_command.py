"""The command ``log``: which session is meant when none is named, and following what has already ended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.engine.run_context import RunContext
from pipeline.errors import UsageError
from pipeline.ops import console_output
from pipeline.research import StepResult
from pipeline.store.file_store import FileStore
from tests.fakes import Journal, context_for, started, step_context_for


def research(store: FileStore, name: str, context: RunContext) -> SessionState:
    session = ResearchSession(name)
    Recorder(session, store, context).record([StepResult((started(perspectives=1, iterations=1, gap_rounds=0),))])
    return asyncio.run(run_session(session, store, step_context_for(store, Journal()), context))


@dataclass
class Place:
    """A workspace with two sessions, and how to ask about them."""

    folder: Path

    def log(self, *args: str, before: tuple[str, ...] = ()) -> Any:
        return CliRunner().invoke(cli, ["-C", str(self.folder), *before, "log", *args])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    store = FileStore(tmp_path / "events")
    for name in ("2026-11-20-pumps-aaaa", "2026-11-21-pumps-bbbb"):
        research(store, name, context_for(f"run-{name[-4:]}"))
    yield Place(tmp_path)
    console_output._masks.clear()


def test_without_a_name_the_latest_session_is_meant(place: Place) -> None:
    named, latest = place.log("2026-11-21-pumps-bbbb"), place.log()
    assert named.exit_code == 0
    assert latest.output == named.output
    assert "run-bbbb" in latest.output


def test_a_session_that_has_ended_is_printed_whole_and_followed_no_longer(place: Place) -> None:
    assert place.log("--follow", "2026-11-20-pumps-aaaa").output == place.log("2026-11-20-pumps-aaaa").output


def test_followed_as_json_each_event_is_a_line(place: Place) -> None:
    lines = place.log("-f", "2026-11-20-pumps-aaaa", before=("--json",)).output.splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, len(lines) + 1))


def test_only_events_of_the_wanted_types_are_printed(place: Place) -> None:
    lines = place.log("--type", "worker", "--type", "page.read", before=("--json",)).output
    kinds = {event["type"] for event in json.loads(lines)}
    assert "page.read" in kinds
    assert "worker.thought" in kinds
    assert {kind.partition(".")[0] for kind in kinds} == {"worker", "page"}
    followed = place.log("-f", "2026-11-21-pumps-bbbb", "--type", "page.read").output.splitlines()
    assert followed
    assert all("page.read" in line for line in followed)


def test_that_no_event_of_the_session_has_a_type_is_said(place: Place) -> None:
    done = place.log("--type", "research.imported")
    assert (done.exit_code, done.stdout.strip()) == (0, "")
    assert "has no event of the type research.imported" in done.stderr


def test_a_type_that_no_event_has_is_refused_with_the_one_that_was_meant(place: Place) -> None:
    refused = place.log("--type", "page.reed").exception
    assert isinstance(refused, UsageError)
    assert refused.hint == "did you mean page.read?"
