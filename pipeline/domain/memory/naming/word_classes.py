"""Which words can name something: no units, no months, no headings of manuals, no everyday words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pipeline.text.quantities.units import unit_named
from pipeline.text.stemming import DEFAULT_LANGUAGE
from pipeline.text.word_frequency import is_unusual, specificity
from pipeline.text.word_lists import LANGUAGES, QUESTION_WORDS

ORDINARY = 0.8  # a word that is less specific is one of everyday language: about 8 in a million words and more
_UNIT = re.compile(r"(?:[kKMGTPEZY]i?|i)(?:[bB]|bit|bits|bytes?|Hz|W|V|A|g|m)s?")
_IDENTIFIER = re.compile(r"[A-Za-z][\w+#-]*(?:[._:]{1,2}[A-Za-z0-9_]+)*(?:\(\))?")
_SIGNS = re.compile(r"[\w .:+#/’'&-]+(?:\(\))?")
_HOST = re.compile(r"\.(?:com|org|net|edu|gov|info|io|dev|de|fr|uk|eu)\Z")
_CODE_SIGN = re.compile(r"\w_\w|\w\.\w|::|\(\)$|[a-z][A-Z]|\d[a-z]|[a-z]\d")

_BEFORE_NOUNS = frozenset(
    {"a", "an", "each", "every", "any", "another", "no", "one", "two", "many", "all", "such", "its", "your"}
)
_LEAST, _SHARE = 2, 0.1  # uses as a noun, and their share of all uses, from which a word is an ordinary noun
_SMALLEST = 3  # letters of a word whose plural is looked for


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, as they are separated by spaces."""
    return frozenset(text.split())


NO_NAMES = word_set(
    """
    i january february march april may june july august september october november december jan feb mar apr jun jul aug sep sept
    oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
    januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag
    english german french spanish italian portuguese dutch swedish danish norwegian finnish russian chinese japanese korean
    englisch deutsch französisch latin greek american british european
    figure fig table section chapter appendix article clause paragraph example examples note notes step part page equation eq
    theorem listing abbildung tabelle kapitel abschnitt beispiel
    name synopsis description options files environment bugs author authors copyright history diagnostics standards conforming
    caveats warnings warning important usage overview introduction summary contents index preface readme changelog news todo faq
    see also however this that these those the a an if when how what why which who yes no true false none null ok am pm etc vs e.g
    i.e utc gmt cet est ad bc mr mrs dr inc ltd isbn url uri id
    """
)
# Last words of phrases that say what kind of thing a text speaks of at this place, and name none.
_GENERIC_HEADS = word_set(
    """
    argument arguments option options default defaults value values name names number numbers example examples result results
    parameter parameters field fields section sections line lines list lists set sets case cases way ways effect effects reason
    purpose goal difference problem format string strings character characters item items entry entries thing things kind
    type types column columns row rows output input message messages text word words time times date size sizes length
    behavior behaviour bit bits byte bytes flag flags person people copy copies end start point user users answer question
    """
)


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of measure."""
    return unit_named(word) is not None or _UNIT.fullmatch(word) is not None


def is_ordinary(word: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Return whether a word is one of everyday language."""
    return specificity(word.lower(), language or DEFAULT_LANGUAGE) < ORDINARY


def is_function_word(word: str, language: str = DEFAULT_LANGUAGE) -> bool:
    """Return whether a word only holds a sentence together; always one of the English ones too."""
    plain = word.lower()
    return plain in QUESTION_WORDS or plain in LANGUAGES.get(language, ())


def is_acronym(word: str) -> bool:
    """Return whether a word consists of capitals, with digits or a plural s at most."""
    return re.fullmatch(r"[A-Z][A-Z0-9/-]*[A-Z0-9]s?", word) is not None


def is_code(word: str) -> bool:
    """Return whether a word is spelled as a program's name: `flex_bg`, `os.replace`, `fsync()`, `ext4`."""
    return _IDENTIFIER.fullmatch(word) is not None and _CODE_SIGN.search(word) is not None and not word[0].isupper()


def may_name(word: str) -> bool:
    """Return whether a single word can name something at all."""
    plain = word.strip(".()").lower()
    return (
        _SIGNS.fullmatch(word) is not None
        and not plain.endswith("_")
        and _HOST.search(plain) is None
        and len(plain) > 1
        and any(sign.isalpha() for sign in plain)
        and plain not in NO_NAMES
        and not is_unit(word.strip(".()"))
    )


def is_generic(phrase: str) -> bool:
    """Return whether a phrase speaks of an argument, a value, an example and the like."""
    last = phrase.lower().split()[-1:]
    return not last or last[0] in _GENERIC_HEADS


@dataclass
class CommonWords:
    """Counts of words in lower case: how often they are used, and how often as ordinary nouns: "each packet", "packets"."""

    used: Counter[str] = field(default_factory=Counter)
    as_nouns: Counter[str] = field(default_factory=Counter)

    def add(self, texts: Iterable[Sequence[str]]) -> None:
        """Count the words of sentences, each given as its words."""
        for text in texts:
            words = [word.lower() for word in text]
            self.used.update(words)
            self.as_nouns.update(word for before, word in pairwise(words) if before in _BEFORE_NOUNS)

    def is_common(self, name: str) -> bool:
        """Return whether a single word of everyday language is mostly no name in these texts."""
        word = name.lower().removesuffix("()")
        if not word.isalpha() or len(word) < _SMALLEST or is_unusual(word):
            return False
        if word.endswith("s") and self.used[word[:-1]] >= _LEAST:
            return True
        plurals = self.used[f"{word}s"]
        nouns = self.as_nouns[word] + plurals
        return nouns >= _LEAST and nouns >= _SHARE * (self.used[word] + plurals)
