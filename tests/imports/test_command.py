"""Imports by the command line: recorded once, shown as session notes that say that nothing is checked, evidence for nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.events.json_codec import decode
from pipeline.domain.session import record_of
from pipeline.store.file_store import FileStore
from tests.commanding import everything as files_of
from tests.commanding import said, workspace_in
from tests.imports.kit import everything, go_session, write_session

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


def note_of(folder: Path, begin: str) -> Path:
    (path,) = (folder / "vault" / "sessions").rglob(f"{begin}*.md")
    return path


def test_it_says_what_it_imported_and_queues_open_questions_where_that_is_asked(folder: Path, origin: Path) -> None:
    done = said(folder, "import", str(origin), "--tag", "coast")
    assert done.code == 0
    assert "imported: 6 sessions (6 new), 26 records" in done.out
    assert "nothing of it is checked" in done.out
    assert "3 questions still open: --queue adds them" in done.out
    assert "limpets" not in (folder / "queries.yaml").read_text()
    queued = said(folder, "import", str(origin), "--queue")
    assert queued.out.count("added to queries.yaml") == 3
    before = (folder / "queries.yaml").read_text()
    assert "Why do limpets return to one place?" in before
    assert "still open" not in said(folder, "import", str(origin), "--queue").out
    assert (folder / "queries.yaml").read_text() == before


def test_nothing_is_resumed_and_no_command_takes_it_for_a_session(folder: Path, origin: Path) -> None:
    before = json.loads(said(folder, "--json", "list").out)["queries"]
    said(folder, "import", str(origin))
    assert json.loads(said(folder, "--json", "list").out)["queries"] == before
    name = only(folder, "import-go-research-why-do-limpets")
    for command in (["resume", name], ["export", name], ["ask", name, "Why do limpets return?"], ["why", name, "limpets"]):
        refused = said(folder, *command)
        assert refused.code == 2, command
        assert "was imported from another program and is not checked" in refused.err


def test_a_dry_run_says_the_same_and_writes_nothing(folder: Path, origin: Path) -> None:
    said(folder, "list")
    before = files_of(folder)
    done = said(folder, "import", str(origin), "--dry-run", "--queue")
    assert (done.code, "would be imported: 6 sessions (6 new)" in done.out) == (0, True)
    assert files_of(folder) == before


def test_a_second_import_changes_no_file_and_a_changed_original_is_recorded(folder: Path, origin: Path) -> None:
    said(folder, "-q", "import", str(origin))
    before = {name: digest for name, (_, digest) in files_of(folder).items() if "/local" not in name}
    assert "(6 unchanged)" in said(folder, "import", str(origin)).out
    assert {name: digest for name, (_, digest) in files_of(folder).items() if "/local" not in name} == before
    path = note_of(folder, "import-go-research-how-do-tide-pools")
    path.write_text(path.read_text().replace("%% begin notes %%\n", "%% begin notes %%\nMy own words.\n", 1))
    write_session(origin / "state", report="Something else.")
    assert "1 changed" in said(folder, "import", str(origin)).out
    write_session(origin / "state")
    assert "1 changed" in said(folder, "import", str(origin)).out  # back to what it was
    assert "My own words." in path.read_text()
    assert said(folder, "verify").code == 0


def test_what_is_left_out_is_named_also_under_q_and_is_exit_code_1(folder: Path, origin: Path) -> None:
    write_session(origin / "state", id="bad", workers=["x"])
    done = said(folder, "-q", "import", str(origin))
    assert done.code == 1
    assert "an entry of “workers” should be an object; it is left out" in done.err
    assert said(folder, "import", str(origin / "nothing")).code == 2
    assert "nothing in" in said(folder, "import", str(folder / "corpus")).err


def test_an_import_is_a_session_note_whose_banner_says_that_nothing_is_checked(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin), "--tag", "coast")
    head, body = note_of(folder, "import-go-research-how-do-tide-pools").read_text().split("\n---\n", 1)
    assert 'kind: "session"' in head
    assert 'status: "imported"' in head
    assert '"topic/coast"' in head
    assert body.strip().split("\n")[2].startswith("> [!warning] Not checked")
    assert "Algae make oxygen by day." in body
    assert "- **Night** Oxygen falls below 2 mg/l before dawn. Fish leave. (worker-1, confidence 0.8)" in body
    assert "## Still open\n\n- " in note_of(folder, "import-go-research-why-do-limpets").read_text()
    (page,) = (folder / "site").rglob("import-go-research-how-do-tide-pools*.html")
    assert "Not checked: it was imported" in page.read_text()
    before = {name: digest for name, (_, digest) in files_of(folder / "vault").items() if digest}
    assert said(folder, "build", "--all").code == 0
    assert {name: digest for name, (_, digest) in files_of(folder / "vault").items() if digest} == before


def test_a_long_original_has_a_note_of_bounded_size(folder: Path, tmp_path: Path) -> None:
    worker = go_session()["workers"][0]
    worker["iterations"] = [{"number": n, "thought": f"Thought {n} " * 200, "action": "", "result": ""} for n in range(900)]
    write_session(tmp_path / "long", id="long", query="How long is a long session?", workers=[worker], report="Word " * 40_000)
    assert said(folder, "import", str(tmp_path / "long")).code == 0
    note = note_of(folder, "import-go-research-how-long").read_text()
    assert len(note) < 300_000
    assert "more records" in note


def test_list_show_and_log_print_it_and_verify_finds_a_lost_original(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin), "--tag", "coast")
    name = only(folder, "import-got")
    assert "not checked" in said(folder, "list", "--status", "imported", "--tag", "coast").out
    assert "Not checked" in said(folder, "show", name).out
    assert "research.imported" in said(folder, "log", name).out
    assert said(folder, "verify").code == 0
    digest = json.loads(said(folder, "--json", "show", name).out)["digest"]
    (folder / "events" / "objects" / digest[:2] / f"{digest}.gz").unlink()
    lost = said(folder, "verify")
    assert (lost.code, digest in lost.out) == (20, True)


def test_a_forgotten_import_is_gone_and_stays_so_and_a_hidden_one_has_no_note(folder: Path, origin: Path) -> None:
    said(folder, "import", str(origin))
    name = only(folder, "import-go-research-how-do-tide-pools")
    assert said(folder, "hide", name).code == 0
    assert not list((folder / "vault").rglob("*how-do-tide-pools*.md"))
    assert said(folder, "unhide", name).code == 0
    digest = json.loads(said(folder, "--json", "show", name).out)["digest"]
    assert said(folder, "forget", name, "--yes").code == 0
    assert name not in imports_in(folder)
    assert not list((folder / "vault").rglob("*how-do-tide-pools*.md"))
    assert not (folder / "events" / "objects" / digest[:2] / f"{digest}.gz").exists()
    write_session(origin / "state", query="How do pools breathe?")
    assert "not imported again, because it was forgotten" in said(folder, "import", str(origin)).err
    assert len(imports_in(folder)) == 5
    assert said(folder, "verify").code == 0
    assert b"tide pools" not in b"".join(path.read_bytes() for path in (folder / "events" / "imports").iterdir())


def test_keys_of_the_user_are_not_recorded(folder: Path, tmp_path: Path) -> None:
    (folder / ".env").write_text("BRAVE_API_KEY=a-very-private-key-of-mine\n")
    write_session(tmp_path / "in", report="The key is a-very-private-key-of-mine, of course.")
    said(folder, "import", str(tmp_path / "in"))
    assert "[redacted]" in note_of(folder, "import-go-research").read_text().replace("\\", "")
    assert not [path for path in (folder / "events" / "imports").iterdir() if b"private-key" in path.read_bytes()]


def test_what_is_imported_is_no_evidence(folder: Path, tmp_path: Path) -> None:
    claim = "The harbour is ninety metres deep at low tide."
    write_session(tmp_path / "in", query="How deep is the harbour at low tide?", report=claim,
                  insights=[{"title": "", "finding": claim, "confidence": 1.0, "sources": [], "worker_id": ""}])  # fmt: skip
    said(folder, "import", str(tmp_path / "in"))
    assert said(folder, "-q", "run").code == 0
    for command in (["ask", "How deep is the harbour at low tide?"], ["export", "depth"], ["references", "depth"]):
        assert "ninety" not in said(folder, *command).out
    notes = [path.read_text() for path in (folder / "vault").rglob("*.md") if not path.name.startswith("import-")]
    assert not [text for text in notes if "ninety" in text]


def test_what_an_earlier_version_imported_is_read_and_shown_where_its_note_is(folder: Path) -> None:
    store, name = FileStore(folder / "events"), "import-got-graph-of-thought-garden-7e09216f"
    counts = {"records": 3, "items": 3, "merged": 0, "left_out": 0}
    said_then = {
        "kind": "got",
        "original_id": "x",
        "origin": ".got",
        "digest": store.objects.put(b"tar"),
        "ordinals": 3,
        "counts": counts,
    }
    parts: list[dict[str, Any]] = [
        {"type": "run.started", "host": "here", "process": 1, "program": "test"},
        {"type": "research.imported", **said_then, "title": "Graph of Thought: garden", "tags": ["coast"], "findings": []},
        {"type": "message.imported", "ordinal": 0, "role": "task", "text": "Choose a rain gauge", "links": ["DEPENDS_ON D-1"]},
        {"type": "facts.imported", "ordinal": 1, "author": "w1", "facts": [{"text": "It rains.", "confidence": 0.9}]},
        {"type": "report.imported", "ordinal": 2, "text": "# Rain\n\nMuch of it."},
        {"type": "message.imported", "ordinal": 0, "role": "task", "text": "Choose a better rain gauge"},
        {"type": "message.imported", "ordinal": 3, "role": "task", "text": "No longer in the original"},
    ]
    envelope = {"session_id": name, "at": "2026-04-01T10:00:00.000Z", "run_id": "run-1"}
    events = [decode(json.dumps({"id": f"e{n}", "version": n, **envelope, **one}).encode()) for n, one in enumerate(parts, 1)]
    store.append(name, [record_of(event) for event in events], 0)
    store.release(name)
    assert said(folder, "build").code == 0
    note = (folder / "vault" / "imports" / "2026" / "graph-of-thought-garden-7e09216f.md").read_text()
    assert "> [!warning] Not checked" in note
    for words in ("Choose a better rain gauge", "It rains. (w1)", "Much of it."):
        assert words in note
    assert "No longer" not in note
    assert "Graph of Thought: garden" in said(folder, "list", "--status", "imported").out
    assert said(folder, "verify").code == 0
