"""The gate before the synthesis: without a model, whether any passage is near the question. Pure.

With a model there is none: a model has read the pages, and its facts are its judgement.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.domain.events.session_events import NO_EVIDENCE
from pipeline.domain.findings import all_facts
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Fail, StartSynthesis
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_in, parse_question
from pipeline.text.ranking.scoring import FLOOR, StemmedText, best_coverage, scores, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import language_of

_NEAREST_FACTS = 3  # facts kept in the event if there is no answer


def step_after_gathering(state: SessionState) -> StartSynthesis | Fail:
    """Return the step that follows the gathering: the synthesis, or the end for lack of evidence.

    A session that was cut short does not say that nothing is near its question.
    """
    facts = all_facts(state)
    known = state.survey.statistics if state.survey else TermStatistics()
    if facts and (state.config.reasoner != EXTRACTIVE or is_near(query_of(state), facts, known)):
        return StartSynthesis()
    if state.exhausted:
        return Fail("budget", f"stopped before enough evidence was found: {state.exhausted} exhausted")
    return no_evidence_step(state)


def is_near(query: ParsedQuestion, facts: Sequence[Fact], known: TermStatistics) -> bool:
    """Return whether a passage is near the question: by meaning where the search knows that, else by the words of a part."""
    cosines = [fact.cosine for fact in facts if fact.cosine is not None]
    if cosines and known.nearest is not None:
        return max(cosines) >= known.nearest
    texts = [stemmed_fact(fact, query.language) for fact in facts]
    return max(best_coverage(parse_question(part, query.language), texts, known) for part in query.parts) >= FLOOR


def no_evidence_step(state: SessionState) -> Fail:
    """Return the step that ends a session for lack of evidence, with the nearest facts."""
    facts, query, known = all_facts(state), query_of(state), statistics(state)
    strength = scores(query, [stemmed_fact(fact, query.language) for fact in facts], known, [fact.cosine for fact in facts])
    ranked = sorted(range(len(facts)), key=lambda place: (-round(strength[place], 9), place))
    nearest = tuple(facts[place].id for place in ranked[:_NEAREST_FACTS] if strength[place] > 0)
    where = {0: "no source that was found", 1: "your one document"}.get(known.documents, f"your {known.documents:,} documents")
    near = "is near the question" if not known.documents else "holds no passage that is near the question"
    reason = f"{where} {near}" if known.documents < 2 else f"nothing in {where} is near the question"
    if state.config.reasoner != EXTRACTIVE:
        reason = "the language model found nothing in the pages that it read that answers the question"
    names = " and ".join(f"“{name}”" for name in state.survey.absent[:3]) if state.survey else ""
    absent = f"; no passage of them mentions {names}" if names else ""
    return Fail(NO_EVIDENCE, f"{reason}{absent}{_language_note(state)}", nearest=nearest)


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's query, parsed in its own language if the sources are in it, else in theirs."""
    return parse_in(state.query, state.survey.languages if state.survey else ())


def stemmed_fact(fact: Fact, language: str) -> StemmedText:
    """Return a fact prepared for ranking, with its headings."""
    headings = " / ".join(fact.path or ((fact.heading,) if fact.heading else ()))
    return StemmedText.of(f"{fact.lead}\n{fact.quote}" if fact.lead else fact.quote, headings, language, page=fact.url)


def statistics(state: SessionState) -> TermStatistics:
    """Return the term statistics of the searched index, or else of the hits and facts found."""
    return _statistics(state, all_facts(state))


def survey_statistics(state: SessionState) -> TermStatistics:
    """Return the term statistics of the searched index, or else of the survey's hits: the same at any time of the gathering."""
    return _statistics(state, ())


def _statistics(state: SessionState, facts: Sequence[Fact]) -> TermStatistics:
    if state.survey and state.survey.statistics.passages:
        return state.survey.statistics
    hits = state.survey.hits if state.survey else ()
    language = query_of(state).language
    found = [StemmedText.of(hit.snippet, f"{hit.title} {hit.heading}", language) for hit in hits]
    return statistics_of([*found, *(stemmed_fact(fact, language) for fact in facts)], language)


def _language_note(state: SessionState) -> str:
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    if not own or not languages or own in languages:
        return ""
    theirs = " and ".join(name.capitalize() for name in languages[:3])
    return f"; the question is in {own.capitalize()}, the documents are in {theirs}"
