"""``hide``, and what ``run`` and ``build`` say of notes that a person moved, removed or edited."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from pipeline.wiring import run_context_and_note_ratings
from tests.commanding import said


def notes(folder: Path, room: str) -> list[Path]:
    return sorted((folder / "vault" / room).rglob("*.md"))


def test_a_note_is_hidden_listed_and_shown_again(folder: Path) -> None:
    (report,) = notes(folder, "reports")
    path = report.relative_to(folder).as_posix()
    before = report.read_bytes()
    assert said(folder, "hide", path).out == f"hidden: {path}\n"
    assert not report.exists()
    assert not list((folder / "site" / "reports").rglob("*.html"))
    assert said(folder, "hide").out == f"{path}\n"
    assert said(folder, "hide", path).out == "nothing to do: hidden already\n"
    assert said(folder, "hide", "--undo", path).out == f"shown: {path}\n"
    assert report.read_bytes() == before
    assert json.loads(said(folder, "--json", "hide").out) == {"hidden": []}
    assert said(folder, "verify").code == 0
    (folder / "templates" / "site" / "tags.html.j2").write_text("{% no tag")
    faulty = said(folder, "--json", "hide", path)
    assert (faulty.code, json.loads(faulty.out)) == (2, {"hidden": [path.removeprefix("vault/")]})


def test_a_session_is_hidden_with_all_its_notes_and_its_sources_stay(folder: Path) -> None:
    assert said(folder, "hide", "harbour").code == 0
    assert notes(folder, "reports") == notes(folder, "sessions") == []
    assert notes(folder, "sources") != []
    assert said(folder, "unhide", "--all").code == 0
    assert notes(folder, "sessions") != []


def test_the_picture_counts_a_question_again_that_was_hidden_and_then_researched_once_more(folder: Path) -> None:
    assert said(folder, "hide", "harbour").code == 0
    assert said(folder, "-q", "run", "harbour", "--again").code == 0
    assert "1 with passages" in (folder / "vault" / "nights" / "thirty-nights.svg").read_text()
    assert said(folder, "build", "--check").code == 0


def test_what_a_person_decided_last_counts_although_the_clock_was_ahead_before(folder: Path) -> None:
    first, second = folder / "vault" / "first.md", folder / "vault" / "second.md"
    with mock.patch.object(run_context_and_note_ratings, "datetime", mock.Mock(wraps=datetime, min=datetime.min)) as clock:
        clock.now.return_value = datetime.now(UTC) + timedelta(days=9)
        notes(folder, "reports")[0].rename(first)
        assert said(folder, "build").code == 0
    first.rename(second)
    for _ in range(2):
        assert said(folder, "build", "--all").code == 0
        assert (first.exists(), second.exists()) == (False, True)


def test_a_name_that_means_no_note_is_refused_with_what_to_write(folder: Path) -> None:
    refused = said(folder, "hide", "reports/of/nothing.md")
    assert refused.code == 2
    assert "there is no note" in refused.err


def test_a_damaged_decision_is_reported_and_repaired(folder: Path) -> None:
    (report,) = notes(folder, "reports")
    said(folder, "hide", str(report.relative_to(folder)))
    (stream,) = (folder / "events" / "vault").iterdir()
    data = stream.read_bytes()
    stream.write_bytes(data.replace(b"note.hidden", b"note.hiddem"))
    assert stream.name in said(folder, "verify").out
    assert said(folder, "build").code == 20
    assert said(folder, "verify", "--repair").code == 0
    assert said(folder, "build").code == 0


@pytest.mark.parametrize("command", ["run", "build"])
def test_run_and_build_say_what_became_of_a_persons_changes(folder: Path, command: str) -> None:
    moved, edited, gone = notes(folder, "sources")[0], notes(folder, "sessions")[0], notes(folder, "reports")[0]
    (folder / "vault" / "mine").mkdir()
    moved.rename(folder / "vault" / "mine" / "moved.md")
    edited.write_text(f"{edited.read_text()}\nI disagree.\n")
    gone.unlink()
    told = said(folder, command)
    words = told.out + told.err
    assert "is now vault/mine/moved.md" in words
    assert f"attic/{edited.stem}" in words
    assert f"research hide --undo {gone.relative_to(folder / 'vault').as_posix()}" in words


def test_init_keeps_keys_site_and_caches_out_of_git_and_leaves_a_gitignore_as_it_is(tmp_path: Path) -> None:
    assert said(tmp_path, "init").code == 0
    ignored = tmp_path / ".gitignore"
    assert ignored.read_text().split() == [".env", "site/", "events/local/"]
    ignored.write_text("mine\n")
    assert said(tmp_path, "init").code == 0
    assert ignored.read_text() == "mine\n"


def test_all_is_for_notes_that_come_back_and_older_calls_do_what_they_did(folder: Path) -> None:
    assert said(folder, "hide", "typo", "--all").code == 2
    assert json.loads(said(folder, "--json", "hide").out) == {"hidden": []}
    aged = said(folder, "prune", "--older-than", "90d", "--dry-run")
    assert (aged.code, aged.out.startswith("would go: 0 sessions")) == (0, True)
    assert isinstance(json.loads(said(folder, "references").out), list)
