"""Excerpts of pages that are too long for a prompt: verbatim parts in the page's order, with omissions marked."""

from __future__ import annotations

import re
from collections.abc import Collection

from pipeline.text.normalise import tokens

OMITTED = "[…]"

_ANCHOR = re.compile(r"#{1,6} .*\{#([^{}\s]+)\}\Z")


def excerpt(text: str, focus: Collection[str], limit: int) -> str:
    """Return ``text`` in at most about ``limit`` tokens: the sections at the anchors ``focus`` first, then from the beginning."""
    if tokens(text) <= limit:
        return text
    parts = text.split("\n\n")
    left, kept = limit, set[int]()
    for place in _by_priority(parts, focus):
        cost = tokens(parts[place]) + 4
        if cost <= left:
            kept.add(place)
            left -= cost
    if not kept:
        return parts[0].encode()[: limit * 3].decode("utf-8", "ignore") + f"\n\n{OMITTED}"
    return "\n\n".join(_with_gaps(parts, kept))


def _by_priority(parts: list[str], focus: Collection[str]) -> list[int]:
    """Return the parts' indices: the title, then the parts below a focused heading, then the others."""
    wanted: dict[int, None] = {0: None}
    inside = False
    for place, part in enumerate(parts):
        if part.startswith("#"):
            found = _ANCHOR.match(part)
            inside = bool(found) and found[1] in focus if found else False
        if inside:
            wanted[place] = None
    return list(wanted | dict.fromkeys(range(len(parts))))


def _with_gaps(parts: list[str], kept: set[int]) -> list[str]:
    lines: list[str] = []
    for place, part in enumerate(parts):
        if place in kept:
            lines.append(part)
        elif not lines or lines[-1] != OMITTED:
            lines.append(OMITTED)
    return lines
