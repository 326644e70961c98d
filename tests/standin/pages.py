"""A small web: articles, PDF and text files, robots.txt, walls and traps. ``GET`` of any path that no service owns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from urllib.parse import unquote

from tests.standin import searches, world
from tests.standin.options import State
from tests.standin.poison import POISONED, poisoned_document, poisoned_html, poisoned_pdf
from tests.standin.refusals import page_refusal
from tests.standin.wire import Reply, Request, text_reply
from tests.standin.world import Document, Section

_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)

_Page = Callable[[str, Request, State], Reply]
"""From the rest of the path, the request and the state to the reply."""


def page(request: Request, state: State) -> Reply:
    """Answer any path: 404 for those that name nothing, 304 when the client has the page already."""
    first, _, rest = request.path.strip("/").partition("/")
    made = PAGES[first](rest, request, state) if first in PAGES else page_refusal(404, request)
    return _unless_known(made, request, state) if made.status == 200 else made


def _unless_known(made: Reply, request: Request, state: State) -> Reply:
    """Add ETag and Last-Modified; 304 without a body when one of them was named in the request."""
    tag = f'"{hashlib.sha256(made.body).hexdigest()[:16]}"'
    changed = format_datetime(_FIRST_DAY + timedelta(days=state.revisions.get(request.path, 0)), usegmt=True)
    dated = made.with_headers(etag=tag, last_modified=changed)
    known = request.header("If-None-Match")
    same = tag in known if known else request.header("If-Modified-Since") == changed
    return Reply(304, b"", {"ETag": tag, "Last-Modified": changed}) if same else dated


# ---- articles --------------------------------------------------------------------------------------------------


def article_html(document: Document) -> str:
    """Return a document as a page of a usual site: navigation, headings with ids, comments, a footer."""
    body = "\n".join(_section_html(section) for section in document.sections)
    title = escape(document.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} | Stand-in</title>'
        f'<meta name="author" content="{escape(document.author)}">'
        f'<meta property="article:published_time" content="{document.published}">'
        '<style>.menu{color:red}</style><script>var tracker = "not text";</script></head><body>\n'
        '<nav><ul><li><a href="/">Home</a></li>'
        '<li><a href="/pages/1">First page</a></li><li><a href="/login/">Sign in</a></li></ul></nav>\n'
        f"<main><article><h1>{title}</h1>\n<p class='byline'>By {escape(document.author)}, "
        f"{document.published}</p>\n{body}\n</article></main>\n"
        "<section id='comments'><h3>Comments</h3><p>First! Great post, visit my site for cheap watches.</p></section>\n"
        "<footer><p>We use cookies. Accept all. All rights reserved.</p></footer></body></html>\n"
    )


def _section_html(section: Section) -> str:
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in section.paragraphs)
    return f'<h2 id="{section.anchor}">{escape(section.heading)}</h2>\n{paragraphs}'


def _html(document: Document | None, request: Request) -> Reply:
    if document is None:
        return page_refusal(404, request)
    return text_reply(article_html(document), media_type="text/html")


def _pages(rest: str, request: Request, state: State) -> Reply:
    revision = state.revisions.get(request.path, 0)
    return _html(world.document(int(rest), revision) if rest.isdigit() else None, request)


def _about(rest: str, request: Request, state: State) -> Reply:
    slug, _, variant = rest.rpartition("/")
    fits = slug and variant.isdigit()
    return _html(world.about(slug, int(variant), state.revisions.get(request.path, 0)) if fits else None, request)


def _wiki(rest: str, request: Request, state: State) -> Reply:
    return _html(searches.article(unquote(rest)), request)


def _poison(rest: str, request: Request, state: State) -> Reply:
    if not rest.isdigit() or not 1 <= int(rest) <= POISONED:
        return page_refusal(404, request)
    number, base = int(rest), state.base()
    if number in (10, 11):
        return Reply(200, poisoned_pdf(number, base), {"Content-Type": "application/pdf"})
    return text_reply(poisoned_html(number, base, article_html(poisoned_document(number))), media_type="text/html")


def _robots(rest: str, request: Request, state: State) -> Reply:
    return text_reply("User-agent: *\nDisallow: /private/\nCrawl-delay: 0\n")


def _canary(rest: str, request: Request, state: State) -> Reply:
    return text_reply("You should not have come here.")


PAGES: dict[str, _Page] = {
    "pages": _pages,
    "about": _about,
    "wiki": _wiki,
    "poison": _poison,
    "robots.txt": _robots,
    "canary": _canary,
}
