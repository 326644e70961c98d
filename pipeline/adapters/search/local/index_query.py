"""Query of the passage index: finds candidates by shared stems, ranks them, and removes repeated passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.adapters.search.local.passage_index import Candidate, Index
from pipeline.domain.values import Hit
from pipeline.text.ranking.greedy_coverage import POOL
from pipeline.text.ranking.passages import text_key
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.rank_fusion import rank_score
from pipeline.text.ranking.scoring import BEST, importance, scores
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import language_of

_CANDIDATES = 400
_MOST_STEMS = 64  # of one query
_COMMON = 0.25  # a stem in more than this share of the passages selects no candidates, if rarer stems are left
MEANING = 1.0  # weight of the ranking by meaning, against that by words
_PER_DOCUMENT = 4  # hits of one document that come before others
_CONCEPTS = 600  # stems of the best passages whose counts are returned


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The hits, best first; counts of the stems of the query and of the best passages; the documents' languages."""

    hits: tuple[Hit, ...]
    statistics: TermStatistics
    languages: tuple[str, ...]


def query_index(index: Index, text: str, limit: int, similar: Sequence[int] = ()) -> QueryResult:
    """Return at most ``limit`` hits for the query ``text``. ``similar`` is a ranking by meaning, to be fused with that by words.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    languages = index.languages()
    query = _parsed_query(text, languages)
    known = _statistics(index, query)
    best = _best(index, query, known, similar) if limit else []
    counts = {**known.counts, **index.counts(stem for stem in _frequent_stems(best) if stem not in known.counts)}
    statistics = known.model_copy(update={"counts": dict(sorted(counts.items()))})
    return QueryResult(tuple(_hit(candidate, score) for score, candidate in _spread(best, limit)), statistics, languages)


def _spread(best: Sequence[tuple[float, Candidate]], limit: int) -> list[tuple[float, Candidate]]:
    """Return ``limit`` passages, the first few of each document before its others: hits are what a session reads whole."""
    taken: Counter[str] = Counter()
    found: list[tuple[float, Candidate]] = []
    others: list[tuple[float, Candidate]] = []
    for entry in best:
        taken[entry[1].url] += 1
        (found if taken[entry[1].url] <= _PER_DOCUMENT else others).append(entry)
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


def _best(index: Index, query: ParsedQuestion, known: TermStatistics, similar: Sequence[int]) -> list[tuple[float, Candidate]]:
    """Return the passages, best first, with their scores by words; each text once."""
    by_words = _by_words(index, query, known)
    if not similar:
        return list(_distinct(by_words))
    near = index.passages(similar)
    by_meaning = list(zip(scores(query, [one.ranked for one in near], known), near, strict=True))
    points: dict[int, float] = defaultdict(float)
    for weight, ranking in ((1.0, by_words), (MEANING, by_meaning)):
        for rank, (_, one) in enumerate(_distinct(ranking), start=1):
            points[one.number] += weight * rank_score(rank)
    found = {one.number: (score, one) for score, one in (*by_meaning, *by_words)}
    return list(_distinct(found[number] for number in sorted(points, key=lambda number: (-points[number], number))))


def _by_words(index: Index, query: ParsedQuestion, known: TermStatistics) -> list[tuple[float, Candidate]]:
    wanted = [stem for stem in importance(query, known) if stem in known.counts][:_MOST_STEMS]
    rare = [stem for stem in wanted if known.counts[stem] <= _COMMON * known.passages]
    found = index.candidates(rare or wanted, _CANDIDATES) if wanted else []
    return sorted(
        zip(scores(query, [one.ranked for one in found], known), found, strict=True), key=lambda pair: (-pair[0], pair[1].number)
    )


def _distinct(ranking: Iterable[tuple[float, Candidate]]) -> Iterator[tuple[float, Candidate]]:
    seen: set[str] = set()
    for score, candidate in ranking:
        key = text_key(candidate.text, candidate.path[-1] if len(candidate.path) > 1 else "")
        if key not in seen:
            seen.add(key)
            yield score, candidate


def _frequent_stems(best: Sequence[tuple[float, Candidate]]) -> list[str]:
    """Return the stems that at least two of the best passages hold, the most frequent first; they describe the topic."""
    counts = Counter(stem for _, candidate in best[:POOL] for stem in set(candidate.ranked.body) if len(stem) > 2)
    several = (stem for stem, count in counts.items() if count > 1)
    return sorted(several, key=lambda stem: (-counts[stem], stem))[:_CONCEPTS]


def _hit(candidate: Candidate, score: float) -> Hit:
    return Hit(
        url=f"{candidate.url}#{candidate.anchor}" if candidate.anchor else candidate.url,
        title=candidate.title,
        snippet=candidate.ranked.text,
        heading=candidate.path[-1] if len(candidate.path) > 1 else "",
        score=round(score / BEST, 6),
        published=candidate.published,
    )
