"""Selection of passages for a broad question, so that each adds something new.

Greedy coverage of concepts under a budget of words (after Lin and Bilmes 2011). A concept is a stem that at least two of the
ranked passages contain; it counts once, with the weight log(share among them ÷ share in the whole index) × √count. Passages from
pages with many of the best passages are preferred, because few pages usually answer a broad question.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import word_count

POOL = 150  # ranked passages to select from
_SEEDS = 1  # best passages of the whole question, and of each part, that are selected first
_PASSAGE_COST = 80  # words added to the cost of each passage, so that short ones are not preferred
_BEST_PASSAGES = 5  # ranked passages from which the best pages are determined
_INDEX_FACTOR = 4  # an index with fewer passages than this times the ranked ones has no useful statistics
_UNKNOWN_SHARE = 0.002  # assumed share of passages that contain a stem, where no index knows it
_PAGE_WEIGHT = 8.0  # how much the page counts


def chosen_passages(
    rankings: Sequence[Sequence[int]], strength: Sequence[float], texts: Sequence[StemmedText], known: TermStatistics, words: int
) -> list[int]:
    """Return indices of ``texts`` in the order of selection, up to ``words`` words in total.

    ``rankings`` hold indices, best first: one for the whole question, then one for each of its parts. ``strength`` holds each
    text's score for the whole question.
    """
    turns = (ranking[place] for place in range(_SEEDS) for ranking in rankings if place < len(ranking))
    seeds = list(dict.fromkeys(turns))  # the best of each ranking come first
    pool = list(dict.fromkeys([*rankings[0][:POOL], *seeds]))
    weights = concept_weights([texts[index] for index in rankings[0][:POOL]], known)
    held = {index: weights.keys() & set(texts[index].body) for index in pool}
    sizes = {index: word_count(texts[index].text) for index in pool}
    pages: defaultdict[str, float] = defaultdict(float)
    for index in rankings[0][:_BEST_PASSAGES]:
        pages[texts[index].page] += strength[index]
    most = max(pages.values(), default=1.0) or 1.0
    worth = {index: strength[index] * (1 + _PAGE_WEIGHT * pages[texts[index].page] / most) for index in rankings[0]}
    covered: set[str] = set()
    taken: list[int] = []
    left = words
    while pool:
        if seeds:
            best = seeds.pop(0)
        else:  # the passage with the most new concepts a word
            fresh = {index: sum(weights[concept] for concept in held[index] - covered) for index in pool}
            gains = {index: fresh[index] * worth.get(index, 0.0) / (sizes[index] + _PASSAGE_COST) for index in pool}
            best = max(pool, key=lambda index: (round(gains[index], 9), -index))
            if gains[best] <= 0:
                break
        pool.remove(best)
        covered |= held[best]
        if sizes[best] <= left:
            taken.append(best)
            left -= sizes[best]
    return taken


def concept_weights(texts: Sequence[StemmedText], known: TermStatistics) -> dict[str, float]:
    """Return the weight of each concept. Stems that the index does not know, or that are as common in it, are left out."""
    counts = Counter(stem for text in texts for stem in set(text.body))
    indexed = known.passages > _INDEX_FACTOR * len(texts)
    found: dict[str, float] = {}
    for stem, count in counts.items():
        share = (known.counts.get(stem, 0) + 0.5) / (known.passages + 1) if indexed else _UNKNOWN_SHARE
        weight = math.log(count / len(texts) / share)
        if count > 1 and len(stem) > 2 and stem in known.counts and weight > 0:
            found[stem] = weight * math.sqrt(count)
    return found
