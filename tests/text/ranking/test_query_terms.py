"""A question taken apart: its parts, the words that an answer must speak of, whether it is broad."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.ranking.query_terms import content_stems, parse_question


def said(text: str) -> set[str]:
    return {term.word for term in parse_question(text).terms}


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How does an append-only log survive a power cut, and when is fsync called?", ("append-only log", "fsync")),
        ("What is a checkpoint? How often is the journal flushed?", ("checkpoint", "journal")),
        ("Why are references wrong and who verifies the citations?", ("references", "citations")),
    ],
)
def test_a_question_in_two_parts_has_a_clause_for_each(question: str, parts: tuple[str, str]) -> None:
    query = parse_question(question)
    assert len(query.clauses) == 2
    assert all(part in clause for part, clause in zip(parts, query.clauses, strict=True))
    assert query.broad


@pytest.mark.parametrize(
    "question",
    [
        "As a packager, how do I build the documentation?",
        "If the power fails, what happens to the journal?",
        "On a laptop, how does the journal survive?",
        "I use two disks, and how is the journal kept?",
    ],
)
def test_an_opening_that_leads_up_to_a_question_is_no_part(question: str) -> None:
    assert len(parse_question(question).clauses) == 1


@pytest.mark.parametrize(
    "question", ["When I save a file, what is written to the disk?", "For a packager, how is the documentation built?"]
)
def test_an_opening_with_when_or_for_is_no_part_either(question: str) -> None:
    assert len(parse_question(question).clauses) == 1


def test_a_question_of_one_part_is_its_own_clause() -> None:
    assert parse_question("How loud is a pump?").clauses == ("How loud is a pump?",)


def test_a_part_that_points_back_is_told_what_it_points_to() -> None:
    first, second = parse_question("What does os.replace guarantee, and when does it fail?").clauses
    assert "os.replace" in first
    assert "os.replace" in second


def test_two_things_joined_are_two_sides_if_each_has_a_name() -> None:
    assert len(parse_question("systemd timers or cronjobs").clauses) == 2
    assert len(parse_question("How do I start and stop a service?").clauses) == 1


def test_the_words_that_a_question_is_put_with_need_not_be_in_an_answer() -> None:
    assert said("What does fsync do, and why would I want it for the journal?") == {"fsync", "journal"}


def test_a_word_in_capitals_is_a_name_and_no_way_of_putting_things() -> None:
    assert "WHO" in said("What is the WHO?")
    assert "who" not in said("who is it that founded Rome?")


def test_a_question_of_nothing_but_such_words_keeps_them_all() -> None:
    assert parse_question("What is it?").terms


def test_a_special_word_weighs_more_than_an_everyday_one_and_a_vague_one_least() -> None:
    weight = {term.word: term.weight for term in parse_question("How does the fsync of a good table help people?").terms}
    assert weight["fsync"] > weight["people"] > weight["help"]


def test_a_compound_is_in_a_text_whole_or_with_all_its_parts() -> None:
    (term,) = parse_question("What is write-ahead?").terms
    assert term.is_in({term.stem})
    assert term.is_in(set(term.parts))
    assert not term.is_in(set(term.parts[:1]))


@pytest.mark.parametrize("question", ["How does a journal survive a power cut?", "What are the ways to keep a journal?"])
def test_a_question_that_many_passages_answer_is_broad(question: str) -> None:
    assert parse_question(question).broad


@pytest.mark.parametrize("question", ["How many pumps are there?", "Which option sets the timeout?", "What is the default port?"])
def test_a_question_for_a_number_or_a_name_is_narrow(question: str) -> None:
    assert not parse_question(question).broad


def test_the_small_words_of_the_questions_own_language_weigh_nothing() -> None:
    found = parse_question("Welche Pumpe wird bei Frost in der Werkstatt gebraucht?")
    assert (found.language, [term.word for term in found.terms]) == ("german", ["Pumpe", "Frost", "Werkstatt", "gebraucht"])


def test_a_question_is_read_in_its_own_language_or_in_the_one_given() -> None:
    assert parse_question("Wie wird das Protokoll auf die Platte geschrieben?").language == "german"
    assert parse_question("Wie wird das Protokoll geschrieben?", "english").language == "english"


@settings(deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="aA? ,;andorhowwhat\n", max_size=200))
def test_any_text_is_a_question_with_a_clause_and_sound_weights(text: str) -> None:
    query = parse_question(text)
    assert query.clauses
    assert all(0.0 < term.weight <= 1.0 and 0.0 <= term.specificity <= 1.0 for term in query.terms)
    assert len({term.stem for term in query.terms}) == len(query.terms)


@pytest.mark.parametrize("unit", ["and how ", "what is ", "if you ", "a-b ", "? ", ", when ", "why and "])
def test_a_question_of_a_thousand_characters_is_taken_apart(unit: str) -> None:
    assert parse_question((unit * 500)[:1_000]).clauses


def test_content_stems_are_those_of_the_words_that_carry_meaning() -> None:
    assert content_stems("Which of the pumps is the loudest?") == content_stems("pump loudest")


@pytest.mark.parametrize(
    "question",
    [
        "My mail server is overloaded. What can I do about it?",
        "The pump does not do what I expect. How can I find the cause?",
        "What is new in the third edition?",
        "I know boats and ships. What surprises should I expect from a raft?",
    ],
)
def test_a_question_is_broad_whatever_sentence_comes_before_it(question: str) -> None:
    assert parse_question(question).broad


def test_a_german_verb_that_is_written_small_is_no_name_of_a_subject() -> None:
    specific = {
        term.word: term.specificity for term in parse_question("Worüber stritten die Obermühle und das Wasserwerk?").terms
    }
    assert "Worüber" not in specific
    assert specific["stritten"] < 0.4 < specific["Obermühle"]
    written_small = {term.word: term.specificity for term in parse_question("warum stritten die mühle und das werk").terms}
    assert written_small["stritten"] > specific["stritten"]
