"""The part of a passage that is shown: the sentence, item or row that answers, also if it stands in a long line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.adapters.reasoners.extractive.talking.answer_parts import best_part, sentence_coverage
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import term_weights
from pipeline.text.ranking.term_statistics import TermStatistics

KNOWN = TermStatistics(language="english", passages=100, counts={"pump": 3, "pressur": 4, "valv": 5})
QUESTION = parse_question("What pressure does the pump hold?", "english")
FILLER = "The house was built by the harbour in the year of the flood and it has a red roof."


def test_a_passage_that_fits_is_shown_whole() -> None:
    assert best_part("The pump holds.", 10, QUESTION, KNOWN) == "The pump holds."


@pytest.mark.parametrize("between", [" ", "\n", "\n- "])
def test_the_run_that_covers_most_of_the_question_is_shown(between: str) -> None:
    answer = "The pump holds a pressure of three bar."
    quote = between.join([FILLER, FILLER, answer, FILLER])
    assert answer in best_part(quote, 20, QUESTION, KNOWN)


def test_a_line_that_is_too_long_is_cut_at_its_sentences() -> None:
    line = f"- pump: {FILLER} {FILLER} The pump holds a pressure of three bar. {FILLER}"
    found = best_part(f"The parts:\n{line}", 25, QUESTION, KNOWN)
    assert "The pump holds a pressure of three bar." in found
    assert found in line


def test_a_list_that_lost_its_lines_is_cut_between_words() -> None:
    line = " ".join(f"K{number} kind" for number in range(40)) + " P pump pressure Q rest"
    found = best_part(f"The codes are these\n{line}", 20, QUESTION, KNOWN)
    assert "pump pressure" in found
    assert found in line


def test_the_coverage_of_a_sentence_counts_its_headings() -> None:
    weights = term_weights(QUESTION, KNOWN)
    apart = sentence_coverage("The pump runs. The pressure is low.", frozenset(), QUESTION, weights)
    below = sentence_coverage("The pump runs. The pressure is low.", frozenset({"pump"}), QUESTION, weights)
    assert 0 < apart < below <= 1


@given(st.text(max_size=200), st.integers(0, 30))
def test_what_is_shown_is_part_of_the_passage_and_not_too_long(quote: str, words: int) -> None:
    found = best_part(quote, words, QUESTION, KNOWN)
    assert len(found.split()) <= max(words, 0) or found == quote


def test_a_line_that_adds_to_the_headings_is_better_than_one_that_repeats_them() -> None:
    query = parse_question("Where does zorbit keep its history?", "english")
    lines = ["- Zorbit is small, and it is quick, too.", "- Its history is a file of lines."]
    known = TermStatistics(language="english", passages=200, counts={"zorbit": 20, "histori": 9})
    assert best_part("\n".join(lines), 10, query, known) == lines[0]
    assert best_part("\n".join(lines), 10, query, known, "Zorbit") == lines[1]
