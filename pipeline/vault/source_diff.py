"""The difference between two readings of a source: the passages that were removed and added. Linear in the texts, and bounded.

Passages are the blocks of the stored texts. They are compared as a multiset: a passage that only moved did not change. Removed
and added passages are in the order of their own text, the first few of each, each cut to a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.errors import ObjectMissing
from pipeline.ports import EventStore
from pipeline.text import page_format
from pipeline.text.normalise import normalised, one_line

SHOWN, LENGTH = 6, 240  # passages of each side; characters of a passage
_READ = 400_000  # characters of a text that are compared

# The stored text of a page by its digest; None if it is no longer stored.
Texts = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Change:
    """Removed (``gone``) and added (``come``) passages; ``more`` counts the changed passages that are not shown."""

    gone: tuple[str, ...]
    come: tuple[str, ...]
    more: int


def texts_of(store: EventStore) -> Texts:
    """Return a function that reads the page texts of a store."""

    def text(digest: str) -> str | None:
        try:
            return store.get(digest).decode("utf-8", "replace")
        except ObjectMissing:
            return None

    return text


def change(before: str, after: str) -> Change:
    """Return what differs between two stored texts."""
    old, new = list(_passages(before)), list(_passages(after))
    gone, come = _without(old, new), _without(new, old)
    more = max(0, len(gone) - SHOWN) + max(0, len(come) - SHOWN)
    return Change(_shown(gone), _shown(come), more)


def _passages(text: str) -> Iterator[str]:
    return (words for block in page_format.blocks(text[:_READ]) if (words := normalised(block.text)))


def _without(passages: list[str], others: list[str]) -> list[str]:
    left = Counter(others)
    kept = []
    for passage in passages:
        if left[passage]:
            left[passage] -= 1
        else:
            kept.append(passage)
    return kept


def _shown(passages: list[str]) -> tuple[str, ...]:
    return tuple(one_line(passage, LENGTH) for passage in passages[:SHOWN])
