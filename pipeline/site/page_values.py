"""What the site's templates are given, one map a page; ``Composer``, which makes those of notes; and ``Layout``.

Every ``href`` is relative to the page it stands on and percent-encoded, so that a site works in a sub-path and from a folder on
disk. A ``str`` is plain text, which the templates escape; ``Markup`` is HTML that was made harmless here. What there is most of
is a tuple with names, which is made in a third of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from pipeline.domain.summary import status_words
from pipeline.site.note_to_html import EARLIER, Record, href_of
from pipeline.site.paths import NAMES, PLURALS, Places, encoded, fragment, list_page, page_of, root_of
from pipeline.site.vault_reading import KINDS, OTHER, Notes, tag_page, values_of
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.text.cleaning import grouped
from pipeline.text.humanize import duration, money
from pipeline.text.translations import ENGLISH, RIGHT_TO_LEFT, label
from pipeline.vault.note import View

_TOP = "index.html"
_ADVICE = Advice("templates/site/README.md", "the site is as it was")


class Link(NamedTuple):
    """A link to another page. ``kind`` is that note's kind ("" if it is none), ``date`` its day as ``2026-11-21`` or "".

    In a list it has more of the note: ``status`` as in ``NotePage``; ``facts`` are telling properties, such as ``5 sources``.
    """

    title: str
    href: str
    kind: str = ""
    date: str = ""
    status: str = ""
    description: str = ""
    facts: Sequence[str] = ()


class Property(NamedTuple):
    """A property worth showing; ``name`` is its key in the note, ``label`` the words for it."""

    name: str
    label: str
    values: tuple[Link, ...]


class Quote(NamedTuple):
    """A quote that the page cites. ``anchor`` is its id on this page, ``href`` the quote in the source's own page.

    ``there`` opens the web page at it, or is "".
    """

    anchor: str
    text: str
    href: str
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


def page_view(
    kind: str, path: str, title: str, description: str, breadcrumbs: Sequence[Link], lang: str = ENGLISH, **more: object
) -> View:
    """Return what every page has, and ``more``. ``path`` is its place in the site, ``root`` the way from it to the site's top.

    ``lang`` is the code of its language. ``address`` is its path as it stands behind that of the site; ``dir`` the direction of
    its text: ``rtl``, or ``auto`` where the text itself says it.
    """
    return {
        "kind": kind,
        "path": path,
        "root": root_of(path),
        "title": title,
        "description": description,
        "breadcrumbs": breadcrumbs,
        "lang": lang,
        "address": "" if path == _TOP else encoded(path),
        "dir": "rtl" if lang.partition("-")[0] in RIGHT_TO_LEFT else "auto",
        **more,
    }


@dataclass(frozen=True, slots=True)
class Counted:
    """A month or a tag with the page of its notes; ``count`` of them."""

    title: str
    href: str
    count: int


class Layout:
    """The templates in ``folder``: ``<name>.html.j2``."""

    def __init__(self, folder: Path) -> None:
        environment = TemplateEnvironment(autoescape=True)
        environment.filters["status_words"] = status_words
        self._templates = TemplateFolder(folder, environment, _ADVICE)

    def digest(self, name: str) -> str:
        """Return the digest of a template and of all that it is made from."""
        return self._templates.version_of(f"{name}.html.j2")

    def render(self, name: str, site: Site, page: View) -> bytes:
        """Return a page rendered with its template.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, or fails on this page.
        """
        given = {"site": site, "page": page, "t": lambda words: label(words, page["lang"])}
        return self._templates.render(f"{name}.html.j2", given, page["path"]).encode("utf-8", "replace")


_COUNTS = {"sources", "facts", "words", "quotes", "tokens", "pages", "searches", "sessions", "reports", "workers", "events"}
_LABELS = {"source_url": "Address", "cost_usd": "Cost", "duration_s": "Time", "cited_by": "Cited by", "query": "Question"}


class Composer:
    """Composes the pages of one site."""

    def __init__(self, notes: Notes, places: Places) -> None:
        self._notes = notes
        self._places = places

    def page(self, note: Record) -> View:
        """Return a note's page: see ``NotePage`` in the templates' README."""
        path = page_of(note.path)
        root = root_of(path)
        linkers = grouped((one.kind, link(one, root)) for one in self._notes.linkers(note.path))
        properties = []
        for name, texts in note.properties:
            label = _LABELS.get(name) or name.replace("_", " ").replace("-", " ").capitalize()
            label = "Passages" if (name, note.status) == ("facts", "passages") else label
            properties.append(Property(name, label, tuple(self._shown(note, name, *value, root) for value in values_of(texts))))
        return page_view(
            kind="report" if note.kind == EARLIER else note.kind,
            path=path,
            source=note.path,
            title=note.title,
            heading=Markup(note.heading or escape(note.title)),  # noqa: S704 - made harmless when it was read
            description=note.description,
            created=note.created,
            status=note.status,
            body=Markup(note.html),  # noqa: S704 - likewise
            toc=tuple(Link(title, fragment(anchor)) for title, anchor in note.toc),
            properties=tuple(properties),
            tags=tuple(Link(tag, root + encoded(tag_page(tag))) for tag in note.tags),
            citations=self._citations(note, root),
            backlinks=tuple((PLURALS[kind], tuple(linkers[kind])) for kind in (*KINDS, OTHER) if kind in linkers),
            breadcrumbs=breadcrumbs(note.kind, root),
            lang=note.lang,
        )

    def _shown(self, note: Record, name: str, words: str, target: str, root: str) -> Link:
        if target:
            path = self._places.find(target, note.path)
            return Link(words, href_of(root, path) if path else "")
        if words.startswith(("https://", "http://")) and not any(map(str.isspace, words)):
            return Link(words, words)
        try:
            number = float(words)
        except ValueError:
            return Link(words, "")
        if name in ("cost_usd", "duration_s"):
            return Link(money(number) if name == "cost_usd" else duration(number), "")
        return Link(f"{int(words):,}" if name in _COUNTS and words.isdecimal() else words, "")

    def _citations(self, note: Record, root: str) -> tuple[Citation, ...]:
        """The cited sources in the order of their numbers, each with its quotes as they come."""
        cites = sorted(note.cites.values(), key=lambda cite: (int(cite.number), cite.path))
        found = []
        for (number, path), same in groupby(cites, key=lambda cite: (cite.number, cite.path)):
            source = self._notes.by_path.get(path, Record(path, OTHER, path, ""))
            page = root + encoded(page_of(path))
            quotes = []
            for cite in same:
                words, there = source.blocks.get(cite.block, ("", ""))
                quotes.append(Quote(cite.anchor, words, page + fragment(f"^{cite.block}"), there))
            place = " · ".join(filter(None, (source.place, f"read {source.date}" if source.date else "")))
            to = link(source, root) if path in self._notes.by_path else Link(path, "")  # a file that is no note has no page
            found.append(Citation(number, to, tuple(quotes), place))
        return tuple(found)


def link(note: Record, root: str) -> Link:
    """Return the link to a note's page."""
    return Link(note.title, root + encoded(page_of(note.path)), note.kind, note.date)


def breadcrumbs(kind: str, root: str) -> tuple[Link, ...]:
    """Return the breadcrumbs of a note of a kind."""
    if kind == "home":
        return ()
    return (Link("Home", root + _TOP, "home"), Link(PLURALS[kind], root + list_page(NAMES[kind])))
