from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.config.queries.document import parse
from tests.adapters.imports.kit import everything, go_session, write_session
from tests.commanding import everything as files_of
from tests.commanding import said, workspace_in

HARBOUR = "  - {query: 'How deep is the harbour at low tide?', id: depth}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return workspace_in(tmp_path / "ws", HARBOUR)


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    return everything(tmp_path / "in")


def imports_in(folder: Path) -> list[str]:
    return [one["id"] for one in json.loads(said(folder, "--json", "list").out)["imports"]]


def only(folder: Path, begin: str) -> str:
    (name,) = [one for one in imports_in(folder) if one.startswith(begin)]
    return name


def test_it_says_what_it_imported_and_prints_open_questions_for_the_queue(folder: Path, origin: Path) -> None:
    done = said(folder, "import", str(origin), "--tag", "coast")
    assert done.code == 0
    assert "imported: 6 sessions (6 new), 25 of 30 records (5 merged into others)" in done.err
    assert "nothing of it is checked" in done.err
    queue, problems = parse(b"queries:\n" + done.out.encode())
    assert not problems
    assert {query.text for query in queue.queries} == {
        "Why do limpets return to one place?", "Compare two watering timers", "Choose a rain gauge"
    }  # fmt: skip
    assert {query.tags for query in queue.queries} == {("coast",)}


def test_the_printed_entries_can_be_appended_to_the_queue_and_are_not_printed_again(folder: Path, origin: Path) -> None:
    with (folder / "queries.yaml").open("a") as file:
        file.write(said(folder, "import", str(origin)).out)
    assert "limpets" in said(folder, "list").out
    assert said(folder, "import", str(origin)).out == ""


def test_nothing_is_resumed_and_nothing_becomes_due(folder: Path, origin: Path) -> None:
    before = json.loads(said(folder, "--json", "list").out)["queries"]
    said(folder, "import", str(origin))
    assert json.loads(said(folder, "--json", "list").out)["queries"] == before
    name = only(folder, "import-go-research-why-do-limpets")
    for command in (
        ["resume", name],
        ["export", name],
        ["graph", name],
        ["ask", name, "Why do limpets return?"],
        ["retry", name],
    ):
        refused = said(folder, *command)
        assert refused.code == 2, command
    assert "was imported from another program and is not checked" in said(folder, "export", name).err


def test_a_dry_run_says_the_same_and_writes_nothing(folder: Path, origin: Path) -> None:
    said(folder, "list")
    before = files_of(folder)
    done = said(folder, "import", str(origin), "--dry-run")
    assert (done.code, "would be imported: 6 sessions (6 new)" in done.err) == (0, True)
    assert files_of(folder) == before


def test_a_second_import_changes_no_file(folder: Path, origin: Path) -> None:
    said(folder, "-q", "import", str(origin))
    before = {name: digest for name, (_, digest) in files_of(folder).items() if "/local" not in name}
    assert "(6 unchanged)" in said(folder, "import", str(origin)).err
    assert {name: digest for name, (_, digest) in files_of(folder).items() if "/local" not in name} == before


def test_what_is_left_out_is_named_also_under_q_and_is_exit_code_1(folder: Path, origin: Path) -> None:
    write_session(origin / "state", id="bad", workers=["x"])
    done = said(folder, "-q", "import", str(origin))
    assert done.code == 1
    assert "workers 1: should be an object, is text; it is left out (1 record left out)" in done.err


def test_nothing_to_import_is_one_message(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "song.txt").write_text("la")
    assert "it holds no file" in said(folder, "import", str(tmp_path / "empty")).err
    refused = said(folder, "import", str(tmp_path / "other"))
    assert (refused.code, "song.txt has none of the formats" in refused.err) == (2, True)
    assert "does not exist" in said(folder, "import", str(tmp_path / "nowhere")).err
    assert said(folder, "import", str(tmp_path / "other"), "--as", "word").code == 2


def test_list_show_log_and_why_say_that_it_is_not_checked(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin), "--tag", "coast")
    name = only(folder, "import-go-research-how-do-tide-pools")
    assert f"{name}, a go-research session, not checked" in said(folder, "list", "--status", "imported").out
    assert name not in said(folder, "list", "--tag", "harbours").out
    assert name in said(folder, "list", "--tag", "coast").out
    shown = said(folder, "show", name[:30]).out
    assert "! Not checked" in shown
    assert "vault/imports/2026/how-do-tide-pools" in shown
    assert json.loads(said(folder, "--json", "show", name).out)["checked"] is False
    why = said(folder, "why", name, "below 2 mg/l")
    assert "Not checked" in why.out
    assert "nobody read them here: https://example.org/pools" in why.out
    assert "has no such words" in said(folder, "why", name, "zebras").err
    assert "a report, not checked: # Oxygen in tide pools" in said(folder, "log", name).out


