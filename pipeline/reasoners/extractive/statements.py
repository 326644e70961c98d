"""A claim taken apart: its subject's terms, its figures, whether it denies; and how two such claims relate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pipeline.reasoners.extractive.quantities import Figures, figures
from pipeline.reasoners.extractive.synonyms import others
from pipeline.terms import Terms, forms, stem, words
from pipeline.vocabulary import ANTONYMS, COMMON, NEGATIONS, VERBS, word_list

_HEDGES = frozenset(
    stem(word)
    for word in word_list(
        """
    maximum minimum max min single about roughly approximately nearly almost typically usually generally currently always
    often sometimes total overall exactly precisely size amount number percent percentage figure default limit range
    average according
    """
    )
)
_PLAIN_VERBS = frozenset(stem(word) for word in VERBS)
_OPPOSITES = tuple((stem(a), stem(b)) for a, b in ANTONYMS)
_CONDITION = re.compile(
    r"\b(?:if|unless|when|except|until|before|after|while|only|without|where|although|but|however|whether)\b", re.I
)
# What follows gives a reason or a circumstance; its negations do not turn the claim.
_AFTERTHOUGHT = re.compile(
    r",? \b(?:because|since|although|though|whereas|while|so that|unless|which|where|if|when|as)\b",
    re.IGNORECASE,
)
_REASON = re.compile(r",? \b(?:because|since)\b.*|, as\b.*", re.I)
_WORD = re.compile(r"[A-Za-z]+(?:[’'-][A-Za-z]+)*")


@dataclass(frozen=True, slots=True)
class Statement:
    """``subject``: terms without figures and hedges; ``plain``: all words in lower case.

    ``denies``: the main clause's negations are odd.
    """

    subject: Terms
    plain: frozenset[str]
    figures: Figures
    denies: bool
    conditional: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """What two statements share and what only one of them has, weighed; ``opposed`` when some words are opposites."""

    shared: Terms
    weight: float
    only_first: float
    only_second: float
    opposed: bool

    @property
    def same_subject(self) -> bool:
        """Whether one of the two says nothing that the other leaves out, and the other not much more."""
        least, most = sorted((self.only_first, self.only_second))
        return len(self.shared) >= 2 and self.weight >= 2.0 and least <= 0.5 and most <= 1.6 * self.weight

    @property
    def likeness(self) -> float:
        """Shared weight by all weight, 0 to 1."""
        whole = self.weight + self.only_first + self.only_second
        return self.weight / whole if whole else 0.0


@lru_cache(maxsize=4096)
def statement(claim: str) -> Statement:
    """Return ``claim`` taken apart."""
    found = figures(claim)
    plain = frozenset(word.lower().replace("’", "'") for word in _WORD.findall(claim))
    main = _AFTERTHOUGHT.split(claim, maxsplit=1)[0] or claim
    denials = sum(word.lower().replace("’", "'") in NEGATIONS for word in _WORD.findall(main))
    subject = frozenset(form for word in words(found.rest) for form in forms(word)[:1]) - _HEDGES
    return Statement(subject, plain, found, denials % 2 == 1, _CONDITION.search(claim) is not None)


def without_reason(claim: str) -> str:
    """Return ``claim`` without the reason that it gives for itself, if it does."""
    return _REASON.sub("", claim) or claim


def relate(a: Statement, b: Statement, *, ignore_verbs: bool = False) -> Relation:
    """Return how the subjects of two statements relate; words that stand for each other count as shared."""
    first, second = a.subject - b.subject, b.subject - a.subject
    opposed_first, opposed_second = _opposed(first, second)
    opposed = bool(opposed_first)
    first, second = first - opposed_first, second - opposed_second
    akin = frozenset(term for term in first if any(stem(word) in second for word in others(term)))
    second = frozenset(term for term in second if not any(stem(word) in akin for word in others(term)))
    first -= akin
    if ignore_verbs:
        first, second = first - _PLAIN_VERBS, second - _PLAIN_VERBS
    shared = a.subject & b.subject
    return Relation(shared, _weight(shared) + 0.7 * len(akin), _weight(first), _weight(second), opposed)


def _weight(found: Iterable[str]) -> float:
    return sum(0.5 if term in _COMMON_STEMS else 1.0 for term in found)


_COMMON_STEMS = frozenset(stem(word) for word in COMMON)


def _opposed(first: Terms, second: Terms) -> tuple[Terms, Terms]:
    for a, b in (*_OPPOSITES, *((b, a) for a, b in _OPPOSITES), *_prefixed(first, second), *_prefixed(second, first, swap=True)):
        if a in first and b in second:
            return frozenset({a}), frozenset({b})
    return frozenset(), frozenset()


def _prefixed(first: Terms, second: Terms, *, swap: bool = False) -> list[tuple[str, str]]:
    """Return pairs such as ("safe", "unsafe"): a term of one side that the other side has with a denying prefix."""
    pairs = [
        (term, prefix + term) for term in sorted(first) for prefix in ("un", "in", "im", "non", "non-", "dis") if len(term) > 3
    ]
    return [((b, a) if swap else (a, b)) for a, b in pairs if b in second]
