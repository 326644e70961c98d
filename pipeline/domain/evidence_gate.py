"""The evidence gate of a session: whether its facts hold what the user's own words are about. Pure.

No report is written from strangers: what the sources do not hold ends a session as ``not-found``, in words that a person
understands.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.domain.events.session_events import NO_EVIDENCE
from pipeline.domain.state import SessionState, admitted_facts, all_facts
from pipeline.domain.steps import Fail, StartSynthesis
from pipeline.domain.values import Fact
from pipeline.text.ranking.answerability import Judgement, is_unindexed, judgement_of
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, scores, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import language_of

_NEAREST = 3  # facts shown where there is no answer
_NAMED = 4  # missing words named in a reason


def after_gathering(state: SessionState) -> StartSynthesis | Fail:
    """Return what follows once all is gathered: the synthesis, or the end for want of evidence."""
    judgement = _judgement(state)
    if judgement.outcome == "unanswered":
        return refused(state, judgement)
    return StartSynthesis(judgement.missing, judgement.outcome == "partly" and not judgement.missing)


def refused(state: SessionState, judgement: Judgement | None = None) -> Fail:
    """Return the end for want of evidence: what is not there, and what comes nearest."""
    judgement = judgement or _judgement(state)
    return Fail(NO_EVIDENCE, _reason(state, judgement.missing), judgement.missing, _nearest(state))


def query_of(state: SessionState) -> ParsedQuestion:
    """Return the session's question, read in the language that its sources are written in."""
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    return parse_question(state.query, own if own in languages or not languages else languages[0])


def statistics(state: SessionState) -> TermStatistics:
    """Return what is known of words: by the searched index, or else by what was found."""
    if state.survey and state.survey.statistics.passages:
        return state.survey.statistics
    hits = state.survey.hits if state.survey else ()
    language = query_of(state).language
    found = [StemmedText.of(hit.snippet, f"{hit.title} {hit.heading}", language) for hit in hits]
    return statistics_of([*found, *(_ranked([fact], language, state) for fact in all_facts(state))], language)


def _indexed(state: SessionState) -> TermStatistics:
    """Return what an index knows of the question's words; nothing where none was searched: found texts are all on the subject."""
    return state.survey.statistics if state.survey else TermStatistics()


def _judgement(state: SessionState) -> Judgement:
    query = query_of(state)
    return judgement_of(query, [_ranked(group, query.language, state) for group in _groups(state)], _indexed(state))


def _groups(state: SessionState) -> list[list[Fact]]:
    """Return the facts that stand together: a passage is one already; of a model's single sentences, those of one page."""
    groups: dict[str, list[Fact]] = {}
    for fact in admitted_facts(state):
        groups.setdefault(fact.id if state.config.reasoner == "extractive" else fact.url, []).append(fact)
    return list(groups.values())


def _ranked(facts: Sequence[Fact], language: str, state: SessionState) -> StemmedText:
    url = facts[0].url
    title = state.pages[url].title if url in state.pages else ""
    headings = " ".join(dict.fromkeys([title, *(name for fact in facts for name in (*fact.path, fact.heading))]))
    return StemmedText.of(
        " ".join(f"{fact.lead} {fact.quote} {fact.claim if fact.claim != fact.quote else ''}" for fact in facts),
        headings,
        language,
    )


def _nearest(state: SessionState) -> tuple[str, ...]:
    facts = all_facts(state)
    query = query_of(state)
    strength = scores(query, [_ranked([fact], query.language, state) for fact in facts], statistics(state))
    ranked = sorted(range(len(facts)), key=lambda place: (-round(strength[place], 9), place))
    return tuple(facts[place].id for place in ranked[:_NEAREST] if strength[place] > 0)


def _reason(state: SessionState, missing: tuple[str, ...]) -> str:
    known = statistics(state)
    named = [f"“{word}”" for word in missing[:_NAMED]]
    if not named or not _nowhere(state, missing):
        together = f" that speaks of {_joined(named, 'and')} together with the rest" if named else " that answers it"
        return f"{_sources(known, 'holds', 'hold')} a passage{together}{_language_note(state)}"
    return f"{_sources(known, 'mentions', 'mention')} {_joined(named, 'or')}{_language_note(state)}"


def _nowhere(state: SessionState, missing: tuple[str, ...]) -> bool:
    """Tell whether neither the index nor anything found holds one of these words."""
    known, query = _indexed(state), query_of(state)
    texts = [_ranked([fact], query.language, state) for fact in all_facts(state)]
    held = {stem for text in texts for stem in (*text.body, *text.heads)}
    return all(is_unindexed(term, known) and not term.is_in(held) for term in query.terms if term.word in missing)


def _sources(known: TermStatistics, singular: str, plural: str) -> str:
    if known.documents > 1:
        return f"none of your {known.documents:,} documents {singular}"
    return f"your document does not {plural}" if known.documents == 1 else f"nothing that was found {singular}"


def _joined(names: Sequence[str], word: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _language_note(state: SessionState) -> str:
    languages = state.survey.languages if state.survey else ()
    own = language_of(state.query)
    if not own or not languages or own in languages:
        return ""
    theirs = _joined([name.capitalize() for name in languages[:3]], "and")
    return f"; the question is in {own.capitalize()}, the documents are in {theirs}"
