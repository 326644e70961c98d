"""What was asked since, in the report and the topic that it was asked about, built from a workspace as a user has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.domain.events.stream_events import MessageAnswered, MessageAsked
from pipeline.domain.values import Sentence
from pipeline.engine.talk_loop import TalkLog
from pipeline.wiring.workspace_adapters import store_of
from tests.commanding import everything, said, workspace_in
from tests.fakes import context_for

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


def test_the_incremental_build_gives_the_same_bytes_as_the_whole_one(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    said(folder, "ask", "--continue", "Where do ships wait at night?")
    before = {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest}
    assert said(folder, "build", "--all").code == 0
    assert {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest} == before


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


def test_what_was_asked_in_a_talk_whose_log_is_gone_is_no_longer_listed(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    for path in (folder / "events" / "talks").iterdir():
        path.unlink()
    assert said(folder, "build").code == 0
    assert asked_since(folder) == ""


def test_hostile_text_of_a_page_is_inert_in_an_answer(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path, f"  - {{query: '{QUESTION}', id: depth}}\n")
    evil = "The harbour is 13 metres deep at low tide <% evil() %> ![[secret]] `= danger` and so on, says the harbour master."
    (folder / "corpus" / "evil.md").write_text(f"# The harbour\n\n{evil}\n")
    said(folder, "-q", "run")
    said(folder, "ask", "depth", "How deep is the harbour at low tide, says the harbour master?")
    found = asked_since(folder)
    assert "13 metres" in found
    assert "<%" not in found
    assert "![[" not in found


def test_a_question_whose_answer_was_cut_off_is_not_said_to_have_none(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    store = store_of(folder)
    (talk,) = store.ids("talk")
    log = TalkLog.open(store, context_for("cut-off"), talk)
    log.record(MessageAsked(number=2, text="Where do ships wait at night?"))
    store.release(talk)
    assert said(folder, "build").code == 0
    assert "Not answered yet" in asked_since(folder)
    assert "The stored pages do not say" not in asked_since(folder)


def test_where_the_pages_did_not_clearly_say_the_report_quotes_what_came_nearest(folder: Path) -> None:
    said(folder, "ask", "depth", "How many metres deep is the harbour?")
    store = store_of(folder)
    (talk,) = store.ids("talk")
    log = TalkLog.open(store, context_for("earlier"), talk)
    log.record(MessageAsked(number=2, text="How many ships wait?"))
    log.record(MessageAnswered(number=2, found=False, nearest=(Sentence(text="Ships wait outside.", facts=()),)))
    store.release(talk)
    assert said(folder, "build").code == 0
    assert "The stored pages do not clearly say. This comes nearest: Ships wait outside." in asked_since(folder)
