"""How ordinary a word is in its language at large: what tells a name from a way of putting things.

The frequencies are those of ``wordfreq`` (Robyn Speer, 2022), on the Zipf scale: 7 for "the", 5 for "attention", 3 for one in a
million words.
"""

from __future__ import annotations

from functools import lru_cache

_CODES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt", "dutch": "nl",
    "swedish": "sv", "danish": "da", "norwegian": "nb", "finnish": "fi", "russian": "ru",
}  # fmt: skip
_ORDINARY, _RARE = 5.5, 3.5  # Zipf: from here on all words are as ordinary as can be; below, as special


@lru_cache(maxsize=16_384)
def speciality(word: str, language: str) -> float:
    """Return how special a word is, 0 (everybody's) to 1 (a name, a term); 1 where nothing is known of the language."""
    from wordfreq import zipf_frequency  # its lists take a tenth of a second to load

    code = _CODES.get(language)
    if code is None:
        return 1.0
    zipf = zipf_frequency(word, code, wordlist="small")
    return min(1.0, max(0.0, (_ORDINARY - zipf) / (_ORDINARY - _RARE)))
