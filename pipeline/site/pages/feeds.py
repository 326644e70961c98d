"""The Atom feed of reports and nights, and the site map. They contain only times of the notes, so every build makes the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from pipeline.site.note_record import Face
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import encoded, page_of
from pipeline.text.normalise import clean, digest_of

FEED, MAP = "feed.xml", "sitemap.xml"
Address = tuple[str, str]  # a page's site path and its day, "" if it has none
NEWEST = 30  # entries in the feed
LIMIT = 50_000  # addresses in a file of the site map (sitemaps.org)
_NO_XML = re.compile("[\ufffe\uffff]")  # what no XML may hold
_TOP = "index.html"
_EPOCH = "1970-01-01T00:00:00"


class Item(NamedTuple):
    """An entry of the feed: a note's face, and its text as HTML ("" for its description alone)."""

    face: Face
    content: str = ""


def feed(site: Site, items: Sequence[Item]) -> bytes:
    """Return the feed of these notes, newest first. Without the site's address its links are relative to the feed."""
    updated = max((item.face.created for item in items), default="") or _EPOCH
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(site.title)}</title>",
        f"<id>{_id(site, '')}</id>",
        f"<updated>{_time(updated)}</updated>",
        f'<link rel="self" href="{_text(site.url + FEED)}"/>',
        f'<link rel="alternate" href="{_text(site.url or _TOP)}"/>',
        *(line for item in items for line in _entry(site, item)),
        "</feed>",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _entry(site: Site, item: Item) -> Iterable[str]:
    report = item.face
    page = encoded(page_of(report.path))
    yield "<entry>"
    yield f"<title>{_text(report.label + report.title)}</title>"
    yield f"<id>{_id(site, page)}</id>"
    yield f"<updated>{_time(report.created or _EPOCH)}</updated>"
    yield f'<link rel="alternate" href="{_text(site.url + page)}"/>'
    yield f"<author><name>{_text(site.title)}</name></author>"
    yield f"<summary>{_text(' · '.join(filter(None, (report.description, *report.facts))))}</summary>"
    if item.content:
        yield f'<content type="html">{_text(item.content)}</content>'
    yield "</entry>"


def _id(site: Site, page: str) -> str:
    """A permanent id: the page's address, or one made from its path if the site's address is not known."""
    if site.url:
        return _text(site.url + page)
    digest = digest_of(page.encode())
    return f"urn:uuid:{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _time(created: str) -> str:
    return f"{created}Z" if len(created) == len(_EPOCH) else f"{created[:10]}T00:00:00Z"


def _text(text: str) -> str:
    return escape(_NO_XML.sub("", clean(text)))


def site_maps(site: Site, pages: Iterable[Address]) -> dict[str, bytes]:
    """Return the site map by site path: one file, or several and an index of them, as one may hold ``LIMIT`` addresses."""
    top = _text(site.url)
    lines = [
        f"<url><loc>{top}{encoded(page)}</loc>{f'<lastmod>{day}</lastmod>' if day else ''}</url>" for page, day in sorted(pages)
    ]
    if len(lines) <= LIMIT:
        return {MAP: _map(site, "urlset", lines)}
    parts = range(0, len(lines), LIMIT)
    files = {f"sitemap-{start // LIMIT + 1}.xml": _map(site, "urlset", lines[start : start + LIMIT]) for start in parts}
    index = (f"<sitemap><loc>{top}{file}</loc></sitemap>" for file in files)
    return {MAP: _map(site, "sitemapindex", index), **files}


def _map(site: Site, name: str, lines: Iterable[str]) -> bytes:
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<{name} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    hint = "" if site.url else "<!-- settings: site_url in queries.yaml makes these addresses full -->\n"
    return (head + hint + "\n".join(lines) + f"\n</{name}>\n").encode("utf-8", "replace")
