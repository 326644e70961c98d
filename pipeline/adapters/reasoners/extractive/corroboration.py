"""Answers to validation and contradiction questions: sentences of different sources that agree, or that differ in one figure.

Two sentences are compared only if they share most of their words. Statements in other words are missed, so contradictions in
ordinary prose need a model. Of two passages in which one sentence was edited, none confirms the other. Nor does a copy confirm:
twelve equal words in a row have one author. What both name in code, in capitals or in figures must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

from pipeline.adapters.reasoners.extractive.near_copies import Edited, edited
from pipeline.domain.reasoner_questions import CrossCheck, CrossCheckQuestion
from pipeline.domain.values import Contradiction, Fact, Standing, ValidatedFact
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.page_format import blocks
from pipeline.text.sentences import points_back, split_sentences
from pipeline.text.stemming import DEFAULT_LANGUAGE, stems, words
from pipeline.text.word_frequency import specificity
from pipeline.text.word_lists import OPPOSITES, QUESTION_WORDS

_SHARED_SHARE = 0.65  # least share of the stems of two sentences that they have in common
_SHARED_STEMS = 5  # least number of common stems
_MOST_WORDS = 60
_LONG = 25  # words; two sentences of so many words that differ in one are about the same
_CONTEXT = 6  # words before a sentence that are the same in both: its subject is the same then
_NAME_SPECIFICITY = 0.6  # a word at least as specific is a name; sentences with different names are about different things
_NUMBER = re.compile(r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)(?![\w.-]*\d)(?: ?(%|[a-zA-Zµ°]+))?")
_VERSIONED = re.compile(r"\bv?\d+\.\d+\.\d+\b|\b(?:version|release|python|since|v)\.? ?\d", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|except|until|only|where|whether|or|for example|e\.g|typically|usually|up to|can)\b", re.IGNORECASE
)
# A reference or a credit: its figures are numbers of places, not values.
_REFERENCE = re.compile(
    r"\b(?:see|chapter|section|table|figure|page|appendix|pep|rfc|bpo|issue|cve|contributed|reported|patch)\b"
    r"|\b(?:new|added|changed|deprecated|removed) in\b",
    re.IGNORECASE,
)
_COPIED = 12  # words in a row, so many that two authors do not hit on them by chance
# What tells a statement from another of the same wording: an option, a name in code or in capitals, a figure.
_MARKER = re.compile(
    r"(?<![\w-])--?[A-Za-z][\w-]*|\w+(?=\()|\w*_\w*|\b[A-Z]{2,}\w*|\w*[a-z][A-Z]\w*|\b[A-Z]\w*=|(?<!\w)/[\w./-]+|\w*\d[\w.]*\w|\d"
)
_WORD = re.compile(r"\w+")
_ANNOUNCES = re.compile(r":\Z|\bthe following\b", re.IGNORECASE)
# A sentence that may be about any option, field or table.
_GENERIC = re.compile(
    r"(?:by )?(?:the )?(?:(?:default|initial|maximum|minimum|allowed|current)s?\b|(?:values?|size|number|limit)\b(?! of \w))"
    r"|(?:this|these|it|takes|sets?|note)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(?:chapter|section|table|figure|page|appendix|pep|rfc|bpo|issue|cve)s? ?#?\d", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|none|cannot|without|neither|nor|nothing)\b|n't\b", re.IGNORECASE)
# For each unit: its measure, and its size in the measure's base unit.
_UNITS: Mapping[str, tuple[str, float]] = {
    name: (measure, factor)
    for measure, factor, names in (
        ("bytes", 1.0, "b byte bytes"),
        ("bytes", 1e3, "kb kib kilobyte kilobytes"),
        ("bytes", 1e6, "mb mib megabyte megabytes"),
        ("bytes", 1e9, "gb gib gigabyte gigabytes"),
        ("bytes", 1e12, "tb tib terabyte terabytes"),
        ("seconds", 1e-3, "ms millisecond milliseconds"),
        ("seconds", 1.0, "s sec second seconds"),
        ("seconds", 60.0, "min minute minutes"),
        ("seconds", 3600.0, "h hour hours"),
        ("seconds", 86400.0, "day days"),
        ("seconds", 604800.0, "week weeks"),
        ("metres", 1e-3, "mm millimetre millimetres"),
        ("metres", 1e-2, "cm centimetre centimetres"),
        ("metres", 1.0, "m metre metres meter meters"),
        ("metres", 1e3, "km kilometre kilometres kilometer kilometers"),
        ("grams", 1.0, "g gram grams"),
        ("grams", 1e3, "kg kilogram kilograms"),
        ("percent", 1.0, "% percent per"),
    )
    for name in names.split()
}
_TOLERANCE = 0.03  # relative difference between equal figures, from rounding or 1,000 against 1,024


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence prepared for comparison: stems, names (specific words and single letters), figures, negation.

    ``markers`` are its options, names in code or capitals and figures; ``context`` are those of the sentence before it.
    """

    text: str
    said: frozenset[str]
    names: frozenset[str]
    figures: tuple[tuple[str, float], ...]
    denies: bool
    generic: bool  # only what is before it tells what it is about
    markers: frozenset[str]
    context: frozenset[str]


