"""What to tell in so many words: statements picked one by one, each for what it adds to those picked before.

What is said is counted by terms: a term weighs as much as the good statements that hold it, and less each time it was said
before. A statement is worth its words when it brings many weighty terms that are still new. The greedy choice of the best of
these comes close to the best choice of all, for what is new can only become less (Nemhauser, Wolsey, Fisher 1978; Lin,
Bilmes 2011).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline import terms
from pipeline.terms import Terms
from pipeline.vocabulary import COMMON

_STEEPNESS = 2.0  # of the weight of a term over the worth of the statements that hold it
_PLAIN = 0.4  # share of that weight that a common word has
_AGAIN = 0.2  # what a term is worth each further time
_LENGTH = 0.8  # exponent of a statement's words: 1 would take the densest only
_CROWDING = 0.3  # what each statement taken from a place adds to the price of the next

_COMMON = frozenset(terms.stem(word) for word in COMMON)


@dataclass(frozen=True, slots=True)
class Telling:
    """A statement that may be told: its terms, its length in words, where it stands, and how far it is about the topic."""

    terms: Terms
    words: int
    place: Hashable
    value: float


class Tally:
    """What is still worth saying: the weight of each term, less each time it was said; and how crowded each place is."""

    def __init__(self, weight: Mapping[str, float]) -> None:
        self._weight = dict(weight)
        self._crowd: Counter[Hashable] = Counter()

    def gain(self, telling: Telling) -> float:
        """Return what a statement would add for its words; it can only become less."""
        weight = self._weight
        new = math.fsum([weight[term] for term in telling.terms if term in weight])
        price = math.pow(max(1, telling.words), _LENGTH) * (1 + _CROWDING * self._crowd[telling.place])
        return telling.value * new / price

    def take(self, telling: Telling) -> None:
        """Count what a statement says as said."""
        for term in telling.terms:
            if term in self._weight:
                self._weight[term] *= _AGAIN
        self._crowd[telling.place] += 1


def ranked(tellings: Sequence[Telling], tally: Tally) -> Iterator[int]:
    """Yield the statements' places in the sequence, each time that of the one that adds most to what the tally holds by then."""
    heap = [(-tally.gain(telling), place) for place, telling in enumerate(tellings)]
    heapq.heapify(heap)
    while heap:
        _, place = heapq.heappop(heap)
        now = (-tally.gain(tellings[place]), place)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
        else:
            yield place


def weights(tellings: Sequence[Telling]) -> dict[str, float]:
    """Return what each term weighs: by the worth of the statements that hold it."""
    held: dict[str, float] = {}
    for telling in tellings:
        for term in telling.terms:
            held[term] = held.get(term, 0.0) + telling.value
    return {term: (_PLAIN if term in _COMMON else 1.0) * math.log1p(_STEEPNESS * total) for term, total in held.items()}
