"""The short answer: the facts that answer the query itself best, packed into a few words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline import terms
from pipeline.reasoners.extractive.ranking import distinct, merits
from pipeline.values import Fact, Hit, ValidatedFact

_SHORTLIST = 60  # facts that are compared for the few places
_REPEATING = 0.25  # what a fact pays for likeness to those already chosen
_WEAK = 0.45  # share of the best merit below which a fact is no answer


def summarise(
    query: str, facts: Sequence[Fact], validated: Sequence[ValidatedFact], words: int, hits: Sequence[Hit] = ()
) -> list[Fact]:
    """Return the facts of the summary in reading order: the best answer first, then the others, one page's side by side."""
    facts = [fact for fact in facts if fact.question] or facts  # the others were taken for what else their page tells
    merit = merits(query, facts, validated, hits)
    ranked = distinct(sorted(facts, key=lambda fact: (-merit[fact.id], fact.id))[: 3 * _SHORTLIST])[:_SHORTLIST]
    strong = [fact for fact in ranked if merit[fact.id] >= _WEAK * merit[ranked[0].id]]
    order = terms.spread([merit[fact.id] for fact in strong], [terms.term_set(fact.claim) for fact in strong], 40, _REPEATING)
    return _in_reading_order(_packed([strong[index] for index in order], words), merit)


def _packed(ranked: Sequence[Fact], words: int) -> list[Fact]:
    taken: list[Fact] = []
    left = words
    for fact in ranked:
        length = len(fact.claim.split())
        if length <= left:
            taken.append(fact)
            left -= length
    return taken


def _in_reading_order(facts: Sequence[Fact], merit: Mapping[str, float]) -> list[Fact]:
    pages = list(dict.fromkeys(fact.url for fact in facts))
    return sorted(facts, key=lambda fact: (pages.index(fact.url), -merit[fact.id], fact.id))
