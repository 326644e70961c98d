"""Which recalled statements answer a question: those that hold most of its words, weighted by how rare they are. Pure."""

from __future__ import annotations

from pipeline.domain.memory.values import Recalled, RecalledStatement
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import stems

ANSWERS_FROM = 0.6  # of the weight of a question's words
ENOUGH = 3  # statements that answer a question, for it to need no search


def answering(question: str, recalled: Recalled) -> tuple[RecalledStatement, ...]:
    """Return the recalled statements that answer a question, in their order."""
    parsed = parse_question(question)
    weights = term_weights(parsed, TermStatistics())
    held = ((one, frozenset(stems(one.statement.claim, parsed.language))) for one in recalled.statements)
    return tuple(one for one, found in held if coverage(weights, found) >= ANSWERS_FROM)


def is_answered(question: str, recalled: Recalled) -> bool:
    """Return whether earlier nights found enough on a question that reading their pages again may stand for a search."""
    return len(answering(question, recalled)) >= ENOUGH
