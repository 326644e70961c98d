"""HTML ``sup`` and ``sub`` → plain text: ``2^32`` for a power, H₂O for an index; footnote marks are removed."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

_POWER = re.compile(r"[+\-−–]?(?:\d{1,6}|[A-Za-z]|\d{0,3}[+\-−])\Z")
_FOOTNOTE = re.compile(r"\[\s*\w{1,12}\s*\]\Z|[*†‡§]\Z")
_INDEX = re.compile(r"[\d+\-−=()]{1,6}\Z")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_DOUBLE_ENCODED = re.compile(r"(?<=\w)( ?)&amp;(?= ?\w)(?!\w{1,8};)")


def spell_out_raised(body: LexborNode) -> None:
    """Replace all ``sup`` and ``sub`` elements of ``body`` with plain characters."""
    for node in body.css("sup, sub"):
        text = node.text(deep=True).strip()
        follows = _follows_a_word(node)
        if node.tag == "sub":
            node.replace_with(text.translate(_LOWERED) if follows and _INDEX.match(text) else text)
        elif _FOOTNOTE.match(text) or _is_link(node, text):
            node.decompose()
        else:
            node.replace_with(f"^{text}" if follows and _POWER.match(text) else text)


def without_double_encoding(text: str) -> str:
    """Return ``text`` with a doubly encoded ampersand between words resolved: ``Q&amp;A`` becomes ``Q&A``."""
    return _DOUBLE_ENCODED.sub(r"\1&", text) if "&amp;" in text else text


def _follows_a_word(node: LexborNode) -> bool:
    before = node.prev
    text = before.text(deep=True) if before is not None else ""
    return bool(text) and (text[-1].isalnum() or text[-1] in ")]")


def _is_link(node: LexborNode, text: str) -> bool:
    links = node.css("a[href]")
    return bool(links) and "".join(link.text(deep=True) for link in links).strip() == text
