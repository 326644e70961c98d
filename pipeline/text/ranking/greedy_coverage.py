"""Choosing passages for a broad question: each is to bring something new.

Greedy cover of concepts under a budget of words (after Lin and Bilmes 2011): concepts are stems that two of the ranked passages
hold at least; one weighs log(share among them ÷ share in the whole index) × √count, and counts once. Passages of the pages that
hold most of the best ones are preferred: a broad question is mostly answered by few pages.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pipeline.text.ranking.scoring import Ranked
from pipeline.text.ranking.term_statistics import TermStatistics

POOL = 150  # ranked passages that are chosen from
_FIRST = 2  # the best of the whole question and of each part come first
_SPARE = 15  # words that any passage costs beside its own
_BEST = 30  # ranked passages that tell which pages the question is about
_INDEX = 4  # times as many passages as are chosen from make an index; fewer are little more than what was found
_UNKNOWN_SHARE = 0.002  # of all passages that hold a stem, where no index tells
_PAGE = 2.0  # how much the page counts


def chosen(
    rankings: Sequence[Sequence[int]], strength: Sequence[float], texts: Sequence[Ranked], known: TermStatistics, words: int
) -> list[int]:
    """Return indices of ``texts``, in the order chosen, up to ``words`` words.

    ``rankings`` are indices best first: of the whole question, then of each of its parts. ``strength`` is the whole question's
    score of each.
    """
    pool = list(dict.fromkeys([*rankings[0][:POOL], *_seeds(rankings)]))
    weights = concepts([texts[index] for index in rankings[0][:POOL]], known)
    held = {index: weights.keys() & set(texts[index].body) for index in pool}
    worth = _worth(rankings[0], strength, texts)
    taken: list[int] = []
    left = words
    for index in _greedily(rankings, pool, held, weights, worth, texts):
        if _length(texts[index]) <= left:
            taken.append(index)
            left -= _length(texts[index])
    return taken


def _greedily(
    rankings: Sequence[Sequence[int]],
    pool: Sequence[int],
    held: Mapping[int, set[str]],
    weights: Mapping[str, float],
    worth: Mapping[int, float],
    texts: Sequence[Ranked],
) -> Iterator[int]:
    """Yield the best of each ranking in turn, then whatever brings most that is new for its words, until nothing does."""
    spoken: set[str] = set()
    for index in (seeds := _seeds(rankings)):
        yield index
        spoken |= held[index]
    open_ones = [index for index in pool if index not in seeds]
    while open_ones:
        fresh = {index: sum(weights[concept] for concept in held[index] - spoken) for index in open_ones}
        gains = {index: fresh[index] * worth.get(index, 0.0) / (_length(texts[index]) + _SPARE) for index in open_ones}
        best = max(open_ones, key=lambda index: (round(gains[index], 9), -index))
        if gains[best] <= 0:
            return
        yield best
        open_ones.remove(best)
        spoken |= held[best]


def _seeds(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Return the best of each ranking in turn, each once."""
    turns = (ranking[place] for place in range(_FIRST) for ranking in rankings if place < len(ranking))
    return list(dict.fromkeys(turns))


def _worth(ranking: Sequence[int], strength: Sequence[float], texts: Sequence[Ranked]) -> dict[int, float]:
    """Return each passage's score, raised by how much of the best its page holds."""
    pages: defaultdict[str, float] = defaultdict(float)
    for index in ranking[:_BEST]:
        pages[texts[index].page] += strength[index]
    most = max(pages.values(), default=1.0) or 1.0
    return {index: strength[index] * (1 + _PAGE * pages[texts[index].page] / most) for index in ranking}


def _length(text: Ranked) -> int:
    return len(text.text.split())


def concepts(texts: Sequence[Ranked], known: TermStatistics) -> dict[str, float]:
    """Return what each concept weighs; a stem of which nothing is known, or that tells nothing apart, is none."""
    counts = Counter(stem for text in texts for stem in set(text.body))
    indexed = known.passages > _INDEX * len(texts)
    found: dict[str, float] = {}
    for stem, count in counts.items():
        share = (known.counts.get(stem, 0) + 0.5) / (known.passages + 1) if indexed else _UNKNOWN_SHARE
        weight = math.log(count / len(texts) / share)
        if count > 1 and len(stem) > 2 and stem in known.counts and weight > 0:
            found[stem] = weight * math.sqrt(count)
    return found
