"""Whether a text holds an expected answer: plain strings and patterns, case and white space aside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.text.normalise import normalised

PATTERN_MARK = "re:"


@lru_cache(maxsize=4_096)
def pattern_of(alternative: str) -> re.Pattern[str]:
    """Return the pattern of one alternative.

    After ``re:`` stands a regular expression. Anything else is plain text that starts at a word's start; it may go on
    in an ending ("weak reference" is found in "weak references"), but a number never in further digits.

    Raises:
        re.error: the regular expression is faulty.
    """
    if alternative.startswith(PATTERN_MARK):
        return re.compile(alternative[len(PATTERN_MARK) :], re.IGNORECASE)
    plain = normalised(alternative)
    before = r"(?<!\w)" if plain[:1].isalnum() else ""
    after = r"(?!\d)" if plain[-1:].isdigit() else ""
    return re.compile(before + re.escape(plain) + after, re.IGNORECASE)


def found(text: str, alternatives: Iterable[str]) -> str:
    """Return the first stretch of ``text`` that one of the alternatives matches, or ""."""
    return found_in_normalised(normalised(text), alternatives)


def found_in_normalised(text: str, alternatives: Iterable[str]) -> str:
    """Return the same for a text that went through ``normalised`` before, as large ones should only once."""
    hits = (pattern_of(alternative).search(text) for alternative in alternatives)
    return next((hit[0] for hit in hits if hit), "")


def word_count(text: str) -> int:
    """Return the number of words: stretches without white space."""
    return len(text.split())


def first_words(text: str, limit: int) -> str:
    """Return the first ``limit`` words of ``text``, one space between them."""
    return " ".join(text.split()[:limit])
