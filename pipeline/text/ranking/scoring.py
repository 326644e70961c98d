"""How well passages answer a question: BM25 over text and headings, coverage of what is asked, kind of answer, place.

The sum and its weights were set on 180 questions over four collections of documentation:
score = BM25 / best BM25 + 1.6 · coverage + 0.2 · kinds served + 0.1 · coverage by the heading that the passage opens;
for a broad question coverage counts 0.8.
BM25 after Robertson and Zaragoza (2009), k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from pipeline.text.ranking.answer_types import served
from pipeline.text.ranking.query_terms import Query, Term
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import stems

COVERAGE, KINDS, OPENING = 1.6, 0.2, 0.1
_BROAD_COVERAGE = 0.8  # a passage that answers a part of a broad question need not speak of all of it
BEST = 1.0 + COVERAGE + KINDS + OPENING
ELSEWHERE = 50  # passages of other subjects that are thought beside those of an index
_K1, _B = 1.2, 0.75
_PART = 0.5
_PAST = 0.15  # what a passage of a change log pays, unless a date or a version is asked for
_HISTORICAL = frozenset({"date", "version"})
_CHANGE_LOG = re.compile(r"\brelease notes?\b|\bchange ?log\b|\bwhat['’]?s new\b|\bchanges in\b|\brelease \d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage as it is ranked.

    ``body`` and ``heads`` are the stems of its text and of its headings; ``text`` is as written; ``opens``: it opens its section.
    """

    body: tuple[str, ...]
    heads: tuple[str, ...]
    text: str
    opens: bool = False
    page: str = ""
    past: bool = False

    @classmethod
    def of(cls, text: str, headings: str, language: str, *, opens: bool = False, page: str = "") -> Ranked:
        """Return it made from plain texts."""
        past = is_past(headings)
        return cls(tuple(stems(text, language)), tuple(stems(headings, language)), text, opens, page, past)


def is_past(headings: str) -> bool:
    """Tell whether headings are those of a change log: it says what was, and seldom answers what is."""
    return _CHANGE_LOG.search(headings) is not None


def statistics_of(texts: Sequence[Ranked], language: str = "") -> TermStatistics:
    """Return the statistics of these passages alone, for where no index knows more."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update({*text.body, *text.heads})
    total = len(texts) or 1
    return TermStatistics(
        language=language,
        passages=len(texts),
        body_stems=sum(len(text.body) for text in texts) / total,
        heading_stems=sum(len(text.heads) for text in texts) / total,
        counts=dict(sorted(counts.items())),
    )


def rarity(stem: str, known: TermStatistics) -> float:
    """Return the inverse document frequency of a stem, above 0; greatest for what no passage holds.

    As if there were some more passages, of other subjects: few documents on one subject all hold its name.
    """
    if not known.passages:  # no index tells: all words are alike
        return 1.0
    return math.log(1 + (known.passages + ELSEWHERE) / (known.counts.get(stem, 0) + 0.5))


def importance(query: Query, known: TermStatistics) -> dict[str, float]:
    """Return what each stem of the question counts: its weight times its rarity; a compound's parts count half."""
    found = {term.stem: term.weight * rarity(term.stem, known) for term in query.terms}
    for term in query.terms:
        for part in term.parts:
            found.setdefault(part, _PART * term.weight * rarity(part, known))
    return found


def covered(query: Query, known: TermStatistics, held: Container[str]) -> float:
    """Return the share of the question's words, by weight and rarity, that a text with the stems ``held`` has; 0 to 1."""
    weights = [(term, term.weight * _rarest(term, known)) for term in query.terms]
    total = sum(weight for _, weight in weights)
    return sum(weight for term, weight in weights if term.is_in(held)) / total if total else 0.0


def _rarest(term: Term, known: TermStatistics) -> float:
    """Return a word's rarity; a compound that stands nowhere whole is as rare as the rarest of its parts."""
    if known.counts.get(term.stem) or not term.parts:
        return rarity(term.stem, known)
    return max(rarity(part, known) for part in term.parts)


def scores(query: Query, texts: Sequence[Ranked], known: TermStatistics) -> list[float]:
    """Return a score for each passage, 0 to ``BEST``, relative to the best of them."""
    wanted = importance(query, known)
    plain = [_bm25(wanted, text.body, known.body_stems) + _bm25(wanted, text.heads, known.heading_stems) for text in texts]
    best = max(plain, default=0.0) or 1.0
    return [
        strength / best + _beyond(query, known, text) if strength else 0.0 for strength, text in zip(plain, texts, strict=True)
    ]


def _beyond(query: Query, known: TermStatistics, text: Ranked) -> float:
    heads = frozenset(text.heads)
    opening = covered(query, known, heads) if text.opens else 0.0
    past = _PAST if text.past and not _HISTORICAL.intersection(query.kinds) else 0.0
    held = heads.union(text.body)
    share = _BROAD_COVERAGE if query.broad else COVERAGE
    return share * covered(query, known, held) + KINDS * served(query.kinds, text.text) + OPENING * opening - past


def _bm25(wanted: Mapping[str, float], held: Sequence[str], average: float) -> float:
    counts = Counter(stem for stem in held if stem in wanted)
    norm = _K1 * (1 - _B + _B * len(held) / (average or 1.0))
    return sum(wanted[stem] * count * (_K1 + 1) / (count + norm) for stem, count in counts.items())
