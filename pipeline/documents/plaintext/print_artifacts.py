"""Removal of page headers, footers, form feeds and line-end hyphens from text files laid out for print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
from typing import NamedTuple

# U+2010 is the hyphen of typesetters and of groff; at a line's end it may or may not belong to the word, as "-".
_HYPHENATED = re.compile(r"([^\W\d_]{1,40})([-\u00ad\u2010])\n[ \t]*([a-zß-öø-ÿ]\w{0,40})(?!\w)")
_HYPHENS = str.maketrans({"\u2010": "-", "\u2011": "-"})
_WORD = re.compile(r"[^\W\d_]\w{0,40}(?:-\w{1,40}){0,3}")
# Words that keep their hyphen before another word, even if the document does not use them alone.
_PREFIX_NAMES = "non self multi half well cross read write so low high long short third pseudo semi quasi ex all"
_PREFIXES = frozenset(_PREFIX_NAMES.split())
# Ends of words that are words as well: "allow-able" is none.
_SUFFIXES = frozenset(
    ("able", "ally", "age", "ate", "ant", "ed", "en", "er", "ers", "ing", "ion", "ions", "ism", "ist", "ment", "ring")
)
_FOOTER = re.compile(r".{0,200}\[?\bPage \d{1,5}\]?\s*\Z|\s*-? ?\d{1,5} ?-?\s*\Z", re.IGNORECASE)
_SENTENCE_ENDS = (".", "!", "?", ":", ";")
_FEWEST_PAGES = 3
_LONGEST_SYLLABLE = 3  # letters


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
    """Return ``source`` with the words that were split at the end of a line joined, and with plain hyphens.

    The hyphen stays if the document holds the hyphenated word, or both of its halves as words, or after a common prefix (self-,
    non-); else it is dropped.
    """
    plain = source if source.isascii() else source.translate(_HYPHENS)
    if not _HYPHENATED.search(plain):
        return plain
    words = {word.casefold() for word in _WORD.findall(_HYPHENATED.sub(" ", plain))}
    parts = {part for word in words for part in word.split("-")}
    return _HYPHENATED.sub(lambda cut: _rejoined(cut, words, parts), plain)


def _rejoined(cut: re.Match[str], words: Set[str], parts: Set[str]) -> str:
    """Return the word that ``cut`` splits; ``words`` are those of the document, ``parts`` also those within compounds."""
    first, second = cut[1].casefold(), cut[3].casefold()
    whole, pair = cut[1] + cut[3], f"{cut[1]}-{cut[3]}"
    if first + second in words or cut[2] == "\u00ad":
        return whole
    is_pair = f"{first}-{second}" in words or first in _PREFIXES or (first in parts and second in parts)
    return pair if is_pair and second not in _SUFFIXES else whole
