"""Pairs of statements from different sources that cannot both hold. A false alarm costs more trust than a miss."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, takewhile

from pipeline.questions import Contradictions, ContradictionsQuestion
from pipeline.reasoners.extractive.quantities import Quantity
from pipeline.reasoners.extractive.ranking import leans
from pipeline.reasoners.extractive.statements import Statement, relate, statement, without_reason
from pipeline.terms import words
from pipeline.text import digest_of
from pipeline.values import Contradiction, ContradictionKind, Fact
from pipeline.vocabulary import STOP

_Found = tuple[ContradictionKind, str]
_LONGEST_SUBJECT = 8  # words that count
_LARGEST_GROUP = 400  # facts; pairs are compared one by one
# Who reports what others say, believe or ask does not say it.
_HEARSAY = re.compile(
    r"\b(?:(?:been|was|were|are|is) (?:told|said|believed|thought|assumed|expected|claimed|reported)|"
    r"(?:claims?|believes?|assumes?|argues?|thinks?|believed|assumed|supposed|asked|wonders?) (?:that|whether)|"
    r"(?:statement|claim|belief|myth|idea|assumption|question) (?:that|whether)|so-called)\b",
    re.IGNORECASE,
)


def find_contradictions(question: ContradictionsQuestion) -> Contradictions:
    """Return the contradicting pairs of all groups, each once, in a fixed order."""
    found: dict[str, Contradiction] = {}
    for group in question.groups:
        for pair in _pairs(group, question.origins):
            found.setdefault(pair.id, pair)
    return Contradictions(contradictions=tuple(sorted(found.values(), key=lambda pair: (pair.subject, pair.id))))


def _pairs(group: Sequence[Fact], origins: Mapping[str, str]) -> Iterator[Contradiction]:
    ordered = sorted(group, key=lambda fact: fact.id)[:_LARGEST_GROUP]
    for a, b in combinations(ordered, 2):
        if origins.get(a.id, a.url) != origins.get(b.id, b.url) and (clash := clashing(a.claim, b.claim)):
            kind, explanation = clash
            name = digest_of(f"{kind} {a.id} {b.id}".encode())[:12]
            yield Contradiction(id=f"c-{name}", subject=_subject(a, b), kind=kind, a=a.id, b=b.id, explanation=explanation)


def clashing(first: str, second: str) -> _Found | None:
    """Return the kind in which two claims contradict each other, with a sentence that says how; None when they do not."""
    if any(leans(claim) or _HEARSAY.search(claim) for claim in (first, second)):
        return None
    a, b = statement(first), statement(second)
    for judge in (_number, _date, _version):
        if found := judge(a, b):
            return found
    bare = statement(without_reason(first)), statement(without_reason(second))
    return _polarity(a, b) or _number(*bare) or _polarity(*bare)


def _number(a: Statement, b: Statement) -> _Found | None:
    relation = relate(a, b, ignore_verbs=True)
    if not relation.same_subject or a.denies != b.denies or _differ(a.figures.dates, b.figures.dates) or _versions_differ(a, b):
        return None
    left, right = _unmatched(a, b), _unmatched(b, a)
    for mine in left:
        like = [other for other in right if mine.same_measure(other)]
        own = [other for other in left if mine.same_measure(other)]
        bare = "=" in mine.unit and relation.likeness < 0.7
        if len(like) == len(own) == 1 and not bare and not mine.agrees(like[0]):
            return "number", _says(mine.text, like[0].text)
    return None


def _date(a: Statement, b: Statement) -> _Found | None:
    mine, yours = a.figures.dates, b.figures.dates
    if len(mine) != 1 or len(yours) != 1 or a.denies != b.denies or not relate(a, b).same_subject:
        return None
    if (a.subject - b.subject and b.subject - a.subject) or _versions_differ(a, b) or _quantities_differ(a, b):
        return None
    (year, month), (other_year, other_month) = mine[0], yours[0]
    if year != other_year or (month and other_month and month != other_month):
        return "date", _says(f"{month} {year}".strip(), f"{other_month} {other_year}".strip())
    return None


def _version(a: Statement, b: Statement) -> _Found | None:
    mine, yours = a.figures.versions, b.figures.versions
    if len(mine) != 1 or len(yours) != 1 or mine == yours or a.denies != b.denies:
        return None
    relation = relate(a, b)
    if len(relation.shared) < 3 or not relation.same_subject or relation.likeness < 0.7:
        return None
    if _is_history(a) or _is_history(b) or _differ(a.figures.dates, b.figures.dates) or _quantities_differ(a, b):
        return None
    return "version", _says(f"version {mine[0]}", f"version {yours[0]}")


def _polarity(a: Statement, b: Statement) -> _Found | None:
    relation = relate(a, b)
    if (a.denies != b.denies) == relation.opposed or a.conditional != b.conditional:
        return None
    most = max(relation.only_first, relation.only_second)
    if not relation.same_subject or len(relation.shared) < (2 if relation.opposed else 3) or most > 0.6 * relation.weight:
        return None
    if _differ(a.figures.dates, b.figures.dates) or _versions_differ(a, b) or _quantities_differ(a, b):
        return None
    return "polarity", "One source affirms what the other denies."


def _unmatched(a: Statement, b: Statement) -> list[Quantity]:
    """Return the quantities of ``a`` that ``b`` does not name to the letter: a test "of 40" is the same test."""
    named = b.figures.quantities
    return [one for one in a.figures.quantities if not any(one.same_value(other) for other in named)]


def _differ(a: Sequence[object], b: Sequence[object]) -> bool:
    """Tell whether both sides name something here and not the same."""
    return bool(a) and bool(b) and set(a) != set(b)


def _versions_differ(a: Statement, b: Statement) -> bool:
    return set(a.figures.versions) != set(b.figures.versions)


def _quantities_differ(a: Statement, b: Statement) -> bool:
    mine, yours = a.figures.quantities, b.figures.quantities
    return any(one.same_measure(other) and not one.agrees(other) for one in mine for other in yours)


def _is_history(a: Statement) -> bool:
    """Tell whether a statement is one of a change log's many: changed in …, and again changed in …."""
    return bool(a.plain & {"changed", "deprecated", "updated", "modified", "improved", "fixed"})


def _says(first: str, second: str) -> str:
    return f"One source says {first}, the other {second}."


def _subject(a: Fact, b: Fact) -> str:
    """Return the words that both claims share, in the order of the first, with the small words that stand between them there."""
    shared = relate(statement(a.claim), statement(b.claim)).shared
    said = words(a.claim)
    latest = {word.lower(): place for place, word in enumerate(said) if shared & frozenset(statement(word).subject)}
    own = sorted(latest.values())[:_LONGEST_SUBJECT]
    if not own:
        return " ".join(said[:_LONGEST_SUBJECT])
    parts = [said[own[0]]]
    for before, place in pairwise(own):
        between = said[before + 1 : place]
        small = list(takewhile(lambda word: word.lower() in STOP, reversed(between)))[::-1]
        parts += [*(() if small == between else ("…",)), *small, said[place]]
    return " ".join(parts)
