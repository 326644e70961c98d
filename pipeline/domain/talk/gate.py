"""The gate of a talk: do the facts found in the stored pages answer the question? Pure.

It is stricter than the gate of a report, which shows the closest passages with what they lack: a short answer cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.domain.talk.state import Turn
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.text.ranking.answerability import DOUBTED_COVERAGE, Judgement, judgement_of
from pipeline.text.ranking.answers.answered_part import unanswered_part
from pipeline.text.ranking.answers.demands import demand_of
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import language_of

_BEST = 10  # best passages found
_MOST, _FEW = 4, 1  # of them in one document: it has most of them; none has
_ONE_DOCUMENT = 0.05  # coverage
_OPEN_COVERAGE = 0.7  # least coverage of a question that asks for no known kind of value
_NEAR_COVERAGE = 0.25  # from which passages are worth showing, though they do not clearly answer
_HISTORICAL = frozenset({"date", "version"})


def is_answerable(turn: Turn, reasoner: str) -> bool:
    """Return whether the turn's facts hold what its question is about.

    A model was asked for facts that answer it, in whatever words, so one fact is enough; it may still find that they do not.
    """
    return bool(turn.facts()) and (reasoner != EXTRACTIVE or judgement(turn).outcome == "answered")


def judgement(turn: Turn) -> Judgement:
    """Return how far the turn's facts answer its question, each fact taken alone.

    An entry of a change log names many things that it says nothing about; it counts only for a question on a date or a version.
    """
    query = question_of(turn)
    known = turn.found.statistics if turn.found else None
    assert known is not None  # noqa: S101 - facts are observed in pages that were found
    passages = stemmed(turn.facts(), query.language)
    is_historical = not _HISTORICAL.isdisjoint(query.kinds)
    counted = [one for one in passages if is_historical or not one.change_log]
    found = judgement_of(query, counted, known)
    if len(query.clauses) == 1 and not found.missing and not found.passing and found.outcome != "unanswered":
        found = replace(found, outcome="answered" if found.coverage >= _least_coverage(turn, query, known) else "partly")
    if found.outcome == "answered" and (lacking := unanswered_part(query, counted, known)):
        return replace(found, outcome="partly", missing=lacking)
    return found


def _least_coverage(turn: Turn, query: ParsedQuestion, known: TermStatistics) -> float:
    """Return the coverage from which the passages answer: lower where one of many documents has most of the best ones.

    It is higher for a question that asks for no known kind of value: only its words tell whether they do. If one document has
    most, the question is about that document's subject, and its other words may be a person's own for what is in it. Where each
    of the best passages is of another document, they share words with the question by chance.
    """
    least = DOUBTED_COVERAGE if demand_of(query.text) else _OPEN_COVERAGE
    best = [hit.url.partition("#")[0] for hit in turn.found.hits[:_BEST]] if turn.found else []
    if len(best) < _BEST or known.documents < _BEST:
        return least
    most = max(map(best.count, best))
    return least - _ONE_DOCUMENT * (most >= _MOST) + _ONE_DOCUMENT * (most <= _FEW)


def has_near_passages(turn: Turn) -> bool:
    """Return whether passages were found that hold about a quarter of the question: worth showing where they do not answer it.

    People ask in words of their own: of 56 questions put strongly in other words, the nearest passages held the answer to 27 at a
    quarter and to 14 at half.
    """
    return bool(turn.facts()) and judgement(turn).coverage >= _NEAR_COVERAGE


def question_of(turn: Turn) -> ParsedQuestion:
    """Return the turn's question, parsed in its own language if the pages are in it, else in theirs."""
    languages = turn.found.languages if turn.found else ()
    own = language_of(turn.stands_alone)
    return parse_question(turn.stands_alone, own if own in languages or not languages else languages[0])


def stemmed(facts: Sequence[Fact], language: str) -> list[StemmedText]:
    """Return facts prepared for ranking, with their headings."""
    return [
        StemmedText.of(f"{fact.lead}\n{fact.quote}", " / ".join(fact.path), language, opens=fact.opens, page=fact.url)
        for fact in facts
    ]
