"""The parts of a question that is two: "When was A built, and why was it closed?" Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.text.ranking.comparisons import is_comparison
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question

_MOST = 2
_NAMES = 3  # words of the first part that name the subject of the second
_GERMAN = re.compile(
    r",?\s+und\s+(?=(?:wann|warum|weshalb|wieso|wozu|wie|was|wer|wen|wem|wo|woher|wohin|womit|wodurch|welche[rsnm]?|wieviele?)\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=512)
def question_parts(query: ParsedQuestion) -> tuple[ParsedQuestion, ...]:
    """Return the two parts of a question, the second with the words that name the first's subject; else the question alone.

    A comparison is one question.
    """
    if is_comparison(query.text, query.clauses):
        return (query,)
    clauses = query.clauses
    if len(clauses) == 1:
        first, *rest = (part.strip(" ?.,") for part in _GERMAN.split(query.text, maxsplit=1))
        clauses = (first, *(f"{part} ({_subject(first, query.language)})" for part in rest))
    parts = tuple(parse_question(clause, query.language) for clause in clauses)
    return parts if len(parts) == _MOST and all(part.terms for part in parts) else (query,)


def _subject(first: str, language: str) -> str:
    """Return the names and nouns of a part, as written: its words with a capital behind the first, and numbers."""
    words = [term.word for term in parse_question(first, language).terms]
    named = [word for word in words if (word[:1].isupper() and not first.startswith(word)) or word[:1].isdigit()]
    return " ".join((named or words)[:_NAMES])
