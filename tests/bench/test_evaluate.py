"""The evaluation on questions with known answers: its files, the matching of answers, and one whole run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from bench.evaluate.__main__ import main
from bench.evaluate.baseline import Baseline
from bench.evaluate.questions import load, match_in
from pipeline.errors import UsageError
from pipeline.text.cleaning import normalised

SETS = Path(__file__).parent.parent.parent / "bench" / "quality"
HARBOUR = """# The harbour

The harbour is 12 metres deep at low tide. It was dug in 1904 by hand.

Ships wait outside the harbour at night. Pilots bring ships into the harbour at dawn.
"""
FILES: dict[str, tuple[dict[str, Any], ...]] = {
    "topics": (
        {"id": "depth", "query": "How deep is the harbour?"},
        {"id": "ships", "query": "How do ships use the harbour?"},
        {"id": "secret", "query": "How often does the lighthouse beside the harbour flash?", "half": "held-out"},
    ),
    "answers": (
        {"id": "depth", "aliases": ["12 metres"], "doc": "harbour.md", "support": "The harbour is 12 metres deep"},
        {"id": "secret", "aliases": ["twice a minute"], "doc": "light.md"},
    ),
    "nuggets": (
        {"id": "ships", "nugget": "they wait at night", "vital": True, "any": ["wait outside"], "doc": "harbour.md"},
        {"id": "ships", "nugget": "there is a dragon", "any": ["re:dragons?"]},
    ),
    "unanswerable": ({"id": "soup", "query": "Which spice goes into a fish soup?", "kind": "off-topic"},),
}


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "harbour.md").write_text(HARBOUR)
    (tmp_path / "corpus" / "light.md").write_text("# The lighthouse\n\nThe lighthouse at the harbour flashes twice a minute.\n")
    for name, rows in FILES.items():
        write(tmp_path / f"{name}.jsonl", rows)
    return tmp_path


def test_one_run_scores_each_stage_and_says_nothing_of_held_out_questions(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(folder), "--mode", "fast", "--final", "--show", "--json", str(tmp_path / "figures.json")]
    assert main([*arguments, "--repeat", "2", "--keep", str(tmp_path / "kept")]) == 0
    printed, figures = capfd.readouterr().out, json.loads((tmp_path / "figures.json").read_text())
    assert "2 runs: 0 of 4 reports differ" in printed
    assert not any(word in printed + json.dumps(figures) for word in ("secret", "How often"))
    values = {row["id"]: row["values"] for row in figures["questions"]}
    assert [values["depth"][f"narrow.{at}"] for at in ("chosen", "1500", "150", "in the report", "ten")] == [1] * 5
    assert (values["ships"]["broad.1500"], values["ships"]["vital.1500"]) == (0.5, 1)
    assert (values["soup"]["refused.off-topic"], values["depth"]["refused.answerable"]) == (1, 0)
    assert main([str(folder), "--keep", str(tmp_path / "kept")]) == 2


def test_all_errors_of_the_files_are_named_at_once_without_their_text(folder: Path) -> None:
    write(
        folder / "topics.jsonl",
        [*FILES["topics"], {"id": "depth", "query": "x", "halff": "held-out"}, {"id": "soup", "query": "y"}],
    )
    write(folder / "answers.jsonl", [{"id": "deep", "aliases": ["re:("], "doc": "harbour.md"}, {"id": "depth", "aliases": []}])
    write(folder / "nuggets.jsonl", [{"id": "tide", "nugget": "n", "any": ["a"], "doc": "sea.md"}])
    (folder / "qrels.txt").write_text("depth 0 harbour.md 1\ndepth harbour.md\n")
    with pytest.raises(UsageError) as told:
        load(folder)
    places = (
        "topics.jsonl:4: halff",
        "unanswerable.jsonl:1: the id soup",
        "answers.jsonl:1: aliases",
        "answers.jsonl:2: aliases",
    )
    documents = ("nuggets.jsonl:1: there is no document sea.md", "no topic with the id tide", "qrels.txt:2: not four columns")
    for fault in (*places, *documents):
        assert fault in told.value.message
    assert "How deep" not in told.value.message


def test_expected_answers_are_held_against_the_documents(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder), "--check", "--final"]) == 0
    write(folder / "answers.jsonl", [{"id": "depth", "aliases": ["harbour"], "doc": "harbour.md", "support": "It is of cheese"}])
    write(folder / "nuggets.jsonl", [{"id": "ships", "nugget": "n", "any": ["dragon"], "doc": "light.md"}])
    capsys.readouterr()
    assert main([str(folder), "--check"]) == 1
    printed = capsys.readouterr().out
    assert "depth: the question gives its answer away" in printed
    assert "depth: the support of answer 1 is not in harbour.md" in printed
    assert "ships: none of the names of nugget 1 is found in light.md" in printed


@pytest.mark.parametrize(
    ("text", "alias", "found"),
    [
        ("It waits FIVE  seconds\nat most.", "five seconds", True),
        ("It keeps weak references only.", "weak reference", True),
        ("The handler of \u2018last resort\u2019", "'last resort'", True),
        ("integers between -5 and 256.", "re:-5 (and|to) 256", True),
        ("files called test*.py", "test*.py", True),
        ("an unstable sort", "stable", False),
        ("132 bytes", "32 bytes", False),
        ("43000 digits", "4300", False),
        ("", "anything", False),
    ],
)
def test_an_answer_is_found_whole_words_and_numbers_alone(text: str, alias: str, *, found: bool) -> None:
    assert bool(match_in(normalised(text), [alias])) is found


def test_the_baseline_prefers_rare_words_and_the_earlier_of_equal_windows() -> None:
    pages = ["# A\n\nThe harbour is deep.", "# B\n\nThe harbour has a lighthouse.", "# C\n\n| lamp | metres |\n| low | 12 |"]
    assert Baseline(pages).best("harbour lighthouse", 1) == ["B The harbour has a lighthouse."]
    assert Baseline(pages).best("metres") == ["C lamp metres low 12"]
    assert Baseline(["# A\n\nsame words", "# A\n\nsame words"]).best("same", 2) == ["A same words"] * 2
    assert Baseline([]).best("harbour") == []


@pytest.mark.parametrize("name", sorted(path.name for path in SETS.iterdir() if path.is_dir()))
def test_the_question_sets_of_the_project_are_well_formed(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:  # the documents are not here
        load(SETS / name, tmp_path)
    assert all("there is no document" in line for line in told.value.message.splitlines()[1:-1])
