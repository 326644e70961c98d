"""The command ``log``: which session is meant when none is named, and following what has already ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in

NAMES = ("harbour", "ships")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two sessions."""
    queries = "  - {query: How deep is the harbour?, id: harbour}\n  - {query: Where do ships wait at night?, id: ships}\n"
    folder = workspace_in(tmp_path_factory.mktemp("log") / "ws", queries)
    for name in NAMES:
        assert said(folder, "-q", "run", name).code == 0
    return folder


def log(folder: Path, *args: str) -> str:
    done = said(folder, *args)
    assert (done.code, done.err) == (0, "")
    return done.out


def test_without_a_name_the_latest_session_is_meant(folder: Path) -> None:
    assert log(folder, "log") == log(folder, "log", "ships") != ""


def test_a_session_that_has_ended_is_printed_whole_and_followed_no_longer(folder: Path) -> None:
    assert log(folder, "log", "--follow", "harbour") == log(folder, "log", "harbour")
    lines = log(folder, "--json", "log", "-f", "harbour").splitlines()
    assert [json.loads(line)["version"] for line in lines] == list(range(1, len(lines) + 1))


def test_only_events_of_the_wanted_types_are_printed(folder: Path) -> None:
    kinds = {event["type"] for event in json.loads(log(folder, "--json", "log", "--type", "worker", "--type", "page.read"))}
    assert {"page.read", "worker.thought"} <= kinds
    assert {kind.partition(".")[0] for kind in kinds} == {"worker", "page"}
    followed = log(folder, "log", "-f", "ships", "--type", "page.read").splitlines()
    assert followed
    assert all("page.read" in line for line in followed)


def test_a_type_that_no_event_has_is_named_or_refused_with_the_one_that_was_meant(folder: Path) -> None:
    done = said(folder, "log", "--type", "research.imported")
    assert (done.code, done.out.strip()) == (0, "")
    assert "has no event of the type research.imported" in done.err
    refused = said(folder, "log", "--type", "page.reed")
    assert (refused.code, "did you mean page.read?" in refused.err) == (2, True)
