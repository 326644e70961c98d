"""Expected answers held against the documents."""

from __future__ import annotations

from pathlib import Path

from pipeline.evaluate.evaluation import faults_of
from pipeline.evaluate.question_set.answer_check import check
from pipeline.evaluate.question_set.question_set import load
from tests.evaluate.folders import ANSWERS, folder_in, lines


def test_documents_that_hold_every_answer_have_no_fault(tmp_path: Path) -> None:
    assert faults_of(load(folder_in(tmp_path / "set"))) == []


def test_what_no_document_holds_is_named_by_id(tmp_path: Path) -> None:
    folder = folder_in(tmp_path / "set")
    wrong = [
        {"id": "depth", "aliases": ["13 metres"], "doc": "harbour.md", "support": "The harbour is 12 metres deep"},
        {"id": "depth", "aliases": ["harbour"], "doc": "harbour.md", "support": "It is made of cheese"},
    ]
    lines(folder / "answers.jsonl", [*ANSWERS[1:], *wrong])
    lines(folder / "nuggets.jsonl", [{"id": "ships", "nugget": "n", "any": ["dragon"], "doc": "light.md"}])
    faults = faults_of(load(folder))
    assert "depth: answer 1: no alias matches in or around its support in harbour.md" in faults
    assert "depth: answer 2: its support is not in harbour.md" in faults
    assert "depth: answer 2: the question gives its answer away" in faults
    assert "ships: nugget 1: none of its names is found in light.md" in faults


def test_an_answer_may_stand_beside_its_support(tmp_path: Path) -> None:
    folder = folder_in(tmp_path / "set")
    row = {"id": "depth", "aliases": ["1904"], "doc": "harbour.md", "support": "The harbour is 12 metres deep"}
    lines(folder / "answers.jsonl", [row])
    assert faults_of(load(folder)) == []


def test_each_side_of_a_pair_must_stand_in_its_document(tmp_path: Path) -> None:
    folder = folder_in(tmp_path / "set")
    a, b = "{document: light, sentence: Its lamp was electrified in 1931.}", "{document: harbour, sentence: It is of glass.}"
    (folder / "pairs.yaml").write_text(f"subjects:\n  - {{id: p, query: q, planted: [{{a: {a}, b: {b}}}]}}\n")
    assert faults_of(load(folder)) == ["p: a sentence is not in harbour"]


def test_a_document_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    assert "depth: answer 1: harbour.md cannot be read" in list(check(load(folder_in(tmp_path / "set")), {}))
