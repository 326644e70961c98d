"""Word specificity from general word frequencies: names and terms are specific, everyday words are not.

The frequencies are those of ``wordfreq`` (Robyn Speer, 2022), on the Zipf scale: 7 for "the", 5 for "attention", 3 for one in a
million words.
"""

from __future__ import annotations

import math
from functools import lru_cache

_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "swedish": "sv", "danish": "da", "norwegian": "nb", "finnish": "fi", "russian": "ru",
}  # fmt: skip
_COMMON, _RARE = 5.5, 3.5  # Zipf values at which specificity reaches 0 and 1
_UNKNOWN = 2.0  # Zipf value under which a word is in no everyday use at all
_PASSAGE = 120  # words of a passage of everyday language
_PER_WORD = 9  # Zipf value of a word that is the only one used


@lru_cache(maxsize=16_384)
def specificity(word: str, language: str) -> float:
    """Return how specific a word is, 0 (everyday word) to 1 (name, term); 1 for an unsupported language."""
    from wordfreq import zipf_frequency  # imported late: its lists take a tenth of a second to load

    code = _CODES.get(language)
    if code is None:
        return 1.0
    zipf = zipf_frequency(word, code, wordlist="small")
    return min(1.0, max(0.0, (_COMMON - zipf) / (_COMMON - _RARE)))


@lru_cache(maxsize=16_384)
def is_word(word: str, language: str) -> bool:
    """Return whether a lower-case word is one of the language's tens of thousands of usual ones; False if it is unsupported."""
    from wordfreq import zipf_frequency  # imported late: its lists take a tenth of a second to load

    code = _CODES.get(language)
    return code is not None and zipf_frequency(word, code, wordlist="small") > 0


def is_unusual(word: str) -> bool:
    """Return whether a word is in no everyday use in English: fewer than one in ten million words."""
    return frequency(word, "english") < _UNKNOWN


@lru_cache(maxsize=16_384)
def frequency(word: str, language: str) -> float:
    """Return a word's frequency on the Zipf scale; 0 for a word that is not known, or in an unsupported language."""
    from wordfreq import zipf_frequency  # imported late: its lists take a tenth of a second to load

    code = _CODES.get(language)
    return float(zipf_frequency(word, code, wordlist="best")) if code else 0.0


@lru_cache(maxsize=16_384)
def everyday_rarity(word: str, language: str) -> float:
    """Return the inverse document frequency that a word has in passages of everyday language; infinite if it is not known.

    >>> round(everyday_rarity("people", "english"), 1)
    1.9
    """
    zipf = frequency(word.lower(), language)
    return math.log(1 + 1 / min(1.0, _PASSAGE * 10 ** (zipf - _PER_WORD))) if zipf > 0 else math.inf
