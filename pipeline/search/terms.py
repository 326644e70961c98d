"""Words as the index holds them, and a query as the index understands it.

SQLite's tokenizer splits at everything that is no letter or digit. Three things are put right before it sees a text: runs
of Chinese, Japanese or Korean characters become pairs (it does not part their words), ``C#`` and ``C++`` become words of
their own, and nothing of a query reaches SQLite's query language unquoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

MAX_TERMS = 64

_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+")
_SHARP = re.compile(r"(?<!\w)([A-Za-z])(#|\+\+)(?!\w)")
_SHORT_FORM = re.compile(r"['’](?:s|t|re|ve|ll|d|m)(?!\w)", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]{1,300})"')
_WORD = re.compile(r"[^\W_]+", re.ASCII)
_STOP_TEXT = (
    "a about above after again all also am an and any are as at be because been before being below between both but by can "
    "could did do does doing don down during each either else ever few for from further get gets give given got had has have "
    "having he her here hers him his how however i if in into is it its itself just let like make makes many may me might more "
    "most much must my no nor not of off on once one only or other others our out over own please rather s same shall she "
    "should so some such t tell than that the their them then there these they this those through to too under until up upon "
    "us use used using very was we were what when where whether which while who whom whose why will with within without would "
    "you your happens happen unless nobody somebody someone anyone anything something nothing everything don doesn didn isn "
    "aren won couldn wouldn shouldn myself yourself ever really actually exactly"
)
_STOP = frozenset(_STOP_TEXT.split())


def prepared(text: str) -> str:
    """Return ``text`` as it is given to the tokenizer."""
    text = unicodedata.normalize("NFC", text)
    if "#" in text or "++" in text:
        text = _SHARP.sub(_named, text)
    return text if text.isascii() else _CJK.sub(_in_pairs, text)


def _named(found: re.Match[str]) -> str:
    return found[1] + ("sharp" if found[2] == "#" else "plusplus")


def _in_pairs(found: re.Match[str]) -> str:
    run = found[0]
    pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return f" {' '.join(pairs)} "


def match_expression(query: str) -> str:
    """Return ``query`` for FTS5: its terms and phrases, quoted and joined by OR; "" when there is nothing to look for.

    The parts of an identifier (``os.replace``) and what the user put in quotation marks are also looked for as phrases, so
    that passages which hold them so come first. Any two words side by side are not: that was measured, and found worse.
    """
    text = _SHORT_FORM.sub("", prepared(query))
    phrases = [tuple(_words(found[1])) for found in _QUOTED.finditer(text)]
    chunks = [tuple(_words(chunk)) for chunk in text.split()]
    words = [word for chunk in chunks for word in chunk]
    wanted = [word for word in words if word not in _STOP] or words
    phrases += [chunk for chunk in chunks if len(chunk) > 1]
    terms = [*dict.fromkeys(wanted)][:MAX_TERMS]
    groups = [*dict.fromkeys(phrase for phrase in phrases if 1 < len(phrase) <= MAX_TERMS)][:MAX_TERMS]
    return " OR ".join([*(f'"{term}"' for term in terms), *(f'"{" ".join(phrase)}"' for phrase in groups)])


def overlap(query: str, heading: str) -> int:
    """Return how many of the query's words, stop words aside, stand in ``heading``."""
    return len({*_words(prepared(query))}.difference(_STOP).intersection(_words(prepared(heading))))


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        return (found[0].lower() for found in _WORD.finditer(text))
    # Marks belong to the letter before them: many scripts write their vowels so.
    spaced = "".join(sign if sign.isalnum() or unicodedata.category(sign)[0] == "M" else " " for sign in text)
    return iter(spaced.lower().split())
