"""Removal of page headers, footers, form feeds and line-end hyphens from text files laid out for print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_HYPHENATED = re.compile(r"([^\W\d_]{1,40})[-\u2010\u00ad]\n[ \t]*([a-zß-öø-ÿ]\w{0,40})(?!\w)")
_WORD = re.compile(r"[^\W\d_]\w{0,40}(?:-\w{1,40}){0,3}")
# U+2010 is the hyphen of `man` in a UTF-8 terminal.
# Words that keep their hyphen before another word, even if the document does not use them alone.
_PREFIX_NAMES = "non self multi half well cross read write so low high long short third pseudo semi quasi ex all"
_PREFIXES = frozenset(_PREFIX_NAMES.split())
_FOOTER = re.compile(r".{0,200}\[?\bPage \d{1,5}\]?\s*\Z|\s*-? ?\d{1,5} ?-?\s*\Z", re.IGNORECASE)
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_FEWEST_PAGES = 3


def without_page_edges(source: str) -> str:
    """Return ``source`` without form feeds and without the headers and footers next to them.

    A paragraph that a page break split is joined again.
    """
    if "\f" not in source:
        return source
    pages = [page.split("\n") for page in source.split("\f")]
    heads = Counter(_without_digits(line) for page in pages if (line := _first(page)))
    feet = Counter(_without_digits(line) for page in pages if (line := _first(page[::-1])))
    often = max(_FEWEST_PAGES, len(pages) // 3)
    bare = [_without_edges(page, heads, feet, often) for page in pages]
    return "".join(_joined_pages([page for page in bare if page.text.strip()]))


def _first(lines: list[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _without_digits(line: str) -> str:
    return re.sub(r"\d+|[ \t]+", "#", line.strip())[:200]


class _Page(NamedTuple):
    """The text of a page, and whether a header and a footer were removed."""

    text: str
    no_head: bool
    no_foot: bool


def _without_edges(page: list[str], heads: Counter[str], feet: Counter[str], often: int) -> _Page:
    lines = len(page)
    start = next((n for n, line in enumerate(page) if line.strip()), len(page))
    if start < len(page) and heads[_without_digits(page[start])] >= often:
        page = page[start + 1 :]
    no_head = len(page) < lines
    lines = len(page)
    end = next((n for n in range(len(page), 0, -1) if page[n - 1].strip()), 0)
    if end and (feet[_without_digits(page[end - 1])] >= often or _FOOTER.match(page[end - 1])):
        page = page[: end - 1]
    return _Page("\n".join(page).strip("\n").rstrip(), no_head, len(page) < lines)


def _joined_pages(pages: list[_Page]) -> Iterator[str]:
    for number, page in enumerate(pages):
        if number:
            before = pages[number - 1]
            is_cut = page.text.lstrip()[:1].islower() and not before.text.endswith(_SENTENCE_ENDS)
            yield "\n" if is_cut and (page.no_head or before.no_foot) else "\n\n"
        yield page.text


def with_whole_words(source: str) -> str:
    """Join the words that were split at the end of a line.

    The hyphen is dropped if the document holds the word without it elsewhere. Otherwise it stays if the document holds the
    hyphenated word, if both parts are words of the document (append-only), or if the first is a common prefix (self-, non-).
    """
    if not _HYPHENATED.search(source):
        return source
    words = {word.casefold() for word in _WORD.findall(_HYPHENATED.sub(" ", source))}

    def rejoined(cut: re.Match[str]) -> str:
        first, second = cut[1].casefold(), cut[2].casefold()
        if first + second in words or "\u00ad" in cut[0]:
            return cut[1] + cut[2]
        is_pair = first in _PREFIXES or (first in words and second in words)
        return f"{cut[1]}-{cut[2]}" if f"{first}-{second}" in words or is_pair else cut[1] + cut[2]

    return _HYPHENATED.sub(rejoined, source)
