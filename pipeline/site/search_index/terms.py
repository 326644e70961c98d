"""What the search index holds of one note: its words with their weights, its kind, day and tags, and its text.

``assets/search-words.js`` cuts what a reader types into words by the same rules; a change here is a change there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.site.note_record import Face

WEIGHTS = "0123456789abcdefghijklmnopqrstuvwxyz"
# Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Han, kana; Hangul too, whose words take many endings.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17e9"
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_SIGNS = "\u0900-\u0963\u0966-\u0dff"  # the vowel signs of India's scripts are no letters, but part of a word
_WORD = re.compile(rf"[{_UNSPACED}]+|(?:[{_SIGNS}]|[^\W_{_UNSPACED}])+")
_PLAIN_WORD = re.compile(r"[^\W_]+")  # the same for ASCII
_IN_PAIRS = re.compile(rf"[{_UNSPACED}]")
# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs and the lengthening stroke of Arabic.
_COMBINING = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_SAME_LETTER = str.maketrans("\u0629\u0649", "\u0647\u064a")  # ta marbuta and alef maksura are often typed as ha and ya
_PARTING = "“”‘’„«»–—…·•→×∴\u00a0"  # the commonest signs beyond ASCII that are part of no word
_LONGEST = 24
_SHORTEST_SPELT = 4
STOP = frozenset(
    _PLAIN_WORD.findall(
        "a an and are as at be been but by can did do does for from had has have how if in into is it its more not of on or than "
        "that the their then there these they this to was were what when where which who why will with would"
    )
)


class Content(NamedTuple):
    """What is searched of a note: ``words`` as ``term:w term:w`` (sorted; weights are one digit to base 36), tags, text."""

    words: str
    tags: tuple[str, ...] = ()
    text: str = ""

    def packed(self) -> str:
        """Return it as one text, as the catalogue keeps it."""
        return f"{self.words}\n{chr(9).join(self.tags)}\n{self.text}"


def content_of(title: str, tags: Sequence[str], text: str) -> Content:
    """Return what is searched of a note; ``text`` has a line for each paragraph, heading or table cell."""
    return Content(words_of(title, text), tuple(sorted({tag.lower() for tag in tags})), text)


def unpacked(packed: str) -> Content:
    """Return what ``packed`` made one text of."""
    words, tags, text = packed.split("\n", 2)
    return Content(words, tuple(tags.split("\t")) if tags else (), text)


def words_of(title: str, text: str) -> str:
    """Return the words of a note with their weights, those of the title with more."""
    counts = _counts(text)
    length = 0.3 + 0.7 * counts.total() / 300
    digits = {count: WEIGHTS[1 + int(10 * count / (count + 1.2 * length))] for count in {0, *counts.values()}}
    found = {term: digits[count] for term, count in counts.items()}
    found |= {term: WEIGHTS[20 + WEIGHTS.index(found.get(term, digits[0]))] for term in terms(title)}
    return " ".join([f"{term}:{digit}" for term, digit in sorted(found.items())])


def terms(text: str) -> list[str]:
    """Return the words of a text as they are indexed; where no spaces part words, each two neighbouring letters."""
    words, are_plain = _words(text)
    return list(filter(_is_indexed, words)) if are_plain else [part for word in words for part in _parts(word)]


def _counts(text: str) -> Counter[str]:
    """How often a text has each of its words as they are indexed; each word is looked at once, however often it comes."""
    words, are_plain = _words(text)
    counts = Counter(words) if are_plain else Counter([part for word in words for part in _parts(word)])
    return Counter({word: count for word, count in counts.items() if _is_indexed(word)}) if are_plain else counts


def _words(text: str) -> tuple[list[str], bool]:
    """The words of a text in small letters, and whether it is plain: of ASCII, apart from signs that part words."""
    bare = text
    if not text.isascii():
        for sign in _PARTING:
            bare = bare.replace(sign, " ")
    return (_PLAIN_WORD.findall(bare.lower()), True) if bare.isascii() else (_WORD.findall(folded(text)), False)


def _is_indexed(word: str) -> bool:
    return 1 < len(word) <= _LONGEST and word not in STOP


def folded(text: str) -> str:
    """Return a text in small letters, without what readers leave out: accents, points, vowel signs."""
    bare = _COMBINING.sub("", unicodedata.normalize("NFKD", text.lower()))
    return unicodedata.normalize("NFC", bare).translate(_SAME_LETTER)


def _parts(word: str) -> Iterable[str]:
    if _IN_PAIRS.match(word):
        return (word[place : place + 2] for place in range(max(1, len(word) - 1)))
    return (word,) if 1 < len(word) <= _LONGEST and word not in STOP else ()


def facets(face: Face, tags: Iterable[str]) -> Iterator[str]:
    """Yield what a reader can narrow a search by: ``kind=report``, ``day=2026-11-21``, ``tag=topic/logs``."""
    yield f"kind={face.kind}"
    if face.date:
        yield f"day={face.date}"
    yield from (f"tag={tag}" for tag in tags)


def is_spelt(term: str) -> bool:
    """Tell whether a reader may misspell a term: a word without digits, neither short nor in pairs of letters."""
    return len(term) >= _SHORTEST_SPELT and "=" not in term and not any(map(str.isdigit, term))
