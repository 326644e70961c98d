"""Cutting a page into the passages that are searched: at headings, about 150 to 250 words each.

Small neighbours under the same heading are put together, long sections are cut between blocks, long blocks at the ends
of sentences. No word of the page is lost: each stands in a passage's headings or in its body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.page import Block, blocks

SMALL = 60
USUAL = 180
LARGE = 250
SNIPPET = 1_600

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])")


class Place(NamedTuple):
    """A heading that a passage stands under, and the anchor that leads there; both "" right under the page's title."""

    heading: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage.

    ``places`` are the headings of its sections, one at least, the first being where it begins; ``headings`` holds all
    headings above and in it but the page's title; ``body`` everything else, code included; ``snippet`` its prose.
    """

    places: tuple[Place, ...]
    headings: str
    body: str
    snippet: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """Blocks under one heading, or under several small ones of one parent."""

    places: tuple[Place, ...]
    path: tuple[str, ...]
    headings: tuple[str, ...]
    parts: tuple[Block, ...]
    words: int


def passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page's ``text`` in order."""
    for piece in _merged(_sections(blocks(text))):
        for parts in _packed(piece.parts) or [[]]:
            yield _passage(piece, parts)


def _passage(piece: _Piece, parts: Sequence[Block]) -> Passage:
    body = "\n".join(part.text for part in parts)
    prose = "\n".join(part.text.strip() for part in parts if part.kind != "code")
    return Passage(piece.places, " / ".join(piece.headings), body, _cut(prose))


def _cut(prose: str) -> str:
    if len(prose) <= SNIPPET:
        return prose
    end = max((found.start() for found in _SENTENCE_END.finditer(prose, SNIPPET // 2, SNIPPET)), default=0)
    return prose[: end or SNIPPET].rstrip() if end else prose[:SNIPPET].rsplit(" ", 1)[0].rstrip()


def _sections(page: Iterable[Block]) -> Iterator[_Piece]:
    head: Block | None = None
    parts: list[Block] = []
    for block in page:
        if block.kind == "heading":
            if head or parts:
                yield _section(head, parts)
            head, parts = block, []
        else:
            parts.append(block)
    if head or parts:
        yield _section(head, parts)


def _section(head: Block | None, parts: list[Block]) -> _Piece:
    words = sum(_words(part) for part in parts)
    if head is None or head.level == 1:
        return _Piece((Place("", ""),), head.path if head else (), (), tuple(parts), words)
    return _Piece((Place(head.heading, head.anchor),), head.path, head.path[1:], tuple(parts), words)


def _words(part: Block) -> int:
    return _count(part.text)


def _merged(sections: Iterable[_Piece]) -> Iterator[_Piece]:
    held: _Piece | None = None
    for section in sections:
        if held is None:
            held = section
        elif _belong_together(held, section):
            held = _together(held, section)
        else:
            yield held
            held = section
    if held is not None:
        yield held


def _belong_together(held: _Piece, section: _Piece) -> bool:
    """Tell whether a small section goes with the next: both are of one parent, or the next is its child.

    A heading without text goes with what follows it, however long that is.
    """
    child = section.path[: len(held.path)] == held.path
    siblings = len(held.path) > 1 and held.path[:-1] == section.path[:-1]
    if held.words == 0:
        return child or siblings
    near = siblings or section.path[:-1] == held.path
    return near and held.words < SMALL and 0 < section.words <= LARGE - held.words


def _together(held: _Piece, section: _Piece) -> _Piece:
    headings = tuple(dict.fromkeys([*held.headings, *section.headings]))
    named = tuple(place for place in held.places if place.heading)
    places = (*section.places, *named) if held.words == 0 else (*held.places, *section.places)
    path = section.path if held.words == 0 else held.path
    return _Piece(places, path, headings, held.parts + section.parts, held.words + section.words)


def _packed(parts: Sequence[Block]) -> list[list[Block]]:
    """Fill passages with blocks; a small rest goes to the passage before it."""
    packed: list[list[Block]] = []
    size = 0
    for part in (small for whole in parts for small in _divided(whole)):
        words = _words(part)
        if not packed or (size + words > LARGE or size >= USUAL):
            packed.append([])
            size = 0
        packed[-1].append(part)
        size += words
    if len(packed) > 1 and size < SMALL:
        rest = packed.pop()
        packed[-1] += rest
    return packed


def _divided(part: Block) -> Iterator[Block]:
    """Cut a block that is too long for one passage at its lines, sentences or, failing these, words."""
    if _words(part) <= LARGE:
        yield part
        return
    pieces = part.text.split("\n") if part.kind == "code" else _SENTENCE_END.split(part.text)
    for run in _runs([piece for long in pieces for piece in _chopped(long)]):
        yield Block(part.kind, ("\n" if part.kind == "code" else " ").join(run), part.heading, part.anchor, part.path)


def _runs(pieces: Iterable[str]) -> Iterator[list[str]]:
    run: list[str] = []
    size = 0
    for piece in pieces:
        words = _count(piece)
        if run and size + words > USUAL:
            yield run
            run, size = [], 0
        run.append(piece)
        size += words
    if run:
        yield run


def _count(text: str) -> int:
    # A script without spaces has no words to count: its bytes say how much there is.
    return max(len(text.split()), len(text.encode("utf-8", "replace")) // 12)


def _chopped(text: str) -> Iterator[str]:
    if _count(text) <= LARGE:
        yield text
        return
    words = text.split(" ")
    for start in range(0, len(words), USUAL):
        yield " ".join(words[start : start + USUAL])
