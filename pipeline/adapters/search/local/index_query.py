"""Query of the passage index: finds candidates by shared stems, ranks them, and removes repeated passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.adapters.search.local.passage_index import Candidate, Index
from pipeline.domain.values import Hit
from pipeline.search.vectors import ByMeaning
from pipeline.text.ranking.greedy_coverage import POOL
from pipeline.text.ranking.passages import text_key
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import BEST, importance, scores
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import language_of

_CANDIDATES = 400
_MOST_STEMS = 64  # of one query
_COMMON = 0.25  # a stem in more than this share of the passages selects no candidates, if rarer stems are left
_PER_DOCUMENT = 4  # hits of one document that come before others
_CONCEPTS = 600  # stems of the best passages whose counts are returned


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The hits, best first; counts of the stems of the query and of the best passages; the documents' languages."""

    hits: tuple[Hit, ...]
    statistics: TermStatistics
    languages: tuple[str, ...]


class Scored(NamedTuple):
    """A passage, its score, and its cosine to the query if that is known."""

    score: float
    candidate: Candidate
    cosine: float | None


def query_index(index: Index, text: str, limit: int, near: ByMeaning | None = None) -> QueryResult:
    """Return at most ``limit`` hits for the query ``text``, ranked by words and, with ``near``, by meaning.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    languages = index.languages()
    query = _parsed_query(text, languages)
    known = _statistics(index, query)
    near = near or ByMeaning()
    best = list(_distinct(_ranked(index, query, known, near))) if limit else []
    counts = {**known.counts, **index.counts(stem for stem in _frequent_stems(best) if stem not in known.counts)}
    floor = near.floor if near.cosines else None
    statistics = known.model_copy(update={"counts": dict(sorted(counts.items())), "nearest": floor})
    return QueryResult(tuple(map(_hit, _spread(best, limit))), statistics, languages)


def _spread(best: Sequence[Scored], limit: int) -> list[Scored]:
    """Return ``limit`` passages, the first few of each document before its others: hits are what a session reads whole."""
    taken: Counter[str] = Counter()
    found: list[Scored] = []
    others: list[Scored] = []
    for entry in best:
        taken[entry.candidate.url] += 1
        (found if taken[entry.candidate.url] <= _PER_DOCUMENT else others).append(entry)
    return [*found, *others][:limit]


def _parsed_query(text: str, languages: Sequence[str]) -> ParsedQuestion:
    """Return the query, parsed in its own language if there are documents in it, else in that of most documents."""
    own = language_of(text)
    return parse_question(text, own if own in languages or not languages else languages[0])


def _statistics(index: Index, query: ParsedQuestion) -> TermStatistics:
    documents, passages, body, heads = index.totals()
    return TermStatistics(
        language=query.language,
        documents=documents,
        passages=passages,
        body_stems=round(body, 3),
        heading_stems=round(heads, 3),
        counts=index.counts(dict.fromkeys(stem for term in query.terms for stem in (term.stem, *term.parts))),
    )


def _ranked(index: Index, query: ParsedQuestion, known: TermStatistics, near: ByMeaning) -> list[Scored]:
    """Return the passages that hold the rarer stems of the query, and those that are nearest to it by meaning, best first."""
    wanted = [stem for stem in importance(query, known) if stem in known.counts][:_MOST_STEMS]
    rare = [stem for stem in wanted if known.counts[stem] <= _COMMON * known.passages]
    found = index.candidates(rare or wanted, _CANDIDATES) if wanted else []
    cosines = near.cosines([one.number for one in found]) if near.cosines else {}
    held = {one.number for one in found}
    found += index.passages(number for number in cosines if number not in held)
    near_by = [cosines.get(one.number) for one in found]
    strength = scores(query, [one.ranked for one in found], known, near_by)
    return sorted(map(Scored, strength, found, near_by), key=lambda one: (-one.score, one.candidate.number))


def _distinct(ranking: Iterable[Scored]) -> Iterator[Scored]:
    seen: set[str] = set()
    for one in ranking:
        key = text_key(one.candidate.text, one.candidate.path[-1] if len(one.candidate.path) > 1 else "")
        if key not in seen:
            seen.add(key)
            yield one


def _frequent_stems(best: Sequence[Scored]) -> list[str]:
    """Return the stems that at least two of the best passages hold, the most frequent first; they describe the topic."""
    counts = Counter(stem for one in best[:POOL] for stem in set(one.candidate.ranked.body) if len(stem) > 2)
    several = (stem for stem, count in counts.items() if count > 1)
    return sorted(several, key=lambda stem: (-counts[stem], stem))[:_CONCEPTS]


def _hit(one: Scored) -> Hit:
    candidate = one.candidate
    return Hit(
        url=f"{candidate.url}#{candidate.anchor}" if candidate.anchor else candidate.url,
        title=candidate.title,
        snippet=candidate.ranked.text,
        heading=candidate.path[-1] if len(candidate.path) > 1 else "",
        score=round(one.score / BEST, 6),
        cosine=None if one.cosine is None else round(one.cosine, 4),
        published=candidate.published,
    )
