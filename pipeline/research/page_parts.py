"""Which parts of a page a reading is shown, where it does not fit: the sections that were hit, whole, then those around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.domain.values import Hit
from pipeline.text.normalise import tokens
from pipeline.text.quotes import Span

AROUND = 3  # sections on each side of one that was hit, and sections that hold it
LEAST = 300  # tokens of room in which a further page is shown
_PIECE = 600  # tokens of a part of a section that is left out or shown by itself
_SHORT = 2_000  # tokens of a page that is shown whole
_NO_HEADING = 7  # the level of paragraphs inside a section


class Piece(NamedTuple):
    """A part of a page: a section up to the next heading, or some paragraphs of a long one, which have the level below."""

    span: Span
    heading: str
    anchor: str
    level: int


def shown_parts(
    text: str,
    hits: Sequence[Hit],
    room: int,
    before: Iterable[tuple[int, int]] = (),
    *,
    around: int = AROUND,
    always: bool = True,
) -> tuple[Span, ...]:
    """Return the parts of a page that fit ``room`` tokens: all of it if it is short or ``always`` is set; else the sections that
    were hit, each whole or not at all, and then ``around`` steps further from each, the nearest first.

    Of a section that does not fit, the paragraphs that were hit are shown with those beside them. What was shown ``before`` is
    left out. If nothing else was hit, and ``always`` is set, the page goes on from its beginning.
    """
    seen = tuple(before)
    if not seen and tokens(text) <= (room if always else min(room, _SHORT)):
        return (Span(0, len(text)),)
    pieces = pieces_of(text)
    costs = [tokens(text[piece.span.start : piece.span.end]) + 4 for piece in pieces]
    new = [not any(start <= piece.span.start and piece.span.end <= end for start, end in seen) for piece in pieces]
    hit = list(dict.fromkeys(place for one in hits for place in _places_of(one, pieces, text)))
    kept = _taken(hit, pieces, costs, new, room, around)
    wanted = [place for place in range(len(pieces)) if new[place]] if always and not kept else []
    kept = kept or _taken(wanted, pieces, costs, new, room, 0)
    if wanted and not kept:
        start, end = pieces[next((place for place in hit if new[place]), wanted[0])].span
        part = text[start:end].encode()[: 3 * room].decode("utf-8", "ignore")
        return (Span(start, start + max(1, len(part))),)
    lines = [line for place in kept for line in text[pieces[place].span.start : pieces[place].span.end].split("\n")]
    if not always and not any(line.strip() and not line.startswith("#") for line in lines):
        return ()  # headings alone
    spans: list[Span] = []
    for place in sorted(kept):
        start, end = pieces[place].span
        if spans and spans[-1].end == start:
            spans[-1] = Span(spans[-1].start, end)
        else:
            spans.append(Span(start, end))
    return tuple(spans)


def _taken(
    hit: Iterable[int], pieces: Sequence[Piece], costs: Sequence[int], new: Sequence[bool], room: int, around: int
) -> set[int]:
    """Return the pieces for which there is room: of each hit its section, then step by step what holds it and what is beside it.

    A section longer than all the room is taken by its pieces.
    """
    begins = [place for place, piece in enumerate(pieces) if piece.level < _NO_HEADING or not place]
    sections = [range(start, end) for start, end in zip(begins, [*begins[1:], len(pieces)], strict=True)]
    kept: set[int] = set()
    left = room
    for step in range(around + 1):
        for place in hit:
            own = bisect_right(begins, place) - 1
            if sum(costs[one] for one in sections[own] if new[one]) > room:
                wanted = [range(one, one + 1) for one in (place + step, place - step) if one in sections[own]]
            else:
                wanted = [sections[own]]
                above = sections[_above(own, 1, sections, pieces)]
                if pieces[above.start].level > 1 and sum(costs[one] for one in above) <= LEAST:
                    wanted.append(above)  # the introduction of what holds it
                if step:  # what is inside it, or inside what holds it, and what is beside it
                    wanted = [_holding(own, step - 1, sections, pieces)]
                    wanted += [sections[one] for one in (own + step, own - step) if 0 <= one < len(sections)]
            for scope in wanted:
                more = [one for one in scope if new[one] and one not in kept]
                if (cost := sum(costs[one] for one in more)) <= left:
                    kept.update(more)
                    left -= cost
    return kept


def _above(own: int, step: int, sections: Sequence[range], pieces: Sequence[Piece]) -> int:
    """Return the section so many levels above one."""
    levels = [pieces[section.start].level for section in sections]
    for _ in range(step):
        own = next((one for one in range(own, -1, -1) if levels[one] < levels[own]), own)
    return own


def _holding(own: int, step: int, sections: Sequence[range], pieces: Sequence[Piece]) -> range:
    """Return a section with all inside it, or, so many steps further, the section that holds it with all inside that."""
    levels = [pieces[section.start].level for section in sections]
    own = _above(own, step, sections, pieces)
    end = next((one for one in range(own + 1, len(sections)) if levels[one] <= levels[own]), len(sections))
    return range(sections[own].start, sections[end - 1].stop)


def _places_of(hit: Hit, pieces: Sequence[Piece], text: str) -> list[int]:
    """Return the pieces in which a hit lies: that of its passage in its section, else those of its section."""
    line = max(hit.snippet.split("\n"), key=len, default="").strip()[:80]
    anchor = hit.url.partition("#")[2]
    holding = [place for place, piece in enumerate(pieces) if line and line in text[piece.span.start : piece.span.end]]
    of_section = [
        place
        for place, piece in enumerate(pieces)
        if (anchor and piece.anchor == anchor) or (hit.heading and piece.heading == hit.heading)
    ]
    both = [place for place in holding if place in of_section]  # the same words may stand in another section
    return both or of_section or holding[:1]


def pieces_of(text: str) -> list[Piece]:
    """Return a page's pieces in order; together they are the page."""
    pieces: list[Piece] = []
    heading = anchor = ""
    level = _NO_HEADING
    start = at = size = 0
    in_code = False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            in_code = not in_code
        is_heading = line.startswith("#") and not in_code
        if at > start and (is_heading or (size > _PIECE and (not line.strip() or size > 2 * _PIECE))):
            pieces.append(Piece(Span(start, at), heading, anchor, level))
            start, size, level = at, 0, _NO_HEADING
        if is_heading:
            level = len(line) - len(line.lstrip("#"))
            heading, _, mark = line.strip("# \n").partition(" {#")
            anchor = mark.rstrip("}")
        at += len(line)
        size += tokens(line)
    return [*pieces, Piece(Span(start, len(text)), heading, anchor, level)]
