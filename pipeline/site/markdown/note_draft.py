"""``Draft``: the HTML of a note while it is read, and the data that other pages need of it.

Content from other files (quotes of a citation, an embedded note) is filled in later: the HTML has a placeholder of NUL
and a number, which no note can contain, and ``slots`` lists what belongs there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.site.paths import Places, key_of, quote_anchor, whole

_MARK = re.compile("\0(\\d+)\0")


@dataclass(frozen=True, slots=True)
class Cite:
    """A citation: the number shown, the source note's path, the quote's block id, and the quote's id on the citing page."""

    number: str
    path: str
    block: str
    anchor: str


class Around(NamedTuple):
    """What a source's note says around a quote: the sentences beside it, who confirms or disputes it, its place on the web."""

    before: str = ""
    after: str = ""
    standing: str = ""
    there: str = ""


@dataclass(frozen=True, slots=True)
class Aside:
    """The place behind a paragraph for the quotes that it is the first to cite."""

    cites: tuple[Cite, ...]


@dataclass(frozen=True, slots=True)
class Embed:
    """The place for another file, or for the part of it under the heading or block ``place``; ``words`` stand beside it."""

    path: str
    place: str
    words: str


Slot = Aside | Embed


@dataclass(slots=True)
class Draft:
    """The data of a note, complete when the note is read.

    ``at_hand``: citations lead to the quotes at the end of the same page. ``nested``: it is shown inside another page, where it
    has no ids and shows nothing inside itself. ``links`` maps the path of each file that the note leads to, to whether the page
    shows something of that file's content; ``names`` maps each name in a link that is no whole path to
    the path it means now, or "".
    """

    path: str
    root: str
    places: Places
    at_hand: bool = False
    nested: bool = False
    html: str = ""
    heading: str = ""
    heading_text: str = ""
    summary: str = ""
    first: str = ""
    slots: list[Slot] = field(default_factory=list)
    toc: list[tuple[int, str, str]] = field(default_factory=list)
    links: dict[str, bool] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    around: dict[str, Around] = field(default_factory=dict)
    cites: dict[tuple[str, str], Cite] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)
    text: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def find(self, target: str) -> str:
        """Return the path that a wikilink leads to, "" if it is broken; record the result."""
        path = self.places.find(target, self.path)
        if path:
            self.link(path)
        self.name(key_of(target), path)
        return path

    def find_relative(self, target: str) -> str:
        """Return the path that a Markdown link leads to, "" if it is broken; record the result."""
        path = self.places.find_relative(target, self.path)
        if path:
            self.link(path)
        self.name(key_of(whole(target, self.path)), path)
        self.name(key_of(target).rpartition("/")[2], path)
        return path

    def name(self, key: str, path: str) -> None:
        """Record the path that a name means, unless the name is that whole path."""
        if key and key != key_of(path):
            self.names[key] = path

    def link(self, path: str, *, deep: bool = False) -> None:
        """Record that the note links to ``path``; ``deep``: it shows part of that file's content."""
        if path != self.path:
            self.links[path] = deep or self.links.get(path, False)

    def cite(self, number: str, path: str, block: str) -> Cite:
        """Return the citation of a quote; the same quote has one place on the page."""
        self.link(path, deep=True)
        if (path, block) not in self.cites:
            anchor = self.unique(quote_anchor(block))
            self.cites[path, block] = Cite(number, path, block, anchor)
        return self.cites[path, block]

    def unique(self, anchor: str) -> str:
        """Return ``anchor``, with a number appended if the page has it already."""
        name, number = anchor, 1
        while name in self.anchors:
            number += 1
            name = f"{anchor}-{number}"
        self.anchors.add(name)
        return name

    def slot(self, slot: Slot) -> str:
        """Add a slot; return its placeholder."""
        self.slots.append(slot)
        return f"\0{len(self.slots) - 1}\0"

    def parts(self) -> list[str | Slot]:
        """Return the HTML in pieces, with the slots in their places."""
        pieces = _MARK.split(self.html)
        return [self.slots[int(piece)] if number % 2 else piece for number, piece in enumerate(pieces)]
