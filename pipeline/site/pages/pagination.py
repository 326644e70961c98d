"""``NoteList``: the notes of a list by date, cut into pages; and which pages a change affects.

Pages are cut from the oldest note on, so that a new note changes only the first page. Page n has the n-th hundred notes ever
written; the first page, with the newest notes, is number 0.
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
from pipeline.site.pages.note_page_builder import tag_page
from pipeline.site.paths import list_page, tag_list

PAGE_SIZE = 100  # notes on a page; the first has up to twice as many
_STEPS = (10, 1, 0, -1, -10)  # a page links to the pages at these distances: few, so that a new page changes few


class ListPosition(NamedTuple):
    """A note's position in a list: by creation time, then by path. ``words``: the list's tag as the note writes it."""

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
        """The number of notes of each month, oldest first; "" for those without a date."""
        return self._catalogue.months(*self.key)

    @cached_property
    def count(self) -> int:
        """The number of notes."""
        return sum(self.months.values())

    @property
    def older(self) -> int:
        """The number of pages besides the first."""
        return _older(self.count)

    def paths(self) -> dict[str, int]:
        """Return the number of each page by its site path."""
        return {list_page(self.name, page): page for page in range(self.older + 1)}

    def span(self, page: int) -> range:
        """Return the numbers of a page's notes, counted from 0, the oldest."""
        return range((page - 1) * PAGE_SIZE, page * PAGE_SIZE) if page else range(self.older * PAGE_SIZE, self.count)

    def holder(self, number: int) -> int:
        """Return the page of a note, counted from 0, the oldest."""
        page = number // PAGE_SIZE + 1
        return page if page <= self.older else 0

    def faces(self, page: int) -> list[Face]:
        """Return the notes of a page, oldest first."""
        span = self.span(page)
        passed = 0
        for month, count in self.months.items():
            if span.start < passed + count:
                return self._catalogue.listed(*self.key, month, span.start - passed, len(span))
            passed += count
        return []

    def touched(self, moves: Sequence[Move]) -> set[int]:
        """Return the pages that these moves may change."""
        moved = [place for move in moves if move[0] != move[1] for place in move if place]
        stayed = {self._page_at(new) for old, new in moves if new and old == new}
        if not moved:
            return stayed
        if self._title_moved(moves):
            return set(range(self.older + 1))
        before = _older(self.count + sum((old is not None) - (new is not None) for old, new in moves))
        led = {page for page in range(1, self.older + 1) if near(page, before) != near(page, self.older)}
        lowest = self._page_at(min(moved))
        return stayed | led | {0} | (set(range(lowest, self.older + 1)) if lowest else set())

    def _page_at(self, place: ListPosition) -> int:
        passed = sum(count for month, count in self.months.items() if month < place.created[:7])
        return self.holder(passed + self._catalogue.before(*self.key, place.created, place.path))

    def _title_moved(self, moves: Sequence[Move]) -> bool:
        """Tell whether the first of the tag's spellings changed."""
        if self.key[0] != "tag":
            return False
        now = Counter(self._catalogue.spellings(self.key[1]))
        before = now + Counter(old.words for old, _ in moves if old)
        before.subtract(Counter(new.words for _, new in moves if new))
        return min(+now, default="") != min(+before, default="")


def near(page: int, older: int) -> tuple[int, ...]:
    """Return the pages that a page links to by number, itself included, the newer ones first."""
    return tuple(page + step for step in _STEPS if 1 <= page + step <= older)


def _older(count: int) -> int:
    return max(0, count // PAGE_SIZE - 1)


def all_lists(catalogue: Catalogue) -> list[NoteList]:
    """Return all lists: one for each kind, one for each tag that is not a kind's. No two have the same name."""
    kinds = [NoteList(catalogue, name, ("kind", kind), PLURALS[kind]) for name, kind in LISTS.items()]
    tags = [NoteList(catalogue, tag_list(tag), ("tag", tag), f"#{words}") for tag, words, _ in catalogue.tags() if has_list(tag)]
    return list({note_list.name: note_list for note_list in (*kinds, *tags)}.values())


def has_list(tag: str) -> bool:
    """Tell whether a tag has its own list; the tag of a kind has the kind's list."""
    return tag_page(tag) == list_page(tag_list(tag))


def moves_of(changes: Iterable[Change]) -> Mapping[tuple[str, str], Sequence[Move]]:
    """Return the old and new positions of changed notes, by the list's key; equal ones if only the entry looks different."""
    moves: defaultdict[tuple[str, str], list[Move]] = defaultdict(list)
    for change in changes:
        if change.shows:
            old, new = _places(change.before), _places(change.after)
            for key in old.keys() | new.keys():
                moves[key].append((old.get(key), new.get(key)))
    return moves


def _places(state: FileState) -> dict[tuple[str, str], ListPosition]:
    """A note's position in each of its lists."""
    if state.face is None:
        return {}
    created, path = state.face.created, state.face.path
    tags = {("tag", tag.lower()): ListPosition(created, path, tag) for tag in sorted(state.spelt, reverse=True)}
    return {("kind", state.face.kind): ListPosition(created, path, ""), **tags}
