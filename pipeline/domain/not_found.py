"""How a session ends without an answer: where was looked, and which names nothing there mentions. Pure."""

from __future__ import annotations

from pipeline.domain.events.session_events import NO_EVIDENCE
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Fail
from pipeline.domain.values import EXTRACTIVE
from pipeline.text.questions import ParsedQuestion, parse_in
from pipeline.text.ranking import StemmedText, TermStatistics, statistics_of
from pipeline.text.words import language_of


def no_evidence_step(state: SessionState) -> Fail:
    """Return the step that ends a session for lack of evidence."""
    documents = state.survey.statistics.documents if state.survey else 0
    where = {0: "no source that was found", 1: "your one document"}.get(documents, f"your {documents:,} documents")
    near = "is near the question" if not documents else "holds no passage that is near the question"
    reason = f"{where} {near}" if documents < 2 else f"nothing in {where} is near the question"
    if state.config.reasoner != EXTRACTIVE:
        reason = "the language model found nothing in the pages that it read that answers the question"
    names = " and ".join(f"“{name}”" for name in state.survey.absent[:3]) if state.survey else ""
    absent = f"; no passage of them mentions {names}" if names else ""
    return Fail(NO_EVIDENCE, f"{reason}{absent}{_language_note(state)}")


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's query, parsed in its own language if the sources are in it, else in theirs."""
    return parse_in(state.query, state.survey.languages if state.survey else ())


def survey_statistics(state: SessionState) -> TermStatistics:
    """Return the term statistics of the searched index, or else of the survey's hits: the same at any time of the gathering."""
    if state.survey and state.survey.statistics.passages:
        return state.survey.statistics
    hits = state.survey.hits if state.survey else ()
    language = query_of(state).language
    return statistics_of([StemmedText.of(hit.snippet, f"{hit.title} {hit.heading}", language) for hit in hits], language)


def _language_note(state: SessionState) -> str:
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    if not own or not languages or own in languages:
        return ""
    theirs = " and ".join(name.capitalize() for name in languages[:3])
    return f"; the question is in {own.capitalize()}, the documents are in {theirs}"
