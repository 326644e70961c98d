"""Clustering of facts about the same thing, whichever worker found them, by cosine similarity of idf weights. Deterministic.

A fact may have several sentences: the similarity of two facts is that of their most similar sentences.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

from pipeline.domain.values import Fact
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.sentences import split_sentences

SIMILARITY = 0.3  # least cosine of idf weights for two facts to be grouped
GROUP_SIZE = 12  # most facts in a group

_WeightedSentence = tuple[int, dict[str, float]]  # the index of its fact, and the weights of its terms


@lru_cache(maxsize=4)  # a step asks for the same groups several times
def like_groups(facts: tuple[Fact, ...]) -> tuple[tuple[Fact, ...], ...]:
    """Return groups of two to ``GROUP_SIZE`` similar facts, by single-link clustering. Groups and members are in fact order."""
    links = sorted(_similar_pairs(_weighted_sentences(facts)), key=lambda link: (-link[0], link[1], link[2]))
    group_of = list(range(len(facts)))
    sizes = Counter(group_of)
    for _, first, second in links:
        a, b = group_of[first], group_of[second]
        if a != b and sizes[a] + sizes[b] <= GROUP_SIZE:
            keep, drop = min(a, b), max(a, b)
            group_of = [keep if group == drop else group for group in group_of]
            sizes[keep] += sizes.pop(drop)
    members: dict[int, list[Fact]] = defaultdict(list)
    for place, group in enumerate(group_of):
        members[group].append(facts[place])
    return tuple(tuple(group) for _, group in sorted(members.items()) if len(group) > 1)


def _weighted_sentences(facts: Sequence[Fact]) -> list[_WeightedSentence]:
    stemmed = ((place, content_stems(part)) for place, fact in enumerate(facts) for part in split_sentences(fact.claim))
    sentences = [(place, terms) for place, terms in stemmed if terms]
    seen = Counter(term for _, terms in sentences for term in terms)
    units: list[_WeightedSentence] = []
    for place, terms in sentences:
        raw = {term: math.log(1 + len(sentences) / seen[term]) for term in sorted(terms)}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        units.append((place, {term: value / length for term, value in raw.items()}))
    return units


def _similar_pairs(units: Sequence[_WeightedSentence]) -> list[tuple[float, int, int]]:
    """Return (similarity, index, index) for each pair of facts at or above the threshold."""
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
            if score >= SIMILARITY and score > best.get(pair, 0.0):
                best[pair] = round(score, 9)
    return [(score, first, second) for (first, second), score in best.items()]
