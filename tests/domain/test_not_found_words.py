"""What is said of a session that ends without an answer: where was looked, and in which language."""

from __future__ import annotations

import pytest

from pipeline.domain.agenda import no_evidence
from pipeline.domain.findings import query_of
from pipeline.domain.state import SearchDone, SessionState
from pipeline.text.ranking import TermStatistics

GERMAN = "Wie tief ist das Hafenbecken bei der Ebbe und warum ist das so?"


def session(
    query: str, documents: int = 12, languages: tuple[str, ...] = ("english",), absent: tuple[str, ...] = ()
) -> SessionState:
    state = SessionState(id="s1", query=query)
    state.survey = SearchDone("fake", (), (), TermStatistics(documents=documents), languages, absent)
    return state


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (12, "nothing in your 12 documents is near the question"),
        (1, "your one document holds no passage that is near the question"),
        (0, "no source that was found is near the question"),
    ],
)
def test_what_is_near_no_document_ends_the_session_and_says_where_was_looked(documents: int, words: str) -> None:
    step = no_evidence(session("Who composed the opera Turandot?", documents))
    assert (step.cause, step.reason) == ("no-evidence", f"{words} (0 pages read)")


def test_names_that_nothing_mentions_are_named() -> None:
    step = no_evidence(session("Who composed Turandot3?", absent=("Turandot3", "La Scala")))
    assert step.reason.endswith("; no passage of them mentions “Turandot3” and “La Scala” (0 pages read)")


def test_a_question_in_a_language_of_no_document_is_told_so() -> None:
    step = no_evidence(session(GERMAN))
    assert step.reason.endswith("; the question is in German, the documents are in English (0 pages read)")
    assert "the question is in" not in no_evidence(session(GERMAN, languages=("english", "german"))).reason


def test_a_question_is_read_in_its_own_language_if_there_are_documents_in_it() -> None:
    assert query_of(session(GERMAN, languages=("english", "german"))).language == "german"
    assert query_of(session(GERMAN, languages=("english",))).language == "english"
    assert query_of(session(GERMAN, languages=())).language == "german"
