"""Which facts a report of so many words is made of: close to the topic, telling, and each with something that the others lack.

What is said is counted by terms: a term weighs as much as the good facts that hold it, and less each time it was said before.
A fact is worth its words when it brings many weighty terms that are still new. The greedy choice of the best of these comes
close to the best choice of all, for what is new can only become less (Nemhauser, Wolsey, Fisher 1978; Lin, Bilmes 2011).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from pipeline import terms
from pipeline.reasoners.extractive import cues
from pipeline.reasoners.extractive.ranking import is_repeat
from pipeline.reasoners.extractive.topic import closeness, subject_weights
from pipeline.values import Fact, Hit
from pipeline.vocabulary import COMMON

_GIVEN, _MERIT, _TELLING = 0.3, 0.3, 0.3  # what a fact close to the topic has, what its merit adds, and advice or a definition
_WEAK = 0.2  # share of the greatest worth up to which a fact is left out
_STEEPNESS = 2.0  # of the weight of a term over the worth of the facts that hold it
_PLAIN = 0.4  # share of that weight that a common word has
_AGAIN = 0.15  # what a term is worth each further time
_LENGTH = 0.7  # exponent of a fact's words: 1 would take the densest only
_CROWDING = 0.2  # what each fact taken from a heading adds to the price of the next

_COMMON = frozenset(terms.stem(word) for word in COMMON)


def worth(query: str, facts: Sequence[Fact], merit: Mapping[str, float], hits: Sequence[Hit]) -> dict[str, float]:
    """Return by id what each fact is worth to a report on ``query``, given its merit as an answer."""
    about = subject_weights(query, tuple(hits))
    titles = {hit.url.partition("#")[0]: hit.title for hit in hits}
    return {
        fact.id: closeness(about, fact, titles.get(fact.url, ""))
        * (_GIVEN + _MERIT * merit[fact.id] + _TELLING * cues.is_telling(fact.claim))
        for fact in facts
    }


@dataclass
class _Tally:
    """What has been said: how often each term, and how many facts of each heading."""

    value: Mapping[str, float]
    weight: Mapping[str, float]
    said: Counter[str] = field(default_factory=Counter)
    crowd: Counter[tuple[str, str]] = field(default_factory=Counter)

    def gain(self, fact: Fact) -> float:
        """Return what a fact would add for each of its words; it can only become less."""
        new = math.fsum(self.weight[term] * math.pow(_AGAIN, self.said[term]) for term in terms.term_set(fact.claim))
        crowded = 1 + _CROWDING * self.crowd[fact.url, fact.heading]
        return self.value[fact.id] * new / (math.pow(length(fact), _LENGTH) * crowded)

    def take(self, fact: Fact) -> None:
        """Count what a fact says as said."""
        self.said.update(terms.term_set(fact.claim))
        self.crowd[fact.url, fact.heading] += 1


def select(
    facts: Sequence[Fact],
    value: Mapping[str, float],
    words: int,
    said: Sequence[Fact] = (),
    support: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[Fact]:
    """Return facts of at most ``words`` words together, best first, none repeating another or what is ``said`` elsewhere.

    ``support`` names by a fact's id those that bear it out: they are cited with it, and so not told again.
    """
    facts = sorted(facts, key=lambda fact: fact.id)
    tally = _Tally(value, _weights(facts, value))
    for fact in said:
        tally.take(fact)
    chosen: list[Fact] = []
    for fact in _ranked(facts, tally):
        told = (*said, *chosen)
        cited = {name for other in told for name in support.get(other.id, ())}
        if length(fact) <= words and fact.id not in cited and not any(is_repeat(fact.claim, other.claim) for other in told):
            chosen.append(fact)
            words -= length(fact)
            tally.take(fact)
    return chosen


def _ranked(facts: Sequence[Fact], tally: _Tally) -> Iterator[Fact]:
    """Yield the facts worth telling, each time the one that adds most to what the tally holds by then."""
    least = _WEAK * max((tally.value[fact.id] for fact in facts), default=0.0)
    heap = [(-tally.gain(fact), place) for place, fact in enumerate(facts) if tally.value[fact.id] > least]
    heapq.heapify(heap)
    while heap:
        _, place = heapq.heappop(heap)
        now = (-tally.gain(facts[place]), place)
        if heap and now > heap[0]:
            heapq.heappush(heap, now)
        else:
            yield facts[place]


def _weights(facts: Sequence[Fact], value: Mapping[str, float]) -> dict[str, float]:
    held: dict[str, float] = {}
    for fact in facts:
        for term in terms.term_set(fact.claim):
            held[term] = held.get(term, 0.0) + value[fact.id]
    return {term: (_PLAIN if term in _COMMON else 1.0) * math.log1p(_STEEPNESS * total) for term, total in held.items()}


def length(fact: Fact) -> int:
    """Return a fact's words in the report."""
    return max(1, len(fact.claim.split()))
