"""Talks in the vault, built from a workspace as a user has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.domain.events.talk_events import MessageAsked
from pipeline.engine.talk_loop import TalkLog
from pipeline.wiring.workspace_adapters import store_of
from tests.commanding import everything, said, workspace_in
from tests.fakes import context_for

QUESTION = "How deep is the harbour at low tide?"


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


def test_a_talk_has_a_note_with_its_questions_and_quotes_and_a_page_of_the_site(folder: Path) -> None:
    assert said(folder, "ask", "depth", "How many metres deep is the harbour?").code == 0
    note = only(folder, "talks/*/talk-*.md").read_text()
    assert "## How many metres deep is the harbour?" in note
    assert "\n\n1 question answered from the stored pages" in note
    assert "metres deep at low tide" in note
    assert "[[sources/" in note
    assert "[[reports/" in note
    assert list((folder / "site" / "talks").rglob("*.html"))


def test_report_and_topic_list_what_was_asked_since(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    for pattern in ("reports/*/*.md", "topics/*.md"):
        text = only(folder, pattern).read_text()
        assert "Asked since" in text
        assert "[[talks/" in text


def test_what_the_pages_do_not_say_is_said_in_the_note(folder: Path) -> None:
    said(folder, "ask", "depth", "Is semaglutide safe in pregnancy?")
    assert "The stored pages do not say" in only(folder, "talks/*/talk-*.md").read_text()


def test_the_incremental_build_gives_the_same_bytes_as_the_whole_one(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    said(folder, "ask", "--continue", "Where do ships wait at night?")
    before = {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest}
    assert said(folder, "build", "--all").code == 0
    assert {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest} == before


def test_a_question_in_a_note_is_answered_once_in_the_next_run_and_the_line_stays(folder: Path) -> None:
    report = only(folder, "reports/*/*.md")
    write_own(report, "my own words\n- ask: Where do ships wait at night?\n")
    assert said(folder, "run").code == 0
    note = only(folder, "talks/*/talk-*.md").read_text()
    assert "Ships wait outside" in note
    assert "my own words\n- ask: Where do ships wait at night?\n" in report.read_text()
    events = [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())]
    assert said(folder, "run").code == 0
    assert [path.read_bytes() for path in sorted((folder / "events" / "talks").iterdir())] == events


def test_a_question_in_a_topics_note_is_answered_from_the_topics_pages(folder: Path) -> None:
    write_own(only(folder, "topics/*.md"), "ask: Where do ships wait at night?\n")
    assert said(folder, "run").code == 0
    assert '"scope":"topic"' in next((folder / "events" / "talks").iterdir()).read_text()


def test_a_persons_words_in_a_talks_note_survive_the_next_answer(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    note = only(folder, "talks/*/talk-*.md")
    write_own(note, "remember this\n")
    said(folder, "ask", "--continue", "Where do ships wait at night?")
    assert "remember this\n" in note.read_text()
    assert "Ships wait outside" in note.read_text()


def test_a_talk_whose_log_is_gone_has_no_note_any_more(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    for path in (folder / "events" / "talks").iterdir():
        path.unlink()
    assert said(folder, "build").code == 0
    assert not list((folder / "vault").glob("talks/*/*.md"))


def test_hostile_text_of_a_page_is_inert_in_a_talks_note(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, f"  - {{query: '{QUESTION}', id: depth}}\n")
    evil = "The harbour is 13 metres deep at low tide <% evil() %> ![[secret]] `= danger` and so on, says the harbour master."
    (folder / "corpus" / "evil.md").write_text(f"# The harbour\n\n{evil}\n")
    said(folder, "-q", "run")
    said(folder, "ask", "depth", "How deep is the harbour at low tide, says the harbour master?")
    note = only(folder, "talks/*/talk-*.md").read_text()
    assert "13 metres" in note
    assert "<%" not in note
    assert "![[" not in note


def test_a_question_whose_answer_was_cut_off_is_not_said_to_have_none(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    store = store_of(folder)
    (talk,) = store.ids("talk")
    log = TalkLog.open(store, context_for("cut-off"), talk)
    log.record(MessageAsked(number=2, text="Where do ships wait at night?"))
    store.release(talk)
    assert said(folder, "build").code == 0
    note = only(folder, "talks/*/talk-*.md").read_text()
    assert "1 question answered" in note
    assert "Not answered yet" in note
    assert "The stored pages do not say" not in note


def test_where_the_pages_do_not_clearly_say_the_note_quotes_what_comes_nearest(folder: Path) -> None:
    assert said(folder, "ask", "depth", "How many ships wait in the harbour at low tide?").code == 5
    note = only(folder, "talks/*/talk-*.md").read_text()
    assert "> [!question] The stored pages do not clearly say. This comes nearest:\n\n> The harbour is 1" in note
    assert "[[sources/" in note
    assert "do not say." not in note
    assert "\n\nNo question answered from the stored pages" in note
