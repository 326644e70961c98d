"""``research digest``: the morning's mail."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.vault.notes.nights_and_home import WIDTH, digest_of, heading_of, html_of, nights_in, text_of
from tests.commanding import said, workspace_in
from tests.fakes import MemoryStore
from tests.vault.builders import Story, a_store, night

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


def _text(store: MemoryStore, date: str = "") -> str:
    nights, unread = nights_in(store)
    chosen = next(night for night in reversed(nights) if night.date.startswith(date))
    return "\n".join(text_of(digest_of(store, [chosen], unread), lambda card: f"vault/{card.report_path}.md"))


def test_the_digest_gives_each_answer_how_sure_it_is_what_is_new_and_what_is_open() -> None:
    text = _text(a_store())
    assert text.startswith("Night of 28 November 2026: 1 answered, 1 failed, 1 unfinished (")
    for part in (
        "What changed\n\nHow does an append-only log survive a power cut?\n  vault/reports/2026/",
        "a-power-cut-9c01.md\n  new: ",
        "\n  An append is durable after fsync returned.\n",
        "3 sources, 1 disagreement; 1 new, 1 changed, 1 gone",
        "Still open: How loud is it?",
    ):
        assert part in text


def test_what_failed_and_what_was_not_found_stands_apart_with_its_reason() -> None:
    store = a_store()
    lost = Story(store, id="2026-12-01-kafka-0a0a", query="Who was Kafka?", query_id="kafka", date="2026-12-01").begin()
    night(store, lost.not_found(), date="2026-12-01")
    assert "Not found\n  - Who was Kafka?: Why." in _text(store)
    del store.streams["batch-2026-12-01t020000-ab12"][-1]
    assert "interrupted or under way; 1 not found (2 s, $0.03)" in " ".join(_text(store).split())
    before = _text(store, "2026-11-28")
    assert "Failed\n  - Why are there tides?: Why." in before
    assert "Unfinished\n  - Do ants sleep?: Why." in before


def test_a_reason_that_several_questions_share_is_said_once() -> None:
    store = MemoryStore()
    stories = [Story(store, id=f"2026-11-21-x-{one:04d}", query=f"Why {one}?", query_id=f"x{one}").begin() for one in range(2)]
    night(store, *stories)
    assert "Unfinished\n  Why.\n  - Why 0?\n  - Why 1?\n" in _text(store)


def test_no_line_of_a_mail_is_too_long() -> None:
    assert max(len(line) for line in _text(a_store()).split("\n") if "/" not in line) <= WIDTH


def test_a_session_that_cannot_be_read_is_named() -> None:
    store = a_store()
    store.strike("2026-11-28-power-cut-9c01", lambda record: record._replace(data=b"{}"))
    text = _text(store)
    assert "Problems\n  - How does an append-only log survive a power cut?: its log" in text
    assert heading_of(digest_of(store, nights_in(store)[0])).endswith("1 answered, 1 failed, 1 unfinished")


def test_control_characters_of_a_page_do_not_reach_the_terminal() -> None:
    text = _text(a_store(lambda said: f"{said}\x1b[31m"))
    assert "\x1b" not in text


def test_the_command_prints_the_last_night_or_the_one_that_is_named(tmp_path: Path) -> None:
    workspace = workspace_in(tmp_path / "ws", HARBOUR)
    assert "nothing has been researched yet" in said(workspace, "digest").out
    assert said(workspace, "run").code == 0
    found = json.loads(said(workspace, "--json", "digest").out)
    assert found["questions"][0]["query"] == "How deep is the harbour?"
    date = found["night"]
    assert said(workspace, "digest", "--night", date).out == said(workspace, "digest").out
    for wrong in ("yesterday", "1999-01-01"):
        answer = said(workspace, "digest", "--night", wrong)
        assert answer.code == 2
        assert f"the last nights: {date}" in answer.err
    (report,) = (workspace / "vault" / "reports").rglob("*.md")
    report.rename(workspace / "vault" / "moved.md")
    assert said(workspace, "build").code == 0
    assert "vault/moved.md\n" in said(workspace, "digest").out


def test_as_a_page_for_mail_it_runs_nothing_whatever_a_source_says() -> None:
    store = a_store(lambda said: f"{said}<script>alert(1)</script>")
    nights, unread = nights_in(store)
    page = html_of(digest_of(store, nights, unread), lambda card: f"https://notes.example/{card.report_path}.html")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.index("What changed") < page.index('<a href="https://notes.example/reports/') < page.index("<h2>Failed</h2>")
