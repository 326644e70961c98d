"""What a report is worth beside as many words of plain passages: the answer in the summary, the facets in the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.quality.matching import first_words, found, word_count
from bench.quality.sets import Broad, Narrow

SUMMARY_WORDS = 150
REPORT_WORDS = 1_500


@dataclass(frozen=True, slots=True)
class NarrowScore:
    """The stretch that answers the question in the summary, and in the plain passages; "" if none does."""

    question: Narrow
    own: str
    plain: str
    own_words: int
    plain_words: int


@dataclass(frozen=True, slots=True)
class BroadScore:
    """The names of the facets found in the report, and in the plain passages."""

    question: Broad
    own: tuple[str, ...]
    plain: tuple[str, ...]
    own_words: int
    plain_words: int


def score_narrow(question: Narrow, summary: str, plain: str) -> NarrowScore:
    """Score the first 150 words of both texts."""
    summary, plain = first_words(summary, SUMMARY_WORDS), first_words(plain, SUMMARY_WORDS)
    own, other = found(summary, question.expected), found(plain, question.expected)
    return NarrowScore(question, own, other, word_count(summary), word_count(plain))


def score_broad(question: Broad, report: str, plain: str) -> BroadScore:
    """Score the first 1,500 words of the report, and as many of the plain passages."""
    report = first_words(report, REPORT_WORDS)
    plain = first_words(plain, word_count(report))
    own, other = facets_in(question, report), facets_in(question, plain)
    return BroadScore(question, own, other, word_count(report), word_count(plain))


def facets_in(question: Broad, text: str) -> tuple[str, ...]:
    """Return the names of the facets that ``text`` mentions."""
    return tuple(facet.name for facet in question.facets if found(text, facet.any))


def by_chance(questions: Sequence[Narrow], summaries: Mapping[str, str]) -> float:
    """Return the share of expected answers found in the summaries of other questions: what a match by accident is worth."""
    texts = {name: first_words(text, SUMMARY_WORDS) for name, text in summaries.items() if text}
    pairs = [(question, text) for question in questions for name, text in texts.items() if name != question.id]
    return sum(bool(found(text, question.expected)) for question, text in pairs) / max(1, len(pairs))
