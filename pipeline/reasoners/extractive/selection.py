"""Which facts a report of so many words is made of: close to the topic, of pages that dwell on it, each with something new."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pipeline import terms
from pipeline.reasoners.extractive import cues
from pipeline.reasoners.extractive.ranking import is_repeat, leans
from pipeline.reasoners.extractive.telling import Tally, Telling, ranked, weights
from pipeline.reasoners.extractive.topic import closeness, dwelt_on, share, spoken_of, subject_weights
from pipeline.terms import Terms
from pipeline.values import Fact, Hit

_WHOLLY = 0.5  # closeness to the topic from which on more does not count
_GIVEN, _MERIT = 0.85, 0.15  # what a fact close to the topic has, and what its merit adds
_ELSEWHERE, _LEANING = 0.3, 0.8  # what is left of one that only points elsewhere, and of one that leans on the sentence before
_UNFINISHED, _SCRAP, _SCRAP_WORDS = 0.5, 0.8, 8  # and of a list's item without a full stop, and of a statement in fewer words
_CLOSERS = "\"'”’)"
_BESIDES = 0.05  # worth of a page that does not dwell on the topic at all
_DENSE, _SLACK = 0.3, 10  # share of a page's facts from which on it dwells on a term wholly; facts that are reckoned in besides
_FAR, _WEAK = 0.3, 0.3  # share of the greatest closeness, and of the greatest worth, below which a fact is left out
_APART = 0.01  # closeness of a fact that shares nothing with the topic
_UNHEARD = 0.2  # weight of a term that the first search's passages do not speak of


def worth(query: str, facts: Sequence[Fact], merit: Mapping[str, float], hits: Sequence[Hit]) -> dict[str, float]:
    """Return by id what each fact is worth to a report on ``query``, given its merit as an answer; 0 for those far from it."""
    about = subject_weights(query, tuple(hits))
    titles = {hit.url.partition("#")[0]: hit.title for hit in hits}
    dwells = _dwells(about, facts)
    near = {fact.id: max(_APART, closeness(about, fact, titles.get(fact.url, ""))) for fact in facts}
    least = _FAR * max(near.values(), default=0.0)
    return {
        fact.id: dwells[fact.url] * min(1.0, near[fact.id] / _WHOLLY) * _said(fact) * (_GIVEN + _MERIT * merit[fact.id])
        if near[fact.id] >= least
        else 0.0
        for fact in facts
    }


def _said(fact: Fact) -> float:
    """Return how much a fact says by itself, 0 to 1."""
    told = _ELSEWHERE if cues.sends_elsewhere(fact.claim) else 1.0
    whole = 1.0 if fact.claim.rstrip(_CLOSERS).endswith((".", "!")) else _UNFINISHED
    return told * whole * (_LEANING if leans(fact.claim) else 1.0) * (_SCRAP if length(fact) < _SCRAP_WORDS else 1.0)


def _dwells(about: Mapping[str, float], facts: Sequence[Fact]) -> dict[str, float]:
    """Return by page how far its facts dwell on the topic: where few do, what sounds like it is met by chance."""
    pages: dict[str, list[Terms]] = {}
    for fact in facts:
        pages.setdefault(fact.url, []).append(terms.term_set(fact.claim))
    return {url: _BESIDES + share(dwelt_on(about, found, _DENSE, _SLACK), about) for url, found in pages.items()}


def select(
    facts: Sequence[Fact],
    value: Mapping[str, float],
    words: int,
    said: Sequence[Fact] = (),
    support: Mapping[str, Sequence[str]] = MappingProxyType({}),
    hits: Sequence[Hit] = (),
) -> list[Fact]:
    """Return facts of at most ``words`` words together, best first, none repeating another or what is ``said`` elsewhere.

    ``support`` names by a fact's id those that bear it out: they are cited with it, and so not told again. What the first
    search's ``hits`` speak of weighs more.
    """
    least = _WEAK * max((value[fact.id] for fact in facts), default=0.0)
    facts = sorted((fact for fact in facts if value[fact.id] > least), key=lambda fact: fact.id)
    tellings = [_telling(fact, value[fact.id]) for fact in facts]
    tally = Tally(_heard(weights(tellings), hits))
    for fact in said:
        tally.take(_telling(fact, 1.0))
    chosen: list[Fact] = []
    for place in ranked(tellings, tally):
        fact = facts[place]
        if length(fact) <= words and _is_new(fact, (*said, *chosen), support):
            chosen.append(fact)
            words -= length(fact)
            tally.take(tellings[place])
    return chosen


def _telling(fact: Fact, value: float) -> Telling:
    return Telling(terms.term_set(fact.claim), length(fact), (fact.url, fact.heading), value)


def _heard(weight: Mapping[str, float], hits: Sequence[Hit]) -> Mapping[str, float]:
    if not hits:
        return weight
    heard = spoken_of(hits)
    return {term: own * (_UNHEARD + math.log1p(heard.get(term, 0.0))) for term, own in weight.items()}


def _is_new(fact: Fact, told: Sequence[Fact], support: Mapping[str, Sequence[str]]) -> bool:
    cited = {name for other in told for name in support.get(other.id, ())}
    return fact.id not in cited and not any(is_repeat(fact.claim, other.claim) for other in told)


def length(fact: Fact) -> int:
    """Return a fact's words in the report."""
    return max(1, len(fact.claim.split()))