def cross_check(question: CrossCheckQuestion) -> CrossCheck:
    """Return which facts of the groups other origins confirm, and the pairs that give different figures for the same thing.

    A fact is ``corroborated`` if a sentence from another origin says the same. The pairs are in a fixed order, each once.
    """
    entries: dict[str, ValidatedFact] = {}
    found: dict[str, Contradiction] = {}
    for group in question.groups:
        support: dict[str, set[str]] = {fact.id: set() for fact in group}
        for difference in _edited_copies(group, question.origins):
            found.setdefault(difference.id, difference)
        for a, b, relation, pair in _related_sentences(group, question.origins):
            if relation == "same":
                support[a.id].add(b.id)
                support[b.id].add(a.id)
            else:
                difference = _difference(a, b, pair)
                found.setdefault(difference.id, difference)
        for fact in group:
            entries.setdefault(fact.id, _entry(fact, support[fact.id], question.origins))
    pairs = sorted(found.values(), key=lambda entry: (entry.subject, entry.id))
    return CrossCheck(facts=tuple(entries.values()), contradictions=tuple(pairs))


def _entry(fact: Fact, support: set[str], origins: Mapping[str, str]) -> ValidatedFact:
    sources = 1 + len({origins[name] for name in support})
    standing: Standing = "corroborated" if support else "single"
    return ValidatedFact(
        fact_id=fact.id,
        standing=standing,
        support=tuple(sorted(support)),
        sources=sources,
        confidence=round(1.0 - 0.5**sources, 3),
    )


def _edited_copies(group: Sequence[Fact], origins: Mapping[str, str]) -> Iterator[Contradiction]:
    """Yield the pairs of facts of which one is an edited copy of the other.

    At the same place of both documents any edited sentence counts: a condition is the same in both. Elsewhere it must hold
    without a condition, and say itself what it is about.
    """
    for a, b in _pairs(group, origins):
        for one in edited(a.quote, b.quote):
            if one.kind == "subject" or one.figures > 1 or not _is_about_the_same(a, b, one):
                continue
            yield Contradiction(
                id=_contradiction_id(one.kind, one.first, one.second),
                subject=one_line(one.first, 100).rstrip("."),
                kind=one.kind,
                a=a.id,
                b=b.id,
                explanation=f"“{one_line(one.first, 200).rstrip('.')}” against “{one_line(one.second, 200).rstrip('.')}”",
            )


def _is_about_the_same(a: Fact, b: Fact, one: Edited) -> bool:
    texts = (one.first, one.second)
    if any(_VERSIONED.search(text) or _NUMBERED.search(text) for text in texts):
        return False
    if one.in_place and _place(a) == _place(b) and (one.before >= _CONTEXT or (_place(a) and _is_of_one_title(a, b))):
        return True
    if one.length >= _LONG:
        return True
    return not any(_may_both_hold(text) or _has_no_subject(text) for text in texts)


def _may_both_hold(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_CONDITION, _REFERENCE)) or points_back(text)


def _place(fact: Fact) -> str:
    """Return the heading above a quote, "" if there is none but the page's title."""
    return (fact.path[-1] if len(fact.path) > 1 else fact.heading if not fact.path else "").casefold()


def _is_of_one_title(a: Fact, b: Fact) -> bool:
    return a.path[:1] == b.path[:1]


def _has_no_subject(text: str) -> bool:
    """Return whether only the heading or the sentences before tell what a sentence is about: "Defaults to 5 seconds."."""
    found = _GENERIC.match(text)
    return found is not None and text[found.end() :].islower()


def _contradiction_id(kind: str, first: str, second: str) -> str:
    """Return an id by what is said: passages that overlap show the same two sentences, which are one disagreement."""
    said = " | ".join(sorted(" ".join(text.split()) for text in (first, second)))
    return f"c-{digest_of(f'{kind} {said}'.encode())[:12]}"


def _pairs(group: Sequence[Fact], origins: Mapping[str, str]) -> Iterator[tuple[Fact, Fact]]:
    """Yield the pairs of facts from different origins, each in the order of the ids."""
    for a, b in combinations(sorted(group, key=lambda fact: fact.id), 2):
        if origins.get(a.id, a.url) != origins.get(b.id, b.url):
            yield a, b


def _difference(one: Fact, other: Fact, pair: tuple[_Statement, _Statement]) -> Contradiction:
    a, b = sorted((one, other), key=lambda fact: fact.id)
    mine, yours = sorted(pair, key=lambda one: one.text not in a.quote)
    return Contradiction(
        id=_contradiction_id("number", mine.text, yours.text),
        subject=one_line(mine.text, 100).rstrip("."),
        kind="number",
        a=a.id,
        b=b.id,
        explanation=f"“{_quoted_text(mine)}” against “{_quoted_text(yours)}”",
    )


