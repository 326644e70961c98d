"""``forget`` as it is called, for one session and by age, and ``prune``, its older name for the latter."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in
from tests.ops.test_forgetting import _log

QUEUE = "settings:\n  keep: {sessions: 20d, exchanges: forever}\nqueries:\n  - {query: What of question 1?, id: q1}\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    _log(tmp_path, (1, "report"), (2, "failed"))
    (tmp_path / "queries.yaml").write_text(QUEUE)
    return tmp_path


def test_by_age_it_follows_the_rule_verify_accounts_for_it_and_the_rest_can_be_forgotten(
    workspace: Path,
) -> None:
    dry = json.loads(said(workspace, "--json", "forget", "--by-settings", "--dry-run").out)
    assert dry == json.loads(said(workspace, "--json", "prune", "--dry-run").out)
    assert (len(dry["sessions"]), dry["exchanges"]) == (2, [])
    pages = json.loads(said(workspace, "--json", "forget", "--older-than", "1s", "--only", "pages", "--dry-run").out)
    assert (pages["sessions"], len(list((workspace / "events" / "sessions").iterdir()))) == ([], 2)
    done = json.loads(said(workspace, "--json", "forget", "--by-settings").out)
    assert (done["sessions"], done["left"]) == (dry["sessions"], {})
    verified = said(workspace, "verify")
    assert verified.code == 0
    assert "removed on purpose: 2 logs, 0 forgotten sessions and talks, " in verified.out
    assert json.loads(said(workspace, "--json", "show", "q1").out)["pruned"]
    assert said(workspace, "prune").out.startswith("nothing is old enough")
    assert said(workspace, "forget", "--older-than", "9000d", "--yes").out.startswith("nothing is old enough")
    for session in dry["sessions"]:
        assert said(workspace, "forget", session, "--yes").code == 0
    assert not list((workspace / "events" / "objects").rglob("*.gz"))


@pytest.mark.parametrize(
    "arguments", [[], ["q1", "--older-than", "90d"], ["q1", "--dry-run"], ["--older-than", "1d", "--by-settings"]]
)
def test_it_is_either_a_session_or_an_age(workspace: Path, arguments: list[str]) -> None:
    assert said(workspace, "forget", *arguments).code == 2
    assert len(list((workspace / "events" / "sessions").iterdir())) == 2


def test_a_later_session_recalls_what_was_found_in_pages_that_are_forgotten_and_verify_and_copy_take_it(workspace: Path) -> None:
    (workspace / "queries.yaml").write_text(QUEUE.replace("settings:", "settings:\n  search: [local]"))
    (workspace / "corpus").mkdir()
    (workspace / "corpus" / "one.md").write_text("What there is to say of question 1.\n")
    for command in (["forget", "--older-than", "1d"], ["run", "q1", "--again"], ["verify"]):
        assert said(workspace, *command).code == 0
    assert said(workspace, "store", "copy", str(workspace), str(workspace / "copy")).code == 0


def test_forget_leaves_no_cache_with_the_text_of_pages(workspace: Path) -> None:
    local = workspace / "events" / "local"
    local.mkdir(exist_ok=True)
    for name in ("passages.sqlite", "stored-pages.sqlite", "embeddings.sqlite", "summaries.sqlite"):
        (local / name).write_bytes(b"text of a page")
    (local / "snapshots").mkdir()  # of an earlier version
    for session in (workspace / "events" / "sessions").iterdir():
        (local / "snapshots" / f"{session.name}.json").write_bytes(b"text of a page")
    assert said(workspace, "forget", "q1", "--yes").code == 0
    assert [path.name for path in local.glob("*.sqlite") if path.read_bytes() == b"text of a page"] == []
    assert len(list((local / "snapshots").iterdir())) == 1


def test_forget_asks_first_and_then_says_what_becomes_of_the_question(workspace: Path) -> None:
    refused = said(workspace, "forget", "q1")
    assert refused.code == 2
    assert "--yes" in refused.err
    done = said(workspace, "forget", "q1", "--yes")
    assert done.code == 0, done.err
    assert "research run q1" in done.out
    assert said(workspace, "build", "--check", "--no-site").code == 0


def test_notes_of_a_forgotten_session_that_a_merge_brings_back_go_and_a_person_s_words_are_in_the_attic(workspace: Path) -> None:
    assert said(workspace, "build").code == 0
    made = {path: path.read_text() for path in (workspace / "vault").rglob("*.md")}
    assert said(workspace, "forget", "q1", "--yes").code == 0
    notes = {path: text for path, text in made.items() if not path.exists()}
    assert {path.relative_to(workspace / "vault").parts[0] for path in notes} >= {"nights", "reports", "sources"}
    for path, text in notes.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("%% begin notes %%", "%% begin notes %%\nmy words", 1) if "reports" in path.parts else text)
    assert said(workspace, "build").code == 0
    assert [path for path in notes if path.exists()] == []
    assert ["my words" in path.read_text() for path in (workspace / "vault" / "attic").iterdir()] == [True]
    (report,) = (text for path, text in notes.items() if "reports" in path.parts)
    (workspace / "vault" / "my").mkdir(exist_ok=True)
    (workspace / "vault" / "my" / "copy.md").write_text(report.replace("%% begin notes %%", "%% begin notes %%\nask: Why?", 1))
    assert said(workspace, "run").code == 0
    assert not list((workspace / "events").glob("talks/*")), "a copy of what was forgotten asks nothing"


def test_a_note_that_a_session_no_longer_makes_and_a_merge_brings_back_goes(workspace: Path) -> None:
    assert said(workspace, "build").code == 0
    (note,) = (workspace / "vault" / "reports").rglob("*.md")
    moved = workspace / "vault" / "Good" / "of a worker.md"
    moved.parent.mkdir()
    moved.write_text(note.read_text().replace('\nid: "report:', '\nid: "worker:'))
    note.unlink()
    assert said(workspace, "build").code == 0
    assert not moved.exists()


def test_a_person_s_copy_of_a_note_does_not_take_its_place_when_another_machine_forgets_it(workspace: Path) -> None:
    assert said(workspace, "build").code == 0
    (note,) = (workspace / "vault" / "reports").rglob("*.md")
    note.rename(workspace / "vault" / "my" / "copy.md")
    other = shutil.copytree(workspace, workspace.with_name("other"))
    assert said(other, "forget", "q1", "--yes").code == 0
    shutil.rmtree(other / "vault")
    assert said(workspace, "merge", str(other)).code == 0
    assert (workspace / "vault" / "my" / "copy.md").exists()
    assert not (workspace / "events" / "vault").exists()


def test_a_question_goes_on_when_an_earlier_session_on_it_is_forgotten_and_after_the_latest_when_it_is_named(
    tmp_path: Path,
) -> None:
    folder = workspace_in(tmp_path, "  - {query: 'How deep is the harbour at low tide?', id: depth, every: 1h}\n")
    assert said(folder, "-q", "run").code == 0
    (first,) = (folder / "events" / "sessions").iterdir()
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    report.write_text(report.read_text().replace("- [ ] useful", "- [x] useful", 1))
    assert said(folder, "-q", "run", "--again", "depth").code == 0
    (latest,) = {*(folder / "events" / "sessions").iterdir()} - {first}
    done = said(folder, "forget", first.name, "--yes")
    assert (done.code, "no night researches it" in done.out) == (0, False)
    (decided,) = (path.read_text() for path in (folder / "events" / "vault").iterdir())
    assert (first.name in decided, '"rating":"useful"' in decided) == (False, True)
    assert "forgotten" not in said(folder, "list").out
    assert "no night researches it" in said(folder, "forget", latest.name, "--yes").out
    assert "forgotten" in said(folder, "list").out
    assert said(folder, "-q", "run").code == 0
    assert not list((folder / "events" / "sessions").iterdir())
    assert said(folder, "-q", "run", "depth").code == 0
    assert "forgotten" not in said(folder, "list").out
