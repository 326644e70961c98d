"""What is said of a session that ends without an answer: where was looked, and in which language."""

from __future__ import annotations

import pytest

from pipeline.domain.agenda import no_evidence
from pipeline.domain.events.session_events import TopicSurveyed
from pipeline.domain.page_choice_and_findings import query_of
from pipeline.domain.research_values import Hit
from pipeline.domain.session_state import SessionState
from pipeline.text.ranking import TermStatistics

GERMAN = "Wie tief ist das Hafenbecken bei der Ebbe und warum ist das so?"


OPERA = "Who composed the opera Turandot?"


def session(
    query: str, documents: int = 12, languages: tuple[str, ...] = ("english",), absent: tuple[str, ...] = (), left_out: int = 0
) -> SessionState:
    state = SessionState(id="s1", query=query)
    known = {"statistics": TermStatistics(documents=documents), "languages": languages, "absent": absent, "left_out": left_out}
    state.survey = TopicSurveyed(provider="fake", hits=()).model_copy(update=known)
    return state


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (session(OPERA), "your 12 documents is near enough to the question (0 pages read)"),
        (session(OPERA, 1), "nothing in your 1 document is near enough to the question (0 pages read)"),
        (session(OPERA, 0), "no source that was found is near enough to the question (0 pages read)"),
        (session(OPERA, 0, left_out=2), "is near enough to the question; 2 hits left out by the setting sources (0 pages read)"),
        (
            session(OPERA, absent=("Turandot", "La Scala")),
            "; no passage mentions “Turandot” or “La Scala” (0 pages read)",
        ),
        (session(GERMAN), "; the question is in German, the documents are in English (0 pages read)"),
        (
            session(GERMAN, languages=("english", "greek", "thai", "hindi")),
            "documents are in English and Greek and Thai and others (0 pages read)",
        ),
        (session("car insurance"), "your 12 documents is near enough to the question (0 pages read)"),
        (session(GERMAN, languages=("english", "german")), "your 12 documents is near enough to the question (0 pages read)"),
    ],
)
def test_what_is_near_no_document_ends_the_session_and_says_where_was_looked_and_in_which_language(
    state: SessionState, words: str
) -> None:
    step = no_evidence(state)
    assert step.cause == "no-evidence"
    assert step.reason.endswith(words)
    state.exhausted = "usd"
    assert no_evidence(state).reason == "stopped before any evidence was found: usd exhausted"


def test_a_question_is_read_in_its_own_language_if_there_are_documents_in_it() -> None:
    assert query_of(session(GERMAN, languages=("english", "german"))).language == "german"
    assert query_of(session(GERMAN, languages=("english",))).language == "english"
    assert query_of(session(GERMAN, languages=())).language == "german"
    with_web = session(GERMAN)
    hits = (Hit(url="https://e.org/hafen", title="Hafen"),)
    with_web.survey = TopicSurveyed(provider="fake", hits=hits, languages=("english",))
    assert query_of(with_web).language == "german"  # nobody knows the language of what the web has


@pytest.mark.parametrize(
    ("query", "languages"), [(OPERA, ("english",)), (OPERA, ("english", "german")), ("谁写了歌剧？", ("chinese",))]
)
def test_words_are_named_only_if_all_documents_are_in_the_language_of_the_question(
    query: str, languages: tuple[str, ...]
) -> None:
    state = session(query, languages=languages)
    assert state.survey is not None
    known = TermStatistics(documents=12, passages=12, language=languages[0])
    state.survey = state.survey.model_copy(update={"statistics": known})
    assert ("no passage mentions" in no_evidence(state).reason) == (languages == ("english",))
