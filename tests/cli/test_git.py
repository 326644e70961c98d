"""A workspace in git that two machines pull and push, with words of its reader in both."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_merge_command import log_of, stopped_at, whole
from tests.commanding import said, workspace_in

__all__ = ["whole"]

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    named = ("-c", "user.name=Reader", "-c", "user.email=reader@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert may_fail or done.returncode == 0, done.stderr
    return done.stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


def cloned(laptop: Path, message: str) -> Path:
    """Put a workspace into git; return the clone of another machine."""
    git(laptop, "init", "-q")
    commit(laptop, message)
    git(laptop.parent, "clone", "-q", "laptop", "server")
    return laptop.parent / "server"


def write_into(folder: Path, words: str) -> None:
    (note,) = (folder / "vault" / "reports").rglob("*.md")
    note.write_text(note.read_text().replace("%% begin notes %%\n", f"%% begin notes %%\n{words}\n"))


def test_a_pull_and_a_merge_leave_no_conflict_mark_and_keep_the_words_of_both(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = stopped_at(whole, tmp_path / "laptop", 6)
    (laptop / ".gitignore").write_text("/site/\n")
    server = cloned(laptop, "research")
    for machine in (laptop, server):
        monkeypatch.setenv("RESEARCH_MACHINE", machine.name)
        assert said(machine, "-q", "run").code == 0
        write_into(machine, f"read on the {machine.name}")
        commit(machine, "night")
    git(laptop, "pull", "-q", "--no-rebase", "--no-edit", "../server", "HEAD", may_fail=True)
    assert "events/" not in git(laptop, "diff", "--name-only", "--diff-filter=U")
    assert said(laptop, "merge").code == 0
    notes = {path: path.read_text() for path in (laptop / "vault").rglob("*.md")}
    assert [path for path, text in notes.items() if "<<<<<<<" in text or ">>>>>>>" in text] == []
    (report,) = (laptop / "vault" / "reports").rglob("*.md")
    assert "read on the laptop" in notes[report]
    assert "read on the server" in notes[report]
    commit(laptop, "merge")
    git(server, "pull", "-q", "--no-rebase", "../laptop", "HEAD")
    assert said(server, "merge").out == "nothing to merge\n"
    assert log_of(server) == log_of(laptop)


def test_questions_that_two_machines_added_are_both_in_the_queue_after_a_pull(tmp_path: Path) -> None:
    laptop = tmp_path / "laptop"
    assert said(laptop, "init").code == 0
    for machine, question in ((laptop, "Why do laptops get warm?"), (cloned(laptop, "start"), "Why do servers hum?")):
        assert said(machine, "add", question).code == 0
        commit(machine, "add")
    git(laptop, "pull", "-q", "--no-rebase", "--no-edit", "../server", "HEAD")
    listed = said(laptop, "list")
    assert listed.code == 0
    assert "laptops get warm" in listed.out
    assert "servers hum" in listed.out


def test_two_machines_that_forgot_different_sessions_of_a_night_forget_both_by_a_pull_and_a_merge(tmp_path: Path) -> None:
    queue = "  - {query: How deep is the harbour?, id: depth}\n  - {query: Where do ships wait at night?, id: ships}\n"
    laptop = workspace_in(tmp_path / "laptop", queue)
    assert said(laptop, "-q", "run").code == 0
    (laptop / ".gitignore").write_text("/site/\n")
    source = next((laptop / "vault" / "sources").rglob("*.md")).read_text()
    server = cloned(laptop, "night")
    for machine, question in ((laptop, "depth"), (server, "ships")):
        assert said(machine, "forget", question, "--yes").code == 0
        commit(machine, "forget")
    git(laptop, "pull", "-q", "--no-rebase", "--no-edit", "../server", "HEAD", may_fail=True)
    assert said(laptop, "merge").code == 0
    commit(laptop, "merge")
    git(server, "pull", "-q", "--no-rebase", "../laptop", "HEAD")
    assert said(server, "merge").out == "nothing to merge\n"
    for machine in (laptop, server):
        assert git(machine, "status", "--porcelain") == ""
        assert said(machine, "verify").code == 0
        log = b"".join(path.read_bytes() for path in (machine / "events").rglob("*.jsonl"))
        assert (b"depth" in log, b"ships" in log) == (False, False)
        assert not list((machine / "vault" / "sources").rglob("*.md"))
    (other := server / "vault" / "other.md").write_text(source.replace('"source:', '"source:0', 1))
    assert (said(server, "build").code, other.exists()) == (0, True)
    (night,) = (server / "events" / "batches").rglob("*.jsonl")
    night.write_bytes(night.read_bytes().replace(b"batch.ended", b"batch.endeX"))
    (server / "vault" / "Home.md").unlink()
    assert said(server, "merge").code == 20
    assert (server / "vault" / "Home.md").exists()


def test_what_one_machine_asked_while_another_forgot_what_it_was_about_goes_with_it_and_a_talk_about_all_goes_on(
    tmp_path: Path,
) -> None:
    laptop = workspace_in(tmp_path / "laptop", "  - {query: How deep is the harbour?, id: depth}\n")
    assert said(laptop, "-q", "run").code == 0
    (laptop / ".gitignore").write_text("/site/\n")
    for about in ("depth", "--all"):
        assert said(laptop, "ask", about, "How deep is the harbour at low tide?").code == 0
    server = cloned(laptop, "night")
    for about in ("depth", "--all"):
        assert said(laptop, "ask", "--continue", about, "Where do ships wait?").code == 0
    assert said(server, "forget", "depth", "--yes").code == 0
    for machine in (laptop, server):
        commit(machine, "day")
    git(laptop, "pull", "-q", "--no-rebase", "--no-edit", "../server", "HEAD", may_fail=True)
    assert said(laptop, "merge").code == 0
    commit(laptop, "merge")
    git(server, "pull", "-q", "--no-rebase", "../laptop", "HEAD")
    for machine in (laptop, server):
        assert said(machine, "verify").code == 0
        (talk,) = (machine / "events" / "talks").iterdir()
        assert (talk.read_bytes().count(b'"message.answered"'), b"depth" in talk.read_bytes()) == (2, False)
    assert said(server, "ask", "--continue", "Where do ships wait at night?").code == 0


def test_a_switch_to_a_branch_without_a_session_is_no_loss_and_back_it_is_there(whole: Path, tmp_path: Path) -> None:
    folder = stopped_at(whole, tmp_path / "laptop", 6)
    (folder / ".gitignore").write_text("/site/\n/events/local/\n")
    assert said(folder, "build").code == 0
    git(folder, "init", "-q")
    git(folder, "add", "queries.yaml", ".gitignore")
    git(folder, "commit", "-qm", "before")
    git(folder, "switch", "-qc", "nights")
    commit(folder, "night")
    git(folder, "switch", "-q", "main")
    away = said(folder, "build")
    assert (away.code, "log is" in away.out + away.err) == (0, False)
    git(folder, "stash", "-qu")
    git(folder, "switch", "-q", "nights")
    back = said(folder, "build")
    assert back.code == 0
    assert list((folder / "vault" / "sessions").rglob("*.md"))
    assert said(folder, "verify").code == 0
