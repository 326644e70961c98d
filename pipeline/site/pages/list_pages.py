"""Values for the templates of list pages, the tags page, the search page and the page for missing addresses.

A list's pages are cut from the oldest note on, so that a new note changes only the first page. Page n has the n-th hundred notes
ever written; the first page, with the newest notes, is number 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from urllib.parse import urlsplit

from pipeline.site.labels import PLURALS, month_name
from pipeline.site.note_record import Face
from pipeline.site.notes import Notes, tag_page
from pipeline.site.pages.note_page_builder import breadcrumbs
from pipeline.site.pages.page_values import Entry, Link, ListPage, Month, PlainPage, Site, TagCount, TagsPage, Year
from pipeline.site.paths import BROWSE, encoded, fragment, list_page, page_of, root_of

TAGS = f"{BROWSE}/tags.html"
# Superseded reports are reached from those that supersede them.
_NAMES = {"report": "Questions"}  # each question has one entry there, its newest report
_ORDER = ("report", "topic", "night", "session", "source", "worker", "note")


PAGE_SIZE = 100  # notes on a page; the first has up to twice as many
_STEPS = (10, 1, 0, -1, -10)  # a page links to the pages at these distances: few, so that a new page changes few


@dataclass(frozen=True)
class NoteList:
    """One list of notes, oldest first. ``name`` as in ``list_page``; ``kind`` is "" for a tag's."""

    name: str
    title: str
    kind: str
    notes: Sequence[Face]

    @property
    def older(self) -> int:
        """The number of pages besides the first."""
        return max(0, len(self.notes) // PAGE_SIZE - 1)

    def span(self, page: int) -> slice:
        """Return which notes a page has."""
        return slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE) if page else slice(self.older * PAGE_SIZE, len(self.notes))

    def holder(self, number: int) -> int:
        """Return the page of a note, counted from 0, the oldest."""
        page = number // PAGE_SIZE + 1
        return page if page <= self.older else 0

    def near(self, page: int) -> tuple[int, ...]:
        """Return the pages that a page links to by number, itself included, the newer ones first."""
        return tuple(page + step for step in _STEPS if 1 <= page + step <= self.older)

    def shown(self, page: int) -> object:
        """Return all that a page shows, as a value that costs little to make."""
        months = Counter(face.created[:7] for face in self.notes) if not page else ()
        return self.title, self.kind, self.older, page, self.notes[self.span(page)], months


def navigation(of_kind: Mapping[str, Sequence[Face]]) -> tuple[Link, ...]:
    """Return the links at the top of each page: home, the lists that are not empty, tags, search."""
    kinds = ((kind, PLURALS[kind]) for kind in _ORDER if of_kind.get(kind))
    listed = [Link(_NAMES.get(kind, plural), list_page(plural.lower()), kind) for kind, plural in kinds]
    return (Link("Home", "index.html", "home"), *listed, Link("Tags", TAGS), Link("Search", "search.html"))


def front_page(notes: Notes) -> bytes:
    """Return the first page of a site whose home note is elsewhere or not published: it leads to that note, or to a list."""
    moved = sorted(page_of(face.path) for face in notes.tags.get("research/home", ("", []))[1])
    target = encoded(next(iter(moved), navigation(notes.of_kind)[1].href))
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Research</title>'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
        f'<meta http-equiv="refresh" content="0; url={target}"><p><a href="{target}">Research</a></p></html>\n'
    ).encode()


