"""Which facts are borne out by another source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.questions import Validation, ValidationQuestion
from pipeline.reasoners.extractive.contradictions import clashing
from pipeline.reasoners.extractive.quantities import Figures
from pipeline.reasoners.extractive.ranking import is_repeat
from pipeline.reasoners.extractive.statements import relate, statement
from pipeline.values import Fact, Standing, ValidatedFact

_ALIKE = 0.5
_VERY_ALIKE = 0.8  # what two claims need that share few words
_LARGEST_GROUP = 400  # facts; pairs are compared one by one


def validate(question: ValidationQuestion) -> Validation:
    """Return one entry for every fact of the groups, in their order."""
    entries: dict[str, ValidatedFact] = {}
    for group in question.groups:
        compared = sorted({fact.id: fact for fact in group}.values(), key=lambda fact: fact.id)[:_LARGEST_GROUP]
        for fact in group:
            if fact.id not in entries:
                entries[fact.id] = _entry(fact, compared, question.origins)
    return Validation(facts=tuple(entries.values()))


def _entry(fact: Fact, group: Sequence[Fact], origins: Mapping[str, str]) -> ValidatedFact:
    own = origins.get(fact.id, fact.url)
    foreign = [other for other in group if origins.get(other.id, other.url) != own]
    support = [other for other in foreign if bears_out(fact.claim, other.claim)]
    disputed = any(clashing(fact.claim, other.claim) for other in foreign)
    sources = 1 + len({origins.get(other.id, other.url) for other in support})
    standing: Standing = "disputed" if disputed else "corroborated" if support else "single"
    confidence = round((1.0 - 0.5**sources) * (0.6 if disputed else 1.0), 3)
    ids = tuple(sorted(other.id for other in support))
    return ValidatedFact(fact_id=fact.id, standing=standing, support=ids, sources=sources, confidence=confidence)


def bears_out(first: str, second: str) -> bool:
    """Tell whether two claims say the same: the same subject, no figure that differs, the same polarity."""
    if is_repeat(first, second) and first == second:
        return True
    a, b = statement(first), statement(second)
    relation = relate(a, b)
    if a.denies != b.denies or relation.opposed or relation.weight < 2.0:
        return False
    if relation.likeness < (_ALIKE if relation.weight >= 3.0 else _VERY_ALIKE):
        return False
    return _figures_agree(first, second)


def _figures_agree(first: str, second: str) -> bool:
    a, b = statement(first).figures, statement(second).figures
    if set(a.versions) != set(b.versions) or {year for year, _ in a.dates} != {year for year, _ in b.dates}:
        return False
    if bool(a.quantities) != bool(b.quantities) or _first_differs(a, b):
        return False
    return all(any(mine.same_measure(other) and mine.agrees(other) for other in b.quantities) for mine in a.quantities)


def _first_differs(a: Figures, b: Figures) -> bool:
    """Tell whether the first quantities, which a claim is mostly about, measure the same and do not agree."""
    if not a.quantities or not b.quantities:
        return False
    mine, yours = a.quantities[0], b.quantities[0]
    return mine.same_measure(yours) and not mine.agrees(yours)
