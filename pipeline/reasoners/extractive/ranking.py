"""How well facts answer a question, seen over all the facts at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from pipeline import terms
from pipeline.reasoners.extractive import cues
from pipeline.reasoners.extractive.needs import coverage, needs_of
from pipeline.text import normalised
from pipeline.values import Fact, Hit, ValidatedFact
from pipeline.vocabulary import LEANING

_FIRST, _FADING = 0.25, 4  # what a fact of the first passage gains, and the rank (from 0) at which half of that is left
ANSWERED = 0.42  # from here on a fact counts as an answer


def answer_score(question: str, fact: Fact, rare: Mapping[str, float]) -> float:
    """Return how well one fact answers ``question``, 0 to 1; its heading counts for less than its own words."""
    around = dict.fromkeys(terms.term_set(fact.heading.partition("(")[0]), 0.55)
    covered = coverage(needs_of(question), terms.term_set(fact.claim), around, rare)
    return covered * (0.5 + 0.5 * cues.fit(question, fact.claim))


def rarities(facts: Sequence[Fact]) -> dict[str, float]:
    """Return how much each term of the facts tells apart."""
    return terms.rarity(terms.document_counts(terms.term_set(fact.claim) for fact in facts), len(facts))


def merits(
    query: str, facts: Sequence[Fact], validated: Sequence[ValidatedFact] = (), hits: Sequence[Hit] = ()
) -> dict[str, float]:
    """Return each fact's merit for the query, by id.

    It is made of the fact's answer, the observer's estimate, how well it is borne out, and how high a first search on the query
    ranked the passage that it stands in.
    """
    rare = rarities(facts)
    confidence = {entry.fact_id: entry.confidence for entry in validated}
    ranks = _ranks(facts, hits)
    return {
        fact.id: 0.4 * answer_score(query, fact, rare)
        + 0.6 * fact.relevance
        + 0.08 * (confidence.get(fact.id, 0.5) - 0.5)
        - 0.08 * leans(fact.claim)
        + (_FIRST / (1 + ranks[fact.id] / _FADING) if fact.id in ranks else 0.0)
        for fact in facts
    }


def _ranks(facts: Sequence[Fact], hits: Sequence[Hit]) -> dict[str, int]:
    """Return, by fact, the rank (from 0) of the first passage that holds its quote; facts of no such passage are missing."""
    passages = [(page.partition("#")[0], normalised(text)) for page, text in ((hit.url, hit.snippet) for hit in hits)]
    ranks: dict[str, int] = {}
    for fact in facts:
        quote = normalised(fact.quote)
        places = (rank for rank, (page, text) in enumerate(passages) if page == fact.url and quote in text)
        if (rank := next(places, None)) is not None:
            ranks[fact.id] = rank
    return ranks


def best_answer(question: str, facts: Sequence[Fact], rare: Mapping[str, float]) -> float:
    """Return the score of the fact that answers ``question`` best; 0 without facts."""
    return max((answer_score(question, fact, rare) for fact in facts), default=0.0)


def leans(claim: str) -> bool:
    """Tell whether a claim opens with a word that points back to a sentence before it."""
    return claim.split(None, 1)[0].rstrip(",").lower() in LEANING if claim.strip() else False


@lru_cache(maxsize=4096)
def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of three words of ``text``, lower case."""
    plain = [word.lower() for word in terms.words(text)]
    return frozenset(zip(plain, plain[1:], plain[2:], strict=False)) or frozenset({tuple(plain)})


def is_repeat(a: str, b: str) -> bool:
    """Tell whether two claims say the same in nearly the same words."""
    first, second = shingles(a), shingles(b)
    shared = len(first & second)
    return shared > 0.6 * min(len(first), len(second)) or terms.alike(terms.term_set(a), terms.term_set(b)) > 0.75


def distinct(facts: Sequence[Fact]) -> list[Fact]:
    """Return ``facts`` in their order without those that repeat an earlier one."""
    kept: list[Fact] = []
    for fact in facts:
        if not any(is_repeat(fact.claim, other.claim) for other in kept):
            kept.append(fact)
    return kept
