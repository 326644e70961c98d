"""What the site's templates are given, one frozen value a page, and ``Layout``, which renders it.

Every ``href`` is relative to the page it stands on and percent-encoded, so that a site works in a sub-path and from a folder on
disk. A ``str`` is plain text, which the templates escape; ``Markup`` is HTML that was made harmless here. What
there is most of is a tuple with names, which is made in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from pipeline.config.workspace_files import later_templates
from pipeline.domain.state import status_words
from pipeline.site.paths import encoded
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.text.labels import ENGLISH, RIGHT_TO_LEFT, label

_ADVICE = Advice("templates/site/README.md", "the site is as it was")


class Link(NamedTuple):
    """A link to another page. ``kind`` is that note's kind ("" if it is none), ``date`` its day as ``2026-11-21`` or ""."""

    title: str
    href: str
    kind: str = ""
    date: str = ""


class Property(NamedTuple):
    """A property worth showing; ``name`` is its key in the note, ``label`` the words for it."""

    name: str
    label: str
    values: tuple[Link, ...]


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
    breadcrumbs: tuple[Link, ...]
    lang: str = field(default=ENGLISH, kw_only=True)

    @property
    def address(self) -> str:
        """Its path as it stands in an address, behind that of the site."""
        return "" if self.path == "index.html" else encoded(self.path)

    @property
    def dir(self) -> str:
        """``rtl`` for a language that is written from right to left, else ``auto``."""
        return "rtl" if self.lang.partition("-")[0] in RIGHT_TO_LEFT else "auto"


@dataclass(frozen=True, slots=True)
class NotePage(SitePage):
    """The page of one note.

    ``source`` is the note's path in the vault. ``heading`` is its first heading, which ``body`` no longer holds. ``created`` is
    ISO 8601 or "". ``status`` is "" where a note has none.
    """

    source: str
    heading: Markup
    created: str
    status: str
    body: Markup
    toc: tuple[Link, ...]
    properties: tuple[Property, ...]
    tags: tuple[Link, ...]
    citations: tuple[Citation, ...]
    backlinks: tuple[tuple[str, tuple[Link, ...]], ...]


class Entry(NamedTuple):
    """One note in a list. ``facts`` are its few telling properties, such as ``5 sources``; ``status`` as in ``NotePage``."""

    title: str
    href: str
    kind: str
    date: str
    status: str
    description: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """A month or a tag with the page of its notes; ``count`` of them."""

    title: str
    href: str
    count: int


@dataclass(frozen=True, slots=True)
class ListPage(SitePage):
    """The newest notes of a list, or those of one month.

    The first page alone has ``total``, the number of all notes, and ``years``, each with the months that have a page; a month's
    page leads to the month before and after, and to the ``newest``.
    """

    entries: tuple[Entry, ...]
    total: int
    years: tuple[tuple[str, tuple[Counted, ...]], ...]
    newest: Link | None
    newer: Link | None
    older: Link | None


@dataclass(frozen=True, slots=True)
class TagsPage(SitePage):
    """All tags, in the order of the alphabet, by their first part: ``topic``, ``status`` …; "" for those without parts."""

    groups: tuple[tuple[str, tuple[Counted, ...]], ...]


class Layout:
    """The templates in ``folder``: ``<name>.html.j2``."""

    def __init__(self, folder: Path) -> None:
        later = later_templates("site", "earlier.html.j2")
        environment = TemplateEnvironment(autoescape=True)
        environment.filters["status_words"] = status_words
        self._templates = TemplateFolder(folder, environment, _ADVICE, later)

    def digest(self, name: str) -> str:
        """Return the digest of a template and of all that it is made from."""
        return self._templates.version_of(f"{name}.html.j2")

    def check(self, name: str) -> None:
        """Compile a template and all that it is made from.

        Raises:
            TemplateInvalid: one of them is missing or cannot be parsed.
        """
        self._templates.check(f"{name}.html.j2")

    def render(self, name: str, site: Site, page: Any) -> bytes:
        """Return a page rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, or fails on this page.
        """
        given = {"site": site, "page": page, "t": lambda words: label(words, page.lang)}
        return self._templates.render(f"{name}.html.j2", given, page.path).encode("utf-8", "replace")
