"""What was asked since, in the report and the topic that it was asked about, built from a workspace as a user has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commanding import said, workspace_in

QUESTION = "How deep is the harbour at low tide?"
REPORT = "reports/*/*.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = workspace_in(tmp_path, f"  - {{query: '{QUESTION}', id: depth, tags: [harbours]}}\n")
    assert said(folder, "-q", "run").code == 0
    return folder


def only(folder: Path, pattern: str) -> Path:
    (path,) = (folder / "vault").glob(pattern)
    return path


def write_own(path: Path, words: str) -> None:
    path.write_text(path.read_text().replace("%% begin notes %%\n", f"%% begin notes %%\n{words}", 1))


def asked_since(folder: Path, pattern: str = REPORT) -> str:
    _, heading, rest = only(folder, pattern).read_text().partition("## Asked since\n")
    return rest.partition("\nHow this " if "report" in pattern else "\n## ")[0] if heading else ""


def test_a_report_lists_what_was_asked_since_with_a_line_of_answer_and_its_source(folder: Path) -> None:
    assert said(folder, "ask", "depth", "How many metres deep is the harbour?").code == 0
    said(folder, "ask", "--continue", "Where do ships wait at night?")
    first, second = asked_since(folder).strip().splitlines()
    assert first.startswith("- **How many metres deep is the harbour?** ")
    assert "metres deep at low tide" in first
    assert "[[sources/" in first
    assert "Ships wait outside" in second
    assert "Where do ships wait at night?" in next((folder / "site" / "reports").rglob("*.html")).read_text()
    assert not (folder / "vault" / "talks").exists()


def test_what_the_pages_do_not_say_is_said(folder: Path) -> None:
    said(folder, "ask", "depth", "Is semaglutide safe in pregnancy?")
    assert "The stored pages do not say." in asked_since(folder)


def test_a_question_in_a_note_is_answered_once_in_the_next_run_and_the_line_stays(folder: Path) -> None:
    report = only(folder, REPORT)
    write_own(report, "my own words\n- ask: Where do ships wait at night?\n")
    assert said(folder, "run").code == 0
    assert "Ships wait outside" in asked_since(folder)
    assert "my own words\n- ask: Where do ships wait at night?\n" in report.read_text()
    events = [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())]
    assert said(folder, "run").code == 0
    assert [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())] == events


def test_a_question_in_a_topics_note_is_answered_there_from_the_topics_pages(folder: Path) -> None:
    write_own(only(folder, "topics/*.md"), "ask: Where do ships wait at night?\n")
    assert said(folder, "run").code == 0
    assert '"scope":"topic"' in next((folder / "events" / "talks").iterdir()).read_text()
    assert "Ships wait outside" in asked_since(folder, "topics/*.md")
    assert asked_since(folder) == ""
