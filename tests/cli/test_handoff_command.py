"""A session that goes from one machine to another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.store.file_store import FileStore
from tests.cli.test_merge_command import session_of, stopped_at, whole
from tests.commanding import said

__all__ = ["whole"]


@pytest.fixture
def laptop(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = stopped_at(whole, tmp_path / "laptop", 6)
    monkeypatch.setenv("RESEARCH_MACHINE", "laptop")
    return folder


def kinds(folder: Path) -> list[str]:
    return [record.type for record in FileStore(folder / "events").load(session_of(folder))]


def test_only_the_machine_that_a_session_was_handed_to_goes_on_with_it(laptop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(laptop, "handoff", "depth", "--to", "server", "--why", "it runs all night").code == 0
    length = len(kinds(laptop))
    mine = said(laptop, "run")
    assert (mine.code, len(kinds(laptop))) == (0, length)
    assert "depth: elsewhere: handed over to server" in mine.out
    assert "elsewhere" in said(laptop, "resume", "depth").out
    monkeypatch.setenv("RESEARCH_MACHINE", "server")
    assert said(laptop, "-q", "run").code == 0
    later = kinds(laptop)[length:]
    assert later[:2] == ["run.started", "handoff.accepted"]
    assert later[-2:] == ["research.completed", "handoff.completed"]


def test_a_session_can_be_taken_back(laptop: Path) -> None:
    said(laptop, "handoff", "depth", "--to", "server")
    assert said(laptop, "handoff", "depth", "--to", "laptop").code == 0
    assert said(laptop, "-q", "resume", "depth").code == 0
    assert kinds(laptop)[-1] == "handoff.completed"


def test_a_session_that_has_ended_is_not_handed_over_nor_any_to_nobody(whole: Path, laptop: Path) -> None:
    done = said(whole, "handoff", "depth", "--to", "server")
    assert (done.code, "is complete already: nothing is handed over" in done.out) == (0, True)
    assert said(laptop, "handoff", "depth", "--to", " ").code == 2


def test_a_query_for_another_machine_is_left_to_it(laptop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = laptop / "queries.yaml"
    queue.write_text(queue.read_text().replace("id: depth", "id: depth, machine: server"))
    length = len(kinds(laptop))
    assert "depth: elsewhere: for the machine server" in said(laptop, "run").out
    assert "elsewhere" in said(laptop, "list").out
    assert len(kinds(laptop)) == length
    monkeypatch.setenv("RESEARCH_MACHINE", "server")
    assert said(laptop, "-q", "run").code == 0
    assert kinds(laptop)[-1] == "research.completed"


def test_a_file_names_a_machine_that_the_environment_does_not(laptop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (laptop / ".env").write_text("RESEARCH_MACHINE=attic\n")
    monkeypatch.delenv("RESEARCH_MACHINE")
    assert said(laptop, "-q", "run").code == 0
    records = FileStore(laptop / "events").load(session_of(laptop))
    started = [json.loads(record.data) for record in records if record.type == "run.started"]
    assert started[-1]["agent"] == "attic"
