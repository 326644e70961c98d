"""What the printed page left in a text file: headers and footers, form feeds, words cut at the ends of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_CUT = re.compile(r"([^\W\d_]{1,40})(?:-|\u00ad)\n[ \t]*([a-zß-öø-ÿ]\w{0,40})(?!\w)")
_WORD = re.compile(r"[^\W\d_]\w{0,40}(?:-\w{1,40}){0,3}")
# Words that are written with a hyphen before another, though they need not stand alone in the document.
_FIRST_PARTS = "non self multi half well cross read write so low high long short third pseudo semi quasi ex all"
_PARTS = frozenset(_FIRST_PARTS.split())
_FOOTER = re.compile(r".{0,200}\[?\bPage \d{1,5}\]?\s*\Z|\s*-? ?\d{1,5} ?-?\s*\Z", re.IGNORECASE)
_ENDED = (".", "!", "?", ":", ";")
_FEWEST_PAGES = 3


def without_page_edges(source: str) -> str:
    """Return ``source`` without form feeds, and without the headers and footers that stand beside them.

    A paragraph that went on over such a page's edge goes on.
    """
    if "\f" not in source:
        return source
    pages = [page.split("\n") for page in source.split("\f")]
    heads = Counter(_alike(line) for page in pages if (line := _first(page)))
    feet = Counter(_alike(line) for page in pages if (line := _first(page[::-1])))
    often = max(_FEWEST_PAGES, len(pages) // 3)
    kept = [_bare(page, heads, feet, often) for page in pages]
    return "".join(_joined([page for page in kept if page.text.strip()]))


def _first(lines: list[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _alike(line: str) -> str:
    return re.sub(r"\d+|[ \t]+", "#", line.strip())[:200]


class _Page(NamedTuple):
    """What is left of a page, and which of its edges are gone."""

    text: str
    no_head: bool
    no_foot: bool


def _bare(page: list[str], heads: Counter[str], feet: Counter[str], often: int) -> _Page:
    lines = len(page)
    start = next((n for n, line in enumerate(page) if line.strip()), len(page))
    if start < len(page) and heads[_alike(page[start])] >= often:
        page = page[start + 1 :]
    no_head = len(page) < lines
    lines = len(page)
    end = next((n for n in range(len(page), 0, -1) if page[n - 1].strip()), 0)
    if end and (feet[_alike(page[end - 1])] >= often or _FOOTER.match(page[end - 1])):
        page = page[: end - 1]
    return _Page("\n".join(page).strip("\n").rstrip(), no_head, len(page) < lines)


def _joined(pages: list[_Page]) -> Iterator[str]:
    for number, page in enumerate(pages):
        if number:
            before = pages[number - 1]
            is_cut = page.text.lstrip()[:1].islower() and not before.text.endswith(_ENDED)
            yield "\n" if is_cut and (page.no_head or before.no_foot) else "\n\n"
        yield page.text


def with_whole_words(source: str) -> str:
    """Join the words that were cut at the end of a line.

    The hyphen stays when the document writes the word with it elsewhere, and never without; and when it does neither, if
    both parts are words of the document (append-only) or the first is a usual part of such words (self-, non-).
    """
    if not _CUT.search(source):
        return source
    words = {word.casefold() for word in _WORD.findall(_CUT.sub(" ", source))}

    def whole(cut: re.Match[str]) -> str:
        first, second = cut[1].casefold(), cut[2].casefold()
        if first + second in words or "\u00ad" in cut[0]:
            return cut[1] + cut[2]
        is_pair = first in _PARTS or (first in words and second in words)
        return f"{cut[1]}-{cut[2]}" if f"{first}-{second}" in words or is_pair else cut[1] + cut[2]

    return _CUT.sub(whole, source)
