"""Analysis of a question: its content words with weights, its clauses, and the answer types that it asks for."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pipeline.text.german_words import compound_parts, is_inflected
from pipeline.text.ranking.answer_types import answer_kinds
from pipeline.text.ranking.comparisons import compared_sides
from pipeline.text.stemming import DEFAULT_LANGUAGE, forms, language_of, words
from pipeline.text.word_frequency import specificity
from pipeline.text.word_lists import LANGUAGES, LIGHT_WORDS, QUESTION_WORDS

_LIGHT_WEIGHT = 0.5
_ORDINARY_WEIGHT = 0.6
# "…, and how …", "… and when should …", "… versus …": the places where a question may consist of two.
_CLAUSE_BOUNDARY = re.compile(
    r"[?;]\s+"
    r"|,?\s+(?:and|or|but)\s+"
    r"(?=(?:how|what|when|where|why|which|who|can|could|do|does|did|is|are|should|will|would|must|may|has|have)\b)"
    r"|,\s+(?=(?:how|what|when|where|why|which|who)\b)",
    re.IGNORECASE,
)
_CONJOINED = re.compile(r",?\s+(?:and|or|versus|vs\.?|compared (?:to|with)|as well as|rather than|instead of)\s+", re.IGNORECASE)
# Read at the start of each sentence: "My server is overloaded. What can I do?"
_BROAD = re.compile(
    r"(?:^|[.!?]\s)\s*(?:how (?:do(?:es)?|should|can|could|is|are|would|did|to)\b"
    r"|what (?:are|is|should|do|does) .*\b(?:ways?|options?|steps?|kinds?|types?|considerations?|practices?|trade-?offs?|pros"
    r"|differences?|limits|rules|methods|features|mechanisms|problems|risks)\b"
    r"|what (?:can|could|should|must) (?:i|we|you|one)\b|what(?:['’]s| is| are) (?:new|different)\b"
    r"|what (?:\w+ ){0,2}\w+[^s\W]s (?:are there|exist|can|could|should|must|do) ?"
    r"|(?:explain|describe|compare|overview|give me|tell me)\b"
    r"|what (?:changed|is known|happens)|why\b.*\band\b|when (?:is|should|are)\b)",
    re.IGNORECASE,
)
_NO_AUXILIARY = r"(?!should|do|does|did|is|are|was|were|can|could|would|will|must|may|might|has|have|had)"
_INTRODUCTION = re.compile(
    r"(?:if|as|after|before|since|once|while|though|although|given|suppose|assuming|out of|in|on|with|from|i|my|we|our|someone"
    rf"|somebody|the) |for (?!how)|when {_NO_AUXILIARY}|where {_NO_AUXILIARY}",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their)\b", re.IGNORECASE)
_NO_NAME = 0.35  # of a German verb or adjective, which is written small: no question is about it
_OWN_SUBJECT = 0.6  # a clause that has a word at least this specific names its own subject
_EXACT_KINDS = frozenset({"duration", "count", "default", "date", "version", "name", "permission"})


class Term(NamedTuple):
    """A content word of a question: its stem, the stems of its parts if it is a compound, and the word as written.

    ``weight`` is its weight in the ranking, above 0 to 1; ``specificity`` is 0 (everyday word) to 1 (name, term).
    """

    stem: str
    parts: tuple[str, ...]
    weight: float
    word: str
    specificity: float

    def is_in(self, held: Container[str]) -> bool:
        """Return whether a text with the stems ``held`` contains the word or all its parts."""
        return self.stem in held or (bool(self.parts) and all(part in held for part in self.parts))


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question with its parts.

    ``terms`` are its content words, each once. ``clauses`` are its parts, each a question by itself; at least the whole question.
    ``kinds`` are the answer types that it asks for. ``broad``: it takes several passages to answer it.
    """

    text: str
    language: str
    terms: tuple[Term, ...]
    clauses: tuple[str, ...]
    kinds: tuple[str, ...]
    broad: bool


