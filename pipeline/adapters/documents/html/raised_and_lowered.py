"""What raised and lowered characters mean in plain text: ``2^32`` for a power, H₂O for an index, nothing for a footnote."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

_POWER = re.compile(r"[+\-−–]?(?:\d{1,6}|[A-Za-z]|\d{0,3}[+\-−])\Z")
_FOOTNOTE = re.compile(r"\[\s*\w{1,12}\s*\]\Z|[*†‡§]\Z")
_INDEX = re.compile(r"[\d+\-−=()]{1,6}\Z")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_SAID_TWICE = re.compile(r"(?<=\w)( ?)&amp;(?= ?\w)(?!\w{1,8};)")


def spell_out_raised(body: LexborNode) -> None:
    """Put plain characters in place of all ``sup`` and ``sub`` elements of ``body``."""
    for node in body.css("sup, sub"):
        text = node.text(deep=True).strip()
        follows = _follows_a_word(node)
        if node.tag == "sub":
            node.replace_with(text.translate(_LOWERED) if follows and _INDEX.match(text) else text)
        elif _FOOTNOTE.match(text) or _is_link(node, text):
            node.decompose()
        else:
            node.replace_with(f"^{text}" if follows and _POWER.match(text) else text)


def undoubled(text: str) -> str:
    """Return ``text`` with a sign resolved that was encoded twice: ``Q&amp;A`` between words."""
    return _SAID_TWICE.sub(r"\1&", text) if "&amp;" in text else text


def _follows_a_word(node: LexborNode) -> bool:
    before = node.prev
    said = before.text(deep=True) if before is not None else ""
    return bool(said) and (said[-1].isalnum() or said[-1] in ")]")


def _is_link(node: LexborNode, text: str) -> bool:
    links = node.css("a[href]")
    return bool(links) and "".join(link.text(deep=True) for link in links).strip() == text
