"""The notes of a list in the order of their days, cut into leaves; and which leaves show something of what changed.

A list is cut from its old end, so that a new note changes the first leaf alone: the seventh hundred ever written stays so.
Leaves have the number of their hundred, counted from 1; the first one, which holds the newest notes, has none: 0.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face
from pipeline.site.invalidation import Change, FileState
from pipeline.site.labels import LISTS, PLURALS
from pipeline.site.pages.page_context import tag_page
from pipeline.site.paths import list_page, tag_list

LEAF = 100  # notes on a leaf; the first holds up to twice as many
_STEPS = (10, 1, 0, -1, -10)  # a leaf leads to these: few, so that one more leaf changes few


class ListPosition(NamedTuple):
    """Where a note stands in a list: by the time of its creation, then by its path. ``words``: the list's tag as it writes it."""

    created: str
    path: str
    words: str


Move = tuple[ListPosition | None, ListPosition | None]


class NoteList:
    """One list. ``name`` as in ``list_page``; ``key`` names its notes in the catalogue: ``("kind", …)`` or ``("tag", …)``."""

    def __init__(self, catalogue: Catalogue, name: str, key: tuple[str, str], title: str) -> None:
        self.name = name
        self.key = key
        self.title = title
        self._catalogue = catalogue

    @cached_property
    def months(self) -> dict[str, int]:
        """How many notes there are of each month, oldest first; "" for those without a day."""
        return self._catalogue.months(*self.key)

    @cached_property
    def count(self) -> int:
        """How many notes there are."""
        return sum(self.months.values())

    @property
    def older(self) -> int:
        """How many leaves there are beside the first."""
        return _older(self.count)

    def paths(self) -> dict[str, int]:
        """Return the number of each leaf by its site path."""
        return {list_page(self.name, leaf): leaf for leaf in range(self.older + 1)}

    def span(self, leaf: int) -> range:
        """Return which notes a leaf holds, counted from 0, the oldest."""
        return range((leaf - 1) * LEAF, leaf * LEAF) if leaf else range(self.older * LEAF, self.count)

    def holder(self, number: int) -> int:
        """Return the leaf that holds a note, which is counted from 0, the oldest."""
        leaf = number // LEAF + 1
        return leaf if leaf <= self.older else 0

    def faces(self, leaf: int) -> list[Face]:
        """Return the notes of a leaf, oldest first."""
        span = self.span(leaf)
        passed = 0
        for month, count in self.months.items():
            if span.start < passed + count:
                return self._catalogue.listed(*self.key, month, span.start - passed, len(span))
            passed += count
        return []

    def touched(self, moves: Sequence[Move]) -> set[int]:
        """Return the leaves that may look different after these moves."""
        moved = [place for move in moves if move[0] != move[1] for place in move if place]
        stayed = {self._leaf_at(new) for old, new in moves if new and old == new}
        if not moved:
            return stayed
        if self._title_moved(moves):
            return set(range(self.older + 1))
        before = _older(self.count + sum((old is not None) - (new is not None) for old, new in moves))
        led = {leaf for leaf in range(1, self.older + 1) if near(leaf, before) != near(leaf, self.older)}
        lowest = self._leaf_at(min(moved))
        return stayed | led | {0} | (set(range(lowest, self.older + 1)) if lowest else set())

    def _leaf_at(self, place: ListPosition) -> int:
        passed = sum(count for month, count in self.months.items() if month < place.created[:7])
        return self.holder(passed + self._catalogue.before(*self.key, place.created, place.path))

    def _title_moved(self, moves: Sequence[Move]) -> bool:
        """Tell whether the spelling that stands first was another one before."""
        if self.key[0] != "tag":
            return False
        now = Counter(self._catalogue.spellings(self.key[1]))
        before = now + Counter(old.words for old, _ in moves if old)
        before.subtract(Counter(new.words for _, new in moves if new))
        return min(+now, default="") != min(+before, default="")


def near(leaf: int, older: int) -> tuple[int, ...]:
    """Return the leaves to which one leads by number, itself among them, the newer ones first."""
    return tuple(leaf + step for step in _STEPS if 1 <= leaf + step <= older)


def _older(count: int) -> int:
    return max(0, count // LEAF - 1)


def shelves(catalogue: Catalogue) -> list[NoteList]:
    """Return all lists: one for each kind, one for each tag that has not that of a kind. No two have the same name."""
    kinds = [NoteList(catalogue, name, ("kind", kind), PLURALS[kind]) for name, kind in LISTS.items()]
    tags = [NoteList(catalogue, tag_list(tag), ("tag", tag), f"#{words}") for tag, words, _ in catalogue.tags() if has_list(tag)]
    return list({shelf.name: shelf for shelf in (*kinds, *tags)}.values())


def has_list(tag: str) -> bool:
    """Tell whether a tag has a list of its own; that of a kind has the kind's."""
    return tag_page(tag) == list_page(tag_list(tag))


def moves_of(changes: Iterable[Change]) -> Mapping[tuple[str, str], Sequence[Move]]:
    """Return what moved in each list, or only looks different now, by the list's key."""
    moves: defaultdict[tuple[str, str], list[Move]] = defaultdict(list)
    for change in changes:
        if change.shows:
            old, new = _places(change.before), _places(change.after)
            for key in old.keys() | new.keys():
                moves[key].append((old.get(key), new.get(key)))
    return moves


def _places(seen: FileState) -> dict[tuple[str, str], ListPosition]:
    """Where a note stands in each of its lists."""
    if seen.face is None:
        return {}
    created, path = seen.face.created, seen.face.path
    tags = {("tag", tag.lower()): ListPosition(created, path, tag) for tag in sorted(seen.spelt, reverse=True)}
    return {("kind", seen.face.kind): ListPosition(created, path, ""), **tags}
