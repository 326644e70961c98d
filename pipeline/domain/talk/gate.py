"""The gate of a question asked back: without a model, whether a passage of the stored pages is near it. Pure."""

from __future__ import annotations

from pipeline.domain.not_found_gate import is_near
from pipeline.domain.talk.state import Turn
from pipeline.domain.values import EXTRACTIVE
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import language_of


def is_answerable(turn: Turn, reasoner: str) -> bool:
    """Return whether the turn's facts hold what its question is about.

    A model was asked for facts that answer it, in whatever words, so one fact is enough; it may still find that they do not.
    """
    return bool(turn.facts()) and (reasoner != EXTRACTIVE or has_near_passages(turn))


def has_near_passages(turn: Turn) -> bool:
    """Return whether one of the turn's passages is near enough to its question to be shown."""
    query = question_of(turn)
    known = turn.found.statistics if turn.found else TermStatistics()
    return is_near(query, turn.facts(), known)


def question_of(turn: Turn) -> ParsedQuestion:
    """Return the turn's question, parsed in its own language if the pages are in it, else in theirs."""
    languages = turn.found.languages if turn.found else ()
    own = language_of(turn.stands_alone)
    return parse_question(turn.stands_alone, own if own in languages or not languages else languages[0])
