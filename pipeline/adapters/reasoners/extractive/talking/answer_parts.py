"""Which part of a passage answers a question: the run of its sentences, lines or rows that covers most of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.query_terms import ParsedQuestion
from pipeline.text.ranking.scoring import Weights, coverage, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import stems

_SENTENCE_END = re.compile(r"[.!?;:](?:\s|\Z)")
_SENTENCE, _KINDS = 0.5, 0.4  # weights of a run's best sentence and of the answer types, beside the coverage of the whole run
_IN_HEADINGS = 0.5  # share of its weight that a word keeps if the headings hold it: each of their sentences is about it


class _Unit(NamedTuple):
    """A sentence or line with what is before it in its passage: a space or the end of a line; its stems as a set."""

    glue: str
    text: str
    stems: frozenset[str]


def best_part(quote: str, words: int, query: ParsedQuestion, known: TermStatistics, headings: str = "") -> str:
    """Return the run of a passage's sentences or lines, at most ``words`` words, that covers most of the question.

    It is "" if none fits. A line that is too long is cut at its sentences. What the ``headings`` say already counts little.
    """
    if len(quote.split()) <= words:
        return quote
    units, weights = list(_units(quote, words, query.language)), _beside(headings, query, known)
    best, text = -1.0, ""
    for start in range(len(units)):
        run = _run(units[start:], words)
        if run and (worth := _worth(run, query, weights)) > best:
            best, text = worth, "".join(f"{one.glue}{one.text}" for one in run).strip()
    return text


def _beside(headings: str, query: ParsedQuestion, known: TermStatistics) -> Weights:
    """Return the weights of the question's words, lower for those that the headings hold."""
    heads = frozenset(stems(headings, query.language))
    return tuple((term, weight * (_IN_HEADINGS if term.is_in(heads) else 1.0)) for term, weight in term_weights(query, known))


def sentence_coverage(quote: str, heads: frozenset[str], query: ParsedQuestion, weights: Weights) -> float:
    """Return the largest share of the question, 0 to 1, that one sentence of a passage holds together with its headings."""
    units = _units(quote, 0, query.language)
    return max((coverage(weights, heads | one.stems) for one in units), default=0.0)


def _units(quote: str, words: int, language: str) -> Iterator[_Unit]:
    lines = quote.split("\n") if "\n" in quote else [quote]
    for number, line in enumerate(lines):
        parts = split_sentences(line) if len(line.split()) > words or len(lines) == 1 else [line]
        for place, piece in enumerate(piece for part in parts for piece in _pieces(part, words)):
            yield _Unit(" " if place else "\n" if number else "", piece, frozenset(stems(piece, language)))


def _pieces(text: str, words: int) -> Iterator[str]:
    """Yield a text, or its pieces if it is too long and no sentence: a list that lost its lines."""
    parts = text.split(" ")
    if not words or len(parts) <= words or _SENTENCE_END.search(text):
        yield text
        return
    size = max(words // 2, 1)
    for start in range(0, len(parts), size):
        yield " ".join(parts[start : start + size])


def _worth(run: Sequence[_Unit], query: ParsedQuestion, weights: Weights) -> float:
    whole = coverage(weights, frozenset().union(*(one.stems for one in run)))
    best = max(run, key=lambda one: coverage(weights, one.stems))
    return whole + _SENTENCE * coverage(weights, best.stems) + _KINDS * kind_match(query.kinds, best.text)


def _run(units: Sequence[_Unit], words: int) -> list[_Unit]:
    """Return the first units that have at most ``words`` words together."""
    run: list[_Unit] = []
    for one in units:
        words -= len(one.text.split())
        if words < 0:
            break
        run.append(one)
    return run
