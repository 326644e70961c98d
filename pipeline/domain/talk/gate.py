"""The gate of a talk: do the facts found in the stored pages answer the question? Pure.

It is stricter than the gate of a report, which shows the closest passages with what they lack: a short answer cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.domain.talk.state import Turn
from pipeline.domain.values import EXTRACTIVE, Fact
from pipeline.text.ranking.answerability import Judgement, judgement_of
from pipeline.text.ranking.answers.answered_part import unanswered_part
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.stemming import language_of

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
    if found.outcome == "answered" and (lacking := unanswered_part(query, counted, known)):
        return replace(found, outcome="partly", missing=lacking)
    return found


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
