"""Matching of expected answers in a text, by plain strings and patterns, case and white space aside."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pipeline.text.normalise import normalised

PATTERN_MARK = "re:"


@lru_cache(maxsize=4_096)
def pattern_of(alternative: str) -> re.Pattern[str]:
    """Return the pattern of one alternative.

    After ``re:`` comes a regular expression. Anything else is plain text that must begin at the start of a word; the word may
    continue ("weak reference" matches "weak references"), but not a number with further digits.

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
    """Return the first part of ``text`` that one of the alternatives matches, or ""."""
    return match_in(normalised(text), alternatives)


def match_in(text: str, alternatives: Iterable[str]) -> str:
    """Return the same for a text that is normalised already; a large text is best normalised only once."""
    hits = (pattern_of(alternative).search(text) for alternative in alternatives)
    return next((hit[0] for hit in hits if hit), "")


def word_count(text: str) -> int:
    """Return the number of words, separated by white space."""
    return len(text.split())


def first_words(text: str, limit: int) -> str:
    """Return the first ``limit`` words of ``text``, separated by single spaces."""
    return " ".join(text.split()[:limit])
