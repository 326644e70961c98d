"""Imports in the vault and on the site, built from a workspace as a user has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.adapters.imports.kit import everything as originals
from tests.adapters.imports.kit import go_session, write_session
from tests.commanding import everything, said, workspace_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = workspace_in(tmp_path / "ws", "  - {query: 'How deep is the harbour?', id: depth}\n")
    originals(tmp_path / "in")
    assert said(folder, "import", str(tmp_path / "in"), "--tag", "coast").code == 0
    return folder


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def test_the_note_says_first_that_nothing_is_checked(folder: Path) -> None:
    note = only(folder, "vault/imports/2026/how-do-tide-pools-*.md").read_text()
    head, body = note.split("\n---\n", 1)
    assert 'status: "imported"' in head
    assert '"research/import"' in head
    assert '"topic/coast"' in head
    assert body.strip().split("\n")[2].startswith("> [!warning] Not checked")
    assert "### Oxygen in tide pools" in body
    assert "- **Night** Oxygen falls below 2 mg/l before dawn. Fish leave. (worker-1, confidence 0.8)" in body


def test_what_a_message_says_under_names_is_set_apart_on_its_line(folder: Path) -> None:
    (note,) = (folder / "vault" / "imports").rglob("graph-of-thought-*.md")
    assert "Use a steel barrel · Rationale: Plastic cracks in frost · Alternatives:" in note.read_text()


def test_every_import_has_a_note_and_home_and_a_table_list_them(folder: Path) -> None:
    notes = {path.stem for path in (folder / "vault" / "imports").rglob("*.md")}
    assert len(notes) == 6
    home = (folder / "vault" / "Home.md").read_text()
    assert "## Imported, not checked" in home
    assert set(re.findall(r"\[\[imports/2026/([^|]+)\|", home)) == notes
    assert "research/import" in (folder / "vault" / "bases" / "imports.base").read_text()


def test_an_unfinished_one_shows_its_question_for_the_queue(folder: Path) -> None:
    note = only(folder, "vault/imports/2026/why-do-limpets-*.md").read_text()
    assert '- query: "Why do limpets return to one place?"' in note


def test_the_site_has_a_page_and_a_list_and_the_search_tells_the_kind(folder: Path) -> None:
    page = only(folder, "site/imports/2026/how-do-tide-pools-*.html").read_text()
    assert "Not checked: it was imported" in page
    assert (folder / "site" / "browse" / "imports.html").exists()
    assert "imported, not checked" in (folder / "site" / "assets" / "search.js").read_text()


def test_no_report_list_and_no_feed_has_an_import(folder: Path) -> None:
    assert said(folder, "-q", "run").code == 0
    for page in ("browse/reports.html", "feed.xml"):
        assert "tide pools" not in (folder / "site" / page).read_text()


def test_what_a_person_wrote_into_the_note_survives_a_changed_original(folder: Path, tmp_path: Path) -> None:
    path = only(folder, "vault/imports/2026/how-do-tide-pools-*.md")
    path.write_text(path.read_text().replace("%% begin notes %%\n", "%% begin notes %%\nMy own words.\n", 1))
    write_session(tmp_path / "in" / "state", report="Something else.")
    assert said(folder, "import", str(tmp_path / "in")).code == 0
    assert "My own words." in path.read_text()
    assert "Something else." in path.read_text()


def test_the_incremental_build_gives_the_same_bytes_as_the_whole_one(folder: Path, tmp_path: Path) -> None:
    write_session(tmp_path / "in" / "state", id="another", query="Who feeds the gulls?")
    said(folder, "import", str(tmp_path / "in"))
    before = {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest}
    assert said(folder, "build", "--all").code == 0
    assert {name: digest for name, (_, digest) in everything(folder / "vault").items() if digest} == before


def test_only_the_notes_of_changed_imports_are_written(folder: Path, tmp_path: Path) -> None:
    before = everything(folder / "vault" / "imports")
    write_session(tmp_path / "in" / "state", report="Something else.")
    said(folder, "import", str(tmp_path / "in"))
    after = everything(folder / "vault" / "imports")
    changed = {name for name, (_, digest) in after.items() if digest and before[name][1] != digest}
    assert {name.partition("/")[2][:12] for name in changed} == {"how-do-tide-"}


def test_a_long_original_has_a_note_of_bounded_size(folder: Path, tmp_path: Path) -> None:
    worker = go_session()["workers"][0]
    worker["iterations"] = [{"number": n, "thought": f"Thought {n} " * 200, "action": "", "result": ""} for n in range(400)]
    write_session(tmp_path / "long", id="long", query="How long is a long session?", workers=[worker], report="Word " * 40_000)
    assert said(folder, "import", str(tmp_path / "long")).code == 0
    note = only(folder, "vault/imports/2026/how-long-*.md").read_text()
    assert len(note) < 300_000
    assert "The report is longer" in note
    assert "more messages" in note
