"""Removal of hidden text (a carrier of prompt injection) and of boilerplate such as menus and share boxes from HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

# CSS that makes text invisible, in an attribute or a style sheet.
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(?:;|!|\Z)"
    r"|font(?:-size)?\s*:\s*0*\.?[01]?(?:px|pt|em|rem|%)?\s*(?:;|!|\Z)|text-indent\s*:\s*-\d{3}|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(0)"
    r"|clip\s*:\s*rect\(\s*(?:0|1px)|(?:left|top|right)\s*:\s*-\d{3,}|(?:max-)?(?:height|width)\s*:\s*0(?:px)?\s*(?:;|!|\Z)"
    r"|color\s*:\s*(?:transparent|rgba\([^)]{0,40},\s*0?\.?0\s*\))|transform\s*:\s*scale\(\s*0\s*\)",
    re.IGNORECASE,
)
_WHITE = r"(?:white|#fff(?:fff)?\b|rgb\(\s*255\s*,\s*255\s*,\s*255\s*\))"
_WHITE_TEXT = re.compile(rf"(?:^|;)\s*color\s*:\s*{_WHITE}", re.IGNORECASE)
_BACKGROUND = re.compile(r"background", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.{0,20000}?\*/", re.DOTALL)
_CONDITIONAL = re.compile(r"@[^{};]{0,300}\{(?:[^{}]{0,5000}\{[^{}]{0,5000}\}){0,500}[^{}]{0,5000}\}")
_RULE = re.compile(r"([^{}]{1,1000})\{([^{}]{0,5000})\}")
_SIMPLE = re.compile(r"[a-zA-Z0-9 .#_>-]{1,120}\Z")
_MAX_RULES = 300

_NAMES = (
    "cookies?|consent|gdpr|newsletter|subscribe|signup|popup|modal|share|sharing|social|comments?|disqus|related|recommended"
    "|promo|sponsor(?:ed)?|advert(?:isement)?|ads?|pagination|pager|sidebar|navbar|navigation|menu|breadcrumbs?|footer|masthead"
    "|toolbar|skip-?links?"
)
_CLASS = re.compile(rf"(?:^|[\s_-])(?:{_NAMES})(?:$|[\s_-])", re.IGNORECASE)
# An id must match as a whole, because it may also name a section that is about menus.
_ID = re.compile(rf"(?:{_NAMES})\Z", re.IGNORECASE)
_LARGEST_SHARE = 0.3


def visible_content(source: str) -> str:
    """Return the HTML ``source`` without hidden elements and boilerplate."""
    tree = LexborHTMLParser(source)
    if tree.body is None:
        return source
    for node in _hidden(tree):
        node.decompose()
    _drop_boilerplate(tree.body)
    return tree.html or source


def _hidden(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """Yield the elements that are hidden by inline styles or by the page's own style sheets."""
    for node in tree.css("body [style]"):
        style = node.attributes.get("style") or ""
        if _INVISIBLE.search(style) or (_WHITE_TEXT.search(style) and not _BACKGROUND.search(style)):
            yield node
    for selector in _hiding_selectors(tree):
        try:
            found = tree.css(selector)
        except (SelectolaxError, ValueError):
            continue
        yield from (node for node in found if node.tag not in ("html", "body", "main", "article"))


def _hiding_selectors(tree: LexborHTMLParser) -> list[str]:
    sheets = "\n".join(node.text(deep=True) for node in tree.css("style"))[:200_000]
    plain = _CONDITIONAL.sub("", _COMMENT.sub("", sheets))
    found: list[str] = []
    for rule in _RULE.finditer(plain):
        if _INVISIBLE.search(rule[2]):
            found += [name.strip() for name in rule[1].split(",") if _SIMPLE.match(name.strip())]
    return found[:_MAX_RULES]


def _drop_boilerplate(body: LexborNode) -> None:
    """Drop elements whose class or id names boilerplate, unless they hold a large share of the page's text."""
    whole = len(body.text(deep=True)) or 1
    for node in body.css("div[class], div[id], section[class], ul[class], ul[id], aside, nav"):
        named = _CLASS.search(node.attributes.get("class") or "") or _ID.match(node.attributes.get("id") or "")
        if (
            (named or node.tag in ("aside", "nav"))
            and len(node.text(deep=True)) < _LARGEST_SHARE * whole
            and node.css_first("h1") is None
        ):
            node.decompose()
