"""A page as the observer reads it: quotable units with what stands around them, indexed by term; made once a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from pipeline import terms
from pipeline.page import Block, blocks
from pipeline.reasoners.extractive.sentences import MIN_WORDS, is_usable, split
from pipeline.terms import Terms
from pipeline.vocabulary import LEANING, NUMBER_WORDS

PAIR_WORDS = 60
_AROUND = 0.25  # strength of a term that stands elsewhere under the same heading
_LONGEST_BLOCK = 100_000  # characters; a longer one is data, not prose


# A sentence too short to stand alone that still tells something: "Default five seconds."
_TELLING = re.compile(rf"\d|\bdefaults?\b|\b(?:{'|'.join(NUMBER_WORDS)}|None|True|False)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where sentences stand: what is spoken of around them, as terms with their strength (0 to 1).

    The nearest heading counts most, then those above it, then the other sentences under the same heading.
    """

    heading: str
    anchor: str
    held: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, or a short or leaning one with the sentence before it: exactly as it stands in the page.

    ``first`` and ``last`` count its sentences from 0 over the page; ``before`` are the terms of the sentence before it.
    """

    text: str
    terms: Terms
    before: Terms
    place: int
    first: int
    last: int
    leans: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A page's units and places; ``postings`` maps a term to the units that hold it; ``rare`` to how much it tells apart."""

    units: tuple[Unit, ...]
    places: tuple[Place, ...]
    postings: Mapping[str, tuple[int, ...]]
    rare: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    place: int
    item: bool
    block: int


@lru_cache(maxsize=32)
def read(text: str) -> Reading:
    """Return the reading of a page's stored ``text``."""
    places: list[Place] = []
    lines = _lines(text, places)
    units = tuple(_units(lines))
    spoken = _spoken(units)
    places = [replace(place, held={**spoken.get(index, {}), **place.held}) for index, place in enumerate(places)]
    postings: dict[str, list[int]] = {}
    for index, unit in enumerate(units):
        for term in unit.terms:
            postings.setdefault(term, []).append(index)
    rare = terms.rarity({term: len(found) for term, found in postings.items()}, len(units))
    return Reading(units, tuple(places), {term: tuple(found) for term, found in postings.items()}, rare)


def _spoken(units: tuple[Unit, ...]) -> dict[int, dict[str, float]]:
    """Return by place the terms of its sentences."""
    found: dict[int, dict[str, float]] = {}
    for unit in units:
        found.setdefault(unit.place, {}).update(dict.fromkeys(unit.terms, _AROUND))
    return found


def _lines(text: str, places: list[Place]) -> list[_Line]:
    lines: list[_Line] = []
    path: tuple[str, ...] | None = None
    for number, block in enumerate(blocks(text)):
        if path != block.path or block.kind == "heading":
            path = block.path
            places.append(_place(block))
        if block.kind in ("paragraph", "item") and len(block.text) <= _LONGEST_BLOCK:
            item = block.kind == "item"
            lines += [_Line(sentence, len(places) - 1, item, number) for sentence in split(block.text)]
    return lines


def _place(block: Block) -> Place:
    held: dict[str, float] = {}
    for depth, heading in enumerate(reversed(block.path[-4:])):
        name, _, arguments = heading.partition("(")
        for part, strength in ((arguments, 0.25), (name, 0.6 if depth == 0 else 0.4)):
            for term in terms.term_set(part):
                held[term] = max(held.get(term, 0.0), strength)
    return Place(block.heading, block.anchor, held)


def _units(lines: list[_Line]) -> list[Unit]:
    units: list[Unit] = []
    before: Terms = frozenset()
    for index, line in enumerate(lines):
        own = frozenset(terms.terms(line.text))
        previous = lines[index - 1] if index and lines[index - 1].place == line.place else None
        before = before if previous else frozenset()
        leans = _leans(line.text)
        if is_usable(line.text, item=line.item):
            units.append(Unit(_plain(line.text), own, before, line.place, index, index, leans))
        if previous and (leans or _is_short(line.text)) and (pair := _pair(previous, line)):
            units.append(Unit(pair, own | before, frozenset(), line.place, index - 1, index, _leans(previous.text)))
        before = own
    return units


def _pair(first: _Line, second: _Line) -> str:
    """Return two sentences as one quote, or "" where they do not stand side by side in the page or make no prose."""
    side_by_side = first.block == second.block or not (first.item or second.item or second.block - first.block > 1)
    text = _plain(f"{first.text} {second.text}")
    if not side_by_side or len(text.split()) > PAIR_WORDS or not is_usable(first.text, item=first.item):
        return ""
    return text if second.text.endswith((".", ".)", '."')) and second.text[:1].isupper() else ""


def _leans(sentence: str) -> bool:
    return sentence.split(None, 1)[0].rstrip(",").lower() in LEANING


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) < MIN_WORDS and (_TELLING.search(sentence) is not None)


def _plain(text: str) -> str:
    return " ".join(text.split())
