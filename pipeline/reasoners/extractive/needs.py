"""What an answer to a question has to speak of: its terms, the words that may stand for them, and what it leaves unsaid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from pipeline.reasoners.extractive.frames import content
from pipeline.reasoners.extractive.synonyms import others
from pipeline.terms import Terms, needs, stem

_RELATIVE = 0.6  # strength of a word that stands for the one asked for
_DEFAULT = 0.7  # weight of a default that the question only implies
# "… if I don't say", "… unless I configure it", "… when none is given": the question asks for a default.
_LEFT_OPEN = re.compile(
    r"\b(?:if|when|unless|without|while)\b[^,;?]{0,30}?(?:n't|\bnot|\bnobody|\bno one"
    r"|\bnone|\bnothing|\bnever|\bunless|\bwithout|\bno)\b"
    r"[^,;?]{0,20}?\b(?:sa(?:y|id)|specif\w+|giv\w+|set\w*|pick\w*|cho(?:ose|sen)|chang\w+|configur\w+|pass\w*|tell"
    r"|told|ask\w*|nam\w+|stat\w+|suppl\w+|provid\w+)\b|\bunless (?:i|you|we|it|they|one)\b[^,;?]{0,20}"
    r"\b(?:sa|specif|giv|set|pick|cho|chang|configur|pass|tell|ask)\w*"
    r"|\bunless (?:told|asked|stated|specified|given|set|configured|otherwise)\b"
    r"|\bout of the box\b|\bleft (?:out|unset|unspecified)\b|\bomit\w*",
    re.IGNORECASE,
)


class Need(NamedTuple):
    """One term with its weight and the stems that may stand for it."""

    term: str
    weight: float
    relatives: tuple[str, ...]


@lru_cache(maxsize=1024)
def needs_of(question: str) -> tuple[Need, ...]:
    """Return what an answer to ``question`` has to speak of."""
    weights = dict(needs(content(question)))
    if asks_for_default(question):
        weights.setdefault(stem("default"), _DEFAULT)
    return tuple(Need(term, weight, _relatives(term, weights)) for term, weight in weights.items())


def _relatives(term: str, asked: Mapping[str, float]) -> tuple[str, ...]:
    return tuple(form for form in dict.fromkeys(stem(word) for word in others(term)) if form not in asked)


@lru_cache(maxsize=1024)
def asks_for_default(question: str) -> bool:
    """Tell whether ``question`` asks what holds when nobody says otherwise."""
    return stem("default") in needs(question) or _LEFT_OPEN.search(question) is not None


def speaks_of(wanted: tuple[Need, ...], own: Terms, around: Mapping[str, float]) -> bool:
    """Tell whether a statement speaks of the question at all: of two of its terms, at least, if it has as many."""
    missing = min(2, len(wanted))
    for term, _, relatives in wanted:
        if not missing:
            break
        missing -= term in own or term in around or not own.isdisjoint(relatives)
    return not missing


def coverage(wanted: tuple[Need, ...], own: Terms, around: Mapping[str, float], rare: Mapping[str, float]) -> float:
    """Return the share, 0 to 1, of what is wanted that a statement covers.

    ``own`` are its terms; ``around`` gives the strength (0 to 1) of terms that only stand near it; ``rare`` how much a term
    tells apart (default 1).
    """
    total = got = 0.0
    for term, weight, relatives in wanted:
        weight *= rare.get(term, 1.0)
        total += weight
        if term in own:
            got += weight
        else:
            akin = 0.0 if own.isdisjoint(relatives) else _RELATIVE
            got += weight * max(around.get(term, 0.0), akin)
    return got / total if total else 0.0
