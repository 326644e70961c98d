"""Questions that are limited to a folder, and folders in order of preference, by the command line."""

from __future__ import annotations

from pathlib import Path

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.store.file_store import FileStore
from tests.commanding import said, workspace_in

QUERY = "How loud is the pump of the harbour?"


def folders_in(folder: Path) -> None:
    """Write a note and a manual that say about the same."""
    for name, words in (("notes", "I heard it in May"), ("manuals", "the maker measured it")):
        (folder / name).mkdir()
        (folder / name / "pump.md").write_text(f"# {name}\n\nThe pump of the harbour is 80 decibels loud; {words}.\n")


def events_in(folder: Path) -> list[e.EventBase]:
    store = FileStore(folder / "events")
    return [event for name in store.ids("session") for event in decode_all(record.data for record in store.load(name))]


def test_a_question_finds_only_what_its_folder_holds_and_its_session_keeps_that(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path / "w", f"  - {{query: {QUERY}, id: q, in: manuals/}}\n")
    folders_in(folder)
    (folder / "queries.yaml").write_text("settings: {corpus: [notes, manuals]}\n" + (folder / "queries.yaml").read_text())
    assert said(folder, "run").code == 0
    events = events_in(folder)
    (started,) = (event for event in events if isinstance(event, e.ResearchStarted))
    assert (started.config.within, started.config.search) == ("manuals/", ("local",))
    assert {event.url for event in events if isinstance(event, e.PageRead)} == {"corpus:@manuals/pump.md"}


def test_a_folder_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path / "w", f"  - {{query: {QUERY}, id: q, in: nowhere/}}\n")
    result = said(folder, "run")
    assert result.code == 1
    assert "Your documents have no folder nowhere/." in result.out + result.err
