"""The sections of a page: which of them are shown where there is no room for all, and what the others are called.

Of a page that is too long, the sections are shown in which something was found, each whole or not at all, and then those around
them. What is left out is named by its headings, so that a reader can ask for it. Leaf module, no I/O.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from pipeline.text.cleaning import one_line, tokens
from pipeline.text.humanize import counted
from pipeline.text.quotes import Span

OMITTED = "[…]"
LEAST = 200  # tokens of room in which a further page is shown
_PIECE = 600  # tokens of a part of a section that is left out or shown by itself
_SHORT = 4_000  # tokens of a page that is shown whole: of 901 quotes 3 more were shown than with 2,000, at a fortieth more text
_NO_HEADING = 7  # the level of what stands before the first heading
_NAMES, _NAME = 150, 120  # tokens of the headings that are named of one page, and characters of one


class Section(NamedTuple):
    """A part of a page up to the next heading, in pieces of some paragraphs."""

    heading: str
    anchor: str
    level: int
    pieces: tuple[Span, ...]

    @property
    def span(self) -> Span:
        """The place of all of it."""
        return Span(self.pieces[0].start, self.pieces[-1].end)


class Place(NamedTuple):
    """Where in a page something was found: the anchor and heading of a section, and a line of it, as far as they are known."""

    anchor: str
    heading: str
    line: str

    def is_in(self, section: Section) -> bool:
        """Return whether it is known to be in this section."""
        named = self.heading and self.heading == section.heading
        return bool(named or (self.anchor and self.anchor == section.anchor))


def sections_of(text: str, piece: int = _PIECE, cuts: Collection[int] = ()) -> list[Section]:
    """Return a page's sections in order, in pieces of about ``piece`` tokens, cut at ``cuts`` too; together they are the page."""
    sections: list[Section] = []
    pieces: list[Span] = []
    heading = anchor = ""
    level = _NO_HEADING
    start = at = size = 0
    in_code = False
    for line in text.splitlines(keepends=True):
        if line.startswith("```"):
            in_code = not in_code
        is_heading = line.startswith("#") and not in_code
        if at > start and (is_heading or at in cuts or (size > piece and (not line.strip() or size > 2 * piece))):
            pieces.append(Span(start, at))
            start, size = at, 0
        if is_heading:
            if pieces:
                sections.append(Section(heading, anchor, level, tuple(pieces)))
                pieces = []
            level = len(line) - len(line.lstrip("#"))
            heading, _, mark = line.strip("# \n").partition(" {#")
            anchor = mark.rstrip("}")
        at += len(line)
        size += tokens(line)
    return [*sections, Section(heading, anchor, level, (*pieces, Span(start, len(text))))]


