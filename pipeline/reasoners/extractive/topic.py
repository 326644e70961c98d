"""What a question is about, as the first search shows it: the terms that its passages dwell on; and how near a text is to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pipeline import terms
from pipeline.terms import Terms
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


def named_weights(query: str, keywords: Iterable[str]) -> Mapping[str, float]:
    """Return the terms of those words of ``query`` that are among ``keywords``, as they weigh; all when none is."""
    wanted = terms.needs(query)
    named = {form for word in keywords for form in terms.forms(word)}
    return {term: weight for term, weight in wanted.items() if term in named} or wanted


def nearness(about: Mapping[str, float], own: Terms, above: Terms, over: Terms) -> float:
    """Return how far a statement is about the topic, 0 to 1: its own terms count wholly, those of heading and title less."""
    total = sum(about.values())
    got = sum(
        weight * (1.0 if term in own else _HEADING if term in above else _TITLE if term in over else 0.0)
        for term, weight in about.items()
    )
    return got / total if total else 1.0


def closeness(about: Mapping[str, float], fact: Fact, title: str) -> float:
    """Return how far a fact of the page ``title`` is about the topic, 0 to 1."""
    return nearness(about, terms.term_set(fact.claim), terms.term_set(fact.heading.partition("(")[0]), terms.term_set(title))


def dwelt_on(about: Mapping[str, float], texts: Iterable[Terms], dense: float, slack: int) -> dict[str, float]:
    """Return what of each term's weight is left for texts that dwell on it: all, where the share ``dense`` of them holds it.

    ``slack`` texts that hold none are reckoned in.
    """
    held: Counter[str] = Counter()
    count = slack
    for text in texts:
        count += 1
        held.update(term for term in about if term in text)
    return {term: weight * min(1.0, held[term] / (dense * count)) for term, weight in about.items()}


def share(part: Mapping[str, float], whole: Mapping[str, float]) -> float:
    """Return how much of the weights of ``whole`` is left in ``part``, 0 to 1."""
    total = sum(whole.values())
    return sum(part.values()) / total if total else 1.0


def spoken_of(hits: Sequence[Hit]) -> dict[str, float]:
    """Return how many of the passages speak of each term, those found first counting most."""
    found: dict[str, float] = {}
    for rank, hit in enumerate(hits):
        for term in terms.term_set(f"{hit.heading} {hit.snippet}"):
            found[term] = found.get(term, 0.0) + 1 / (1 + rank / _FADING)
    return found


def subject_words(query: str, hits: Sequence[Hit], limit: int = 5) -> tuple[str, ...]:
    """Return the words of ``query`` that it is about most, as written and in order, at most ``limit``."""
    about = subject_weights(query, tuple(hits))
    weights = {word: max((about[form] for form in terms.forms(word)), default=0.0) for word in terms.words(query)}
    least = _LEAST * max(weights.values(), default=0.0)
    ranked = sorted((word for word in weights if weights[word] > least), key=lambda word: -weights[word])[:limit]
    return tuple(word for word in weights if word in ranked)
