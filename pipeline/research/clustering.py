"""Groups of facts that speak of the same thing, whoever found them; deterministic, by shared weighty terms.

A fact may be a passage of several sentences: two facts are as like as their likest sentences.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from pipeline.domain.values import Fact
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences

LIKE = 0.3  # cosine of idf weights from which two facts are compared at all
LARGEST = 12  # facts a group

_Unit = tuple[int, dict[str, float]]  # a sentence: the place of its fact, and what its terms weigh


@lru_cache(maxsize=4)  # the facts are validated and contrasted side by side
def like_groups(facts: tuple[Fact, ...]) -> tuple[tuple[Fact, ...], ...]:
    """Return groups of two or more like facts, the largest groups cut to their closest members.

    Single-link over cosine similarity of idf-weighted terms; the order of groups and members is that of ``facts``.
    """
    links = sorted(_links(_units(facts)), key=lambda link: (-link[0], link[1], link[2]))
    group_of = list(range(len(facts)))
    sizes = Counter(group_of)
    for _, first, second in links:
        a, b = group_of[first], group_of[second]
        if a != b and sizes[a] + sizes[b] <= LARGEST:
            keep, drop = min(a, b), max(a, b)
            group_of = [keep if group == drop else group for group in group_of]
            sizes[keep] += sizes.pop(drop)
    members: dict[int, list[Fact]] = defaultdict(list)
    for place, group in enumerate(group_of):
        members[group].append(facts[place])
    return tuple(tuple(group) for _, group in sorted(members.items()) if len(group) > 1)


def _units(facts: Sequence[Fact]) -> list[_Unit]:
    said = [
        (place, terms)
        for place, fact in enumerate(facts)
        for sentence in split_sentences(fact.claim)
        if (terms := content_stems(sentence))
    ]
    seen = Counter(term for _, terms in said for term in terms)
    units: list[_Unit] = []
    for place, terms in said:
        raw = {term: math.log(1 + len(said) / seen[term]) for term in sorted(terms)}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        units.append((place, {term: value / length for term, value in raw.items()}))
    return units


def _links(units: Sequence[_Unit]) -> list[tuple[float, int, int]]:
    """Return the pairs of facts at or above the threshold, found through shared terms."""
    postings: dict[str, list[int]] = defaultdict(list)
    for number, (_, weights) in enumerate(units):
        for term in weights:
            postings[term].append(number)
    best: dict[tuple[int, int], float] = {}
    for place, weights in units:
        scores: dict[int, float] = defaultdict(float)
        for term, value in weights.items():
            for other in postings[term]:
                if units[other][0] < place:
                    scores[other] += value * units[other][1][term]
        for other, score in scores.items():
            pair = (units[other][0], place)
            if score >= LIKE and score > best.get(pair, 0.0):
                best[pair] = round(score, 9)
    return [(score, first, second) for (first, second), score in best.items()]
