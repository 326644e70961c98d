"""Passage scores for a question: BM25 over text and headings, coverage of the question, answer types, place in the section.

score = BM25 / best BM25 + 1.6 · coverage + 0.2 · answer types + 0.1 · answer types in the sentence that covers most of the
question + 0.1 · coverage by the headings if the passage opens its section.
For a broad question the weight of coverage is 0.8. The weights were set on 180 questions over four collections of documentation.
BM25 after Robertson and Zaragoza (2009), k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.query_terms import ParsedQuestion, Term
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.sentences import split_sentences
from pipeline.text.stemming import DEFAULT_LANGUAGE, stems
from pipeline.text.word_frequency import everyday_rarity
from pipeline.text.word_lists import QUESTION_WORDS

COVERAGE, KINDS, SENTENCE, OPENING = 1.6, 0.2, 0.1, 0.1
_BROAD_COVERAGE = 0.8  # a passage that answers one part of a broad question need not cover the rest
BEST = 1.0 + COVERAGE + KINDS + SENTENCE + OPENING
_READ_BY_SENTENCE = 60  # best passages whose sentences are read: the others cannot become the first
ASSUMED_PASSAGES = 50  # passages on other subjects, added to those of an index for the rarity of words
_K1, _B = 1.2, 0.75
_PART_WEIGHT = 0.5
_CHANGE_LOG_PENALTY = 0.15  # does not apply if the question asks for a date or a version
_HISTORICAL = frozenset({"date", "version"})
_CHANGE_LOG = re.compile(r"\brelease notes?\b|\bchange ?log\b|\bwhat['’]?s new\b|\bchanges in\b|\brelease \d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StemmedText:
    """A passage prepared for ranking.

    ``body`` and ``heads`` are the stems of its text and of its headings; ``text`` is as written. ``opens``: it is the first of
    its section. ``change_log``: its headings are those of a change log.
    """

    body: tuple[str, ...]
    heads: tuple[str, ...]
    text: str
    opens: bool = False
    page: str = ""
    change_log: bool = False

    @classmethod
    def of(cls, text: str, headings: str, language: str, *, opens: bool = False, page: str = "") -> StemmedText:
        """Return the passage made from plain texts in ``language`` (Snowball's name)."""
        change_log = is_change_log(headings)
        return cls(tuple(stems(text, language)), tuple(stems(headings, language)), text, opens, page, change_log)


def is_change_log(headings: str) -> bool:
    """Return whether ``headings`` are those of a change log, which describes the past and seldom answers a question."""
    return _CHANGE_LOG.search(headings) is not None


def statistics_of(texts: Sequence[StemmedText], language: str = "") -> TermStatistics:
    """Return the term statistics of these passages, for use where there is no index."""
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
    """Return the inverse document frequency of a stem: above 0, largest for a stem that no passage contains.

    50 passages on other subjects are assumed, so that the subject's name stays rare in a few documents that all contain it.
    """
    if not known.passages:  # without an index all words weigh the same
        return 1.0
    return math.log(1 + (known.passages + ASSUMED_PASSAGES) / (known.counts.get(stem, 0) + 0.5))


def importance(query: ParsedQuestion, known: TermStatistics) -> dict[str, float]:
    """Return the weight of each stem of the question: word weight times rarity; a compound's parts count half."""
    found = {term.stem: term.weight * rarity(term.stem, known) for term in query.terms}
    for term in query.terms:
        for part in term.parts:
            found.setdefault(part, _PART_WEIGHT * term.weight * rarity(part, known))
    return found


Weights = tuple[tuple[Term, float], ...]


def term_weights(query: ParsedQuestion, known: TermStatistics) -> Weights:
    """Return the question's words, each with its weight times its rarity.

    No word is rarer than in everyday language: what no document says, but everybody does ("does it go away by itself?"), is a way
    of asking and not the subject.
    """
    return tuple((term, term.weight * _term_rarity(term, known)) for term in query.terms)


def coverage(weights: Weights, held: Container[str]) -> float:
    """Return the share, 0 to 1, of the question's words, by weight and rarity, that a text with the stems ``held`` contains."""
    total = sum(weight for _, weight in weights)
    return sum(weight for term, weight in weights if term.is_in(held)) / total if total else 0.0


def _term_rarity(term: Term, known: TermStatistics) -> float:
    """Return a word's rarity; an unknown compound is as rare as its rarest part."""
    if known.counts.get(term.stem) or not term.parts:
        found = rarity(term.stem, known)
    else:
        found = max(rarity(part, known) for part in term.parts)
    if not known.passages or term.word.lower() in QUESTION_WORDS:  # words of a question that has no others
        return found
    return min(found, everyday_rarity(term.word, known.language or DEFAULT_LANGUAGE))


def scores(query: ParsedQuestion, texts: Sequence[StemmedText], known: TermStatistics) -> list[float]:
    """Return a score for each passage, 0 to ``BEST``, relative to the best of them."""
    wanted, weights = importance(query, known), term_weights(query, known)
    plain = [_bm25(wanted, text.body, known.body_stems) + _bm25(wanted, text.heads, known.heading_stems) for text in texts]
    best = max(plain, default=0.0) or 1.0
    found = [
        strength / best + _bonus(query, weights, text) if strength else 0.0 for strength, text in zip(plain, texts, strict=True)
    ]
    for place in _best_places(found) if query.kinds else ():
        found[place] += SENTENCE * _sentence_match(query, weights, texts[place])
    return found


def _best_places(found: Sequence[float]) -> list[int]:
    ranked = sorted(range(len(found)), key=lambda place: (-round(found[place], 9), place))
    return [place for place in ranked[:_READ_BY_SENTENCE] if found[place] > 0]


def _sentence_match(query: ParsedQuestion, weights: Weights, text: StemmedText) -> float:
    """Return the share of the answer types that the sentence which covers most of the question contains."""
    heads = frozenset(text.heads)
    sentences = _stemmed_sentences(text.text, query.language)
    best = max(sentences, key=lambda sentence: coverage(weights, heads | sentence[1]), default=None)
    return kind_match(query.kinds, best[0]) if best else 0.0


@lru_cache(maxsize=4_096)
def _stemmed_sentences(text: str, language: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the sentences of a passage with their stems; cached, as a passage is ranked for several questions and steps."""
    return tuple((sentence, frozenset(stems(sentence, language))) for sentence in split_sentences(text))


def _bonus(query: ParsedQuestion, weights: Weights, text: StemmedText) -> float:
    heads = frozenset(text.heads)
    opening = coverage(weights, heads) if text.opens else 0.0
    penalty = _CHANGE_LOG_PENALTY if text.change_log and not _HISTORICAL.intersection(query.kinds) else 0.0
    held = heads.union(text.body)
    weight = _BROAD_COVERAGE if query.broad else COVERAGE
    return weight * coverage(weights, held) + KINDS * kind_match(query.kinds, text.text) + OPENING * opening - penalty


def _bm25(wanted: Mapping[str, float], held: Sequence[str], average: float) -> float:
    counts = Counter(stem for stem in held if stem in wanted)
    norm = _K1 * (1 - _B + _B * len(held) / (average or 1.0))
    return sum(wanted[stem] * count * (_K1 + 1) / (count + norm) for stem, count in counts.items())
