"""What a short answer must hold: a figure that is said of the name, and the word that most of the question consists of."""

from __future__ import annotations

import pytest

from pipeline.text.ranking.answers.answered_part import unanswered_part
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.ranking.term_statistics import TermStatistics

KNOWN = TermStatistics(language="english", passages=1_000, counts={"tarsolit": 4, "harbour": 30, "light": 40, "keeper": 20})


def lacking(question: str, *passages: str, heads: str = "") -> tuple[str, ...]:
    texts = [StemmedText.of(text, heads, "english") for text in passages]
    return unanswered_part(parse_question(question, "english"), texts, KNOWN)


def test_a_figure_must_be_said_of_the_name() -> None:
    asked = "How many lights has Tarsolit?"
    assert lacking(asked, "Tarsolit has 40 lights in its harbour.") == ()
    assert lacking(asked, "Tarsolit has lights. The harbour has 40 lights.") == ("Tarsolit",)


def test_below_a_heading_with_the_name_any_figure_counts() -> None:
    assert lacking("How many lights has Tarsolit?", "The harbour has 40 lights.", heads="Tarsolit") == ()


@pytest.mark.parametrize("text", ["One of the lights is in Tarsolit.", "Tarsolit2 has lights.", "The tarsolited 40 lights."])
def test_one_and_a_number_within_the_name_or_a_word_of_its_stem_are_no_figure(text: str) -> None:
    assert lacking("How many lights has Tarsolit?", text) == ("Tarsolit",)


def test_a_word_that_is_a_third_of_the_question_must_be_held_by_a_passage() -> None:
    asked = "How is the keeper crowned?"
    assert lacking(asked, "The harbour keeper lives here.") == ("crowned",)
    assert lacking(asked, "The harbour keeper is crowned at dawn.") == ()


def test_a_figure_must_stand_in_a_passage_on_the_question() -> None:
    asked = "How many keepers has a harbour light?"
    assert lacking(asked, "A harbour light has keepers.", "There are 12 cranes.") != ()
    assert lacking(asked, "A harbour light has 2 keepers.", "There are cranes.") == ()


def test_without_an_index_nothing_is_refused() -> None:
    query = parse_question("How many lights has Tarsolit?", "english")
    assert unanswered_part(query, [], TermStatistics(language="english")) == ()


@pytest.mark.parametrize(
    "text",
    ["Tarsolit was built by the firm of Lennard.", "The author of Tarsolit is unknown.", "In 1901 Ada Lennard built Tarsolit."],
)
def test_who_made_something_is_answered_only_by_a_passage_that_names_a_maker(text: str) -> None:
    assert lacking("Who built Tarsolit?", text) == ()
    assert lacking("Who built Tarsolit?", "Tarsolit was built by night and has 40 lights.") == ("built",)