def page_of_list(site: Site, notes: NoteList, page: int) -> ListPage:
    """Return one page of a list."""
    path = list_page(notes.name, page)
    root = root_of(path)
    hundred = _range_of(notes, page) if page else ""
    title = f"{notes.title} {hundred}" if page else notes.title
    return ListPage(
        kind="list",
        path=path,
        root=root,
        title=title,
        description=f"{title}, counted from the oldest" if page else f"{title}: {len(notes.notes):,} in all",
        canonical=_canonical(site, encoded(path)),
        breadcrumbs=_breadcrumbs(notes, root, page),
        list_kind=notes.kind,
        entries=tuple(_entries(notes.notes[notes.span(page)], root)),
        total=0 if page else len(notes.notes),
        hundred=hundred,
        near=tuple(_link(notes, other, root, _range_of(notes, other)) for other in notes.near(page)) if page else (),
        newest=_link(notes, 0, root, "Newest") if page else None,
        newer=_link(notes, page + 1 if page < notes.older else 0, root, "Newer") if page else None,
        older=_link(notes, page - 1 if page else notes.older, root, "Older") if page > 1 or (not page and notes.older) else None,
        oldest=_link(notes, 1, root, "Oldest") if page > 1 or (not page and notes.older) else None,
        years=() if page else tuple(_years(notes, root)),
    )


def _breadcrumbs(notes: NoteList, root: str, page: int) -> tuple[Link, ...]:
    tags = (Link("Tags", root + TAGS),) if not notes.kind else ()
    first = (_link(notes, 0, root, notes.title),) if page else ()
    return (*breadcrumbs("note", root)[:1], *tags, *first)


def _range_of(notes: NoteList, page: int) -> str:
    span = notes.span(page)
    return f"{span.start + 1:,}–{span.stop:,}"


def _link(notes: NoteList, page: int, root: str, title: str) -> Link:
    return Link(title, root + encoded(list_page(notes.name, page)))


def _years(notes: NoteList, root: str) -> Iterator[Year]:
    """The months with notes on older pages, newest first."""
    first = notes.span(0).start
    months: list[tuple[str, Month]] = []
    passed = 0
    for month, count in Counter(face.created[:7] for face in notes.notes).items():
        if passed < first:
            page = notes.holder(min(passed + count, first) - 1)
            href = _link(notes, page, root, "").href + fragment(_anchor(month))
            months.append((month[:4], Month(month_name(month), href, count)))
        passed += count
    for year, same in groupby(reversed(months), key=itemgetter(0)):
        yield Year(year, tuple(month for _, month in same))


def _anchor(month: str) -> str:
    return f"in-{month}" if month else "without-a-day"


def _entries(faces: Sequence[Face], root: str) -> Iterator[Entry]:
    """Yield the notes of a page, newest first."""
    for month, same in groupby(reversed(faces), key=lambda face: face.created[:7]):
        anchor = _anchor(month)
        for face in same:
            href = root + encoded(page_of(face.path))
            yield Entry(face.title, href, face.kind, face.date, face.status, face.description, face.facts, anchor)
            anchor = ""


def tags_page(site: Site, notes: Notes) -> TagsPage:
    """Return the page of all tags."""
    root = root_of(TAGS)
    tags = [(tag.partition("/")[0] if "/" in tag else "", tag, words, len(faces)) for tag, (words, faces) in notes.tags.items()]
    groups = tuple(
        (part, tuple(TagCount(words, root + encoded(tag_page(tag)), count) for _, tag, words, count in same))
        for part, same in groupby(sorted(tags), key=itemgetter(0))
    )
    home = breadcrumbs("note", root)[:1]
    return TagsPage("tags", TAGS, root, "Tags", "All tags of the notes", _canonical(site, TAGS), home, groups)


def search_page(site: Site) -> PlainPage:
    """Return the search's page."""
    home = breadcrumbs("note", "")[:1]
    return PlainPage("search", "search.html", "", "Search", "Search all notes", _canonical(site, "search.html"), home)


def missing_page(site: Site) -> PlainPage:
    """Return the page for addresses without a page. It may be shown at any address, so its links are absolute."""
    top = urlsplit(site.url).path or "/"
    return PlainPage("404", "404.html", top, "No such page", "", "", (Link("Home", f"{top}index.html", "home"),))


def _canonical(site: Site, path: str) -> str:
    return site.url + path if site.url else ""
