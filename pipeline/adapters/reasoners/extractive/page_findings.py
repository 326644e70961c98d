"""Answers to observation questions: the passages of a page that answer the query or the perspective's questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pipeline.domain.reasoner_questions import Finding, Observation, ObservationQuestion
from pipeline.text.normalise import normalised
from pipeline.text.ranking.passages import Passage, passages
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import BEST, StemmedText, coverage, scores, statistics_of, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import DEFAULT_LANGUAGE

_NEIGHBOURED = 3  # best passages whose neighbours are returned too
_LEAST_COVERAGE = 0.15  # a passage with less coverage of a question is about something else


def observe(question: ObservationQuestion) -> Observation:
    """Return the page's passages on the query or the perspective's questions, best first."""
    language = question.statistics.language or DEFAULT_LANGUAGE
    cut, texts = passages(question.text), _stemmed_passages(question.text, language)
    known = question.statistics if question.statistics.passages else statistics_of(texts)
    best: dict[int, tuple[float, str]] = {}
    for asked in dict.fromkeys((question.query, *question.perspective.questions)):
        for place, score in _scored(asked, language, texts, known):
            best[place] = max(best.get(place, (0.0, "")), (score, asked))
    ranked = sorted(best, key=lambda place: (-best[place][0], place))[: question.limit]
    for place in _neighbours(ranked[:_NEIGHBOURED], cut):
        best.setdefault(place, (0.0, ""))
        ranked += [place] if place not in ranked else []
    starts = _starts(question.text)
    return Observation(findings=tuple(_finding(cut[place], *best[place], starts[place]) for place in ranked[: question.limit]))


def _neighbours(ranked: list[int], cut: Sequence[Passage]) -> Iterator[int]:
    """Yield the passages before and after the best ones in their sections, which often continue the answer in other words."""
    for place in ranked:
        for other in (place + 1, place - 1, place + 2, place - 2):
            if 0 <= other < len(cut) and cut[other].path[: len(cut[place].path)] == cut[place].path:
                yield other


@lru_cache(maxsize=48)
def _stemmed_passages(text: str, language: str) -> tuple[StemmedText, ...]:
    """Return a page's passages prepared for ranking; cached, as several workers read the same page."""
    return tuple(StemmedText.of(one.body, one.headings, language, opens=one.opens) for one in passages(text))


@lru_cache(maxsize=48)
def _starts(text: str) -> tuple[int, ...]:
    """Return the offset of each passage in the normalised page, which may contain the same words twice."""
    page = normalised(text)
    starts: list[int] = []
    at = 0
    for passage in passages(text):
        said = normalised(passage.text)
        heading = passage.path[-1] if passage.opens and passage.path else ""
        behind = page.find(normalised(heading), at) if heading else at
        start = page.find(said, max(at, behind))
        starts.append(start)
        at = start + len(said) if start >= 0 else at
    return tuple(starts)


def _scored(asked: str, language: str, texts: Sequence[StemmedText], known: TermStatistics) -> list[tuple[int, float]]:
    query = parse_question(asked, language)
    weights = term_weights(query, known)
    found = enumerate(zip(scores(query, texts, known), texts, strict=True))
    return [
        (place, round(score / BEST, 4))
        for place, (score, text) in found
        if score > 0 and coverage(weights, frozenset((*text.body, *text.heads))) >= _LEAST_COVERAGE
    ]


def _finding(passage: Passage, score: float, asked: str, near: int) -> Finding:
    return Finding(claim=passage.text, quote=passage.text, question=asked, relevance=score, lead=passage.lead, near=near)