def shown_parts(
    text: str,
    found: Iterable[Place],
    room: int,
    before: Iterable[tuple[int, int]] = (),
    *,
    around: int = 1,
    always: bool = True,
    piece: int = _PIECE,
) -> tuple[Span, ...]:
    """Return the parts of a page that fit ``room`` tokens: all of it if it is short or ``always`` is set; else the sections in
    which something was found, each whole or not at all, and then ``around`` steps further from each, the nearest first.

    Of a section that does not fit, the paragraphs in which it was found are shown with those beside them, in pieces of ``piece``
    tokens, or half as long if none of these fits. What was shown ``before`` is left out. If nothing else was found, and
    ``always`` is set, the page goes on from its beginning.
    """
    seen, places = tuple(before), tuple(found)
    if not seen and tokens(text) <= (room if always else min(room, _SHORT)):
        return (Span(0, len(text)),)
    sections = sections_of(text, piece, {end for span in seen for end in span})
    numbers = {piece: number for number, section in enumerate(sections) for piece in section.pieces}
    new = [one for one in numbers if not any(start <= one.start and one.end <= end for start, end in seen)]
    costs = {one: tokens(text[one.start : one.end]) + 4 for one in new}
    wanted: list[Span] = []
    for place in places:
        own = [one for one, number in numbers.items() if place.is_in(sections[number])]
        holding = [one for one in numbers if place.line and place.line in text[one.start : one.end]]
        wanted += [one for one in holding if one in own] or own or holding[:1]  # the same words may stand in another section
    kept = _taken([(numbers[one], one) for one in dict.fromkeys(wanted)], sections, costs, room, around)
    if wanted and not kept.intersection(wanted) and piece == _PIECE:  # without it, only what stands beside was shown
        return shown_parts(text, places, room, seen, around=around, always=always, piece=_PIECE // 2)
    if always and not kept:
        kept = _taken([(numbers[one], one) for one in new], sections, costs, room, 0)
    if always and new and not kept:
        start, end = next((one for one in wanted if one in costs), new[0])
        part = text[start:end].encode()[: 3 * room].decode("utf-8", "ignore")
        return (Span(start, start + max(1, len(part))),)
    lines = [line for start, end in kept for line in text[start:end].split("\n")]
    if not always and not any(line.strip() and not line.startswith("#") for line in lines):
        return ()  # headings alone
    spans: list[Span] = []
    for start, end in sorted(kept):
        if spans and spans[-1].end == start:
            start = spans.pop().start
        spans.append(Span(start, end))
    return tuple(spans)


def _taken(
    wanted: Sequence[tuple[int, Span]], sections: Sequence[Section], costs: Mapping[Span, int], room: int, around: int
) -> set[Span]:
    """Return the pieces for which there is room, of those that have ``costs``: of each that is ``wanted``, with the number of its
    section, this section with what holds it, then step by step what is beside it.

    A section longer than all the room is taken by its pieces.
    """
    kept: set[Span] = set()
    left = room
    for step in range(around + 1):
        for own, piece in wanted:
            section = sections[own]
            if sum(costs.get(one, 0) for one in section.pieces) > room:
                at = section.pieces.index(piece)
                groups = [section.pieces[one : one + 1] for one in (at + step, at - step) if one >= 0]
            elif step:
                groups = [sections[one].pieces for one in (own + step, own - step) if 0 <= one < len(sections)]
            else:
                above = next((one for one in reversed(sections[:own]) if one.level < section.level), section)
                is_short = above.level > 1 and sum(costs.get(one, 0) for one in above.pieces) <= LEAST
                groups = [section.pieces, *([above.pieces] if is_short else [])]  # the introduction of what holds it
            for pieces in groups:
                more = [one for one in pieces if one in costs and one not in kept]
                if (cost := sum(costs[one] for one in more)) <= left:
                    kept.update(more)
                    left -= cost
    return kept


def with_marks(
    text: str, shown: Sequence[Span], before: Iterable[tuple[int, int]] = (), found: Sequence[Place] = (), *, named: bool = True
) -> str:
    """Return the parts of a page that are shown, with a mark where something is left out: ``[…]``, or with the headings of what
    was not shown ``before`` either, ``[… left out: Locks; Limits]``.

    Of many headings those are named first under which something was ``found`` (so of 25 facts that matter and were left out 20
    stood under a named one, not 14), then the upper ones, and of these the nearest to what is shown; where there is no room for
    a name, the sections are counted. None is named that stands over nothing, or over several sections, as *Note* does. What goes
    on with a section, behind what was shown of it or behind those inside it, is named as continued.
    """
    seen, sections = [*before, *shown], sections_of(text)
    often: Counter[str] = Counter()
    going_on: set[Section] = set()
    above: list[Section] = []
    for section in sections:
        holding = [one for one in above if one.level <= section.level]
        if len(holding) < len(above) and holding and holding[-1].heading == section.heading:
            going_on.add(section)
            above = holding
        else:
            often[section.heading] += 1
            above = [*(one for one in holding if one.level < section.level), section]
    hidden = [
        section
        for section in sections
        if section.heading and often[section.heading] == 1 and "\n" in text[section.span.start : section.span.end].strip()
        if any(not any(start <= a and b <= end for start, end in seen) for a, b in section.pieces)
    ]

    def rank(section: Section) -> tuple[bool, int, int]:
        was_found = any(place.is_in(section) for place in found)
        return not was_found, section.level, min(max(start - section.span.end, section.span.start - end) for start, end in shown)

    names: dict[Section, str] = {}
    left = _NAMES
    for section in sorted(hidden, key=rank) if named else []:
        name = one_line(section.heading, _NAME)
        if section in going_on or any(start <= section.span.start < end for start, end in seen):
            name += " (continued)"
        left -= tokens(name) + 1
        if left >= 0:
            names[section] = name
    parts: list[str] = []
    for (_, last), (first, end) in pairwise([Span(0, 0), *shown, Span(len(text), len(text))]):
        if text[last:first].strip():
            inside = [section for section in hidden if last < section.span.end and section.span.start < first]
            runs = groupby(map(names.get, inside) if named else ())
            told = [name_or_none or counted(len([*run]), "more section") for name_or_none, run in runs]
            parts.append(f"[… left out: {'; '.join(told)}]" if told else OMITTED)
        part = text[first:end].strip("\n")
        for section in sections:
            if section.anchor and first <= section.span.start < end:  # a mark for links, which nobody quotes
                part = part.replace(f"{section.heading} {{#{section.anchor}}}", section.heading, 1)
        parts.append(part)
    return "\n\n".join(filter(None, parts))
