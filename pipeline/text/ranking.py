"""Passage scores for a question: words / best words + 1.6 · coverage, squared and added to the cosine where vectors are known.

Words are BM25 over text and headings (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75), as a share of the best passage's.
Coverage is the share of the question's words, by rarity, that one passage contains with its headings. No passage below ``FLOOR``
is near the question.

For a broad question passages are chosen so that each adds something new: greedy coverage of concepts under a budget of words
(after Lin and Bilmes 2011). A concept is a stem that at least two of the ranked passages contain; it counts once, with the
weight log(share among them ÷ share in the whole index) × √count.

Rankings of several searches are fused by reciprocal ranks (Cormack, Clarke and Büttcher 2009), with a third of the places at
least for the user's own documents and for web pages. Pure.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from pipeline.text.questions import ParsedQuestion, Term
from pipeline.text.words import stems


class TermStatistics(BaseModel):
    """Statistics of an index: the number of documents and passages in an index, and how many passages contain each stem.

    ``body_stems`` and ``heading_stems`` are average numbers a passage. ``counts`` maps the requested stems to numbers of
    passages; a missing stem means 0. ``language`` is Snowball's name for the language of the stems. ``nearest`` is the
    least cosine of a passage that is near a question, where the index was searched by meaning, with a model that it is known for.
    """

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    language: str = ""
    documents: int = 0
    passages: int = 0
    body_stems: float = 0.0
    heading_stems: float = 0.0
    counts: dict[str, int] = {}
    nearest: float | None = None


COVERAGE = 1.6  # weight beside the words: of 102 narrow questions 52 are answered in the first 150 words, with ½ it is 46
BEST = 1.0 + COVERAGE
BESIDE = 0.25  # weight of the words beside the cosine: see docs/how-it-is-built.md, "How passages are ranked"
FLOOR = 0.32  # least coverage of a passage that is near a question: refuses most of 24 questions on other subjects, none of 40
ASSUMED_PASSAGES = 50  # passages on other subjects, added to those of an index for the rarity of words
_K1, _B = 1.2, 0.75
_PART_WEIGHT = 0.5
_SHINGLE, _TWIN, _SHORT = 4, 0.8, 25  # words

Weights = tuple[tuple[Term, float], ...]


@dataclass(frozen=True, slots=True)
class StemmedText:
    """A passage prepared for ranking: the stems of its text and of its headings."""

    body: tuple[str, ...]
    heads: tuple[str, ...]

    @classmethod
    def of(cls, text: str, headings: str, language: str) -> StemmedText:
        """Return the passage made from plain texts in ``language`` (Snowball's name)."""
        return cls(tuple(stems(text, language)), tuple(stems(headings, language)))

    @property
    def held(self) -> frozenset[str]:
        """All its stems, those of its headings too."""
        return frozenset((*self.body, *self.heads))


def without_twins(texts: Sequence[StemmedText], headings: Sequence[str]) -> list[int]:
    """Return the places of ``texts``, best first, without those that repeat a better one, as a page in two formats does.

    A text repeats another if four fifths of the shorter one's shingles of four words are in it; a short one only if it has the
    same words under the same heading.
    """
    kept: list[int] = []
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for place, (text, heading) in enumerate(zip(texts, headings, strict=True)):
        body = text.body
        is_short = len(body) < _SHORT
        shingles = {(heading, *body)} if is_short else set(zip(*(body[start:] for start in range(_SHINGLE)), strict=False))
        shared = Counter(other for shingle in shingles for other in holders[shingle])
        if not any(count >= _TWIN * min(len(shingles), sizes[other]) for other, count in shared.items()):
            kept.append(place)
            sizes[place] = len(shingles)
            for shingle in shingles:
                holders[shingle].append(place)
    return kept


def statistics_of(texts: Sequence[StemmedText], language: str = "") -> TermStatistics:
    """Return the term statistics of these passages, for use where there is no index."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text.held)
    total = len(texts) or 1
    return TermStatistics(
        language=language,
        passages=len(texts),
        body_stems=sum(len(text.body) for text in texts) / total,
        heading_stems=sum(len(text.heads) for text in texts) / total,
        counts=dict(sorted(counts.items())),
    )


def rarity(stem: str, known: TermStatistics) -> float:
    """Return the inverse document frequency of a stem: above 0, largest for a stem that no passage contains.

    50 passages on other subjects are assumed, so that the subject's name stays rare in a few documents that all contain it.
    """
    if not known.passages:  # without an index all words weigh the same
        return 1.0
    return math.log(1 + (known.passages + ASSUMED_PASSAGES) / (known.counts.get(stem, 0) + 0.5))


def importance(query: ParsedQuestion, known: TermStatistics) -> dict[str, float]:
    """Return the weight of each stem of the question: its rarity; an identifier's parts count half."""
    found = {term.stem: rarity(term.stem, known) for term in query.terms}
    for term in query.terms:
        for part in term.parts:
            found.setdefault(part, _PART_WEIGHT * rarity(part, known))
    return found


def term_weights(query: ParsedQuestion, known: TermStatistics) -> Weights:
    """Return the question's words, each with its rarity; an unknown identifier is as rare as its rarest part."""
    forms = ((term, [term.stem] if known.counts.get(term.stem) or not term.parts else term.parts) for term in query.terms)
    return tuple((term, max(rarity(stem, known) for stem in stems)) for term, stems in forms)


def coverage(weights: Weights, held: Container[str]) -> float:
    """Return the share, 0 to 1, of the question's words, by rarity, that a text with the stems ``held`` contains."""
    total = sum(weight for _, weight in weights)
    return sum(weight for term, weight in weights if term.is_in(held)) / total if total else 0.0


def best_coverage(query: ParsedQuestion, texts: Iterable[StemmedText], known: TermStatistics) -> float:
    """Return the largest coverage that one of the passages has of the question; 0 without passages."""
    weights = term_weights(query, known)
    return max((coverage(weights, text.held) for text in texts), default=0.0)


def scores(
    query: ParsedQuestion, texts: Sequence[StemmedText], known: TermStatistics, cosines: Sequence[float | None] = ()
) -> list[float]:
    """Return a score for each passage relative to the best of them, 0 to ``BEST``.

    ``cosines`` are how near the passages are by meaning; without any (none given, or all None) words alone count.
    """
    wanted, weights = importance(query, known), term_weights(query, known)
    plain = [_bm25(wanted, text.body, known.body_stems) + _bm25(wanted, text.heads, known.heading_stems) for text in texts]
    best = max(plain, default=0.0) or 1.0
    by_words = [
        strength / best + COVERAGE * coverage(weights, text.held) if strength else 0.0
        for strength, text in zip(plain, texts, strict=True)
    ]
    if all(cosine is None for cosine in cosines):
        return by_words
    return [
        BEST * (max(0.0, cosine or 0.0) + BESIDE * (score / BEST) ** 2) / (1 + BESIDE)
        for score, cosine in zip(by_words, cosines, strict=True)
    ]


def _bm25(wanted: Mapping[str, float], held: Sequence[str], average: float) -> float:
    counts = Counter(stem for stem in held if stem in wanted)
    norm = _K1 * (1 - _B + _B * len(held) / (average or 1.0))
    return sum(wanted[stem] * count * (_K1 + 1) / (count + norm) for stem, count in counts.items())


POOL = 150  # ranked passages to select from
_PASSAGE_COST = 80  # words added to the cost of each passage, so that short ones are not preferred
_INDEX_FACTOR = 4  # an index with fewer passages than this times the ranked ones has no useful statistics
_UNKNOWN_SHARE = 0.002  # assumed share of passages that contain a stem, where no index knows it


def chosen_passages(
    rankings: Sequence[Sequence[int]],
    strength: Sequence[float],
    texts: Sequence[StemmedText],
    lengths: Sequence[int],
    known: TermStatistics,
    words: int,
) -> list[int]:
    """Return indices of ``texts`` in the order of selection, up to ``words`` words in total.

    ``rankings`` hold indices, best first: one for the whole question, then one for each of its parts. ``strength`` holds each
    text's score for the whole question, ``lengths`` its number of words.
    """
    seeds = list(dict.fromkeys(ranking[0] for ranking in rankings if ranking))  # the best of each come first
    ranked = rankings[0][:POOL]
    pool = list(dict.fromkeys([*ranked, *seeds]))
    indexed = known.passages > _INDEX_FACTOR * len(ranked)
    weights: dict[str, float] = {}  # of concepts; a stem that the index does not know, or that is as common in it, is none
    for stem, count in Counter(stem for index in ranked for stem in set(texts[index].body)).items():
        share = (known.counts.get(stem, 0) + 0.5) / (known.passages + 1) if indexed else _UNKNOWN_SHARE
        weight = math.log(count / len(ranked) / share)
        if count > 1 and len(stem) > 2 and stem in known.counts and weight > 0:
            weights[stem] = weight * math.sqrt(count)
    held = {index: weights.keys() & set(texts[index].body) for index in pool}
    covered: set[str] = set()
    taken: list[int] = []
    left = words
    while pool:
        if seeds:
            best = seeds.pop(0)
        else:  # the passage with the most new concepts a word
            fresh = {index: sum(weights[concept] for concept in held[index] - covered) for index in pool}
            gains = {index: fresh[index] * strength[index] / (lengths[index] + _PASSAGE_COST) for index in pool}
            best = max(pool, key=lambda index: (round(gains[index], 9), -index))
            if gains[best] <= 0:
                break
        pool.remove(best)
        covered |= held[best]
        if lengths[best] <= left:
            taken.append(best)
            left -= lengths[best]
    return taken


Origin = Literal["own", "web"]
T = TypeVar("T")

_K = 60
_SHARE = 3  # each origin gets at least one place in three


def page_origin(url: str) -> Origin:
    """Return the origin of an address: ``own`` for a document of the user's folder, ``web`` for any other."""
    return "own" if url.startswith("corpus:") else "web"


def rank_score(rank: int) -> float:
    """Return what ``rank`` (from 1) in one ranking adds to a score."""
    return 1.0 / (_K + rank)


def fused_ranking(own: Sequence[T], web: Sequence[T], limit: int, address: Callable[[T], str]) -> tuple[T, ...]:
    """Return at most ``limit`` entries of both rankings, best first, each ranking in its own order.

    On a tie the own document comes first, then the smaller address. The rankings must have no address in common.
    """
    sides = enumerate((own, web))
    entries = [(-rank_score(rank), side, address(one), one) for side, ranked in sides for rank, one in enumerate(ranked, start=1)]
    ranked = [entry[3] for entry in sorted(entries, key=lambda entry: entry[:3])]
    return with_shares(ranked, limit, lambda one: page_origin(address(one)))


def with_shares(ranked: Sequence[T], limit: int, origin: Callable[[T], Origin]) -> tuple[T, ...]:
    """Return ``limit`` entries of ``ranked`` in their order, at least a third of them from each origin.

    An origin with too few entries leaves its places to the other. If ``limit`` is 1, the first entry is returned.
    """
    least = -(-limit // _SHARE) if limit > 1 else 0
    places = range(len(ranked))
    certain = {place for side in ("own", "web") for place in [at for at in places if origin(ranked[at]) == side][:least]}
    others = [place for place in places if place not in certain]
    chosen = certain | set(others[: max(0, limit - len(certain))])
    return tuple(ranked[place] for place in sorted(chosen))