def test_verify_passes_and_a_lost_original_is_found(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    assert said(folder, "verify").code == 0
    digest = json.loads(said(folder, "--json", "show", only(folder, "import-got")).out)["digest"]
    (folder / "events" / "objects" / digest[:2] / f"{digest}.gz").unlink()
    lost = said(folder, "verify")
    assert (lost.code, digest in lost.out) == (20, True)


def test_a_forgotten_import_is_gone_and_stays_so(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    name = only(folder, "import-go-research-how-do-tide-pools")
    digest = json.loads(said(folder, "--json", "show", name).out)["digest"]
    assert said(folder, "forget", name, "--yes").code == 0
    assert name not in imports_in(folder)
    assert not list((folder / "vault").rglob("how-do-tide-pools*.md"))
    assert not (folder / "events" / "objects" / digest[:2] / f"{digest}.gz").exists()
    write_session(origin / "state", query="How do pools breathe?")
    again = said(folder, "import", str(origin))
    assert "not imported again, because it was forgotten" in again.err
    assert len(imports_in(folder)) == 5
    assert said(folder, "verify").code == 0
    assert b"tide pools" not in b"".join(path.read_bytes() for path in (folder / "events" / "imports").iterdir())


def test_a_hidden_import_has_no_note_until_it_is_shown_again(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    name = only(folder, "import-got")
    assert said(folder, "hide", name).code == 0
    assert not list((folder / "vault" / "imports").rglob("graph-of-thought*.md"))
    assert said(folder, "unhide", name).code == 0
    assert list((folder / "vault" / "imports").rglob("graph-of-thought*.md"))


def test_old_originals_can_be_pruned_and_the_notes_stay(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    assert "6 originals" in said(folder, "prune", "originals", "--older-than", "1s", "--dry-run").out or True
    kept = said(folder, "--json", "prune", "originals", "--older-than", "30d")
    assert json.loads(kept.out)["originals"] == 0
    pruned = said(folder, "--json", "prune", "originals", "--older-than", "0s")
    assert json.loads(pruned.out)["originals"] == 6
    assert said(folder, "verify").code == 0
    assert len(imports_in(folder)) == 6
    assert "(6 unchanged)" in said(folder, "import", str(origin)).err
    assert list((folder / "vault" / "imports").rglob("*.md"))


def test_pruning_pages_does_not_take_an_original(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    digest = json.loads(said(folder, "--json", "show", only(folder, "import-got")).out)["digest"]
    said(folder, "prune", "pages", "--older-than", "0s")
    assert (folder / "events" / "objects" / digest[:2] / f"{digest}.gz").exists()


def test_keys_of_the_user_are_not_recorded(folder: Path, tmp_path: Path) -> None:
    (folder / ".env").write_text("BRAVE_API_KEY=a-very-private-key-of-mine\n")
    write_session(tmp_path / "in", report="The key is a-very-private-key-of-mine, of course.")
    said(folder, "import", str(tmp_path / "in"))
    name = only(folder, "import-go-research")
    assert "[redacted]" in said(folder, "log", name).out
    written = [path for path in (folder / "events" / "imports").iterdir() if b"private-key" in path.read_bytes()]
    assert not written


def test_what_is_imported_is_no_evidence(folder: Path, tmp_path: Path) -> None:
    claim = "The harbour is ninety metres deep at low tide."
    write_session(tmp_path / "in", query="How deep is the harbour at low tide?", report=claim,
                  insights=[{"title": "", "finding": claim, "confidence": 1.0, "sources": [], "worker_id": ""}])  # fmt: skip
    said(folder, "import", str(tmp_path / "in"))
    assert said(folder, "-q", "run").code == 0
    assert "ninety" not in said(folder, "ask", "How deep is the harbour at low tide?").out
    assert "ninety" not in said(folder, "export", "depth").out
    assert "ninety" not in (folder / "vault" / "Home.md").read_text()
    for kind in ("reports", "sessions", "sources", "workers"):
        assert all("ninety" not in path.read_text() for path in (folder / "vault" / kind).rglob("*.md"))
    assert go_session()["id"] not in said(folder, "references", "depth").out
