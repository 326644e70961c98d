"""Pages that are no note's: lists, tags, search, missing addresses; the feed of nights and the site map.

A long list has the newest notes on its first page, and one page a month. A new note changes the first page alone, and the page of
its month if there is one already. All contain only times of the notes, so every build makes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape
from itertools import groupby
from operator import itemgetter
from urllib.parse import unquote, urlsplit

from pipeline.site.note_to_html import Record
from pipeline.site.page_values import Counted, Link, Site, breadcrumbs, page_view
from pipeline.site.paths import BROWSE, LISTS, NAMES, PLURALS, encoded, list_page, page_of, root_of, tag_list
from pipeline.site.vault_reading import Notes, tag_page
from pipeline.text.cleaning import clean, digest_of
from pipeline.text.translations import ENGLISH, MONTHS
from pipeline.vault.note import View

TAGS = f"{BROWSE}/tags.html"
FEED, MAP = "feed.xml", "sitemap.xml"
NEWEST = 30  # entries in the feed
PAGE_SIZE = 100  # notes on the first page of a long list; one with up to twice as many has all on one
# Each question has one entry among the reports, its newest; what is superseded is reached from there.
_ORDER = ("report", "topic", "night", "session", "source", "worker", "note")
_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF))  # what no XML may hold
_TOP = "index.html"
_EPOCH = "1970-01-01T00:00:00"
_UNDATED = "undated"


def navigation(of_kind: Mapping[str, Sequence[Record]]) -> tuple[Link, ...]:
    """Return the links at the top of each page: home, the lists that are not empty, tags, search."""
    listed = [Link(PLURALS[kind], list_page(NAMES[kind]), kind) for kind in _ORDER if of_kind.get(kind)]
    return (Link("Home", _TOP, "home"), *listed, Link("Tags", TAGS), Link("Search", "search.html"))


def _home(root: str) -> tuple[Link, ...]:
    return breadcrumbs("note", root)[:1]


def front_page(notes: Notes) -> bytes:
    """Return the first page of a site whose home note is elsewhere or not published: it leads to that note, or to a list."""
    moved = sorted(page_of(note.path) for note in notes.tags.get("research/home", ("", []))[1])
    target = encoded(next(iter(moved), navigation(notes.of_kind)[1].href))
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Research</title>'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'
        f'<meta http-equiv="refresh" content="0; url={target}"><p><a href="{target}">Research</a></p></html>\n'
    ).encode()


@dataclass(frozen=True)
class NoteList:
    """One list of notes, oldest first. ``name`` as in ``list_page``; ``kind`` is "" for a tag's."""

    name: str
    title: str
    kind: str
    notes: Sequence[Record]

    @cached_property
    def pages(self) -> dict[str, Sequence[Record]]:
        """The notes of each page: under "" the newest, then those of the months, newest first, that are not all among them."""
        if len(self.notes) <= 2 * PAGE_SIZE:
            return {"": self.notes}
        last = self.notes[-PAGE_SIZE - 1].created[:7]
        months = {month: tuple(same) for month, same in groupby(self.notes, key=lambda note: note.created[:7]) if month <= last}
        return {"": self.notes[-PAGE_SIZE:]} | {month or _UNDATED: months[month] for month in reversed(months)}

    def shown(self, month: str, marks: Mapping[str, str]) -> object:
        """Return all that a page shows, as a value that costs little to make; ``marks`` as in ``Notes``."""
        months = () if month else [(one, len(notes)) for one, notes in self.pages.items()]
        notes = [marks[note.path] for note in self.pages[month]]
        return self.title, self.kind, month, notes, months, 0 if month else len(self.notes)

    def page(self, month: str) -> View:
        """Return one page: the newest notes, or those of a month. See ``ListPage`` in the templates' README."""
        path = list_page(self.name, month)
        root = root_of(path)
        title = f"{self.title}, {_month_name(month)}" if month else self.title
        months = [*self.pages][1:]
        to = {one: root + encoded(list_page(self.name, one)) for one in self.pages}
        tags = (Link("Tags", root + TAGS),) if not self.kind else ()
        counted = (Counted(_month_name(one).removesuffix(f" {one[:4]}"), to[one], len(self.pages[one])) for one in months)
        by_year = groupby(zip(months, counted, strict=True), key=lambda one: one[0][:4].removeprefix(_UNDATED[:4]))
        return page_view(
            kind="list",
            path=path,
            title=title,
            description=title if month else f"{title}: {len(self.notes):,} in all",
            breadcrumbs=(*_home(root), *tags, *((Link(self.title, to[""]),) if month else ())),
            entries=tuple(
                Link(one.title, root + encoded(page_of(one.path)), one.kind, one.date, one.status, one.description, one.facts)
                for one in reversed(self.pages[month])
            ),
            total=0 if month else len(self.notes),
            years=() if month else tuple((year, tuple(one for _, one in same)) for year, same in by_year),
            newest=Link("Newest", to[""]) if month else None,
        )


