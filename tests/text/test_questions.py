"""A question taken apart: its parts, the words that an answer must speak of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.questions import MOST_PARTS, names_in, parse_question


def said(text: str) -> set[str]:
    return {term.word for term in parse_question(text).terms}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How does an append-only log survive a power cut, and when is fsync called on it?", ("append-only log", "fsync")),
        ("What is a checkpoint? How often is the journal flushed?", ("checkpoint", "journal")),
        ("Why are references wrong and who verifies the citations?", ("references", "citations")),
        ("Wie tief ist der Hafen und wann kommt die Ebbe in den Hafen?", ("Hafen", "Ebbe")),
    ],
)
def test_a_question_in_two_parts_has_both(question: str, words: tuple[str, str]) -> None:
    query = parse_question(question)
    assert len(query.parts) == 2
    assert all(word in part for word, part in zip(words, query.parts, strict=True))


@pytest.mark.parametrize(
    "question",
    [
        "How loud is a pump?",
        "As a packager, how do I build the documentation?",
        "If the power fails, what happens to the journal?",
        "How do I start and stop a service?",
        "What is a torn write? What is a torn write?",
    ],
)
def test_a_question_of_one_part_has_no_parts(question: str) -> None:
    assert parse_question(question).parts == ()


def test_the_words_that_a_question_is_put_with_need_not_be_in_an_answer() -> None:
    assert said("What does fsync do, and why would I want it for the journal?") == {"fsync", "journal"}


def test_an_identifier_is_in_a_text_whole_or_with_all_its_parts() -> None:
    (term,) = parse_question("What is write-ahead?").terms
    assert term.is_in({term.stem})
    assert term.is_in(set(term.parts))
    assert not term.is_in(set(term.parts[:1]))


def test_the_small_words_of_the_questions_own_language_weigh_nothing() -> None:
    found = parse_question("Welche Pumpe wird bei Frost in der Werkstatt gebraucht?")
    assert (found.language, [term.word for term in found.terms]) == ("german", ["Pumpe", "Frost", "Werkstatt", "gebraucht"])


def test_a_question_is_read_in_its_own_language_or_in_the_one_given() -> None:
    assert parse_question("Wie wird das Protokoll auf die Platte geschrieben?").language == "german"
    assert parse_question("Wie wird das Protokoll geschrieben?", "english").language == "english"


@settings(deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="aA? ,;andorhowwhat\n", max_size=200))
def test_any_text_is_a_question_with_few_parts_and_words_that_differ(text: str) -> None:
    query = parse_question(text)
    assert len(query.parts) <= MOST_PARTS
    assert len({term.stem for term in query.terms}) == len(query.terms)


@pytest.mark.parametrize(
    ("question", "broad"),
    [
        ("How do I restore a backup?", True),
        ("My server is overloaded. What can I do?", True),
        ("What is a torn write?", False),
        ("How often are citations wrong?", False),
        ("Where do messages go, and how can that be changed?", True),
        ("Wie kann ich ein Backup zurückspielen?", True),
        ("Wie groß ist der Puffer?", False),
        ("Comment restaurer une sauvegarde ?", True),
        ("如何恢复备份？", True),
        ("", False),
    ],
)
def test_a_question_is_broad_if_it_asks_for_a_way_or_for_several_things(question: str, broad: bool) -> None:
    assert parse_question(question).is_broad == broad


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How does ColBERTv3 rank passages?", ("ColBERTv3",)),
        ("Which laptop of Dr. Smith has Kafka, Redis and Nixos?", ("Dr. Smith", "Kafka", "Redis", "Nixos")),
        ("What does the “write-ahead log” of Apache Kafka do?", ("write-ahead log", "Apache Kafka")),
        ("How do I set up a Debian server? Explain briefly.", ("Debian",)),
        ("Wie richte ich einen Server mit Debian ein?", ()),
        ("Is PostgreSQL 17 faster than iSCSI?", ("PostgreSQL", "iSCSI")),
        ("Wie groß ist der »Große Bär«?", ("Große Bär",)),
        ("", ()),
    ],
)
def test_quoted_strings_spelt_names_and_runs_of_capitals_are_names(question: str, names: tuple[str, ...]) -> None:
    assert names_in(question) == names
