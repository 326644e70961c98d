"""Excerpts of pages that are too long for a prompt: the parts on the questions and their neighbours, verbatim, in page order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from pipeline.text.normalise import one_line, tokens
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import StemmedText, scores, statistics_of
from pipeline.text.stemming import DEFAULT_LANGUAGE, language_of

OMITTED = "[…]"
PAGE_TOKENS = 4_000  # of a page in a prompt; a longer one is sent in parts

_PART_TOKENS = 500  # at which a part of a section is closed
_HITS = 4  # best parts for each question whose neighbours come before other parts
_MOST_HEADINGS = 80
_HEADING = re.compile(r"#{1,6} +(.*?)(?: \{#[^{}\s]+\})?\Z")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Parts of a page, and the headings of the sections of which nothing is shown."""

    text: str
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """Adjacent blocks of one section, and its heading."""

    heading: str
    text: str


def excerpt(text: str, asked: Sequence[str], limit: int, sections: Sequence[str] | None = None) -> Excerpt:
    """Return a page in at most about ``limit`` tokens.

    The parts that rank best for the questions ``asked`` come first, then their neighbours, then the others. With ``sections``
    only those of that name are shown.
    """
    if sections is None and tokens(text) <= limit:
        return Excerpt(text)
    parts = list(_parts(text))
    if sections is None:
        order: Sequence[int] = _by_priority(parts, asked, text)
    else:
        wanted = {name.strip("# ").casefold() for name in sections}
        order = [place for place, part in enumerate(parts) if part.heading.casefold() in wanted]
    kept = _within(parts, order, limit)
    if order and not kept:
        return Excerpt(parts[order[0]].text.encode()[: limit * 3].decode("utf-8", "ignore") + f"\n\n{OMITTED}")
    shown = {parts[place].heading for place in kept}
    left_out = dict.fromkeys(part.heading for part in parts if part.heading and part.heading not in shown)
    return Excerpt("\n\n".join(_with_omissions(parts, kept)), tuple(left_out)[:_MOST_HEADINGS])


def _parts(text: str) -> Iterator[_Part]:
    heading, held, size = "", list[str](), 0
    for block in chain.from_iterable(map(_pieces, text.split("\n\n"))):
        found = _HEADING.match(block.split("\n", 1)[0])
        if held and (found or size > _PART_TOKENS):
            yield _Part(heading, "\n\n".join(held))
            held, size = [], 0
        heading = one_line(found[1], 120) if found else heading
        held.append(block)
        size += tokens(block)
    if held:
        yield _Part(heading, "\n\n".join(held))


def _pieces(block: str) -> Iterator[str]:
    """Yield a block, or runs of its lines and words if it is much longer than a part: a table, code, a page of one line."""
    if tokens(block) <= 2 * _PART_TOKENS:
        yield block
        return
    glue = "\n" if "\n" in block else " "
    held: list[str] = []
    size = 0
    for piece in block.split(glue):
        if held and size > _PART_TOKENS:
            yield glue.join(held)
            held, size = [], 0
        held.append(piece)
        size += tokens(piece)
    yield glue.join(held)


def _by_priority(parts: Sequence[_Part], asked: Sequence[str], text: str) -> list[int]:
    """Return the parts' places: the first, the best of each question in turn, their neighbours, the others by rank."""
    language = language_of(text[:4_000]) or DEFAULT_LANGUAGE
    stemmed = [StemmedText.of(part.text, part.heading, language) for part in parts]
    known = statistics_of(stemmed, language)
    rankings = [_ranking(scores(parse_question(question, language), stemmed, known)) for question in asked]
    in_turn = [place for places in zip_longest(*rankings) for place in places if place is not None]
    hits = [place for ranking in rankings for place in ranking[:_HITS]]
    around = [place + step for place in dict.fromkeys(hits) for step in (1, -1) if 0 <= place + step < len(parts)]
    first = in_turn[: _HITS * len(rankings)]
    return list(dict.fromkeys(chain([0], first, around, in_turn, range(len(parts)))))


def _ranking(found: Sequence[float]) -> list[int]:
    return sorted((place for place, score in enumerate(found) if score > 0), key=lambda place: (-found[place], place))


def _within(parts: Sequence[_Part], order: Sequence[int], limit: int) -> list[int]:
    kept: list[int] = []
    for place in order:
        cost = tokens(parts[place].text) + 4
        if cost <= limit:
            kept.append(place)
            limit -= cost
    return sorted(kept)


def _with_omissions(parts: Sequence[_Part], kept: Sequence[int]) -> Iterator[str]:
    after = 0
    for place in kept:
        if place > after:
            yield OMITTED
        yield parts[place].text
        after = place + 1
    if after < len(parts):
        yield OMITTED
