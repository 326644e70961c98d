"""What no model judged is called neither complete nor answered nor confirmed, in notes, on the site, in digest, list and show."""

from __future__ import annotations

import re
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from tests.commanding import said

_SAYS_TOO_MUCH = re.compile(r"\bcomplete\b|answered\b|confirmed|independent|sources disagree|extractive", re.IGNORECASE)


def test_notes_and_pages_say_passages(folder: Path) -> None:
    notes = [path for path in (folder / "vault").rglob("*.md") if path.name != "AGENTS.md" and "my" not in path.parts]
    pages = (folder / "site").rglob("*.html")
    texts = {path: path.read_text() for path in notes}
    texts |= {path: LexborHTMLParser(path.read_text()).css("main")[0].text() for path in pages}
    texts[folder / "site" / "feed.xml"] = (folder / "site" / "feed.xml").read_text()
    assert {path.name: found[0] for path, text in texts.items() if (found := _SAYS_TOO_MUCH.search(text))} == {}
    assert "1 with passages" in (folder / "vault" / "Home.md").read_text()
    assert 'status: "passages"' in next((folder / "vault" / "sessions").rglob("*.md")).read_text()
    assert "without a model" in next((folder / "vault" / "reports").rglob("*.md")).read_text()


def test_list_show_and_digest_say_it_too_while_scripts_read_the_same_status_as_before(folder: Path) -> None:
    for command in (("list", "--why"), ("show", "depth"), ("digest",)):
        assert not _SAYS_TOO_MUCH.search(said(folder, *command).out), command
    assert "status     passages" in said(folder, "show", "depth").out
    assert '"complete"' in said(folder, "--json", "show", "depth").out


def test_a_session_without_a_model_makes_no_notes_of_workers(folder: Path) -> None:
    assert not list((folder / "vault" / "workers").rglob("*.md"))
    session = next((folder / "vault" / "sessions").rglob("*.md")).read_text()
    assert "^w-search" in session
