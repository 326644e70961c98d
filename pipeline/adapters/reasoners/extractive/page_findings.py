"""Answers to observation questions: the passages of a page that answer the query or the perspective's questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from pipeline.domain.reasoner_questions import Finding, Observation, ObservationQuestion
from pipeline.text.normalise import normalised
from pipeline.text.ranking.answerability import judgement_of
from pipeline.text.ranking.passages import Passage, passages
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import BEST, StemmedText, coverage, scores, statistics_of, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import DEFAULT_LANGUAGE

_NEIGHBOURED = 3  # best passages whose neighbours are returned too
_AROUND = 3  # neighbours for which there is room in any case, if only one thing is asked
_GAP_PASSAGES = 3
_LEAST_COVERAGE = 0.15  # a passage with less coverage of a question is about something else

_Best = dict[int, tuple[float, str]]  # the score of a passage, and the question it is best for, by its place in the page


def observe(question: ObservationQuestion) -> Observation:
    """Return the page's passages on the query or the questions of each perspective, best first."""
    if question.part == "rest":
        return Observation(findings=())
    language = question.statistics.language or DEFAULT_LANGUAGE
    cut, texts = passages(question.text), _stemmed_passages(question.text, language)
    known = question.statistics if question.statistics.passages else statistics_of(texts)
    if question.part == "gap":
        best = _answers(question.perspectives[0].questions[0], language, texts, known)
        ranked = sorted(best, key=lambda place: (-best[place][0], place))[:_GAP_PASSAGES]
    else:
        best = _scored_best(question, language, texts, known)
        ranked = sorted(best, key=lambda place: (-best[place][0], place))
        room = _AROUND if len(_asked(question)) == 1 else 0
        ranked = _with_neighbours(ranked, cut, question.limit, room)
    starts = _starts(question.text)
    return Observation(findings=tuple(_finding(cut[place], *best.get(place, (0.0, "")), starts[place]) for place in ranked))


def _asked(question: ObservationQuestion) -> tuple[str, ...]:
    """Return the query and the perspectives' questions, each once."""
    return tuple(dict.fromkeys((question.query, *(text for view in question.perspectives for text in view.questions))))


def _scored_best(question: ObservationQuestion, language: str, texts: Sequence[StemmedText], known: TermStatistics) -> _Best:
    """Return the passages that are about the query or a question, with the best score and the question that gave it."""
    best: _Best = {}
    for text in _asked(question):
        for place, score in _scored(text, language, texts, known):
            best[place] = max(best.get(place, (0.0, "")), (score, text))
    return best


def _answers(asked: str, language: str, texts: Sequence[StemmedText], known: TermStatistics) -> _Best:
    """Return the passages that cover a question well and lack none of its names."""
    query = parse_question(asked, language)
    scored = _scored(asked, language, texts, known)
    return {place: (score, asked) for place, score in scored if judgement_of(query, [texts[place]], known).outcome == "answered"}


def _with_neighbours(ranked: list[int], cut: Sequence[Passage], limit: int, room: int) -> list[int]:
    """Return at most ``limit`` places, the best first; at least ``room`` of them are for neighbours of the best."""
    kept = ranked[: max(limit - room, 1)]
    around = list(dict.fromkeys(place for place in _neighbours(ranked[:_NEIGHBOURED], cut) if place not in kept))
    return list(dict.fromkeys([*kept, *around[:room], *ranked, *around]))[:limit]


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
