"""Two workspaces that were one, as their users meet them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.errors import ExitCode
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import parse, seal
from tests.commanding import everything, said, workspace_in

QUERY = "  - {query: How deep is the harbour?, id: depth, mode: fast}\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = workspace_in(tmp_path_factory.mktemp("whole") / "w", QUERY)
    assert said(folder, "-q", "run").code == 0
    return folder


def stopped_at(whole: Path, folder: Path, version: int) -> Path:
    """A copy of the workspace whose session was interrupted after that event."""
    shutil.copytree(whole, folder)
    for made in ("vault", "site", "events/local", "events/batches"):
        shutil.rmtree(folder / made)
    for path in (folder / "events" / "sessions").glob("*/events/*.jsonl"):
        lines = parse("x", path.read_bytes(), path.parent.parent.name).lines[:version]
        path.write_bytes(b"".join(seal(line.record.data, line.prev)[0] for line in lines))
    return folder


@pytest.fixture
def laptop(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return _went_on(stopped_at(whole, tmp_path / "laptop", 6), monkeypatch)


@pytest.fixture
def server(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return _went_on(stopped_at(whole, tmp_path / "server", 6), monkeypatch)


def _went_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESEARCH_MACHINE", folder.name)
    assert said(folder, "-q", "run").code == 0
    return folder


def log_of(folder: Path) -> dict[str, bytes]:
    paths = (path for part in ("sessions", "batches") for path in (folder / "events" / part).rglob("*.jsonl"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def synced(into: Path, other: Path) -> None:
    """Bring the files of the other machine here, as a synced folder does."""
    shutil.copytree(other / "events", into / "events", dirs_exist_ok=True, ignore=shutil.ignore_patterns("local"))


def session_of(folder: Path) -> str:
    return next(FileStore(folder / "events").ids("session"))


def test_merging_in_both_directions_gives_one_log_and_one_vault(laptop: Path, server: Path, tmp_path: Path) -> None:
    before = shutil.copytree(laptop, tmp_path / "before")
    assert said(laptop, "merge", str(server)).code == 0
    assert said(server, "merge", str(before)).code == 0
    assert log_of(laptop) == log_of(server)
    notes = [{str(p.relative_to(w)): p.read_text() for p in (w / "vault" / "sessions").rglob("*.md")} for w in (laptop, server)]
    assert notes[0] == notes[1]


def test_a_merge_says_what_it_joined_and_a_second_finds_nothing_to_do(laptop: Path, server: Path) -> None:
    value = json.loads(said(laptop, "--json", "merge", str(server)).out)
    assert (value["branched"], value["refused"]) == ([session_of(server)], [])
    assert value["merges"][session_of(server)][0]["type"] == "branch.merged"
    again = said(laptop, "merge", str(server))
    assert (again.code, again.out) == (0, "nothing to merge\n")
    assert said(laptop, "merge").out == "nothing to merge\n"
    assert said(laptop, "merge", str(server), "--check").code == 0


def test_check_says_what_there_is_to_do_and_writes_nothing(laptop: Path, server: Path) -> None:
    before = everything(laptop / "events" / "sessions")
    checked = said(laptop, "merge", str(server), "--check")
    assert checked.code == 1
    assert " and 0 objects to copy" in checked.out
    assert everything(laptop / "events" / "sessions") == before


def test_every_command_works_on_a_log_with_branches_and_only_a_run_joins_them(laptop: Path, server: Path) -> None:
    synced(laptop, server)
    before = log_of(laptop)
    name = session_of(laptop)
    for command in (["list"], ["show", name], ["log", name], ["build"], ["verify"], ["list", "--why"]):
        assert said(laptop, *command).code == 0, command
    assert "fork: a second branch begins" in said(laptop, "verify").out
    assert log_of(laptop) == before
    assert said(laptop, "-q", "run").code == 0
    assert len(log_of(laptop)) == len(before) + 1
    assert "fork" not in said(laptop, "verify").out


def test_a_run_with_nothing_to_research_joins_branches_and_records_no_batch(laptop: Path, server: Path) -> None:
    synced(laptop, server)
    batches = set((laptop / "events" / "batches").iterdir())
    said(laptop, "list")
    assert "joined the branches of" in said(laptop, "run").err
    assert set((laptop / "events" / "batches").iterdir()) == batches


def test_what_cannot_be_verified_is_named_and_the_rest_is_merged(laptop: Path, server: Path) -> None:
    own = next(path for path in (server / "events" / "sessions").rglob("*.jsonl") if not path.name.startswith("000001"))
    own.write_bytes(own.read_bytes().replace(b'"facts"', b'"fakes"'))
    outcome = said(laptop, "merge", str(server))
    assert outcome.code == 20
    assert f"refused: sessions/{session_of(laptop)}/events/{own.name}:" in outcome.err
    assert said(laptop, "verify").code == 0


def test_a_folder_that_is_no_other_workspace_is_refused(laptop: Path, tmp_path: Path) -> None:
    assert said(laptop, "merge", str(laptop)).code == 2
    assert said(laptop, "merge", str(tmp_path)).code == 2
    assert said(tmp_path, "merge").code == 10


def test_a_talk_that_was_continued_on_both_has_the_questions_of_both(whole: Path, tmp_path: Path) -> None:
    first = shutil.copytree(whole, tmp_path / "laptop")
    assert said(first, "ask", "depth", "How deep is the harbour?").code == 0
    second = shutil.copytree(first, tmp_path / "server")
    assert said(first, "ask", "--continue", "Where do ships wait at night?").code == 0
    assert said(second, "ask", "--continue", "Which ships are longer than 80 metres?").code in {0, ExitCode.NOT_FOUND}
    files = [{path.name for path in (folder / "events" / "talks").iterdir()} for folder in (first, second)]
    assert len(files[0] & files[1]) == 1
    synced(first, second)
    assert said(first, "merge").code == 0
    (note,) = (path for path in (first / "vault" / "reports").rglob("*.md") if "Asked since" in path.read_text())
    asked = note.read_text().partition("Asked since")[2]
    questions = ("How deep is the harbour?", "Where do ships wait at night?", "Which ships are longer than 80 metres?")
    assert all(question in asked for question in questions)
    assert said(first, "verify").code == 0
    assert said(first, "ask", "--continue", "How deep is it at low tide?").code in {0, ExitCode.NOT_FOUND}
