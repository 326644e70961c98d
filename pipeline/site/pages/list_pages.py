"""Values for the templates of list pages, the tags page, the search page and the page for missing addresses."""

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
# Superseded reports are reached from those that supersede them.
_ORDER = ("report", "topic", "night", "session", "source", "worker", "import", "note")


def navigation(kinds: dict[str, int]) -> tuple[Link, ...]:
    """Return the links at the top of each page: home, the lists that are not empty, tags, search."""
    listed = [Link(PLURALS[kind], list_page(PLURALS[kind].lower()), kind) for kind in _ORDER if kinds.get(kind)]
    return (Link("Home", "index.html", "home"), *listed, Link("Tags", TAGS), Link("Search", "search.html"))


def front_page(catalogue: Catalogue) -> bytes:
    """Return the first page of a site whose home note is elsewhere or not published: it leads to that note, or to a list."""
    moved = sorted(page_of(face.path) for face in catalogue.tagged(["research/home"]))
    target = encoded(next(iter(moved), navigation(catalogue.kinds())[1].href))
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
        description=f"{title}, counted from the oldest" if page else f"{title}: {notes.count:,} in all",
        canonical=_canonical(site, encoded(path)),
        breadcrumbs=_breadcrumbs(notes, root, page),
        list_kind=notes.key[1] if notes.key[0] == "kind" else "",
        entries=tuple(_entries(notes.faces(page), root)),
        total=0 if page else notes.count,
        hundred=hundred,
        near=tuple(_link(notes, other, root, _range_of(notes, other)) for other in near(page, notes.older)) if page else (),
        newest=_link(notes, 0, root, "Newest") if page else None,
        newer=_link(notes, page + 1 if page < notes.older else 0, root, "Newer") if page else None,
        older=_link(notes, page - 1 if page else notes.older, root, "Older") if page > 1 or (not page and notes.older) else None,
        oldest=_link(notes, 1, root, "Oldest") if page > 1 or (not page and notes.older) else None,
        years=() if page else tuple(_years(notes, root)),
    )


def _breadcrumbs(notes: NoteList, root: str, page: int) -> tuple[Link, ...]:
    tags = (Link("Tags", root + TAGS),) if notes.key[0] == "tag" else ()
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
    for month, count in notes.months.items():
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
    """Return the page for addresses without a page. It may be shown at any address, so its links are absolute."""
    top = urlsplit(site.url).path or "/"
    return PlainPage("404", "404.html", top, "No such page", "", "", (Link("Home", f"{top}index.html", "home"),))


def _canonical(site: Site, path: str) -> str:
    return site.url + path if site.url else ""
