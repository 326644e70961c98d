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

LARGEST_NEST = 200_000
_FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)

_Page = Callable[[str, Request, State], Reply]
"""From the rest of the path, the request and the state to the reply."""


def page(request: Request, state: State) -> Reply:
    """Answer any path: 404 for those that name nothing, 304 when the client has the page already."""
    first, _, rest = request.path.strip("/").partition("/")
    made = PAGES.get(first, _nothing)(rest, request, state)
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


def _numbered(rest: str, request: Request, state: State) -> Document | None:
    number = rest
    return world.document(int(number), state.revisions.get(request.path, 0)) if number.isdigit() else None


def _pages(rest: str, request: Request, state: State) -> Reply:
    return _html(_numbered(rest, request, state), request)


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


# ---- walls and traps ---------------------------------------------------------------------------------------------


def _login(rest: str, request: Request, state: State) -> Reply:
    """A wall that is honest about nothing: status 200, a form, and one sentence of the article."""
    text = (
        "<!doctype html><html><head><title>Sign in to continue</title></head><body><h1>Sign in to continue reading</h1>"
        "<p>This article is for subscribers.</p><form action='/login/' method='post'><input name='email' type='email'>"
        "<input name='password' type='password'><button>Sign in</button></form><p>Create a free account.</p></body></html>"
    )
    return text_reply(text, media_type="text/html")


def _captcha(rest: str, request: Request, state: State) -> Reply:
    text = (
        "<!doctype html><html><head><title>Are you a robot?</title></head><body><h1>Verify you are human</h1>"
        "<div class='g-recaptcha' data-sitekey='standin'></div><div id='cf-challenge'></div>"
        "<p>Please complete the security check to access this page. Enable JavaScript and cookies to continue.</p></body></html>"
    )
    return text_reply(text, media_type="text/html")


def _shell(rest: str, request: Request, state: State) -> Reply:
    """A page that is all program: nothing to read without running it."""
    text = (
        "<!doctype html><html><head><title>App</title><script src='/app.js' defer></script></head><body><div id='root'></div>"
        "<noscript>You need to enable JavaScript to run this app.</noscript></body></html>"
    )
    return text_reply(text, media_type="text/html")


def _nest(rest: str, request: Request, state: State) -> Reply:
    """``/nest/<depth>``: so many elements inside each other."""
    depth = min(int(rest) if rest.isdigit() else 20_000, LARGEST_NEST)
    return text_reply("<div>" * depth + "<p>At the bottom.</p>" + "</div>" * depth, media_type="text/html")


def _attributes(rest: str, request: Request, state: State) -> Reply:
    """``/attributes/<count>``: one element with so many attributes."""
    count = min(int(rest) if rest.isdigit() else 20_000, LARGEST_NEST)
    return text_reply("<p " + " ".join(f"a{at}='1'" for at in range(count)) + ">Text.</p>", media_type="text/html")


def _hop(rest: str, request: Request, state: State) -> Reply:
    """``/hop/<n>?to=url``: n - 1 redirects more, then the address."""
    left, goal = int(rest) - 1 if rest.isdigit() else 0, request.query.get("to", "/")
    place = goal if left <= 0 else request.target.replace(f"/hop/{rest}", f"/hop/{left}", 1)
    return Reply(302, b"", {"Location": place})


def _robots(rest: str, request: Request, state: State) -> Reply:
    return text_reply("User-agent: *\nDisallow: /private/\nCrawl-delay: 0\n")


def _private(rest: str, request: Request, state: State) -> Reply:
    return _html(world.document(1), request)


def _gone(rest: str, request: Request, state: State) -> Reply:
    return page_refusal(410, request)


def _canary(rest: str, request: Request, state: State) -> Reply:
    return text_reply("You should not have come here.")


def _picture(rest: str, request: Request, state: State) -> Reply:
    return Reply(200, b"\x89PNG\r\n\x1a\n", {"Content-Type": "image/png"})


def _nothing(rest: str, request: Request, state: State) -> Reply:
    return page_refusal(404, request)


PAGES: dict[str, _Page] = {
    "pages": _pages,
    "about": _about,
    "wiki": _wiki,
    "poison": _poison,
    "login": _login,
    "captcha": _captcha,
    "shell": _shell,
    "nest": _nest,
    "attributes": _attributes,
    "hop": _hop,
    "robots.txt": _robots,
    "private": _private,
    "gone": _gone,
    "canary": _canary,
    "favicon.png": _picture,
}