def _quoted_text(statement: _Statement) -> str:
    return one_line(statement.text, 200).rstrip(".")


def _related_sentences(
    group: Sequence[Fact], origins: Mapping[str, str]
) -> Iterator[tuple[Fact, Fact, str, tuple[_Statement, _Statement]]]:
    """Yield pairs of facts from different origins with two sentences that say the same or differ in one figure only."""
    for a, b in _pairs(group, origins):
        is_same_place = _place(a) != "" and _place(a) == _place(b) and _is_of_one_title(a, b)
        is_copy = any(edited(a.quote, b.quote)) or not _word_runs(a.quote).isdisjoint(_word_runs(b.quote))
        for mine in _statements(a.quote):
            for yours in _statements(b.quote):
                relation = _relation(mine, yours) if is_same_place or not (mine.generic or yours.generic) else ""
                if relation and not (is_copy and relation == "same"):
                    yield a, b, relation, (mine, yours)


@lru_cache(maxsize=2_048)
def _statements(quote: str) -> tuple[_Statement, ...]:
    """Return the sentences of a quote's paragraphs and items; code and tables are not compared."""
    texts = (block.text for block in blocks(quote) if block.kind in ("paragraph", "item"))
    found = (pair for text in texts for pair in pairwise(["", *split_sentences(text)]))
    return tuple(_statement(text, before) for before, text in found if _stands_alone(text))


def _stands_alone(text: str) -> bool:
    if points_back(text) or any(pattern.search(text) for pattern in (_REFERENCE, _ANNOUNCES)):
        return False
    return _SHARED_STEMS < len(text.split()) <= _MOST_WORDS


def _statement(text: str, before: str = "") -> _Statement:
    figures = tuple(_figure(match[1], match[2] or "") for match in _NUMBER.finditer(text))
    plain = _NUMBER.sub(" ", text)
    said = frozenset(stem for stem in stems(plain) if len(stem) > 2)
    names = frozenset(word.casefold() for word in words(plain) if _is_name(word))
    return _Statement(
        text, said, names, figures, len(_NEGATION.findall(text)) % 2 == 1, _has_no_subject(text), *map(_markers, (text, before))
    )


def _markers(text: str) -> frozenset[str]:
    return frozenset(_MARKER.findall(text))


def _is_name(word: str) -> bool:
    return (len(word) < 3 and word.lower() not in QUESTION_WORDS) or specificity(word, DEFAULT_LANGUAGE) >= _NAME_SPECIFICITY


def _figure(number: str, unit: str) -> tuple[str, float]:
    value = float(number.replace(",", "") or 0)
    base, factor = _UNITS.get(unit.lower(), ("", 1.0))
    return base, value * factor


def _relation(a: _Statement, b: _Statement) -> str:
    """Return "same", "differs" or ""."""
    shared = len(a.said & b.said)
    if shared < _SHARED_STEMS or shared < _SHARED_SHARE * len(a.said | b.said) or a.denies != b.denies or a.names != b.names:
        return ""
    if _is_turned(a.text, b.text):
        return ""
    only_a = [figure for figure in a.figures if not any(_equal_figures(figure, other) for other in b.figures)]
    only_b = [figure for figure in b.figures if not any(_equal_figures(figure, other) for other in a.figures)]
    if not only_a and not only_b:
        return "same" if _agree(a, b) else ""
    alone = len(only_a) == len(only_b) == 1 and only_a[0][0] == only_b[0][0]
    plain = not any(_VERSIONED.search(one.text) or _CONDITION.search(one.text) for one in (a, b))
    return "differs" if alone and plain else ""


def _agree(a: _Statement, b: _Statement) -> bool:
    """Return whether two statements have the same markers, figures aside, which are compared by value; so what is before them."""
    own = [{marker for marker in one.markers if not marker[0].isdigit()} for one in (a, b)]
    return own[0] == own[1] and (not a.context or not b.context or a.context == b.context)


@lru_cache(maxsize=2_048)
def _word_runs(text: str) -> frozenset[tuple[str, ...]]:
    """Return each twelve words that stand in a row."""
    said = [word.casefold() for word in _WORD.findall(text)]
    return frozenset(tuple(said[at : at + _COPIED]) for at in range(len(said) - _COPIED + 1))


def _is_turned(a: str, b: str) -> bool:
    """Return whether one sentence has a word where the other has only one of the opposite sense."""
    return any(
        one.search(a) and not one.search(b) and other.search(b) and not other.search(a)
        for pair in OPPOSITES
        for one, other in (pair, pair[::-1])
    )


def _equal_figures(a: tuple[str, float], b: tuple[str, float]) -> bool:
    return a[0] == b[0] and abs(a[1] - b[1]) <= _TOLERANCE * max(abs(a[1]), abs(b[1])) and (a[0] != "" or a[1] == b[1])
