"""The pages of the lists of notes, leaf by leaf; of all tags; and the pages without a note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from urllib.parse import urlsplit

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face
from pipeline.site.labels import PLURALS, month_name
from pipeline.site.pages.note_page_builder import breadcrumbs, tag_page
from pipeline.site.pages.page_values import Entry, Link, ListPage, Month, PlainPage, Site, TagCount, TagsPage, Year
from pipeline.site.pages.pagination import NoteList, near
from pipeline.site.paths import BROWSE, encoded, fragment, list_page, page_of, root_of

TAGS = f"{BROWSE}/tags.html"
_ORDER = ("report", "topic", "night", "session", "source", "worker", "note")


def navigation(kinds: dict[str, int]) -> tuple[Link, ...]:
    """Return the links at the head of each page: the lists that hold something, and the search."""
    listed = [Link(PLURALS[kind], list_page(PLURALS[kind].lower()), kind) for kind in _ORDER if kinds.get(kind)]
    return (Link("Home", "index.html", "home"), *listed, Link("Tags", TAGS), Link("Search", "search.html"))


def list_leaf(site: Site, shelf: NoteList, leaf: int) -> ListPage:
    """Return a leaf of a list."""
    path = list_page(shelf.name, leaf)
    root = root_of(path)
    hundred = _hundred(shelf, leaf) if leaf else ""
    title = f"{shelf.title} {hundred}" if leaf else shelf.title
    return ListPage(
        kind="list",
        path=path,
        root=root,
        title=title,
        description=f"{title}, counted from the oldest" if leaf else f"{title}: {shelf.count:,} in all",
        canonical=_canonical(site, encoded(path)),
        breadcrumbs=_way(shelf, root, leaf),
        list_kind=shelf.key[1] if shelf.key[0] == "kind" else "",
        entries=tuple(_entries(shelf.faces(leaf), root)),
        total=0 if leaf else shelf.count,
        hundred=hundred,
        near=tuple(_to(shelf, other, root, _hundred(shelf, other)) for other in near(leaf, shelf.older)) if leaf else (),
        newest=_to(shelf, 0, root, "Newest") if leaf else None,
        newer=_to(shelf, leaf + 1 if leaf < shelf.older else 0, root, "Newer") if leaf else None,
        older=_to(shelf, leaf - 1 if leaf else shelf.older, root, "Older") if leaf > 1 or (not leaf and shelf.older) else None,
        oldest=_to(shelf, 1, root, "Oldest") if leaf > 1 or (not leaf and shelf.older) else None,
        years=() if leaf else tuple(_years(shelf, root)),
    )


def _way(shelf: NoteList, root: str, leaf: int) -> tuple[Link, ...]:
    tags = (Link("Tags", root + TAGS),) if shelf.key[0] == "tag" else ()
    first = (_to(shelf, 0, root, shelf.title),) if leaf else ()
    return (*breadcrumbs("note", root)[:1], *tags, *first)


def _hundred(shelf: NoteList, leaf: int) -> str:
    span = shelf.span(leaf)
    return f"{span.start + 1:,}–{span.stop:,}"


def _to(shelf: NoteList, leaf: int, root: str, title: str) -> Link:
    return Link(title, root + encoded(list_page(shelf.name, leaf)))


def _years(shelf: NoteList, root: str) -> Iterator[Year]:
    """The months that older leaves hold something of, newest first."""
    first = shelf.span(0).start
    months: list[tuple[str, Month]] = []
    passed = 0
    for month, count in shelf.months.items():
        if passed < first:
            leaf = shelf.holder(min(passed + count, first) - 1)
            href = _to(shelf, leaf, root, "").href + fragment(_anchor(month))
            months.append((month[:4], Month(month_name(month), href, count)))
        passed += count
    for year, same in groupby(reversed(months), key=itemgetter(0)):
        yield Year(year, tuple(month for _, month in same))


def _anchor(month: str) -> str:
    return f"in-{month}" if month else "without-a-day"


def _entries(faces: Sequence[Face], root: str) -> Iterator[Entry]:
    """Yield the notes of a leaf, newest first."""
    for month, same in groupby(reversed(faces), key=lambda face: face.created[:7]):
        anchor = _anchor(month)
        for face in same:
            href = root + encoded(page_of(face.path))
            yield Entry(face.title, href, face.kind, face.date, face.status, face.description, face.facts, anchor)
            anchor = ""


def tags_page(site: Site, catalogue: Catalogue) -> TagsPage:
    """Return the page of all tags."""
    root = root_of(TAGS)
    tags = [(tag.partition("/")[0] if "/" in tag else "", tag, words, count) for tag, words, count in catalogue.tags()]
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
    """Return the page for addresses without a page. It may be shown anywhere, so its links begin at the site's top."""
    top = urlsplit(site.url).path or "/"
    return PlainPage("404", "404.html", top, "No such page", "", "", (Link("Home", f"{top}index.html", "home"),))


def _canonical(site: Site, path: str) -> str:
    return site.url + path if site.url else ""
