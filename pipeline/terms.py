"""Terms: words brought to a common stem, what a question needs of them, and how alike two sets of them are."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pipeline.vocabulary import COMMON, IRREGULAR, STOP, VERBS

_WORD = re.compile(r"[^\W_]+(?:[._'’+-]{1,2}[^\W_]+)*")
_INNER_CAP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PART = re.compile(r"[._'’+-]+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_VOWEL = re.compile(r"[aeiouy]")
# Endings of derived words: what stands instead, and how many letters must be left before it.
_DERIVATIONS = (
    ("ization", "iz", 3), ("ification", "ify", 3), ("ation", "at", 4), ("ition", "it", 4), ("ator", "at", 4), ("ity", "", 4),
    ("ness", "", 4), ("ment", "", 4), ("ly", "", 4), ("ance", "", 5), ("ence", "", 5), ("ency", "", 5), ("ent", "", 6),
    ("er", "", 4),
)  # fmt: skip
_LONGEST = 60  # characters; longer "words" are noise

Terms = frozenset[str]


def words(text: str) -> list[str]:
    """Return the words of ``text`` as written: identifiers, hyphenated words and numbers whole."""
    return _WORD.findall(text)


def terms(text: str) -> list[str]:
    """Return the stems of the words of ``text`` that carry meaning, in order, compounds both whole and in parts."""
    return [form for word in _WORD.findall(text) for form in forms(word)]


@lru_cache(maxsize=4096)
def term_set(text: str) -> Terms:
    """Return the set of ``terms(text)``."""
    return frozenset(terms(text))


@lru_cache(maxsize=65536)
def forms(word: str) -> tuple[str, ...]:
    """Return the stems that one written word stands for; none for a stop word.

    >>> forms("os.replace")
    ('os.replace', 'replac')
    """
    if len(word) > _LONGEST or word.lower().replace("’", "'") in STOP:
        return ()
    if _NUMBER.fullmatch(word):
        return (word,)
    parts = _parts(word)
    if len(parts) == 1:
        return (stem(parts[0]),) if len(parts[0]) > 1 else ()
    small = [stem(part) for part in parts if len(part) > 1 and part not in STOP]
    whole = stem(word.lower()) if not set("'’") & set(word) else ""
    return tuple(dict.fromkeys(form for form in (whole, *small) if form))


def _parts(word: str) -> list[str]:
    pieces = [piece for part in _PART.split(word) for piece in _INNER_CAP.split(part)]
    return [piece.lower() for piece in pieces if piece]


def stem(word: str) -> str:
    """Return a light stem of a lower-case English word: endings of number, tense and common derivation go."""
    word = IRREGULAR.get(word, word)
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    return _final(_derived(_tense(_singular(word))))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _tense(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and _VOWEL.search(root):
            return root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
    return word


def _derived(word: str) -> str:
    for ending, kept, least in _DERIVATIONS:
        if word.endswith(ending) and len(word) - len(ending) >= least:
            return word.removesuffix(ending) + kept
    if word.endswith(("tion", "sion")) and len(word) >= 7:
        return word[:-3]
    return word


def _final(word: str) -> str:
    if word.endswith("e") and len(word) > 4:
        word = word[:-1]
    if word.endswith("at") and len(word) > 6:
        word = word[:-2]
    if word.endswith("ll") and len(word) > 5:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def numbers(text: str) -> list[str]:
    """Return the numbers written in digits in ``text``, versions such as 3.11 whole."""
    return _NUMBER.findall(text)


@lru_cache(maxsize=1024)
def needs(question: str) -> Mapping[str, float]:
    """Return the terms of a question with how much each matters: identifiers most, common words least."""
    weights: dict[str, float] = {}
    for place, word in enumerate(_WORD.findall(question)):
        for form in forms(word):
            weight = _weight(word, form, place)
            weights[form] = max(weight, weights.get(form, 0.0))
    return weights


def _weight(word: str, form: str, place: int) -> float:
    parts = _parts(word)
    if len(parts) > 1 and form != stem(word.lower()):
        return 0.5
    if len(parts) > 1 or _NUMBER.fullmatch(word):
        return 1.5
    if word.lower() in COMMON:
        return 0.5
    if word.lower() in VERBS:
        return 0.7
    return 1.3 if place and word[0].isupper() else 1.0


def rarity(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Return for each counted term how much it tells apart among ``total`` texts: 0.3 (in all) to 1 (in one)."""
    scale = math.log(1 + total) or 1.0
    return {term: 0.3 + 0.7 * math.log(1 + total / count) / (scale + 0.7) for term, count in counts.items()}


def document_counts(texts: Iterable[Terms]) -> Counter[str]:
    """Return in how many of ``texts`` each term stands."""
    return Counter(term for text in texts for term in text)


def alike(a: Terms, b: Terms) -> float:
    """Return the overlap of two sets of terms, 0 to 1 (Jaccard)."""
    if not a or not b:
        return 0.0
    common = len(a & b)
    return common / (len(a) + len(b) - common)


def contained(a: Terms, b: Terms) -> float:
    """Return how much of the smaller set of terms stands in the other, 0 to 1."""
    return len(a & b) / min(len(a), len(b)) if a and b else 0.0


def coverage(wanted: Mapping[str, float], held: Mapping[str, float], rare: Mapping[str, float]) -> float:
    """Return the share of ``wanted`` that is ``held`` (term → strength, 0 to 1), each term times its rarity (default 1)."""
    total = got = 0.0
    for term, weight in wanted.items():
        weight *= rare.get(term, 1.0)
        total += weight
        got += weight * held.get(term, 0.0)
    return got / total if total else 0.0


def spread(scores: Sequence[float], texts: Sequence[Terms], limit: int, penalty: float) -> list[int]:
    """Pick at most ``limit`` indices by score, each paying ``penalty`` times its greatest likeness to those picked (MMR)."""
    picked: list[int] = []
    nearest = [0.0] * len(scores)
    left = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
    while left and len(picked) < limit:
        best = max(left, key=lambda index: (scores[index] - penalty * nearest[index], -index))
        picked.append(best)
        left.remove(best)
        for index in left:
            nearest[index] = max(nearest[index], alike(texts[index], texts[best]))
    return picked
