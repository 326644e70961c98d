"""``Draft``: what is known of a note when it was read, its HTML and what other pages need of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.site import paths

_MARK = re.compile("\0(\\d+)\0")  # a place for quotes behind a paragraph that is the first to cite some: a NUL stands in no note


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


@dataclass(slots=True)
class Draft:
    """The data of a note, complete when the note is read.

    ``at_hand``: citations lead to the quotes at the end of the same page. ``links`` are the paths of the files that the note
    leads to; ``names`` maps each name in a link that is no whole path to the path it means now, or "". ``asides`` are the
    citations that belong to each placeholder.
    """

    path: str
    root: str
    places: paths.Places
    at_hand: bool = False
    html: str = ""
    heading: str = ""
    heading_text: str = ""
    summary: str = ""
    first: str = ""
    asides: list[tuple[Cite, ...]] = field(default_factory=list)
    toc: list[tuple[str, str]] = field(default_factory=list)
    links: set[str] = field(default_factory=set)
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
        self.link(path)
        self.name(paths.key_of(target), path)
        return path

    def find_relative(self, target: str) -> str:
        """Return the path that a Markdown link leads to, "" if it is broken; record the result."""
        path = self.places.find_relative(target, self.path)
        self.link(path)
        self.name(paths.key_of(paths.whole(target, self.path)), path)
        self.name(paths.key_of(target).rpartition("/")[2], path)
        return path

    def name(self, key: str, path: str) -> None:
        """Record the path that a name means, unless the name is that whole path."""
        if key and key != paths.key_of(path):
            self.names[key] = path

    def link(self, path: str) -> None:
        """Record that the note links to ``path``."""
        if path and path != self.path:
            self.links.add(path)

    def cite(self, number: str, path: str, block: str) -> Cite:
        """Return the citation of a quote; the same quote has one place on the page."""
        self.link(path)
        if (path, block) not in self.cites:
            anchor = self.unique(paths.quote_anchor(block))
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

    def aside(self, cites: tuple[Cite, ...]) -> str:
        """Add a place for quotes; return its placeholder."""
        self.asides.append(cites)
        return f"\0{len(self.asides) - 1}\0"

    def parts(self) -> list[str | tuple[Cite, ...]]:
        """Return the HTML in pieces, with the places for quotes between them."""
        pieces = _MARK.split(self.html)
        return [self.asides[int(piece)] if number % 2 else piece for number, piece in enumerate(pieces)]


def href_of(root: str, path: str, place: str = "", *, own: str = "") -> str:
    """Return the address of a file of the vault, "" if the site does not have it.

    ``root`` leads from the page to the top; ``own`` is the path of the page's own note. A base leads to the list of its kind.
    """
    named = paths.block_anchor(place[1:]) if place.startswith("^") else paths.heading_anchor(place.rpartition("#")[2])
    anchor = paths.fragment(named) if place else ""
    if path == own and anchor:
        return anchor
    suffix = paths.suffix_of(path)
    if suffix == ".md":
        return root + paths.encoded(paths.page_of(path)) + anchor
    if suffix == ".base":
        listed = paths.stem_of(path).removesuffix(".base")
        return root + paths.list_page(listed) if listed in paths.LISTS else ""
    return root + paths.encoded(paths.file_of(path)) if suffix in paths.IMAGES else ""
