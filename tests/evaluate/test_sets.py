"""The question sets that come with the project are well formed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pipeline.evaluate.evaluation import faults_of
from pipeline.evaluate.question_set.jsonl_reader import Faults, json_rows, yaml_rows
from pipeline.evaluate.question_set.question_set import load
from pipeline.evaluate.question_set.rows import Answer, Nugget, Subject, Topic
from pipeline.evaluate.scoring.answer_matching import found

SETS = Path(__file__).parent.parent.parent / "bench" / "quality"


def rows(name: str, model: type[Topic | Answer | Nugget]) -> list[Topic | Answer | Nugget]:
    faults = Faults()
    found_rows = [placed.row for placed in json_rows(SETS / "python" / name, model, {}, faults)]
    faults.raise_if_any()
    return found_rows


def test_the_planted_pairs_stand_in_their_documents() -> None:
    assert faults_of(load(SETS / "planted")) == []


def test_both_halves_are_as_large_within_one() -> None:
    subjects = [placed.row for placed in yaml_rows(SETS / "planted" / "pairs.yaml", "subjects", Subject, {}, Faults())]
    broad = {row.id for row in rows("nuggets.jsonl", Nugget)}
    topics = rows("topics.jsonl", Topic)
    for entries in (subjects, [row for row in topics if row.id in broad], [row for row in topics if row.id not in broad]):
        halves = Counter(getattr(entry, "half", "") for entry in entries)
        assert abs(halves["dev"] - halves["held-out"]) <= 1


def test_a_supporting_sentence_holds_the_answer_and_the_question_does_not() -> None:
    queries = {row.id: row.query for row in rows("topics.jsonl", Topic) if isinstance(row, Topic)}
    for row in rows("answers.jsonl", Answer):
        assert isinstance(row, Answer)
        assert found(row.support, row.aliases), row.id
        assert not found(queries[row.id], row.aliases), row.id


def test_a_broad_question_has_ten_nuggets_or_more_under_different_names() -> None:
    names = [(row.id, row.nugget) for row in rows("nuggets.jsonl", Nugget) if isinstance(row, Nugget)]
    assert len(names) == len(set(names))
    assert min(Counter(name for name, _ in names).values()) >= 10


def test_no_pair_is_both_planted_and_a_decoy() -> None:
    for subject in load(SETS / "planted").subjects:
        planted = {frozenset((pair.a, pair.b)) for pair in subject.planted}
        assert planted.isdisjoint(frozenset((pair.a, pair.b)) for pair in subject.near)


@pytest.mark.skipif(not Path("/usr/share/doc/python3.11/html/library").is_dir(), reason="needs the package python3.11-doc")
def test_the_documentation_holds_the_expected_answers() -> None:
    assert faults_of(load(SETS / "python", Path("/usr/share/doc/python3.11/html"))) == []
