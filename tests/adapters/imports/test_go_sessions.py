from __future__ import annotations

import json
from pathlib import Path

from pipeline.domain.imports.import_events import FactsImported, MessageImported, ReportImported
from tests.adapters.imports.kit import POOLS, go_session, read, write_session


def test_a_session_becomes_its_worker_thoughts_calls_insights_and_report(tmp_path: Path) -> None:
    write_session(tmp_path)
    ((one,), findings) = read(tmp_path)
    assert not findings
    assert (one.kind, one.original_id, one.status, one.finished, one.queue) == (
        "go-research",
        "2026-01-05-ab12cd34",
        "complete",
        True,
        (),
    )
    worker, thought, call, insights, report = one.tally.items
    assert isinstance(worker, MessageImported)
    assert (worker.role, worker.result, worker.when) == ("worker", "Algae use oxygen at night.", "2026-01-05T08:00:00.000Z")
    assert isinstance(thought, MessageImported)
    assert (thought.text, thought.name, thought.when) == ("Look for measurements at night", "search", "2026-01-05T08:00:01.123Z")
    assert isinstance(call, MessageImported)
    assert (call.seconds, call.success, call.text) == (1.5, True, '{"query": "tide pool oxygen"}')
    assert isinstance(insights, FactsImported)
    assert insights.facts[0].model_dump() == {
        "text": "Oxygen falls below 2 mg/l before dawn.\n\nFish leave.", "title": "Night", "confidence": 0.8, "sources": (POOLS,)
    }  # fmt: skip
    assert isinstance(report, ReportImported)
    assert report.text.startswith("# Oxygen in tide pools")
    assert [item.ordinal for item in one.tally.items] == [0, 1, 2, 3, 4]
    assert one.tally.counts.model_dump() == {"records": 5, "items": 5, "merged": 0, "left_out": 0}


def test_the_original_is_kept_byte_for_byte(tmp_path: Path) -> None:
    path = write_session(tmp_path)
    ((one,), _) = read(tmp_path)
    assert one.original == path.read_bytes()


def test_an_unfinished_session_names_its_question_for_the_queue(tmp_path: Path) -> None:
    for number, status in enumerate(("pending", "running", "failed", "complete", "expanded")):
        write_session(tmp_path, id=f"s{number}", query=f"Question {number}?", status=status)
    sessions, _ = read(tmp_path)
    assert [one.queue for one in sessions] == [("Question 0?",), ("Question 1?",), ("Question 2?",), (), ()]


def test_a_time_that_was_never_set_is_unknown(tmp_path: Path) -> None:
    write_session(tmp_path, created_at="0001-01-01T00:00:00Z", updated_at="")
    ((one,), _) = read(tmp_path)
    assert (one.created, one.updated, one.tally.findings) == ("", "", [])


def test_of_two_files_of_one_session_the_first_is_imported(tmp_path: Path) -> None:
    write_session(tmp_path)
    (tmp_path / "copy.json").write_text(json.dumps(go_session()))
    sessions, findings = read(tmp_path)
    assert len(sessions) == 1
    assert "is the same session as 2026-01-05-ab12cd34.json" in findings[0].what
    assert findings[0].records == 5


def test_a_single_file_can_be_imported(tmp_path: Path) -> None:
    ((one,), _) = read(write_session(tmp_path))
    assert one.origin == "2026-01-05-ab12cd34.json"


def test_fields_that_are_not_read_are_named(tmp_path: Path) -> None:
    session = go_session(extra={"a": 1})
    session["workers"][0]["thoughts"] = [{"content": "a thought"}]
    path = write_session(tmp_path)
    path.write_text(json.dumps(session))
    ((one,), _) = read(tmp_path)
    assert [finding.what.partition(";")[0] for finding in one.tally.findings] == [
        "session: not read are the fields extra",
        "worker: not read are the fields thoughts",
    ]


def test_a_report_that_is_no_text_is_left_out_and_counted(tmp_path: Path) -> None:
    path = write_session(tmp_path)
    path.write_text(json.dumps(go_session(report={"title": "T", "full_content": "all of it"})))
    ((one,), _) = read(tmp_path)
    assert one.tally.counts.left_out == 1
    assert not [item for item in one.tally.items if isinstance(item, ReportImported)]
