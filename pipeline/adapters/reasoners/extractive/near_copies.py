"""Sentences that are the same word for word but for a figure, a negation or a word of the opposite sense.

One document is often an edited copy of another. What was edited is where they contradict each other, and what was not must not
make them seem to confirm each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pipeline.text.page_format import blocks
from pipeline.text.sentences import split_sentences
from pipeline.text.word_lists import OPPOSITES, STATES

# A word may hold digits: ext4, 3072-bit and 9.2.1 are names, and no figures.
_WORD = re.compile(r"-*\w+(?:[.,'’-]\w+)*|[%°]")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_NEGATION = re.compile(r"not|no|never|none|cannot|without|neither|nor|nothing|.*n['’]t")
_LEAST_WORDS = 3  # of a sentence besides figures: fewer are a heading or an entry of a list


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what is left out of its wording: figures in order, whether it denies, the side of each opposite."""

    text: str
    figures: tuple[float, ...]
    denies: bool
    sides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """Two sentences of one wording that do not say the same, and in what they differ; ``figures`` counts those that do.

    ``kind`` is "subject" if an opposite may only make them speak of two things, as "client" and "server" do.
    """

    first: str
    second: str
    kind: Literal["number", "polarity", "subject"]
    figures: int


def edited(first: str, second: str) -> Edited | None:
    """Return the first pair of sentences that are alike but for a figure or their sense; None if no sentence was edited so.

    A wording that a text has several times is not compared.
    """
    ours, theirs = _by_wording(first), _by_wording(second)
    for wording, one in ours.items():
        other = theirs.get(wording)
        if one is None or other is None:
            continue
        figures = sum(a != b for a, b in zip(one.figures, other.figures, strict=True))
        if one.sides != other.sides and not _is_state(wording, one.sides, other.sides):
            return Edited(one.text, other.text, "subject", figures)
        if (one.denies, one.sides) != (other.denies, other.sides):
            return Edited(one.text, other.text, "polarity", figures)
        if figures:
            return Edited(one.text, other.text, "number", figures)
    return None


def _is_state(wording: tuple[str, ...], ours: tuple[int, ...], theirs: tuple[int, ...]) -> bool:
    """Return whether each opposite in which two sentences differ says how something is, and not of what they speak."""
    numbers = [int(word[1:]) for word in wording if word.startswith("±")]
    return all(number < STATES for number, one, other in zip(numbers, ours, theirs, strict=True) if one != other)


@lru_cache(maxsize=2_048)
def _by_wording(text: str) -> dict[tuple[str, ...], Sentence | None]:
    """Return the sentences of a text by their wording; None for a wording that occurs more than once."""
    found: dict[tuple[str, ...], Sentence | None] = {}
    for block in blocks(text):
        if block.kind in ("paragraph", "item"):
            for sentence in split_sentences(block.text):
                wording, one = _wording(sentence)
                if sum(word != "#" for word in wording) >= _LEAST_WORDS:
                    found[wording] = None if wording in found else one
    return found


def _wording(sentence: str) -> tuple[tuple[str, ...], Sentence]:
    # An option keeps its case: -a and -A are two.
    words = [word if word.startswith("-") else word.casefold() for word in _WORD.findall(sentence)]
    figures = tuple(float(word.replace(",", "")) for word in words if _NUMBER.fullmatch(word))
    kept = [word for word in words if not _NEGATION.fullmatch(word)]
    sided = [(word, _side(word)) for word in kept]
    wording = tuple("#" if _NUMBER.fullmatch(word) else f"±{side[0]}" if side else word for word, side in sided)
    sides = tuple(side[1] for _, side in sided if side)
    return wording, Sentence(sentence, figures, (len(words) - len(kept)) % 2 == 1, sides)


@lru_cache(maxsize=8_192)
def _side(word: str) -> tuple[int, int] | None:
    """Return which pair of opposites a word belongs to, and which side of it; None for any other word."""
    for number, pair in enumerate(OPPOSITES):
        for side, pattern in enumerate(pair):
            if pattern.fullmatch(word):
                return number, side
    return None
