"""What is found in a page without a model: its passages that come nearest to a question, by words and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from pipeline.domain.findings import page_of
from pipeline.domain.values import Hit
from pipeline.research.quoted_facts import Found
from pipeline.text.normalise import normalised
from pipeline.text.ranking.passages import passages
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import BEST, StemmedText, scores, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import DEFAULT_LANGUAGE


def nearest_passages(
    text: str, asked: Iterable[str], known: TermStatistics, limit: int, near: Mapping[str, float] = MappingProxyType({})
) -> list[Found]:
    """Return at most ``limit`` passages of a page that share words with a question or are near to one by meaning, best first.

    ``near`` maps passages to their cosines, as ``near_passages`` returns them.
    """
    language = known.language or DEFAULT_LANGUAGE
    cut, texts = passages(text), _stemmed_passages(text, language)
    statistics = known if known.passages else statistics_of(texts)
    cosines = [near.get(normalised(one.body)) for one in cut]
    best: dict[int, tuple[float, str]] = {}
    for question in dict.fromkeys(asked):
        for place, score in enumerate(scores(parse_question(question, language), texts, statistics, cosines)):
            if score > 0:
                best[place] = max(best.get(place, (0.0, "")), (round(score / BEST, 4), question))
    ranked = sorted(best, key=lambda place: (-best[place][0], place))[:limit]
    return [
        Found(
            quote=cut[place].text,
            claim=cut[place].text,
            question=best[place][1],
            relevance=best[place][0],
            lead=cut[place].lead,
            near=cut[place].start,
            cosine=cosines[place],
        )
        for place in ranked
    ]


def near_passages(url: str, hits: Iterable[Hit]) -> dict[str, float]:
    """Return the passages of a page that searches by meaning found, normalised, each with its largest cosine."""
    found: dict[str, float] = {}
    for hit in hits:
        if hit.cosine is not None and page_of(hit.url) == url:
            passage = normalised(hit.snippet)
            found[passage] = max(hit.cosine, found.get(passage, -1.0))
    return found


@lru_cache(maxsize=48)
def _stemmed_passages(text: str, language: str) -> tuple[StemmedText, ...]:
    """Return a page's passages prepared for ranking; cached, as several sessions of a night read the same page."""
    return tuple(StemmedText.of(one.body, one.headings, language) for one in passages(text))
