"""Whether a sentence holds the kind of answer that is asked for."""

from __future__ import annotations

import pytest

from pipeline.text.ranking.answers.sentence_kinds import denies, focus_of, holds_answer, is_historical
from pipeline.text.ranking.query_terms import parse_question


@pytest.mark.parametrize(
    ("question", "holding", "lacking"),
    [
        ("What is a checkpoint?", 'Moving the pages back is called a "checkpoint".', "The checkpoints run on every commit."),
        ("What is a checkpoint?", "A checkpoint is the moving of pages.", "Nobody likes the long wait at a checkpoint."),
        ("Was ist die Glashütte?", "Die Glashütte ist ein Betrieb.", "Die Köhler lieferten an die Glashütte."),
        ("Why did the line close?", "It closed because nobody used it.", "It closed on a Friday."),
        ("Warum wurde die Bahn stillgelegt?", "Weil niemand mehr fuhr.", "Es war ein Freitag."),
        ("How many days does it take 2 people?", "It takes 5 days.", "It takes 2 people."),
        ("How do I list leaks?", "Run it with --leak-check.", "Leaks are a nuisance."),
        ("Wie wird Kohle gemacht?", "Das Holz wird langsam erhitzt.", "Kohle kostet viel Geld."),
        ("Woher kam die Kohle?", "Die Kohle kam aus dem Erlatal.", "Die Kohle brannte gut."),
        ("Wer betreibt das Klinikum?", "Träger ist eine Stiftung.", "Das Klinikum hat Betten."),
        ("Warum dauerte der Umbau so lange?", "Gründe waren ein Keller und neue Regeln.", "Es war ein Dienstag."),
        ("Wann steht die Fähre still?", "Bei Hochwasser steht sie still.", "Im Jahr 1876 stand sie still."),
        ("What can fanotify do that inotify cannot?", "It differs in what it monitors.", "It reports events."),
        (
            "What is the difference between repeatable read and serializable isolation?",
            "Repeatable read is weaker than serializable isolation.",
            "Some systems have a different repeatable read.",
        ),
        ("What is the difference between A and B?", "Unlike A, B is slow.", "B has a long history."),
    ],
)
def test_a_sentence_that_holds_the_kind_counts_more(question: str, holding: str, lacking: str) -> None:
    query = parse_question(question)
    assert holds_answer(query, holding) > holds_answer(query, lacking)


def test_what_a_definition_is_asked_of() -> None:
    assert focus_of(parse_question("What is write-ahead logging?"))
    assert focus_of(parse_question("What is the difference between A and B?")) == ()
    assert focus_of(parse_question("How do I list leaks?")) == ()


def test_what_was_so_in_an_earlier_version_is_no_answer_unless_it_is_asked_for() -> None:
    said = "Prior to PostgreSQL 9.1, it was the same."
    assert is_historical(parse_question("How is it isolated?"), said)
    assert not is_historical(parse_question("In which version was it isolated?"), said)


@pytest.mark.parametrize(
    "question",
    ["Worüber stritten die Leute?", "Warum ist der Frosch zurückgekehrt?", "How did it work?", "Wie war es 1931?"],
)
def test_a_question_on_the_past_is_answered_by_what_tells_of_it(question: str) -> None:
    assert not is_historical(parse_question(question), "Im Jahr 1931 hatte der Frosch Streit.")


@pytest.mark.parametrize("question", ["Welche Regeln gelten?", "Was unternimmt der Verein?", "How does it work?"])
def test_what_was_so_in_earlier_times_does_not_answer_a_question_on_the_present(question: str) -> None:
    assert is_historical(parse_question(question), "Im Jahr 1931 hatte der Verein andere Regeln.")
    assert not is_historical(parse_question(question), "Seit 1931 gilt die Regel.")


def test_a_sentence_that_denies_a_word_of_the_question_is_about_something_else() -> None:
    asked = parse_question("What happens when the queue is full?")
    assert denies(asked, "Raise it while the queue is not full.")
    assert not denies(asked, "Once the queue is full, new mail is not taken.")
    assert not denies(parse_question("What if the queue is not full?"), "The queue is not full.")
