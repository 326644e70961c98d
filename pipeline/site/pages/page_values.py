"""What the site's templates are given: one frozen value a page.

Every ``href`` is relative to the page it stands on and percent-encoded, so that a site works in a sub-path and from a folder on
disk. A ``str`` is plain text, which the templates escape; ``Markup`` is HTML that was made harmless here. What
there is most of is a tuple with names, which is made in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from markupsafe import Markup

from pipeline.text.labels import ENGLISH, RIGHT_TO_LEFT


class Link(NamedTuple):
    """A link to another page. ``kind`` is that note's kind ("" if it is none), ``date`` its day as ``2026-11-21`` or ""."""

    title: str
    href: str
    kind: str = ""
    date: str = ""


class Group(NamedTuple):
    """Links to notes of one kind; ``title`` names the kind in the plural."""

    kind: str
    title: str
    links: tuple[Link, ...]


class Heading(NamedTuple):
    """An entry of the table of contents; ``level`` 2 or 3."""

    level: int
    title: str
    href: str


class Shown(NamedTuple):
    """One value of a property; ``href`` is "" for plain text. ``text`` of a date is its ISO form."""

    text: str
    href: str = ""


class Property(NamedTuple):
    """A property worth showing; ``name`` is its key in the note, ``label`` the words for it."""

    name: str
    label: str
    values: tuple[Shown, ...]


class Quote(NamedTuple):
    """A quote that the page cites. ``anchor`` is its id on this page, ``href`` the quote in the source's own page.

    ``before`` and ``after`` are the sentences around it, ``standing`` who confirms or disputes it, ``there`` its address on the
    web; each may be "".
    """

    anchor: str
    text: str
    href: str
    before: str = ""
    after: str = ""
    standing: str = ""
    there: str = ""


class Citation(NamedTuple):
    """A source that the page cites by ``number``, with the quotes that it takes from it, in the order of their first use.

    ``place`` says where it is and of when: its host and its date, as far as they are known.
    """

    number: str
    source: Link
    quotes: tuple[Quote, ...]
    place: str = ""


@dataclass(frozen=True, slots=True)
class Site:
    """What all pages share. ``nav`` holds site paths, to be put behind ``page.root``; ``url`` ends in ``/`` or is ""."""

    title: str
    url: str
    nav: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class SitePage:
    """What every page has. ``path`` is its place in the site, ``root`` the way from it to the site's top ("" or ``../../``).

    ``lang`` is the code of its language; ``dir`` the direction of its text: ``rtl``, or ``auto`` where the text itself says it.
    """

    kind: str
    path: str
    root: str
    title: str
    description: str
    canonical: str
    breadcrumbs: tuple[Link, ...]
    lang: str = field(default=ENGLISH, kw_only=True)

    @property
    def dir(self) -> str:
        """``rtl`` for a language that is written from right to left, else ``auto``."""
        return "rtl" if self.lang.partition("-")[0] in RIGHT_TO_LEFT else "auto"


@dataclass(frozen=True, slots=True)
class NotePage(SitePage):
    """The page of one note.

    ``source`` is the note's path in the vault. ``heading`` is its first heading, which ``body`` no longer holds. ``created`` is
    ISO 8601 or "". ``status`` is "" where a note has none.
    ``previous`` is the older neighbour of its kind, ``next`` the newer one.
    """

    source: str
    heading: Markup
    created: str
    status: str
    body: Markup
    toc: tuple[Heading, ...]
    properties: tuple[Property, ...]
    tags: tuple[Link, ...]
    citations: tuple[Citation, ...]
    outgoing: tuple[Group, ...]
    backlinks: tuple[Group, ...]
    previous: Link | None
    next: Link | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One note in a list. ``facts`` are its few telling properties, such as ``5 sources``; ``status`` as in ``NotePage``.

    ``anchor`` is its id on the page if it is the first one there of its month, else "".
    """

    title: str
    href: str
    kind: str
    date: str
    status: str
    description: str
    facts: tuple[str, ...]
    anchor: str


@dataclass(frozen=True, slots=True)
class Month:
    """A month with the place in a list where its notes begin; ``count`` of them. ``title`` is its name."""

    title: str
    href: str
    count: int


@dataclass(frozen=True, slots=True)
class Year:
    """The months of a year, newest first; ``title`` is "" for what has no day."""

    title: str
    months: tuple[Month, ...]


@dataclass(frozen=True, slots=True)
class ListPage(SitePage):
    """One leaf of a list of notes: those of a kind, or those with a tag.

    ``list_kind`` is the kind that is listed, "" for a tag's list. The first leaf holds the newest notes: it alone has ``total``,
    the number of all, and ``years``, which lead to what is older. Each other leaf holds one ``hundred``, such as ``601–700``,
    counted from the oldest note, and ``near`` are links to hundreds around it, itself among them.
    """

    list_kind: str
    entries: tuple[Entry, ...]
    total: int
    hundred: str
    near: tuple[Link, ...]
    newest: Link | None
    newer: Link | None
    older: Link | None
    oldest: Link | None
    years: tuple[Year, ...]


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag with the list of its notes; ``count`` of them."""

    title: str
    href: str
    count: int


@dataclass(frozen=True, slots=True)
class TagsPage(SitePage):
    """All tags, in the order of the alphabet, by their first part: ``topic``, ``status`` …; "" for those without parts."""

    groups: tuple[tuple[str, tuple[TagCount, ...]], ...]


@dataclass(frozen=True, slots=True)
class PlainPage(SitePage):
    """A page without content of its own: the search, and what is shown where there is no page."""
