"""Excerpts of pages that are too long for a prompt: the parts on the questions and their neighbours, verbatim, in page order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from pipeline.text.normalise import one_line, tokens
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.ranking.scoring import StemmedText, coverage, scores, statistics_of, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.words import DEFAULT_LANGUAGE, language_of

OMITTED = "[…]"
PAGE_TOKENS = 4_000  # of a page in a prompt; a longer one is sent in parts

_PART_TOKENS = 500  # at which a part of a section is closed
_FILL_TOKENS = 2_000  # up to which parts are shown that are not known to be about a question
_LEAST_COVERAGE = 0.34  # of a question's words by a part: below it, the part is about something else
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

    The parts with enough words of one of the questions ``asked`` come first, the best of each question in turn. Others, their
    neighbours first, are added only up to ``_FILL_TOKENS``. With ``sections`` only those of that name are shown.
    """
    if sections is None and tokens(text) <= min(limit, _FILL_TOKENS):
        return Excerpt(text)
    parts = list(_parts(text))
    others: Sequence[int] = ()
    if sections is None:
        order, others = _by_priority(parts, asked, text)
    else:
        wanted = {name.strip("# ").casefold() for name in sections}
        order = [place for place, part in enumerate(parts) if part.heading.casefold() in wanted]
    kept = _within(parts, order, limit)
    kept += _within(parts, others, min(limit, _FILL_TOKENS) - sum(map(_cost, (parts[place] for place in kept))))
    if order and not kept:
        return Excerpt(parts[order[0]].text.encode()[: limit * 3].decode("utf-8", "ignore") + f"\n\n{OMITTED}")
    shown = {parts[place].heading for place in kept}
    left_out = dict.fromkeys(part.heading for part in parts if part.heading and part.heading not in shown)
    return Excerpt("\n\n".join(_with_omissions(parts, sorted(kept))), tuple(left_out)[:_MOST_HEADINGS])


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


def _by_priority(parts: Sequence[_Part], asked: Sequence[str], text: str) -> tuple[list[int], list[int]]:
    """Return the places of the parts on the questions, the best of each in turn after the page's beginning, and the others.

    Of the others, the neighbours of the best parts come first, then those with a word of a question, then the rest.
    """
    language = language_of(text[:4_000]) or DEFAULT_LANGUAGE
    stemmed = [StemmedText.of(part.text, part.heading, language) for part in parts]
    known = statistics_of(stemmed, language)
    questions = [parse_question(question, language) for question in asked]
    rankings = [_ranking(scores(question, stemmed, known)) for question in questions]
    covered = [_covered(question, stemmed, known) for question in questions]
    about = [[place for place in ranking if place in held] for ranking, held in zip(rankings, covered, strict=True)]
    best = list(dict.fromkeys((0, *_in_turn(about))))
    hits = _in_turn([ranking[:_HITS] for ranking in rankings])
    around = [place + step for place in dict.fromkeys(hits) for step in (1, -1) if 0 <= place + step < len(parts)]
    others = dict.fromkeys(chain(hits, around, _in_turn(rankings), range(len(parts))))
    return best, [place for place in others if place not in set(best)]


def _in_turn(rankings: Sequence[Sequence[int]]) -> list[int]:
    return [place for places in zip_longest(*rankings) for place in places if place is not None]


def _covered(question: ParsedQuestion, parts: Sequence[StemmedText], known: TermStatistics) -> set[int]:
    """Return the places of the parts that contain enough of a question's words."""
    weights = term_weights(question, known)
    held = (frozenset((*part.body, *part.heads)) for part in parts)
    return {place for place, stems in enumerate(held) if coverage(weights, stems) >= _LEAST_COVERAGE}


def _ranking(found: Sequence[float]) -> list[int]:
    return sorted((place for place, score in enumerate(found) if score > 0), key=lambda place: (-found[place], place))


def _within(parts: Sequence[_Part], order: Sequence[int], limit: int) -> list[int]:
    kept: list[int] = []
    for place in order:
        cost = _cost(parts[place])
        if cost <= limit:
            kept.append(place)
            limit -= cost
    return kept


def _cost(part: _Part) -> int:
    return tokens(part.text) + 4


def _with_omissions(parts: Sequence[_Part], kept: Sequence[int]) -> Iterator[str]:
    after = 0
    for place in kept:
        if place > after:
            yield OMITTED
        yield parts[place].text
        after = place + 1
    if after < len(parts):
        yield OMITTED