def lists_of(notes: Notes) -> Iterator[NoteList]:
    """Yield all lists: those of the kinds, then those of the tags. A tag of a kind has the kind's list."""
    for name, kind in LISTS.items():
        yield NoteList(name, PLURALS[kind], kind, notes.of_kind[kind])
    for tag, (words, listed) in notes.tags.items():
        if tag_page(tag) == list_page(tag_list(tag)):
            yield NoteList(tag_list(tag), f"#{words}", "", listed)


def _month_name(month: str) -> str:
    """The month ``2026-11`` as a person would say it; what no calendar has as it is."""
    names = MONTHS[ENGLISH].split()
    if month == _UNDATED:
        return "without a day"
    return f"{names[int(month[5:]) - 1]} {month[:4]}" if 1 <= int(month[5:]) <= len(names) else month


def tags_page(notes: Notes) -> View:
    """Return the page of all tags by their first part, in the order of the alphabet: ``TagsPage`` in the templates' README."""
    root = root_of(TAGS)
    tags = [(tag.partition("/")[0] if "/" in tag else "", tag, words, len(listed)) for tag, (words, listed) in notes.tags.items()]
    groups = tuple(
        (part, tuple(Counted(words, root + encoded(tag_page(tag)), count) for _, tag, words, count in same))
        for part, same in groupby(sorted(tags), key=itemgetter(0))
    )
    return page_view("tags", TAGS, "Tags", "All tags of the notes", _home(root), groups=groups)


SEARCH_PAGE = page_view("search", "search.html", "Search", "Search all notes", _home(""))


def missing_page(site: Site) -> View:
    """Return the page for addresses without a page. It may be shown at any address, so its links are absolute."""
    top = urlsplit(site.url).path or "/"
    return page_view("404", "404.html", "No such page", "", (Link("Home", f"{top}index.html", "home"),), root=top)


def feed(site: Site, nights: Sequence[tuple[Record, str]]) -> bytes:
    """Return the feed of nights, newest first, each with its text as HTML.

    Without the site's address its links are relative to the feed.
    """
    updated = max((night.created for night, _ in nights), default="") or _EPOCH
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(site.title)}</title>",
        f"<id>{_id(site, '')}</id>",
        f"<updated>{_time(updated)}</updated>",
        f'<link rel="self" href="{_text(site.url + FEED)}"/>',
        f'<link rel="alternate" href="{_text(site.url or _TOP)}"/>',
    ]
    for night, content in nights:
        page = encoded(page_of(night.path))
        lines += [
            "<entry>",
            f"<title>{_text(night.title)}</title>",
            f"<id>{_id(site, page)}</id>",
            f"<updated>{_time(night.created or _EPOCH)}</updated>",
            f'<link rel="alternate" href="{_text(site.url + page)}"/>',
            f"<author><name>{_text(site.title)}</name></author>",
            f"<summary>{_text(' · '.join(filter(None, (night.description, *night.facts))))}</summary>",
            f'<content type="html">{_text(content)}</content>',
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>\n"]).encode("utf-8", "replace")


def _id(site: Site, page: str) -> str:
    """A permanent id: the page's address, or one made from its path if the site's address is not known."""
    if site.url:
        return _text(site.url + page)
    digest = digest_of(page.encode())
    return f"urn:uuid:{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _time(created: str) -> str:
    return f"{created}Z" if len(created) == len(_EPOCH) else f"{created[:10]}T00:00:00Z"


def _text(text: str) -> str:
    return escape(clean(text).translate(_NO_XML))


def site_map(site: Site, pages: Iterable[tuple[str, str]]) -> bytes:
    """Return the site map of pages, each with its day, "" if it has none."""
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *([] if site.url else ["<!-- settings: site_url in queries.yaml makes these addresses full -->"]),
    ]
    for page, day in sorted(pages):
        lines.append(f"<url><loc>{_text(site.url)}{encoded(page)}</loc>{f'<lastmod>{day}</lastmod>' if day else ''}</url>")
    return "\n".join([*lines, "</urlset>\n"]).encode("utf-8", "replace")


def mapped(data: bytes, url: str) -> set[str]:
    """Return the pages of a site map that was made with this address."""
    parts = data.decode("utf-8", "replace").split("<loc>")[1:]
    return {unquote(unescape(part.partition("</loc>")[0]).removeprefix(url)) for part in parts}
