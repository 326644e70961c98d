"""What a question is about, as the first search shows it: the terms that its passages dwell on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from pipeline import terms
from pipeline.values import Fact, Hit

_FADING = 15  # rank (from 0) at which a passage counts half
_DWELLING = 2.0  # mentions at which a passage counts half as dwelling on a term
_SHARPNESS = 1.5
_LEAST = 0.2  # share of the greatest weight from which on a word belongs to the subject
_HEADING, _TITLE = 0.7, 0.6  # strength of a term that stands in the heading or the page's title only


@lru_cache(maxsize=64)
def subject_weights(query: str, hits: Sequence[Hit]) -> Mapping[str, float]:
    """Return the terms of ``query`` with how much it is about each; without hits, all as their words weigh."""
    wanted = terms.needs(query)
    dwelt = dict.fromkeys(wanted, 0.0)
    for rank, hit in enumerate(hits):
        counts = Counter(terms.terms(f"{hit.heading} {hit.snippet}"))
        for term in wanted:
            dwelt[term] += counts[term] / (counts[term] + _DWELLING) / (1 + rank / _FADING)
    most = max(dwelt.values(), default=0.0)
    return {term: weight * (dwelt[term] / most) ** _SHARPNESS if most else weight for term, weight in wanted.items()}


def closeness(about: Mapping[str, float], fact: Fact, title: str) -> float:
    """Return how far a fact is about the topic, 0 to 1; its heading and its page's title count for less than its own words."""
    own, above, over = terms.term_set(fact.claim), terms.term_set(fact.heading.partition("(")[0]), terms.term_set(title)
    total = sum(about.values())
    got = sum(
        weight * (1.0 if term in own else _HEADING if term in above else _TITLE if term in over else 0.0)
        for term, weight in about.items()
    )
    return got / total if total else 1.0


def subject_words(query: str, hits: Sequence[Hit], limit: int = 5) -> tuple[str, ...]:
    """Return the words of ``query`` that it is about most, as written and in order, at most ``limit``."""
    about = subject_weights(query, tuple(hits))
    weights = {word: max((about[form] for form in terms.forms(word)), default=0.0) for word in terms.words(query)}
    least = _LEAST * max(weights.values(), default=0.0)
    ranked = sorted((word for word in weights if weights[word] > least), key=lambda word: -weights[word])[:limit]
    return tuple(word for word in weights if word in ranked)
