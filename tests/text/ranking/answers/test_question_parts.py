"""The parts of a question that is two."""

from __future__ import annotations

from pipeline.text.ranking.answers.question_parts import question_parts
from pipeline.text.ranking.query_terms import parse_question


def parts(question: str) -> list[str]:
    return [part.text for part in question_parts(parse_question(question))]


def test_a_german_question_is_split_and_its_second_part_names_the_subject() -> None:
    found = parts("Wann wurde die Erlatalbahn gebaut und warum wurde sie stillgelegt?")
    assert found == ["Wann wurde die Erlatalbahn gebaut", "warum wurde sie stillgelegt (Erlatalbahn)"]


def test_an_english_question_has_its_clauses() -> None:
    assert len(parts("How does pip resolve dependencies and what is backtracking?")) == 2


def test_a_question_of_one_part_and_a_comparison_are_whole() -> None:
    assert parts("Was geschah 2002 in Mühlau und Hohenbruck?") == ["Was geschah 2002 in Mühlau und Hohenbruck?"]
    assert len(parts("What is the difference between zlib and gzip?")) == 1
