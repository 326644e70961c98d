"""The evidence gate: decides before the synthesis whether a session's facts are about the user's query. Pure.

If they are not, no report is written: the session ends as ``not-found``, with a reason that names the missing words.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.domain.events.session_events import NO_EVIDENCE
from pipeline.domain.findings import all_facts
from pipeline.domain.state import SessionState
from pipeline.domain.steps import Fail, StartSynthesis
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.text.ranking.answerability import Judgement, is_unindexed, judgement_of
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, scores, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import language_of

_NEAREST_FACTS = 3  # facts shown if there is no answer
_NAMED_WORDS = 4  # missing words in a reason


def step_after_gathering(state: SessionState) -> StartSynthesis | Fail:
    """Return the step that follows the gathering: the synthesis, or the end for lack of evidence.

    A session that was cut short does not say that its sources have no answer.
    """
    judgement = _judgement(state)
    if judgement.outcome == "unanswered" and state.exhausted:
        return Fail("budget", f"stopped before enough evidence was found: {state.exhausted} exhausted")
    if judgement.outcome == "unanswered":
        return no_evidence_step(state, judgement)
    passing = judgement.passing if state.config.reasoner == EXTRACTIVE else ()  # a model judges by itself what a page is about
    doubted = judgement.outcome == "partly" and not judgement.missing and not judgement.passing
    return StartSynthesis(judgement.missing, doubted, passing)


def no_evidence_step(state: SessionState, judgement: Judgement | None = None) -> Fail:
    """Return the step that ends a session for lack of evidence, with the missing words and the nearest facts."""
    judgement = judgement or _judgement(state)
    return Fail(NO_EVIDENCE, _reason(state, judgement.missing), judgement.missing, _nearest_fact_ids(state))


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's query, parsed in its own language if the sources are in it, else in theirs."""
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    return parse_question(state.query, own if own in languages or not languages else languages[0])


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
    return statistics_of([*found, *(_stemmed([fact], language, state) for fact in facts)], language)


def _index_statistics(state: SessionState) -> TermStatistics:
    """Return the index's term statistics; empty without an index, because found texts are all on the subject."""
    return state.survey.statistics if state.survey else TermStatistics()


def _judgement(state: SessionState) -> Judgement:
    query = query_of(state)
    passages = [_stemmed(group, query.language, state) for group in _fact_groups(state)]
    return judgement_of(query, passages, _index_statistics(state))


def _fact_groups(state: SessionState) -> list[list[Fact]]:
    """Return groups of facts to judge as one text: each passage alone, but a model's single sentences by page."""
    groups: dict[str, list[Fact]] = {}
    for fact in all_facts(state):
        groups.setdefault(fact.id if state.config.reasoner == EXTRACTIVE else fact.url, []).append(fact)
    return list(groups.values())


def _stemmed(facts: Sequence[Fact], language: str, state: SessionState) -> StemmedText:
    url = facts[0].url
    title = state.pages[url].title if url in state.pages else ""
    headings = " ".join(dict.fromkeys([title, *(name for fact in facts for name in (*fact.path, fact.heading))]))
    return StemmedText.of(
        " ".join(f"{fact.lead} {fact.quote} {fact.claim if fact.claim != fact.quote else ''}" for fact in facts),
        headings,
        language,
    )


def _nearest_fact_ids(state: SessionState) -> tuple[str, ...]:
    facts = all_facts(state)
    query = query_of(state)
    strength = scores(query, [_stemmed([fact], query.language, state) for fact in facts], statistics(state))
    ranked = sorted(range(len(facts)), key=lambda place: (-round(strength[place], 9), place))
    return tuple(facts[place].id for place in ranked[:_NEAREST_FACTS] if strength[place] > 0)


def _reason(state: SessionState, missing: tuple[str, ...]) -> str:
    known = statistics(state)
    named = [f"“{word}”" for word in missing[:_NAMED_WORDS]]
    if not named or not _all_unindexed(state, missing):
        together = f" that mentions {_enumeration(named, 'and')} together with the rest" if named else " that answers it"
        return f"{_sources(known, 'has', 'have')} a passage{together}{_language_note(state)}"
    return f"{_sources(known, 'mentions', 'mention')} {_enumeration(named, 'or')}{_language_note(state)}"


def _all_unindexed(state: SessionState, missing: tuple[str, ...]) -> bool:
    """Return whether neither the index nor any fact contains one of these words."""
    known, query = _index_statistics(state), query_of(state)
    texts = [_stemmed([fact], query.language, state) for fact in all_facts(state)]
    held = {stem for text in texts for stem in (*text.body, *text.heads)}
    return all(is_unindexed(term, known) and not term.is_in(held) for term in query.terms if term.word in missing)


def _sources(known: TermStatistics, singular: str, plural: str) -> str:
    if known.documents > 1:
        return f"none of your {known.documents:,} documents {singular}"
    return f"your document does not {plural}" if known.documents == 1 else f"no source that was found {singular}"


def _enumeration(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _language_note(state: SessionState) -> str:
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    if not own or not languages or own in languages:
        return ""
    theirs = _enumeration([name.capitalize() for name in languages[:3]], "and")
    return f"; the question is in {own.capitalize()}, the documents are in {theirs}"
