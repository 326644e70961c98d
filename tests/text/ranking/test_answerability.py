"""Is there evidence for what is asked? Words must meet in one passage; what no passage holds is named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.ranking.answerability import Judgement, judgement_of
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from tests.text.ranking.pages import ranked

LIBRARY = ranked(
    [
        "An append-only log survives a power cut because each record is synced before it is acknowledged.",
        "A checksum in each record tells a torn record of the log from a whole one at the next start.",
        "The checkpoint interval is five minutes; a longer interval makes a restart slower.",
        "A heat pump in a cold climate needs regular checks of its valves and its drain.",
        "The harbour is twelve metres deep at low tide, and ships wait outside of it at night.",
        "The violin was played by her sister in the old town hall on a Sunday.",
        "The reactor is cooled with water from the river and shut down in summer.",
        "The harvest of the tea begins in spring, when the first leaves are plucked by hand.",
        "Citations are wrong in one of four papers, as three surveys found independently.",
        "Notes that are linked to each other help writers to find their arguments again.",
        *(f"Paragraph {number} says nothing of note about its own subject {number}." for number in range(30)),
    ]
)
KNOWN = statistics_of(LIBRARY)


def _judged(question: str) -> Judgement:
    return judgement_of(parse_question(question), LIBRARY, KNOWN)


@pytest.mark.parametrize(
    "question",
    [
        "How does an append-only log survive a power cut?",
        "How is a torn record told from a whole one?",
        "What is the checkpoint interval?",
        "How deep is the harbour at low tide?",
    ],
)
def test_what_one_passage_answers_is_answered(question: str) -> None:
    found = _judged(question)
    assert (found.outcome, found.missing) == ("answered", ())
    assert 0.0 <= found.coverage <= 1.0


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Which composer wrote the opera about the flute?", "composer"),
        ("How do I configure a Kubernetes ingress?", "Kubernetes"),
        ("What did Napoleon order at Austerlitz?", "Austerlitz"),
    ],
)
def test_a_question_about_something_else_is_refused_with_the_words_that_nobody_says(question: str, missing: str) -> None:
    found = _judged(question)
    assert found.outcome == "unanswered"
    assert missing in found.missing


def test_of_a_question_that_is_half_answered_the_name_that_is_missing_is_told() -> None:
    found = _judged("How does an append-only log survive a power cut, and how does Kafka survive it?")
    assert found.outcome == "partly"
    assert found.missing == ("Kafka",)


def test_words_that_are_spread_over_strangers_are_no_evidence() -> None:
    found = _judged("Which violin was used at the reactor for the harvest?")
    assert found.outcome == "unanswered"
    assert found.coverage < 1.0
    together = ranked(["The violin was used at the reactor for the harvest."])
    whole = judgement_of(parse_question("Which violin was used at the reactor for the harvest?"), [*LIBRARY, *together], KNOWN)
    assert whole.outcome == "answered"


def test_without_passages_nothing_is_answered() -> None:
    found = judgement_of(parse_question("How deep is the harbour?"), [], KNOWN)
    assert (found.outcome, found.coverage) == ("unanswered", 0.0)


def test_a_question_in_another_language_is_refused() -> None:
    assert _judged("Wie tief ist das Hafenbecken bei Niedrigwasser?").outcome == "unanswered"


@settings(deadline=None)
@given(st.text(max_size=120), st.lists(st.text(max_size=60), max_size=5))
def test_any_question_is_judged_and_names_only_its_own_words(question: str, texts: list[str]) -> None:
    held = ranked(texts)
    found = judgement_of(parse_question(question), held, statistics_of(held))
    assert 0.0 <= found.coverage <= 1.0 + 1e-9
    assert all(word in question for word in found.missing)
    assert found == judgement_of(parse_question(question), held[::-1], statistics_of(held))


def test_a_question_about_a_name_in_no_document_is_refused_though_half_of_its_words_are_known() -> None:
    found = _judged("Which checkpoint interval is best for a record on Zebrastore, roughly?")
    assert (found.outcome, found.missing[0]) == ("unanswered", "Zebrastore")


def test_without_an_index_no_name_counts_as_unknown() -> None:
    query = parse_question("Which checkpoint interval is best for a record on Zebrastore, roughly?")
    assert judgement_of(query, LIBRARY, KNOWN).outcome == "unanswered"
    assert judgement_of(query, LIBRARY, TermStatistics()).outcome != "unanswered"
