"""``research digest``: the morning's mail."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.vault.notes.nights_and_home import digest_of, text_of
from pipeline.vault.read_model import nights_in
from tests.commanding import said, workspace_in
from tests.fakes import MemoryStore
from tests.vault.builders import a_store

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


def _text(store: MemoryStore) -> str:
    return "\n".join(text_of(digest_of(store, *nights_in(store)), lambda card: f"vault/{card.report_path}.md"))


def test_a_session_that_cannot_be_read_is_named() -> None:
    store = a_store()
    store.strike("2026-11-28-power-cut-9c01", lambda record: record._replace(data=b"{}"))
    text = _text(store)
    assert "Problems\n  - How does an append-only log survive a power cut?: its log" in text
    assert digest_of(store, nights_in(store)[0]).heading.endswith("1 answered, 1 failed, 1 unfinished")


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
    page = "\n".join(
        text_of(digest_of(store, nights, unread), lambda card: f"https://notes.example/{card.report_path}.html", "html")
    )
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert page.index("What changed") < page.index('<a href="https://notes.example/reports/') < page.index("<h2>Failed</h2>")
