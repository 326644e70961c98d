"""``Segments``: all notes by date, cut into segments; the search index and the site map have one part for each.

A note begins a segment if the digest of its path says so. So what a segment holds depends on the vault alone, and a note that
comes, goes or changes touches its own segment; one that begins a segment splits or joins two.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.invalidation import Change, FileState
from pipeline.site.rendering.render_task import key_of
from pipeline.site.search_index import index_shards
from pipeline.site.search_index.terms import unpacked
from pipeline.text.normalise import digest_of

FIRST = ""  # the name of the first segment: it begins with no note in particular
SIZE = 8_000  # notes of a segment on average
_STATE = "segments"


class NotePosition(NamedTuple):
    """A note's position in the order: by date and time, then by path."""

    created: str
    path: str


_START, _END = NotePosition("", ""), NotePosition("~", "")  # no day is written with a tilde
Extent = tuple[NotePosition, NotePosition]  # from the first on, up to the other without it
EVERYTHING = (_START, _END)


def begins(path: str) -> bool:
    """Tell whether a segment begins with this note."""
    return int(digest_of(path.encode())[-12:], 16) % SIZE == 0


@dataclass(frozen=True)
class Segments:
    """The segments of a vault. ``beginnings`` are the places of the notes that begin one, in order."""

    beginnings: tuple[NotePosition, ...] = ()

    def name_at(self, place: NotePosition) -> str:
        """Return the name of the segment in which a note stands."""
        number = bisect_right(self.beginnings, place)
        return _name(self.beginnings[number - 1]) if number else FIRST

    @cached_property
    def extents(self) -> dict[str, Extent]:
        """Where each segment begins and ends, by its name, in order."""
        starts, names = (_START, *self.beginnings), (FIRST, *map(_name, self.beginnings))
        return dict(zip(names, zip(starts, (*self.beginnings, _END), strict=True), strict=True))

    def changed(self, gone: Iterable[NotePosition], new: Iterable[NotePosition]) -> Segments:
        """Return the segments when notes at these places went and came."""
        lost, come = ({place for place in places if begins(place.path)} for places in (gone, new))
        return Segments(tuple(sorted({*self.beginnings} - lost | come))) if lost or come else self


def _name(beginning: NotePosition) -> str:
    return digest_of(beginning.path.encode())[:16]


class Pending:
    """What of the segments is to be made again. It is remembered until it is ``done``: one that is cut off leaves it to the next.

    ``index`` and ``map`` name the segments of which all search files, and the site map, are to be made; ``changes`` holds, by
    segment, notes before and after (None: not in it) for search files that need no more than that.
    """

    def __init__(self, catalogue: Catalogue, changes: Mapping[str, Change], *, everything: bool) -> None:
        self._catalogue = catalogue
        known = json.loads(catalogue.recall(_STATE) or "{}")
        self.changes: dict[str, list[index_shards.Change]] = {}
        if everything or known.get("form") != _form():
            self.segments = Segments(
                tuple(sorted(NotePosition(*place) for place in catalogue.places(*EVERYTHING) if begins(place[1])))
            )
            self.index, self.map = {*self.segments.extents}, {*self.segments.extents}
        else:
            self._follow(known, [change for path, change in sorted(changes.items()) if path.endswith(".md")])
        self._remember(self.index | self.changes.keys(), self.map)

    def _follow(self, known: Mapping[str, Any], changes: Iterable[Change]) -> None:
        before = Segments(tuple(NotePosition(*place) for place in known["beginnings"]))
        pairs = [(_place(change.before), _place(change.after), change) for change in changes]
        self.segments = before.changed((old for old, *_ in pairs if old), (new for _, new, _ in pairs if new))
        extents = self.segments.extents
        moved = {name for name, extent in extents.items() if before.extents.get(name) != extent}
        self.index, self.map = ((moved | {*known[part]}) & extents.keys() for part in ("index", "map"))
        for old, new, change in pairs:
            self._take(old and before.name_at(old), new and self.segments.name_at(new), change)
        self.map &= extents.keys()
        self.changes = {name: found for name, found in self.changes.items() if name in extents.keys() - self.index}

    def _take(self, old: str | None, new: str | None, change: Change) -> None:
        """Note a change of a note that was in the segment ``old`` and is in ``new``."""
        before, after = (_entry(change.before, change.terms[0]), _entry(change.after, change.terms[1]))
        if (old, _day(before)) != (new, _day(after)):
            self.map |= {name for name in (old, new) if name is not None}
        if old == new and old is not None:
            self.changes.setdefault(old, []).append((before, after))
            return
        if old is not None:
            self.changes.setdefault(old, []).append((before, None))
        if new is not None:
            self.changes.setdefault(new, []).append((None, after))

    def done(self) -> None:
        """Record that all parts are up to date."""
        self._remember(set(), set())

    def _remember(self, index: set[str], site_map: set[str]) -> None:
        state = {"form": _form(), "beginnings": self.segments.beginnings, "index": sorted(index), "map": sorted(site_map)}
        self._catalogue.remember(_STATE, json.dumps(state))


def _form() -> str:
    return key_of(SIZE, index_shards.FORM)


def _place(seen: FileState) -> NotePosition | None:
    return NotePosition(seen.face.created, seen.face.path) if seen.face else None


def _entry(seen: FileState, terms: str) -> index_shards.Entry | None:
    return (seen.face, unpacked(terms)) if seen.face else None


def _day(entry: index_shards.Entry | None) -> str:
    return entry[0].date if entry else ""
