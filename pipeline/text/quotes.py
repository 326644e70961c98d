"""Where a page contains a quote, ignoring markup: letters, digits and meaningful signs are compared, in order and without gaps.

Compared are words after NFKC and casefold, numbers with their sign, separators and ranges, the case of a unit that follows a
number, and signs such as ``%``, ``<`` or ``/``. Ignored are list marks, table bars, emphasis, quotation marks, brackets, commas,
dashes, and stops at the quote's end. A stop inside counts: without it, halves of two sentences could be joined. A quote must
begin and end with whole words, and must not leave out a negation directly before or after it. Leaf module, no I/O.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from pipeline.text.cleaning import normalised

_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # scripts without spaces: a sign is a word
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
# The parts of a text that count when a quote is compared with a page, and the marks that do not: a grammar of its own.
_TOKEN = re.compile(
    rf"""
    (?P<entity>&(?:amp|lt|gt|quot|nbsp|\#\d+);)
    |(?P<anchor>[ ]\{{\#[^{{}}\s]+\}}$)
    |(?P<mark>^[ ]*(?:[*+•▪◦‣·>]|\#{{1,6}}|\d{{1,2}}[.)])(?=[ ])|(?<=[.,;:!?"'”’)])\[\d{{1,3}}\]|~~|```\w*$)
    |(?P<power>\^[+-]?\d+|[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+)
    |(?P<range>(?<=\d)[ ]?[{_DASHES}][ ]?(?=\d))
    |(?P<number>(?:(?<![\w)\]])[+{_DASHES}±](?=[.\d]))?(?:\d+|(?<!\w)\.\d+)(?:[.,:/]\d+)*)
    |(?P<rest>\.{{3,}}|…)
    |(?P<stop>[.!?](?=[\s"'”’»)\]|*_`]|\[\d|$)|[。！？])
    |(?P<one>[{_UNSPACED}])
    |(?P<word>(?:[^\W\d_{_UNSPACED}]|[\u0300-\u036f])+(?:['’](?:[^\W\d_{_UNSPACED}])+)*)
    |(?P<sign>(?<=\w)_(?=\w)|(?<=\w[ ])\*(?=[ ]\w)|(?<=\d)\*(?=\d)|[.!%<>=+^~/\\&@\#$]|[^\x00-\x7f\s])
    """,
    re.VERBOSE | re.MULTILINE,
)
_BLOCK_END = re.compile(r"\n[^\S\n]*(?:\n|[-|#`*•>]|\d{1,2}[.)]\s)|[|`]\s*\n")
_IGNORED = frozenset("“”‘’‚‛„‟«»‹›′″•▪◦‣·" + _DASHES)
_SPACES = " \u00a0\u202f"
_LONGEST_UNIT = 3  # letters of a unit after a number, whose case counts: 5 mW is not 5 MW
_NEGATIONS = frozenset(
    "not no never none nor neither without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt couldnt "  # noqa: SIM905 - read as text
    "mustnt hasnt havent hadnt nicht kein keine keinen keiner keinem nie niemals ohne ne pas jamais sans non nunca sin ni nao "
    "não niet geen nooit".split()
)
_REST = "..."  # as NFKC writes the one sign
_BEFORE = 2  # words before a quote in which a negation counts
_OPENERS, _CLOSERS = "([{\"'“‘«„`*_", ")]}\"'”’»`*_"


class Span(NamedTuple):
    """A place in a page's text, in characters."""

    start: int
    end: int


class _Word(NamedTuple):
    """A word, number or sign as compared, with its place; what follows it: a stop, a block's end, a line's, any mark.

    ``unit`` is what may be the unit of the number before it, as written, else "".
    """

    said: str
    span: Span
    is_sign: bool
    stop: bool
    line: bool
    wraps: bool
    mark: bool
    unit: str


@dataclass(frozen=True, slots=True)
class _Words:
    """A text as compared; ``joined`` has a space around each word, and ``offsets`` are the places of those before them."""

    words: tuple[_Word, ...]
    joined: str
    offsets: tuple[int, ...]


def find_quote(text: str, quote: str) -> Span | None:
    """Return the place of ``quote`` in ``text``, with its marks and final stop; None if the text does not contain it."""
    composed = unicodedata.normalize("NFC", quote)
    without_rest = composed.strip().rstrip("….").lstrip("… ")  # several signs of what was left out, as in "……" and "so…."
    return next(filter(None, (_place_of(text, one) for one in dict.fromkeys((quote, composed, without_rest)))), None)


def holds_quote(text: str, quote: str) -> bool:
    """Return whether ``text`` contains ``quote``, ignoring white space and markup as ``find_quote`` does. False if empty."""
    return bool(quote.strip()) and (normalised(quote) == normalised(text) or find_quote(text, quote) is not None)


def _place_of(text: str, quote: str) -> Span | None:
    quote = quote.strip()
    for sign in ("…", _REST):  # but one dot is a part of the first word, as in "./configure" and ".env"
        quote = quote.removeprefix(sign).removesuffix(sign).strip()
    page, wanted = _page_words(text), _words_of(quote)
    if not wanted.words:
        return None
    at = -1
    while (at := page.joined.find(wanted.joined, at + 1)) >= 0:
        first = bisect_right(page.offsets, at) - 1
        if _is_copy(page.words, first, wanted.words):
            last = page.words[first + len(wanted.words) - 1]
            return _with_marks(text, Span(page.words[first].span.start, last.span.end))
    return None


@lru_cache(maxsize=16)
def _page_words(text: str) -> _Words:
    return _words_of(text)


def _words_of(text: str) -> _Words:
    words: list[_Word] = []
    before = ""
    for kind, said, span in _tokens(text):
        if kind == "stop":
            words[-1:] = [word._replace(stop=True, mark=True) for word in words[-1:]]
            continue
        if words:
            word, gap = words[-1], text[words[-1].span.end : span.start]
            has_mark = word.mark or bool(gap.strip()) or "\n" in gap
            words[-1] = word._replace(line=_BLOCK_END.search(gap) is not None, wraps="\n" in gap, mark=has_mark)
        is_unit = before == "number" and len(said) <= _LONGEST_UNIT and not text[words[-1].span.end : span.start].strip(_SPACES)
        is_sign = kind not in ("word", "number", "one")
        unit = unicodedata.normalize("NFKC", said) if is_unit else ""
        words.append(_Word(_compared(said), span, is_sign, stop=False, line=False, wraps=False, mark=False, unit=unit))
        before = kind
    offsets = tuple(accumulate((len(word.said) + 1 for word in words), initial=0))
    return _Words(tuple(words), f" {' '.join(word.said for word in words)} ", offsets[:-1])


def _tokens(text: str) -> Iterator[tuple[str, str, Span]]:
    """Yield what is compared, and stops: kind, text and place."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        said = _SAID[kind](found[0]) if kind in _SAID else found[0]
        if said and not (kind == "sign" and said in _IGNORED):
            yield kind, said, Span(found.start(), found.end())


_SAID: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "entity": lambda said: html.unescape(said).strip(" \u00a0\"'"),
        "mark": lambda _said: "",
        "anchor": lambda _said: "",
        "power": lambda said: "^" + said.lstrip("^").translate(_RAISED),
        "range": lambda _said: "-",
        "rest": lambda _said: _REST,
    }
)


def _compared(said: str) -> str:
    plain = unicodedata.normalize("NFKC", said).replace("'", "").replace("’", "").replace(" ", "")
    return plain.translate({ord(dash): "-" for dash in _DASHES}).casefold()


def _is_copy(page: Sequence[_Word], first: int, wanted: Sequence[_Word]) -> bool:
    end = first + len(wanted)
    return (
        all(not ours.unit or ours.unit == theirs.unit for theirs, ours in zip(page[first:end], wanted, strict=True))
        and _same_stops(page[first:end], wanted, whole=_ends(page, first - 1) and _ends(page, end - 1))
        and not _is_cut_off(page[max(0, first - 1) : first + 1])
        and not _is_cut_off(page[end - 1 : end + 1])
        and not _lacks_negation(page, first, end)
    )


def _same_stops(page: Sequence[_Word], wanted: Sequence[_Word], *, whole: bool) -> bool:
    """Return whether sentences end at the same words; a line's end may become a mark, or nothing in ``whole`` lines."""
    for theirs, ours in zip(page[:-1], wanted[:-1], strict=True):
        if theirs.line and not theirs.stop:
            if not (ours.mark or whole):
                return False
        elif theirs.stop != ours.stop and not (theirs.line and ours.line):
            return False
    return True


def _ends(page: Sequence[_Word], place: int) -> bool:
    """Return whether a sentence or line ends after the word at ``place``, as at both ends of the page."""
    return not 0 <= place < len(page) - 1 or page[place].stop or page[place].line


def _is_cut_off(pair: Sequence[_Word]) -> bool:
    """Return whether a sign binds the two words, between which a quote begins or ends, as in ``10%`` or ``km/h``."""
    if len(pair) < 2 or not (pair[0].is_sign or pair[1].is_sign):
        return False
    return pair[0].span.end == pair[1].span.start and _REST not in (pair[0].said, pair[1].said)


def _lacks_negation(page: Sequence[_Word], first: int, end: int) -> bool:
    """Return whether the page negates what the quote says, directly before or after it in the same sentence.

    A paragraph is one line; lines that follow each other are code, where the line before may be a comment.
    """
    for place in range(first - 1, max(-1, first - 1 - _BEFORE), -1):
        if _ends(page, place) or page[place].wraps:
            break
        if page[place].said in _NEGATIONS and not page[place].is_sign:
            return True
    return not (_ends(page, end - 1) or page[end - 1].wraps) and page[end].said in _NEGATIONS and not page[end].is_sign


def _with_marks(text: str, span: Span) -> Span:
    """Return the place with its opening and closing marks, its final stop and, in a list or table, its line's own marks."""
    start, end = span
    while end < len(text) and text[end] in _CLOSERS + ".!?…。！？":
        end += 1
    while start and text[start - 1] in _OPENERS:
        start -= 1
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    if text.startswith("| ", line_start) or not text[line_start:start].strip(" -|"):
        start = line_start
    if text.startswith("| ", text.rfind("\n", 0, end) + 1):
        end = line_end
    return Span(start, end)
