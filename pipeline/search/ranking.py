"""Ranks the passages of a scope for a query: by words, and by meaning where that is known; over the whole scope both times.

An earlier folder wins over a later one within ``PREFERENCE`` of the score. Of passages that repeat each other the best is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.domain.values import Hit
from pipeline.search.index import Candidate, Index, Scope
from pipeline.search.vectors import ByMeaning
from pipeline.text.questions import ParsedQuestion, parse_in
from pipeline.text.ranking import BEST, TermStatistics, coverage, importance, scores, term_weights, without_twins

PREFERENCE = 0.1
_CANDIDATES = 400
_POOL = 150  # of the ranked passages: what is looked at for twins and for the words of the subject
_MOST_STEMS = 64  # of one query
_COMMON = 0.25  # a stem in more than this share of the passages selects no candidates, if rarer stems are left
_PER_DOCUMENT = 4  # hits of one document that come before others
_CONCEPTS = 200  # stems of the best passages whose counts are returned


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage of a scope with its number in the index and how near it is: the score, 0 to 1, that it is ranked by, the share
    of the question's words that it holds, and its cosine if that is known.
    """

    candidate: Candidate
    score: float
    coverage: float
    cosine: float | None

    def hit(self) -> Hit:
        """Return it as a hit."""
        source, passage = self.candidate.source, self.candidate.passage
        return Hit(
            url=f"{source.url}#{passage.anchor}" if passage.anchor else source.url,
            title=source.title,
            snippet=passage.body,
            heading=_heading(self.candidate),
            score=round(self.score, 6),
            coverage=round(self.coverage, 4),
            cosine=None if self.cosine is None else round(self.cosine, 4),
            published=source.published,
        )


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages, best first; counts of the stems of the query and of the best passages; the documents' languages."""

    passages: tuple[Ranked, ...]
    statistics: TermStatistics
    languages: tuple[str, ...]


def ranking(index: Index, scope: Scope, text: str, limit: int, near: ByMeaning | None = None) -> Ranking:
    """Return at most ``limit`` passages of ``scope`` for the query ``text``, ranked by words and, with ``near``, by meaning.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    index.limit_to(scope)
    near = near or ByMeaning()
    languages = index.languages()
    query = parse_in(text, languages)
    documents, number, body, heads = index.totals()
    known = TermStatistics(
        language=query.language,
        documents=documents,
        passages=number,
        body_stems=round(body, 3),
        heading_stems=round(heads, 3),
        counts=index.counts(dict.fromkeys(stem for term in query.terms for stem in (term.stem, *term.parts))),
    )
    best = _ranked(index, query, known, near) if limit else []
    frequent = Counter(stem for one in best[:_POOL] for stem in set(one.candidate.ranked.body) if len(stem) > 2)
    several = sorted((stem for stem in frequent if frequent[stem] > 1), key=lambda stem: (-frequent[stem], stem))[:_CONCEPTS]
    counts = {**known.counts, **index.counts(stem for stem in several if stem not in known.counts)}
    floor = near.floor if near.cosines else None
    statistics = known.model_copy(update={"counts": dict(sorted(counts.items())), "nearest": floor})
    return Ranking(tuple(_spread(best, limit)), statistics, languages)


def by_reranker(passages: Sequence[Ranked], scores: Sequence[float]) -> tuple[Ranked, ...]:
    """Return the passages in the order of a reranker's scores, which take the place of score and cosine."""
    scored = [replace(one, score=score, cosine=score) for one, score in zip(passages, scores, strict=True)]
    return tuple(_in_order(scored))


def _in_order(passages: Sequence[Ranked]) -> list[Ranked]:
    """Return passages by score, those of an earlier folder first within ``PREFERENCE``, equal ones by number."""
    last = max((one.candidate.source.place for one in passages), default=0) or 1
    return sorted(passages, key=lambda one: (one.candidate.source.place * PREFERENCE / last - one.score, one.candidate.number))


def _ranked(index: Index, query: ParsedQuestion, known: TermStatistics, near: ByMeaning) -> list[Ranked]:
    """Rank the passages that hold the rarer stems of the query, and those that are nearest to it by meaning; without twins."""
    wanted = [stem for stem in importance(query, known) if stem in known.counts][:_MOST_STEMS]
    rare = [stem for stem in wanted if known.counts[stem] <= _COMMON * known.passages]
    found = index.candidates(rare or wanted, _CANDIDATES) if wanted else []
    cosines = near.cosines([one.number for one in found]) if near.cosines else {}
    held = {one.number for one in found}
    found += index.passages(number for number in cosines if number not in held)
    texts = [one.ranked for one in found]
    strength = scores(query, texts, known, [cosines.get(one.number) for one in found])
    weights = term_weights(query, known)
    rows = [
        Ranked(one, min(1.0, score / BEST), coverage(weights, one.ranked.held), cosines.get(one.number))
        for score, one in zip(strength, found, strict=True)
        if score > 0
    ]
    best = _in_order(rows)[: 2 * _POOL]
    kept = without_twins([one.candidate.ranked for one in best], [_heading(one.candidate) for one in best])
    return [best[place] for place in kept]


def _spread(best: Sequence[Ranked], limit: int) -> list[Ranked]:
    """Return ``limit`` passages, the first few of each document before its others: hits are what a session reads whole."""
    taken: Counter[str] = Counter()
    found: list[Ranked] = []
    others: list[Ranked] = []
    for entry in best:
        url = entry.candidate.source.url
        taken[url] += 1
        (found if taken[url] <= _PER_DOCUMENT else others).append(entry)
    return [*found, *others][:limit]


def _heading(one: Candidate) -> str:
    return one.passage.path[-1] if len(one.passage.path) > 1 else ""
