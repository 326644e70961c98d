from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

from pipeline.domain.imports.import_events import FactsImported, MessageImported, ReportImported
from tests.adapters.imports.kit import go_event, go_events, read, write_events


def test_an_event_folder_becomes_one_session(tmp_path: Path) -> None:
    write_events(tmp_path, go_events())
    ((one,), findings) = read(tmp_path)
    assert not findings
    assert not one.tally.findings
    assert (one.kind, one.original_id, one.status, one.question) == (
        "go-research-events", "2026-02-01-cafe0001", "complete", "What do barnacles eat in winter?"
    )  # fmt: skip
    assert one.tally.counts.model_dump() == {"records": 10, "items": 10, "merged": 0, "left_out": 0}
    roles = [item.role if isinstance(item, MessageImported) else item.type for item in one.tally.items]
    assert roles == [
        "question",
        "plan",
        "worker",
        "worker",
        "facts.imported",
        "analysis",
        "facts.imported",
        "step",
        "report.imported",
        "end",
    ]
    facts = [item for item in one.tally.items if isinstance(item, FactsImported)]
    assert facts[0].facts[0].sources == ("https://example.org/barnacles",)
    (report,) = [item for item in one.tally.items if isinstance(item, ReportImported)]
    assert (report.text, report.sources) == ("They eat diatoms.", ("https://example.org/barnacles",))
    (end,) = [item for item in one.tally.items if isinstance(item, MessageImported) and item.role == "end"]
    assert end.seconds == 90.0


def test_the_original_is_an_archive_of_all_event_files(tmp_path: Path) -> None:
    write_events(tmp_path, go_events())
    ((one,), _) = read(tmp_path)
    with tarfile.open(fileobj=io.BytesIO(one.original)) as archive:
        names = archive.getnames()
        file = archive.extractfile(names[0])
        assert file is not None
        assert json.loads(file.read())["type"] == "research.started"
    assert len(names) == one.files == 8
    assert read(tmp_path)[0][0].original == one.original


def test_doubled_and_missing_versions_are_named_and_all_events_are_kept(tmp_path: Path) -> None:
    events = [go_event(1, "research.started", query="Why?"), go_event(2, "worker.started", worker_id="a"),
              go_event(2, "worker.failed", worker_id="b", error="no quota"),
              go_event(6, "analysis.started", total_facts=0)]  # fmt: skip
    write_events(tmp_path, events)
    ((one,), _) = read(tmp_path)
    said = [finding.what for finding in one.tally.findings]
    assert said == [
        "version 2 occurs 2 times; all these events are kept, in the order of their files",
        "the versions 3 to 5 are missing in the folder",
    ]
    assert len(one.tally.items) == 4
    assert one.queue == ("Why?",)


def test_an_event_of_an_unknown_type_is_kept_as_it_is(tmp_path: Path) -> None:
    write_events(tmp_path, [go_event(1, "research.started", query="Why?"), go_event(2, "moon.risen", phase="full")])
    ((one,), _) = read(tmp_path)
    kept = one.tally.items[-1]
    assert isinstance(kept, MessageImported)
    assert (kept.role, kept.name, kept.text) == ("event", "moon.risen", '{"phase": "full"}')
    assert "unknown type" in one.tally.findings[0].what


def test_a_folder_without_a_readable_event_is_no_session(tmp_path: Path) -> None:
    inside = write_events(tmp_path, []) / "events"
    (inside / "000001_research_started.json").write_text("{")
    sessions, findings = read(tmp_path)
    assert not sessions
    assert findings[-1].what == "none of its events can be read"
