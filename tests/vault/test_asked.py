"""What a person asks in a note, and where the answer is: in the report and the topic that it was asked about."""

from __future__ import annotations

from pathlib import Path

from pipeline.vault.output.user_text import AskedLine, asked_lines
from tests.commanding import said
from tests.vault.builders import write_into

HEAD = '---\ntitle: "A report"\nid: "report:s1"\n---\n\n# A report\n\n'


def note(folder: Path, own: str, *, head: str = HEAD, body: str = "", name: str = "reports/a.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}{body}\n%% begin notes %%\n{own}%% end notes %%\n")
    return folder


def test_lines_of_a_persons_block_that_begin_with_ask_are_questions(tmp_path: Path) -> None:
    own = "my words\nask: How deep is it?\n- ask: Since when?\n- [ ] Ask: Who built it?\nI ask: myself\n"
    assert asked_lines(note(tmp_path, own)) == [
        AskedLine("report:s1", "How deep is it?"),
        AskedLine("report:s1", "Since when?"),
        AskedLine("report:s1", "Who built it?"),
    ]


def test_nothing_is_asked_outside_of_a_persons_block_or_of_our_notes_or_where_markers_or_bytes_are_broken(tmp_path: Path) -> None:
    note(tmp_path, "", body="ask: What does a page want?\n")
    note(tmp_path, "ask: Why?\n", head="# Mine\n\n", name="reports/b.md")
    note(tmp_path, "ask: Why?\n", name="my/b.md")
    note(tmp_path, "ask: Why?\n", name="attic/c.md")
    (tmp_path / "reports" / "c.md").write_text(HEAD + "%% begin notes %%\nask: Why?\n")
    (tmp_path / "reports" / "d.md").write_bytes(b"\xff\xfe ask: Why?")
    assert asked_lines(tmp_path) == []


REPORT = "reports/*/*.md"


def only(folder: Path, pattern: str) -> Path:
    (path,) = (folder / "vault").glob(pattern)
    return path


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
    write_into(report, "my own words\n- ask: Where do ships wait at night?")
    assert said(folder, "run").code == 0
    assert "Ships wait outside" in asked_since(folder)
    assert "my own words\n- ask: Where do ships wait at night?\n" in report.read_text()
    events = [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())]
    assert said(folder, "run").code == 0
    assert [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())] == events


def test_a_question_in_a_topics_note_is_answered_there_from_the_topics_pages(folder: Path) -> None:
    write_into(only(folder, "topics/*.md"), "ask: Where do ships wait at night?")
    assert said(folder, "run").code == 0
    assert '"scope":"topic"' in next((folder / "events" / "talks").iterdir()).read_text()
    assert "Ships wait outside" in asked_since(folder, "topics/*.md")
    assert asked_since(folder) == ""
