"""HTML → page text: the main content without navigation and other boilerplate.

A document with very deep nesting or very many attributes is refused before parsing: the parser's time is quadratic in both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pipeline.documents.html.html_blocks import HtmlWalker
from pipeline.documents.html.raised_and_lowered import spell_out_raised
from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed

MAX_DEPTH = 1_000
MAX_ATTRIBUTES = 500

_BOILERPLATE = ", ".join(
    (
        "script, style, noscript, template, nav, aside, footer, button, select, input, textarea, svg, iframe, object",
        "canvas, dialog, audio, video, [hidden], [aria-hidden=true], [style*='display:none'], [style*='display: none']",
        "[role=navigation], [role=search], [role=banner], [role=contentinfo], [role=complementary]",
        ".headerlink, .id_link, .anchor-link, .anchorjs-link, .header-anchor, .viewcode-link, .copybutton, .linenos, .lineno",
        ".footnote-reference, sup.reference, sup.footnote, .mw-editsection, .sphinxsidebar, .related, .navheader, .navfooter",
        ".breadcrumb, .breadcrumbs, .toc, #toc, .contents.topic, .toctree-wrapper, .navbar, .docnav",
        "#nav, #navigation, #navbar, #banner, .pagination, .pager, .prev-next-area, .edit-this-page, .skip-to-content",
        "[role=doc-toc], [role=menu], [role=menubar], [role=tablist]",
        "div.index, .genindex-jumpbox, .genindextable, .indextable, .modindextable",
        "div.footer, div.header, #footer, #header, .skip-link, .sr-only, .visually-hidden",
        ".note > h3.title, .tip > h3.title, .warning > h3.title, .caution > h3.title, .important > h3.title",
        ".note > table th, .tip > table th, .warning > table th, .caution > table th, .important > table th, .abstract > .title",
    )
)
_BOX_LABELS = ".admonition-title"
_BOILERPLATE_WITHOUT_HEADING = "header, form"
_BOILERPLATE_IF_MOSTLY_LINKS = ".sidebar, .nav, .navigation, .menu, #menu"  # in DocBook: boxes with text
_LINKED_SHARE = 0.5

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)")
_ATTRIBUTE = re.compile(r"[\s\"'/][^\s\"'/=<>]")
_VOID_NAMES = (
    "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option "
    "optgroup colgroup rt rp html head body"
)
_NOT_CLOSED = frozenset(_VOID_NAMES.split())
_SITE = re.compile(r"\s*[—–|·:»\-]\s")
_POOR_TITLE = re.compile(r"(?:index|untitled|home|document|welcome|title|[\W\d]*)\Z|.*\.(?:html?|php|md)\Z", re.IGNORECASE)
_LONGEST_TITLE = 500
_TITLE_HEADINGS = 5
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATE_NAMES = ("date", "dc.date", "dcterms.date", "article:published_time", "datepublished", "publish-date", "citation_date")


def read_html(source: str, name: str) -> Document:
    """Return the document in the HTML text ``source``; ``name`` is the title if it has none.

    Raises:
        ReadFailed: the document would take too long to parse, or holds no text.
    """
    refuse_costly_markup(source)
    tree = LexborHTMLParser(source)
    declared = _declared_title(tree)
    meta = _meta(tree)
    page = PageText()
    body = _main(tree)
    if body is not None:
        HtmlWalker(page).walk(body)
    if page.empty:
        raise ReadFailed("it holds no text other than navigation")
    title = _title(declared, page.headings[:_TITLE_HEADINGS]) or name
    published = next((found[0] for key in _DATE_NAMES if (found := _DATE.match(meta.get(key, "")))), "")
    return Document(title, page.rendered(title), "text/html", meta.get("author", "") or meta.get("dc.creator", ""), published)


def refuse_costly_markup(source: str) -> None:
    """Check, before parsing, that no element has too many attributes and none is nested too deep.

    Raises:
        ReadFailed: the markup exceeds ``MAX_DEPTH`` or ``MAX_ATTRIBUTES``; parsing it could take minutes.
    """
    depth = 0
    opened: dict[str, int] = {}
    for closing, raw, attributes in _TAG.findall(source):
        name = raw.lower()
        if len(attributes) > 2 * MAX_ATTRIBUTES and len(_ATTRIBUTE.findall(attributes)) > MAX_ATTRIBUTES:
            raise ReadFailed(f"an element has more than {MAX_ATTRIBUTES} attributes")
        if name in _NOT_CLOSED or attributes.endswith("/"):
            continue
        step = -1 if closing else 1
        if step > 0 or opened.get(name, 0):
            opened[name] = opened.get(name, 0) + step
            depth += step
        if depth > MAX_DEPTH:
            raise ReadFailed(f"its elements are nested more than {MAX_DEPTH} levels deep")


def _declared_title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("title")
    return squash(node.text(deep=True)) if node is not None else ""


def _title(declared: str, headings: Sequence[str]) -> str:
    """Return the page's title, without the name of its site or book.

    If a part of the declared title equals a heading, that heading is the title; of several, the one named first. A
    meaningless declared title such as "index" or a number is replaced by the first heading.
    """
    first = headings[0] if headings else ""
    if first and declared.casefold().startswith(first.casefold()) and _SITE.match(declared[len(first) :] + " "):
        return first
    parts = [part.casefold() for part in _SITE.split(declared[:_LONGEST_TITLE])]
    known = {heading.casefold(): heading for heading in reversed(headings)}
    own = next((known[part] for part in parts if part in known), "") or _trailing_heading(declared, first)
    meaningful = declared if not declared.startswith("<no title>") else ""
    return own or (first if _POOR_TITLE.match(meaningful) else meaningful) or meaningful or first


def _trailing_heading(declared: str, heading: str) -> str:
    """Return ``heading`` if ``declared`` ends with a separator and this heading, else ""."""
    before = declared.casefold().removesuffix(heading.casefold()) if heading else declared
    return heading if len(before) < len(declared) and re.search(r"[—–|·:»\-]\s*\Z", before) else ""


def _meta(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        key = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
        found.setdefault(key, squash(attributes.get("content") or ""))
    return found


def _main(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the element with the main content, without boilerplate and with ``br`` replaced by line breaks."""
    body = tree.body
    if body is None:
        return None
    _drop_boilerplate(body)
    for node in body.css("br"):
        node.replace_with("\n")
    spell_out_raised(body)
    mains = body.css("main, [role=main]") or body.css("article")
    best = max(mains, key=lambda node: len(node.text(deep=True)), default=None)
    return best if best is not None and best.text(deep=True).strip() else body


def _drop_boilerplate(body: LexborNode) -> None:
    for node in body.css(_BOILERPLATE_WITHOUT_HEADING):
        if node.css_first("h1") is None:
            node.decompose()
    for node in body.css(_BOILERPLATE):
        node.decompose()
    for node in body.css(_BOILERPLATE_IF_MOSTLY_LINKS):
        linked = sum(len(link.text(deep=True)) for link in node.css("a[href]"))
        if linked > _LINKED_SHARE * len(node.text(deep=True)):
            node.decompose()
    for node in body.css(_BOX_LABELS):
        if len(node.text(deep=True).split()) < 3:
            node.decompose()
    for node in body.css("h1 a, h2 a, h3 a, h4 a, h5 a, h6 a, dt a"):
        if node.text(deep=True).strip() in ("¶", "#", "§", "🔗"):
            node.decompose()
