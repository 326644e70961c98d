"""A question taken apart: its clauses, the stems that an answer must speak of with their weight, the kinds of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pipeline.text.ranking.answer_types import kinds_of
from pipeline.text.stemming import DEFAULT_LANGUAGE, forms, language_of, words
from pipeline.text.word_frequency import speciality
from pipeline.text.word_lists import ASKING, LIGHT

_LIGHT_WEIGHT = 0.5
_ORDINARY_WEIGHT = 0.6
# "…, and how …", "… and when should …", "… versus …": where a question may be two.
_CLAUSE = re.compile(
    r"[?;]\s+"
    r"|,?\s+(?:and|or|but)\s+"
    r"(?=(?:how|what|when|where|why|which|who|can|could|do|does|did|is|are|should|will|would|must|may|has|have)\b)"
    r"|,\s+(?=(?:how|what|when|where|why|which|who)\b)",
    re.IGNORECASE,
)
_CONJOINED = re.compile(r",?\s+(?:and|or|versus|vs\.?|compared (?:to|with)|as well as|rather than|instead of)\s+", re.IGNORECASE)
_BROAD = re.compile(
    r"^\s*(?:how (?:do(?:es)?|should|can|could|is|are|would|did|to)\b"
    r"|what (?:are|is|should|do|does) .*\b(?:ways?|options?|steps?|kinds?|types?|considerations?|practices?|trade-?offs?|pros"
    r"|differences?|limits|rules|methods|features|mechanisms|problems|risks)\b"
    r"|(?:explain|describe|compare|overview|give me|tell me)\b"
    r"|what (?:changed|is known|happens)|why\b.*\band\b|when (?:is|should|are)\b)",
    re.IGNORECASE,
)
_ASKED = r"(?!should|do|does|did|is|are|was|were|can|could|would|will|must|may|might|has|have|had)"
_OPENING = re.compile(
    r"(?:if|as|after|before|since|once|while|though|although|given|suppose|assuming|out of|in|on|with|from|i|my|we|our|someone"
    rf"|somebody|the) |for (?!how)|when {_ASKED}|where {_ASKED}",
    re.IGNORECASE,
)
_POINTING = re.compile(r"\b(?:it|its|they|them|their)\b", re.IGNORECASE)
_OWN_SUBJECT = 0.6  # a clause with a word so special has a subject of its own
_EXACT = frozenset({"duration", "count", "default", "date", "version", "name", "permission"})


class Term(NamedTuple):
    """A content word of a question: its stem, those of its parts if it is a compound, what it counts, and how it was written."""

    stem: str
    parts: tuple[str, ...]
    weight: float
    word: str
    special: float

    def is_in(self, held: Container[str]) -> bool:
        """Tell whether a text with the stems ``held`` has the word: whole, or all its parts."""
        return self.stem in held or (bool(self.parts) and all(part in held for part in self.parts))


@dataclass(frozen=True, slots=True)
class Query:
    """A question, taken apart.

    ``terms`` are its content words, each once; ``clauses`` its parts, each a question of its own (the whole, if it has none);
    ``kinds`` the kinds of answer it wants; ``broad``: many passages answer it together.
    """

    text: str
    language: str
    terms: tuple[Term, ...]
    clauses: tuple[str, ...]
    kinds: tuple[str, ...]
    broad: bool


@lru_cache(maxsize=512)
def understood(text: str, language: str = "") -> Query:
    """Return the question ``text`` taken apart; its ``language`` is found out if it is not given."""
    language = language or language_of(text) or DEFAULT_LANGUAGE
    clauses = _clauses(text, language)
    kinds = kinds_of(text)
    broad = len(clauses) > 1 or (not _EXACT.intersection(kinds) and _BROAD.search(text) is not None)
    return Query(text, language, _terms(text, language), clauses, kinds, broad)


@lru_cache(maxsize=512)
def _terms(text: str, language: str) -> tuple[Term, ...]:
    """Return the content words of ``text``; of a question that has none, all its words."""
    found = [word for word in words(text) if not _is_asking(word)] or words(text)
    terms: dict[str, Term] = {}
    for word in found:
        if stems := forms(word, language):
            special = speciality(word, language)
            weight = _LIGHT_WEIGHT if word.lower() in LIGHT else _ORDINARY_WEIGHT + (1 - _ORDINARY_WEIGHT) * special
            terms.setdefault(stems[0], Term(stems[0], stems[1:], weight, word, special))
    return tuple(terms.values())


@lru_cache(maxsize=4_096)
def content_stems(text: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Return the stems of the words of ``text`` that carry meaning."""
    return frozenset(form for word in words(text) if not _is_asking(word) for form in forms(word, language))


def _is_asking(word: str) -> bool:
    return word.lower().replace("’", "'") in ASKING and not (word.isupper() and len(word) > 1)


def _clauses(text: str, language: str) -> tuple[str, ...]:
    found = (part.strip(" ,.?") for part in _CLAUSE.split(text) if part)
    parts = _with_openings([part for part in found if any(not _is_asking(word) for word in words(part))])
    if len(parts) > 1:
        return tuple(_with_subject(part, parts[0], language) for part in parts)
    return _sides(text, language) or (text,)


def _with_openings(parts: list[str]) -> list[str]:
    """Return the parts, what only leads up to a question put before it: "As a packager, how do I …"."""
    if len(parts) > 1 and _OPENING.match(parts[0]):
        return [f"{parts[0]}, {parts[1]}", *parts[2:]]
    return parts


def _with_subject(part: str, first: str, language: str) -> str:
    """Return a clause with what the first is about, where it only points back to it: "… and when should I avoid it?"."""
    own = _terms(part, language)
    if part == first or (max((term.special for term in own), default=0.0) >= _OWN_SUBJECT and not _POINTING.search(part)):
        return part
    named = sorted((term for term in _terms(first, language) if term.weight > _LIGHT_WEIGHT), key=lambda term: -term.special)
    return f"{part} ({' '.join(term.word for term in named[:3])})" if named else part


def _sides(text: str, language: str) -> tuple[str, ...]:
    """Return the sides of a question that joins two things ("How do A and B work?"); each must name something of its own."""
    found = list(_CONJOINED.finditer(text))
    if len(found) != 1:
        return ()
    sides = (text[: found[0].start()].strip(), text[found[0].end() :].strip(" ?."))
    special = (max((term.special for term in _terms(side, language)), default=0.0) for side in sides)
    return sides if min(special) >= _OWN_SUBJECT else ()