@lru_cache(maxsize=512)
def parse_question(text: str, language: str = "") -> ParsedQuestion:
    """Return the analysis of the question ``text``; ``language`` (Snowball's name) is detected if it is not given."""
    language = language or language_of(text) or DEFAULT_LANGUAGE
    clauses = _clauses(text, language)
    kinds = answer_kinds(text)
    broad = len(clauses) > 1 or (not _EXACT_KINDS.intersection(kinds) and _BROAD.search(text) is not None)
    return ParsedQuestion(text, language, _terms(text, language), clauses, kinds, broad)


@lru_cache(maxsize=512)
def _terms(text: str, language: str) -> tuple[Term, ...]:
    """Return the content words of ``text``, or all its words if it has none."""
    found = [word for word in words(text) if not _is_question_word(word, language)] or words(text)
    in_capitals = language == "german" and any(word[:1].isupper() for word in found)
    terms: dict[str, Term] = {}
    for word in found:
        if stems := forms(word, language):
            specific = specificity(word, language)
            weight = _LIGHT_WEIGHT if word.lower() in LIGHT_WORDS else _ORDINARY_WEIGHT + (1 - _ORDINARY_WEIGHT) * specific
            specific *= _NO_NAME if in_capitals and is_inflected(word) else 1
            parts = stems[1:] or _compound_stems(word, language)
            terms.setdefault(stems[0], Term(stems[0], parts, weight, word, specific))
    return tuple(terms.values())


def _compound_stems(word: str, language: str) -> tuple[str, ...]:
    """Return the stems of the words in a rare German compound, which documents may say apart: Faustballregeln."""
    parts = compound_parts(word) if language == "german" else ()
    return tuple(form for part in parts for form in forms(part, language)[:1])


@lru_cache(maxsize=4_096)
def content_stems(text: str, language: str = DEFAULT_LANGUAGE) -> frozenset[str]:
    """Return the stems of the content words of ``text``."""
    return frozenset(form for word in words(text) if not _is_question_word(word, language) for form in forms(word, language))


def _is_question_word(word: str, language: str) -> bool:
    """Return whether a word only asks or joins: an English one in any question, and those of the question's own language."""
    plain = word.lower().replace("’", "'")
    own = LANGUAGES.get(language, frozenset()) if language != DEFAULT_LANGUAGE else frozenset()
    return (plain in QUESTION_WORDS or plain in own) and not (word.isupper() and len(word) > 1)


def _clauses(text: str, language: str) -> tuple[str, ...]:
    if sides := compared_sides(text, lambda words: _names_subject(words, language)):
        return sides
    found = (part.strip(" ,.?") for part in _CLAUSE_BOUNDARY.split(text) if part)
    parts = _introduction_merged([part for part in found if any(not _is_question_word(word, language) for word in words(part))])
    if len(parts) > 1:
        return tuple(_with_subject(part, parts[0], language) for part in parts)
    return _joined_sides(text, language) or (text,)


def _introduction_merged(parts: list[str]) -> list[str]:
    """Return the parts with an introduction joined to the question after it: "As a packager, how do I …"."""
    if len(parts) > 1 and _INTRODUCTION.match(parts[0]):
        return [f"{parts[0]}, {parts[1]}", *parts[2:]]
    return parts


def _with_subject(part: str, first: str, language: str) -> str:
    """Return a clause with the subject of the first added if it only refers to it: "… and when should I avoid it?"."""
    own = _terms(part, language)
    if part == first or (max((term.specificity for term in own), default=0.0) >= _OWN_SUBJECT and not _PRONOUN.search(part)):
        return part
    named = sorted((term for term in _terms(first, language) if term.weight > _LIGHT_WEIGHT), key=lambda term: -term.specificity)
    return f"{part} ({' '.join(term.word for term in named[:3])})" if named else part


def _names_subject(text: str, language: str) -> bool:
    return max((term.specificity for term in _terms(text, language)), default=0.0) >= _OWN_SUBJECT


def _joined_sides(text: str, language: str) -> tuple[str, ...]:
    """Return the two halves of a question on two subjects ("How do A and B work?"); () if one half names none."""
    found = list(_CONJOINED.finditer(text))
    if len(found) != 1:
        return ()
    sides = (text[: found[0].start()].strip(), text[found[0].end() :].strip(" ?."))
    specificities = (max((term.specificity for term in _terms(side, language)), default=0.0) for side in sides)
    return sides if min(specificities) >= _OWN_SUBJECT else ()
