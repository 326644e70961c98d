"""Word splitting, stemming and language detection (Snowball stemmers, https://snowballstem.org).

An identifier yields its own stem and those of its parts (``os.replace``: ``os.replac``, ``os``, ``replac``); a version or a
decimal yields one stem.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import chain, repeat

import Stemmer

from pipeline.text.word_lists import LANGUAGES

DEFAULT_LANGUAGE = "english"

_WORD = re.compile(r"[^\W_]+(?:[._:/'’+#-]{1,2}[^\W_]+|_+[^\W_]+)*(?:\+\+|#)?")
# The same for text in ASCII, in half the time.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+(?:[._:/'+#-]{1,2}[A-Za-z0-9]+|_+[A-Za-z0-9]+)*(?:\+\+|#)?", re.ASCII)
_VERSION = re.compile(r"[vV]?\d+(?:[.,:]\d+)+|\d+")
_THOUSANDS = re.compile(r",(?=\d{3}(?!\d))")
_JOINT = re.compile(r"[._:/'’+#-]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_POSSESSIVE = re.compile(r"['’](?:s|t|re|ve|ll|d|m)\Z", re.IGNORECASE)
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_LONGEST = 60  # characters; a longer "word" is noise
_SAMPLE = 4_000  # characters of a text from which its language is detected
_LANGUAGE_SHARE = 0.08  # least share of function words for a language to be detected
_STEMMERS = threading.local()  # a stemmer must not be used by two threads at once


def words(text: str) -> list[str]:
    """Return the words of ``text`` as written; identifiers, hyphenated words and numbers are not split."""
    return [word for word in _words(text) if len(word) <= _LONGEST]


def stems(text: str, language: str = DEFAULT_LANGUAGE) -> list[str]:
    """Return the stems of all words of ``text`` in order; an identifier's parts follow its whole."""
    return list(chain.from_iterable(map(forms, _words(text), repeat(language))))


def _words(text: str) -> list[str]:
    found: list[str] = (_ASCII_WORD if text.isascii() else _WORD).findall(text)
    return found


@lru_cache(maxsize=262_144)
def forms(word: str, language: str = DEFAULT_LANGUAGE) -> tuple[str, ...]:
    """Return the stems of one written word, that of the whole word first; none for a word of over 60 characters.

    >>> forms("os.replace")
    ('os.replac', 'os', 'replac')
    >>> forms("3.11")
    ('3.11',)
    """
    if len(word) > _LONGEST:
        return ()
    if word.isascii() and word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return (_stemmed(word.lower(), language),)  # most words: they have no parts
    plain = _without_accents(_POSSESSIVE.sub("", word))
    if _CJK.search(plain):
        return _character_pairs(plain)
    if _VERSION.fullmatch(plain):
        return (_THOUSANDS.sub("", plain.lstrip("vV")),)
    parts = [piece for joint in _JOINT.split(plain.replace("_", ".")) for piece in _INNER_CAPITAL.split(joint) if piece]
    whole = plain.lower()
    if len(parts) < 2:
        return (_stemmed(whole, language),) if whole else ()
    if all(part.isascii() for part in parts) and "." not in whole and not any(part.isdigit() for part in parts):
        whole = "".join(part.lower() for part in parts)  # ColBERT, col-bert and colbert are one word
    small = (_stemmed(part.lower(), language) for part in parts if len(part) > 1 or part.isdigit())
    return tuple(dict.fromkeys([_stemmed(whole, language), *small]))


def _without_accents(text: str) -> str:
    """Return ``text`` without accents and with typographic variants unified."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign)).replace("’", "'")


def _character_pairs(text: str) -> tuple[str, ...]:
    """Return runs of Chinese, Japanese or Korean characters as overlapping pairs, since no spaces separate their words."""
    found: list[str] = []
    for run in _CJK.findall(text):
        found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return tuple(dict.fromkeys([*found, *(rest.lower() for rest in _CJK.split(text) if len(rest) > 1)]))


def _stemmed(word: str, language: str) -> str:
    known: dict[str, Stemmer.Stemmer] = _STEMMERS.__dict__
    if language not in known:
        known[language] = Stemmer.Stemmer(language, 0)  # without its cache: forms() has one
    return str(known[language].stemWord(word))


@lru_cache(maxsize=1_024)
def language_of(text: str) -> str:
    """Return the Snowball name of the language of ``text``, detected by its function words; "" if unknown."""
    found = Counter(re.findall(r"[^\W\d_]+", text[:_SAMPLE].lower()))
    shares = {name: sum(found[word] for word in common & found.keys()) for name, common in LANGUAGES.items()}
    best = max(shares, key=lambda name: (shares[name], name == DEFAULT_LANGUAGE))
    return best if shares[best] > _LANGUAGE_SHARE * found.total() else ""


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of stems, 0 to 1; 0 if one is empty."""
    return len(a & b) / len(a | b) if a and b else 0.0
