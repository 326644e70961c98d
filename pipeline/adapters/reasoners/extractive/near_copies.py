"""Sentences that are the same word for word but for a figure, a negation or a word of the opposite sense.

One document is often an edited copy of another. What was edited is where they contradict each other, and what was not must not
make them seem to confirm each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pipeline.text.page_format import Block, blocks
from pipeline.text.sentences import split_sentences
from pipeline.text.word_lists import OPPOSITES, STATES

# A word may hold digits: ext4, 3072-bit and 9.2.1 are names, and no figures.
_WORD = re.compile(r"-*\w+(?:[.,'’-]\w+)*|[%°]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NAMED = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_NAMES = {name: float(number) for number, name in enumerate(_NAMED.split(), 2)}
_MEASURED = re.compile(r"(?<![\w.,-])(\d+(?:\.\d+)?)(ns|us|ms|s|sec|min|h|hours?|d|days?|[kKMGT]i?B?|B)(?![\w-])")  # 5min
_NEGATION = re.compile(r"not|no|never|none|cannot|without|neither|nor|nothing|.*n['’]t")
_LEAST_WORDS = 3  # of a sentence besides figures: fewer are a heading or an entry of a list, unless what is before it is the same
_END = re.compile(r"[.!?:;][\"'”’)\]*_`]*\s*\Z")

Wording = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what is left out of its wording: figures in order, whether it denies, the side of each opposite.

    ``before`` is the wording of all that precedes it in its paragraph or item, () if it opens that.
    """

    text: str
    figures: tuple[float, ...]
    denies: bool
    sides: tuple[int, ...]
    before: Wording = ()


Places = dict[Wording, Sentence | None]


@dataclass(frozen=True, slots=True)
class Edited:
    """Two sentences of one wording that do not say the same, and in what they differ; ``figures`` counts those that do.

    ``kind`` is "subject" if an opposite may only make them speak of two things, as "client" and "server" do. ``in_place``: what
    precedes each in its paragraph has one wording too, of ``before`` words; or both open theirs. ``length`` counts their words.
    """

    first: str
    second: str
    kind: Literal["number", "polarity", "subject"]
    figures: int
    in_place: bool
    before: int
    length: int


def edited(first: str, second: str) -> Iterator[Edited]:
    """Yield the pairs of sentences of two texts that are alike but for a figure or their sense.

    A wording that a paragraph has twice, or a text twice with the same words before it, is not compared.
    """
    ours, theirs = _by_wording(first), _by_wording(second)
    for wording, places in ours.items():
        for one, other in _opposite(places, theirs.get(wording, {})):
            figures = sum(a != b for a, b in zip(one.figures, other.figures, strict=True))
            kind = _kind(wording, one, other)
            if kind is not None:
                yield Edited(one.text, other.text, kind, figures, one.before == other.before, len(one.before), len(wording))


def _opposite(ours: Places, theirs: Places) -> Iterator[tuple[Sentence, Sentence]]:
    """Yield the sentences of one wording that stand at the same place of both texts; else those that each text has but once."""
    shared = [before for before in ours if before in theirs]
    for before in shared:
        one, other = ours[before], theirs[before]
        if one and other:
            yield one, other
    if not shared and len(ours) == len(theirs) == 1:
        (one,), (other,) = ours.values(), theirs.values()
        if one and other and all(sum(word != "#" for word in _wording(found.text)[0]) >= _LEAST_WORDS for found in (one, other)):
            yield one, other


def _kind(wording: Wording, one: Sentence, other: Sentence) -> Literal["number", "polarity", "subject"] | None:
    if one.sides != other.sides and not _is_state(wording, one.sides, other.sides):
        return "subject"
    if (one.denies, one.sides) != (other.denies, other.sides):
        return "polarity"
    return "number" if one.figures != other.figures else None


def _is_state(wording: tuple[str, ...], ours: tuple[int, ...], theirs: tuple[int, ...]) -> bool:
    """Return whether each opposite in which two sentences differ says how something is, and not of what they speak."""
    numbers = [int(word[1:]) for word in wording if word.startswith("±")]
    return all(number < STATES for number, one, other in zip(numbers, ours, theirs, strict=True) if one != other)


@lru_cache(maxsize=2_048)
def _by_wording(text: str) -> dict[Wording, Places]:
    """Return the sentences of a text by their wording, then by what is before them; None where that occurs more than once."""
    found: dict[Wording, Places] = {}
    for block in blocks(text):
        before: Wording = ()
        met: set[Wording] = set()
        for sentence in _sentences(block):
            if block.kind != "row" and not _END.search(sentence):  # what a program prints, or a caption
                continue
            wording, one = _wording(sentence, before, is_row=block.kind == "row")
            if before or sum(word != "#" for word in wording) >= _LEAST_WORDS:
                places = found.setdefault(wording, {})
                places |= dict.fromkeys(places) if wording in met else {}
                places[before] = None if before in places or wording in met else one
            met.add(wording)
            before = (*before, *wording)
    return found


def _sentences(block: Block) -> list[str]:
    """Return the sentences of a paragraph or an item, or a table's row; none of other blocks."""
    if block.kind == "row":
        return [block.text]
    return split_sentences(block.text) if block.kind in ("paragraph", "item") else []


def _wording(sentence: str, before: Wording = (), *, is_row: bool = False) -> tuple[Wording, Sentence]:
    """Return a sentence's wording, with # for each figure, and the sentence. A row's first cell names it, figures included."""
    name = sentence.strip(" |").partition("|")[0] if is_row else ""
    named = len(_WORD.findall(_MEASURED.sub(r"\1 \2", name)))
    # An option keeps its case: -a and -A are two.
    words = [word if word.startswith("-") else word.casefold() for word in _WORD.findall(_MEASURED.sub(r"\1 \2", sentence))]
    numbers = [_number(word) if place >= named else None for place, word in enumerate(words)]
    kept = [(word, number) for word, number in zip(words, numbers, strict=True) if not _NEGATION.fullmatch(word)]
    sided = [(word, number, _side(word)) for word, number in kept]
    wording = tuple("#" if number is not None else f"±{side[0]}" if side else word for word, number, side in sided)
    figures = tuple(number for number in numbers if number is not None)
    sides = tuple(side[1] for _, _, side in sided if side)
    return wording, Sentence(sentence, figures, (len(words) - len(kept)) % 2 == 1, sides, before)


def _number(word: str) -> float | None:
    if _NUMBER.fullmatch(word):
        return float(word.replace(",", ""))
    return _NUMBER_NAMES.get(word)


@lru_cache(maxsize=8_192)
def _side(word: str) -> tuple[int, int] | None:
    """Return which pair of opposites a word belongs to, and which side of it; None for any other word."""
    for number, pair in enumerate(OPPOSITES):
        for side, pattern in enumerate(pair):
            if pattern.fullmatch(word):
                return number, side
    return None
