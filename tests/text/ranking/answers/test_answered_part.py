"""What a short answer must hold: a figure that is said of the name, and the word that most of the question consists of."""

from __future__ import annotations

import pytest

from pipeline.text.ranking.answers.answered_part import unanswered_part
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.ranking.term_statistics import TermStatistics

KNOWN = TermStatistics(language="english", passages=1_000, counts={"tarsolit": 4, "harbour": 30, "light": 40, "keeper": 20})


def lacking(question: str, *passages: str, heads: str = "", language: str = "english") -> tuple[str, ...]:
    texts = [StemmedText.of(text, heads, language) for text in passages]
    return unanswered_part(parse_question(question, language), texts, KNOWN.model_copy(update={"language": language}))


def test_a_figure_must_be_said_of_the_name() -> None:
    asked = "How many lights has Tarsolit?"
    assert lacking(asked, "Tarsolit has 40 lights in its harbour.") == ()
    assert lacking(asked, "Tarsolit has lights. The harbour has 40 lights.") != ()


def test_below_a_heading_with_the_name_any_figure_counts() -> None:
    assert lacking("How many lights has Tarsolit?", "The harbour has 40 lights.", heads="Tarsolit") == ()


@pytest.mark.parametrize("text", ["One of the lights is in Tarsolit.", "Tarsolit2 has lights."])
def test_one_and_a_number_within_the_name_are_no_figure(text: str) -> None:
    assert lacking("How many lights has Tarsolit?", text) != ()


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
    [
        "Tarsolit was built by the firm of Lennard.",
        "The author of Tarsolit is Ada Lennard.",
        "In 1901 Ada Lennard built Tarsolit.",
    ],
)
def test_who_made_something_is_answered_only_by_a_passage_that_names_a_maker(text: str) -> None:
    assert lacking("Who built Tarsolit?", text) == ()
    assert lacking("Who built Tarsolit?", "Tarsolit was built by night and has 40 lights.") == ("built",)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What does Tarsolit cost?", "Tarsolit is 40 euros a year.", "Tarsolit has 40 lights."),
        (
            "How many keepers work in Tarsolit?",
            "Tarsolit has 12 keepers.",
            "Tarsolit has keepers, who like to look at the big ships with 12 decks.",
        ),
        ("How many people visit Tarsolit?", "Tarsolit is visited by 900 people.", "People visit Tarsolit 2 and its harbour."),
        ("How many ships were lost at Tarsolit?", "Tarsolit lost 7 ships.", "Tarsolit has 7 ships."),
        ("How often is Tarsolit painted?", "Tarsolit is painted each year.", "Tarsolit is painted white."),
        ("When was Tarsolit founded?", "Tarsolit was established in 1831.", "Copyright (C) 1831 Tarsolit."),
        ("When was Tarsolit first painted?", "Tarsolit was painted for the first time in 1900.", "Tarsolit was painted in 1950."),
        (
            "How deep is Tarsolit?",
            "Tarsolit has a depth of 12 metres.",
            "Tarsolit has 12 ships.",
        ),
        ("In which year did Tarsolit begin to glow?", "Tarsolit began to glow in 1832.", "Tarsolit 1.0 glows."),
        (
            "Who maintains Tarsolit?",
            "Tarsolit is maintained by Ada Lennard.",
            "Tarsolit is maintained well.",
        ),
        ("How much faster is Tarsolit?", "Tarsolit is 3 times faster.", "Tarsolit is faster, has 3 doors."),
        (
            "Why is Tarsolit called Tarsolit?",
            "Tarsolit is named after its harbour.",
            "Tarsolit is deep, because it sank.",
        ),
        (
            "Why is Tarsolit called Tarsolit?",
            "Tarsolit is named so after a ship.",
            "A flag in Tarsolit means wind.",
        ),
        ("Why does Tarsolit glow?", "Tarsolit glows because of its lamp.", "Tarsolit may glow."),
        ("What is the default colour of Tarsolit?", "By default, the colour of Tarsolit is white.", "Tarsolit has a colour."),
        ("Which colour has Tarsolit?", "Tarsolit is painted white.", "Tarsolit is painted and has a harbour."),
        ("In which country is Tarsolit?", "Tarsolit is a harbour in Norway.", "Tarsolit is in a harbour."),
        ("Where can I download Tarsolit?", "Download Tarsolit from https://tarsolit.example.", "You may download Tarsolit."),
        ("Who painted Tarsolit?", "Tarsolit was painted by Ada Lennard.", "Tarsolit was painted white."),
        ("Who is the keeper of Tarsolit?", "Keeper of Tarsolit is Ada Lennard.", "The keeper of Tarsolit sleeps."),
        ("How many lights are sold by Tarsolit?", "Tarsolit sold 40 lights.", "Tarsolit has 40 lights."),
        ("How many lights has Tarsolit?", "Tarsolit has 40 lights.", "| Tarsolit | 40 | lights |"),
        ("How many boats has Tarsolit?", "Tarsolit has 40 boats.", "Tarsolit has boats of 14 metres."),
        ("How many boats has Tarsolit?", "Tarsolit has 40 boats.", "In Tarsolit boats cost £14."),
        ("How old is Tarsolit?", "Tarsolit is 200 years old.", "Tarsolit has 40 lights."),
        ("What is the speed of Tarsolit?", "Tarsolit runs at 18 knots.", "Tarsolit has 40 lights."),
        ("What was the name of the keeper of Tarsolit?", "The keeper of Tarsolit was called Emil.", "In Tarsolit Emil slept."),
        ("Who was the pilot of Tarsolit?", "The pilot of Tarsolit was Ada Lennard.", "Ada Lennard came to Tarsolit."),
        ("Who took over in Tarsolit?", "In Tarsolit Ada Lennard succeeded her father.", "Ada Lennard is in Tarsolit."),
        ("Where was Tarsolit painted?", "Tarsolit was painted in Norway.", "Tarsolit was painted white."),
    ],
)
def test_a_question_of_a_known_kind_needs_a_value_of_its_kind(question: str, answer: str, other: str) -> None:
    assert lacking(question, answer) == ()
    assert lacking(question, other) != ()


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "Wie tief ist Tarsolit?",
            "Tarsolit hat eine Tiefe von 12 Metern.",
            "Tarsolit ist tief.",
        ),
        ("Welche Farbe hat Tarsolit?", "Tarsolit ist weiß gestrichen.", "Tarsolit ist neu gestrichen."),
        ("Wer hat Tarsolit entworfen?", "Tarsolit wurde von der Firma Lennard entworfen.", "Tarsolit wurde 1896 gebaut."),
        ("Wer leitet Tarsolit?", "Die Leitung von Tarsolit hat Ada Lennard.", "Ada Lennard wohnt in Tarsolit."),
        ("Warum ist Tarsolit gesperrt?", "Tarsolit ist gesperrt, weil die Mauer bricht.", "Tarsolit ist seit gestern gesperrt."),
        ("Wodurch brannte Tarsolit?", "Tarsolit brannte durch einen Blitz.", "Tarsolit brannte gestern."),
        ("Wie hieß der Wärter von Tarsolit?", "Der Wärter von Tarsolit hieß Emil.", "Der Wärter von Tarsolit schlief."),
        ("Wie heißt der Wärter von Tarsolit?", "Der Wärter von Tarsolit heißt Emil.", "Der Wärter von Tarsolit schläft."),
    ],
)
def test_a_german_question_of_a_known_kind_needs_a_value_of_its_kind(question: str, answer: str, other: str) -> None:
    assert lacking(question, answer, language="german") == ()
    assert lacking(question, other, language="german") != ()


def test_a_value_said_of_another_name_is_no_answer_even_in_the_next_sentence() -> None:
    asked = "In which year was Tarsolit released?"
    assert lacking(asked, "Tarsolit is old. Haldenburg was released in August 1997.") != ()
    assert lacking(asked, "Tarsolit is old. It was released in August 1997.") == ()
