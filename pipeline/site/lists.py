"""The lists of notes: one for each kind and each tag, in leaves; all tags; and the pages without a note.

The leaves of a list are cut from its old end, so that a new note changes the first leaf alone. ``reports.html`` holds the newest,
``reports.7.html`` the seventh hundred ever written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from urllib.parse import urlsplit

from pipeline.site.catalogue import Catalogue
from pipeline.site.composing import breadcrumbs, tag_page
from pipeline.site.notes import Face
from pipeline.site.pages import Entry, Link, ListPage, PlainPage, Site, TagCount, TagsPage
from pipeline.site.paths import BROWSE, encoded, list_page, page_of, root_of, tag_list
from pipeline.site.wording import LISTS, PLURALS

LEAF = 100  # notes on a leaf; the first holds up to twice as many
TAGS = f"{BROWSE}/tags.html"
_ORDER = ("report", "topic", "night", "session", "source", "worker", "note")


def navigation(kinds: dict[str, int]) -> tuple[Link, ...]:
    """Return the links at the head of each page: the lists that hold something, and the search."""
    listed = [Link(PLURALS[kind], list_page(PLURALS[kind].lower()), kind) for kind in _ORDER if kinds.get(kind)]
    return (Link("Home", "index.html", "home"), *listed, Link("Tags", TAGS), Link("Search", "search.html"))


def kind_lists(site: Site, catalogue: Catalogue, name: str) -> Iterator[ListPage]:
    """Yield the leaves of the list called ``name``: of a kind."""
    kind = LISTS[name]
    home = breadcrumbs("note", root_of(list_page(name)))[:1]
    yield from _leaves(site, catalogue.of_kind(kind), name, PLURALS[kind], kind, home)


def tag_lists(site: Site, catalogue: Catalogue, tag: str, words: str) -> Iterator[ListPage]:
    """Yield the leaves of a tag's list."""
    name = tag_list(tag)
    root = root_of(list_page(name))
    way = (*breadcrumbs("note", root)[:1], Link("Tags", root + TAGS))
    yield from _leaves(site, catalogue.with_tag(tag), name, f"#{words}", "", way)


def has_list(tag: str) -> bool:
    """Tell whether a tag has a list of its own; that of a kind has the kind's."""
    return tag_page(tag) == list_page(tag_list(tag))


def _leaves(site: Site, faces: Sequence[Face], name: str, title: str, kind: str, way: tuple[Link, ...]) -> Iterator[ListPage]:
    """``faces``: oldest first."""
    whole = older_leaves(len(faces))
    starts = [*range(0, whole * LEAF, LEAF), whole * LEAF]
    count = len(starts)
    root = root_of(list_page(name))
    paths = [list_page(name), *(list_page(name, number) for number in range(whole, 0, -1))]
    pages = tuple(Link(str(number), root + encoded(path)) for number, path in enumerate(paths, start=1))
    for number, path in enumerate(paths, start=1):
        start = starts[count - number]
        shown = faces[start : start + LEAF] if number > 1 else faces[start:]
        yield ListPage(
            kind="list",
            path=path,
            root=root,
            title=title,
            description=f"{title}: {len(faces):,} in all" if number == 1 else f"{title}, earlier ones",
            canonical=site.url + encoded(path) if site.url else "",
            breadcrumbs=way,
            list_kind=kind,
            entries=tuple(_entry(face, root) for face in reversed(shown)),
            total=len(faces) if number == 1 else 0,
            number=number,
            pages=pages,
            previous=pages[number - 2] if number > 1 else None,
            next=pages[number] if number < count else None,
        )


def _entry(face: Face, root: str) -> Entry:
    href = root + encoded(page_of(face.path))
    return Entry(face.title, href, face.kind, face.date, face.status, face.description, face.facts)


def tags_page(site: Site, catalogue: Catalogue) -> TagsPage:
    """Return the page of all tags."""
    root = root_of(TAGS)
    tags = [(tag.partition("/")[0] if "/" in tag else "", tag, words, count) for tag, words, count in catalogue.tags()]
    groups = tuple(
        (part, tuple(TagCount(words, root + encoded(tag_page(tag)), count) for _, tag, words, count in same))
        for part, same in groupby(sorted(tags), key=lambda entry: entry[0])
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


def older_leaves(count: int) -> int:
    """Return how many leaves the list of ``count`` notes has beside the first."""
    return max(0, count // LEAF - 1)
