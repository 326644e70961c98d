"""Detection of soft 404s: captchas, log-ins, consent walls, errors, parked domains and empty shells sent with status 200."""

from __future__ import annotations

import re

MOST_WORDS = 250
_SHELL_WORDS = 40

_CHECKS = (
    (
        "it shows a captcha instead of the page",
        r"just a moment|verify(?:ing)? (?:that )?you are (?:a )?human|are you (?:a )?(?:human|robot)|not a robot|captcha"
        r"|unusual traffic|checking (?:if the site connection is secure|your browser)|ddos protection by|bot detection"
        r"|attention required! \| cloudflare|press (?:&|and) hold to confirm|enable javascript and cookies to continue",
    ),
    (
        "it requires a log-in or a subscription",
        r"(?:log|sign) ?in to (?:continue|view|read|access|your account)|please (?:log|sign) ?in"
        r"|you must (?:be logged|log|sign) ?in|login required"
        r"|subscribe to (?:continue|read|unlock)|subscribers? only|create (?:a free|an) account to"
        r"|already a (?:subscriber|member)\?|this (?:content|article) is (?:reserved )?for (?:subscribers|members)",
    ),
    ("it requires consent before it shows the page", r"before you continue|we value your privacy|accept (?:all )?cookies to"),
    (
        "it says that there is no such page",
        r"\A\W*(?:error )?404\b|page (?:was )?not found|(?:page|file) (?:you (?:are looking for|requested) )?(?:does not|doesn.t)"
        r" exist|page (?:is )?no longer (?:available|exists)",
    ),
    (
        "it is an error or a block in place of the page",
        r"access (?:to this page has been )?denied|request blocked|403 forbidden|service (?:is )?(?:temporarily )?unavailable"
        r"|bad gateway|internal server error|under maintenance|too many requests|rate limit(?:ed| exceeded)",
    ),
    ("the domain is parked", r"domain (?:name )?(?:is|may be) for sale|buy this domain|domain is parked"),
)
_PATTERNS = tuple((why, re.compile(pattern, re.IGNORECASE)) for why, pattern in _CHECKS)
_PASSWORD = re.compile(r"""<input[^>]{0,300}type\s{0,5}=\s{0,5}["']?password""", re.IGNORECASE)
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_NO_WORDS = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>", re.IGNORECASE | re.DOTALL)
_SHELL = "it is an empty shell that JavaScript would fill"
_WANTS_SCRIPT = re.compile(r"(?:enable|requires?|needs?|turn on|without) javascript", re.IGNORECASE)


def soft_404_reason(source: str, title: str, text: str) -> str:
    """Return why a reply with status 200 is no real page, or "". ``source`` is its HTML, ``text`` the extracted text.

    A page with more than ``MOST_WORDS`` words always counts as real: it may be an article about captchas.
    """
    words = len(text.split())
    if words > MOST_WORDS:
        return ""
    for why, pattern in _PATTERNS:
        if pattern.search(title) or pattern.search(text):
            return why
    if _PASSWORD.search(source):
        return "it requires a log-in or a subscription"
    return _SHELL if words < _SHELL_WORDS and _is_shell(source) else ""


def _is_shell(source: str) -> bool:
    """Return whether the HTML has hardly any words, navigation included, but has scripts."""
    if not _SCRIPT.search(source):
        return False
    written = len(_NO_WORDS.sub(" ", source).split())
    return written < _SHELL_WORDS and (len(source) > 1_000 or bool(_WANTS_SCRIPT.search(source)))
