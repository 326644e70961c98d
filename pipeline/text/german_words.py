"""German words taken apart, as far as Snowball's stems do not: the base of a participle, and the words in a compound."""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.text.word_frequency import frequency

_SEPARABLE = (
    "ab an auf aus bei durch ein entgegen fest fort frei gegen heim her herum hin hinzu los mit nach nieder still teil"
    " über um unter vor voran voraus weg weiter wieder zu zurück zusammen"
).replace(" ", "|")
_ENDING = r"e?t(?:e[mnrs]?)?"
_PARTICIPLE = re.compile(
    rf"(?P<prefix>{_SEPARABLE})ge(?P<base>[a-zäöüß]{{3,}}?)(?:{_ENDING}|en(?:e[mnrs]?)?)"
    rf"|(?P<whole>(?:be|ver|er|ent|zer|miss|über|unter|wider)[a-zäöüß]{{3,}}?|[a-zäöüß]{{3,}}ier){_ENDING}"
)
_INFLECTED = re.compile(r"[a-zäöüß]{3,}(?:e[mnrs]?|e?te?n?|st)")
_SHORTEST, _SHORTEST_COMPOUND = 4, 9  # letters
_KNOWN, _EVERYDAY = 2.5, 3.0  # on the Zipf scale
_LINKS = ("", "s", "n", "e", "es", "en", "er")  # letters between the words of a compound
_SUFFIXES = frozenset(
    ("bare", "chen", "haft", "heit", "heiten", "isch", "keit", "keiten", "lich", "liche", "lose", "schaft", "ungen")
)


def verb_base(word: str) -> str:
    """Return what a participle in lower case shares with the verb and its noun; "" for any other word.

    The prefix "ge-" alone makes none: "gefolgt von" says nothing about "Folgen".

    >>> verb_base("stillgelegt"), verb_base("begradigte"), verb_base("Gesicht")
    ('stillleg', 'begradig', '')
    """
    found = _PARTICIPLE.fullmatch(word) if word.islower() else None
    return (found["whole"] or found["prefix"] + found["base"]) if found else ""


def is_inflected(word: str) -> bool:
    """Return whether a word is written small and ends as verbs and adjectives do: no noun, and seldom the name of a program."""
    return word.islower() and _INFLECTED.fullmatch(word) is not None


@lru_cache(maxsize=4_096)
def compound_parts(word: str) -> tuple[str, ...]:
    """Return the two words that a rare compound consists of, () if it is none or if it is an everyday word itself.

    >>> compound_parts("Kohlenmeiler"), compound_parts("Faustballregeln"), compound_parts("Krankenhaus")
    (('kohlen', 'meiler'), ('faustball', 'regeln'), ())
    """
    lower = word.lower()
    if len(lower) < _SHORTEST_COMPOUND or not lower.isalpha() or frequency(lower, "german") >= _EVERYDAY:
        return ()
    splits = [(lower[:at], lower[at:]) for at in range(_SHORTEST, len(lower) - _SHORTEST + 1)]
    pairs = [(first, last) for left, last in splits if last not in _SUFFIXES for first in _without_link(left)]
    best = max(pairs, key=_weakest, default=("", ""))
    return best if _weakest(best) >= _KNOWN else ()


def _without_link(left: str) -> list[str]:
    found = (left.removesuffix(link) for link in _LINKS if left.endswith(link))
    return [one for one in found if len(one) >= _SHORTEST]


def _weakest(pair: tuple[str, str]) -> float:
    return min(frequency(one, "german") for one in pair)
