"""Takes out of a page's HTML what no reader sees: text written for machines to read, and the furniture of web sites."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

# How text is made invisible, in an attribute or a style sheet.
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(?:;|!|\Z)"
    r"|font(?:-size)?\s*:\s*0*\.?[01]?(?:px|pt|em|rem|%)?\s*(?:;|!|\Z)|text-indent\s*:\s*-\d{3}|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(0)"
    r"|clip\s*:\s*rect\(\s*(?:0|1px)|(?:left|top|right)\s*:\s*-\d{3,}|(?:max-)?(?:height|width)\s*:\s*0(?:px)?\s*(?:;|!|\Z)"
    r"|color\s*:\s*(?:transparent|rgba\([^)]{0,40},\s*0?\.?0\s*\))|transform\s*:\s*scale\(\s*0\s*\)",
    re.IGNORECASE,
)
_WHITE = r"(?:white|#fff(?:fff)?\b|rgb\(\s*255\s*,\s*255\s*,\s*255\s*\))"
_WHITE_TEXT = re.compile(rf"(?:^|;)\s*color\s*:\s*{_WHITE}", re.IGNORECASE)
_ANY_GROUND = re.compile(r"background", re.IGNORECASE)
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
_IN_CLASS = re.compile(rf"(?:^|[\s_-])(?:{_NAMES})(?:$|[\s_-])", re.IGNORECASE)
# An id is also the name of a section, which may well be about menus.
_AS_ID = re.compile(rf"(?:{_NAMES})\Z", re.IGNORECASE)
_FURNITURE_SHARE = 0.3


def visible(source: str) -> str:
    """Return the HTML ``source`` without what is hidden and without furniture."""
    tree = LexborHTMLParser(source)
    if tree.body is None:
        return source
    for node in _hidden(tree):
        node.decompose()
    _drop_furniture(tree.body)
    return tree.html or source


def _hidden(tree: LexborHTMLParser) -> Iterator[LexborNode]:
    """Yield the elements that inline styles, the page's own style sheets, or attributes hide."""
    for node in tree.css("body [style]"):
        style = node.attributes.get("style") or ""
        if _INVISIBLE.search(style) or (_WHITE_TEXT.search(style) and not _ANY_GROUND.search(style)):
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


def _drop_furniture(body: LexborNode) -> None:
    """Drop elements whose class or id names furniture, unless they hold much of the page's text."""
    whole = len(body.text(deep=True)) or 1
    for node in body.css("div[class], div[id], section[class], ul[class], ul[id], aside, nav"):
        named = _IN_CLASS.search(node.attributes.get("class") or "") or _AS_ID.match(node.attributes.get("id") or "")
        if (
            (named or node.tag in ("aside", "nav"))
            and len(node.text(deep=True)) < _FURNITURE_SHARE * whole
            and node.css_first("h1") is None
        ):
            node.decompose()
