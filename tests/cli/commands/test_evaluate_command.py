"""``evaluate`` as it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commanding import said
from tests.evaluate.folders import folder_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_in(tmp_path / "set")


def figures(value: dict[str, Any], half: str = "dev") -> dict[str, float]:
    return {entry["figure"]: entry["value"] for entry in value["totals"][half]}


def evaluated(folder: Path, *args: str) -> dict[str, Any]:
    answer = said(folder.parent, "--json", "evaluate", str(folder), "--mode", "fast", *args)
    assert answer.code == 0, answer.err
    value: dict[str, Any] = json.loads(answer.out)
    return value


def test_the_program_is_scored_offline_beside_the_baseline(folder: Path) -> None:
    value = evaluated(folder)
    found = figures(value)
    assert found["answer in the summary (150 words)"] == 1.0
    assert found["baseline: answer in the best passage (150 words)"] == 1.0
    assert found["nuggets in 1500 words, mean"] == 0.5
    assert found["vital nuggets in 1500 words, mean"] == 1.0
    assert found["quotes found in the stored page"] == 1.0
    assert found["citations that resolve"] == 1.0
    assert found["sessions that failed"] == 0.0
    assert {entry["id"] for entry in value["questions"]} == {"depth", "ships", "soup"}


def test_of_held_out_questions_only_totals_are_printed(folder: Path, tmp_path: Path) -> None:
    lines = said(
        folder.parent, "evaluate", str(folder), "--mode", "fast", "--final", "--show", "--json", str(tmp_path / "out.json")
    )
    assert "held-out: 1 question (1 narrow)" in lines.out
    written = (tmp_path / "out.json").read_text()
    for text in ("secret", "How often", "twice a minute"):
        shown = "\n".join(line for line in lines.out.splitlines() if "ships" not in line and "text:" not in line)
        assert text not in shown + lines.err
    assert figures(json.loads(written), "held-out")["sessions that failed"] == 0.0
    assert {entry["id"] for entry in json.loads(written)["questions"]} == {"depth", "ships", "soup"}


def test_two_runs_give_equal_reports(folder: Path) -> None:
    assert evaluated(folder, "--repeat", "2", "--only", "depth")["repeat"] == {"runs": 2, "differing": 0, "ids": []}


def test_what_is_shown_names_what_is_missing(folder: Path) -> None:
    shown = said(folder.parent, "evaluate", str(folder), "--mode", "fast", "--show").out
    assert "--- depth (narrow): How deep is the harbour?" in shown
    assert "answer in 150 words: '12 metres'" in shown
    assert "missing: there is a dragon" in shown


def test_settings_are_compared_by_question(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "queries.yaml").write_text("settings: {reasoner: extractive, search: [local]}\nqueries: []\n")
    value = evaluated(folder, "--against", str(tmp_path / "other"))
    equal = [entry for entry in value["against"]["dev"] if entry["figure"] == "answer in the summary (150 words)"]
    assert [(entry["this"], entry["other"], entry["better"], entry["worse"]) for entry in equal] == [(1.0, 1.0, 0, 0)]
    refused = said(folder.parent, "evaluate", str(folder), "--against", str(folder))
    assert refused.code == 2
    assert "neither queries.yaml nor templates" in refused.err


def test_reports_are_written_in_the_shapes_of_benchmarks(folder: Path, tmp_path: Path) -> None:
    evaluated(folder, "--final", "--write", "deepresearch", str(tmp_path / "a.jsonl"))
    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())}
    assert set(rows) == {"depth", "ships", "soup"}
    assert rows["depth"].keys() == {"id", "prompt", "article"}
    assert "12 metres deep" in rows["depth"]["article"]
    assert "## References\n\n[1] " in rows["depth"]["article"]
    evaluated(folder, "--write", "trec-rag", str(tmp_path / "b.jsonl"))
    row = next(row for row in map(json.loads, (tmp_path / "b.jsonl").read_text().splitlines()) if row["topic_id"] == "depth")
    assert row.keys() == {"run_id", "topic_id", "topic", "references", "response_length", "answer"}
    assert "harbour.md" in row["references"]
    assert all(0 <= place < len(row["references"]) for sentence in row["answer"] for place in sentence["citations"])


def test_answers_are_held_against_the_documents_without_asking(folder: Path) -> None:
    checked = said(folder.parent, "evaluate", str(folder), "--check")
    assert (checked.code, checked.out) == (0, "the documents hold the expected answers of all 3 questions\n")
    (folder / "corpus" / "harbour.md").write_text("# The harbour\n\nIt is gone, all of it.\n")
    assert said(folder.parent, "evaluate", str(folder), "--check").code == 1


def test_a_data_set_is_converted_and_can_be_evaluated(tmp_path: Path) -> None:
    row = {"query_id": "1", "query": "How deep is the harbour?", "answer": "12 metres"}
    document = {"docid": "h", "text": "The harbour is 12 metres deep at low tide."}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row | {"gold_docs": [document]}) + "\n")
    made = said(tmp_path, "evaluate", "--convert", "browsecomp-plus", str(tmp_path / "rows.jsonl"), str(tmp_path / "out"))
    assert made.out.startswith("1 question and 1 document written to ")
    assert figures(evaluated(tmp_path / "out"))["answer in the summary (150 words)"] == 1.0


def test_sessions_are_kept_where_one_asks_for_it(folder: Path, tmp_path: Path) -> None:
    evaluated(folder, "--keep", str(tmp_path / "kept"), "--only", "depth")
    assert "q00001-depth" in said(tmp_path / "kept", "list").out
    again = said(folder.parent, "evaluate", str(folder), "--keep", str(tmp_path / "kept"))
    assert again.code == 2
    assert "is not empty" in again.err


@pytest.mark.parametrize("args", [("nowhere",), ("set", "--only", "no-such"), ("set", "--corpus", "nowhere")])
def test_a_mistake_is_one_message_with_exit_code_2(folder: Path, args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    refused = said(folder.parent, "evaluate", *args)
    assert refused.code == 2
    assert refused.err.startswith("research: ")


def test_a_provider_that_is_not_set_up_ends_it_before_a_question_is_asked(folder: Path) -> None:
    answer = said(folder.parent, "evaluate", str(folder), "--search", "brave")
    assert answer.code == 2
    assert "BRAVE_API_KEY" in answer.err


def test_both_configurations_are_checked_before_a_question_is_asked(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "queries.yaml").write_text("settings: {search: [brave]}\nqueries: []\n")
    answer = said(folder.parent, "evaluate", str(folder), "--against", str(tmp_path / "other"))
    assert answer.code == 2
    assert "BRAVE_API_KEY" in answer.err
    assert "researching" not in answer.err
