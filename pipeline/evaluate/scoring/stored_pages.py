"""Cache of stored pages, prepared for comparison with quotes and sentences of reports."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.errors import LogError
from pipeline.evaluate.bm25_baseline import plain_text
from pipeline.ports import EventStore
from pipeline.text.normalise import normalised

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page's text: ``text`` is normalised, for quotes; ``words`` are its lower-cased words, separated by single spaces."""

    text: str = ""
    words: str = ""


class StoredPages:
    """The stored pages of a workspace by digest. A missing or altered page is empty, so that it supports no quote."""

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._pages: dict[str, StoredPage] = {}

    def get(self, digest: str) -> StoredPage:
        """Return the page stored under ``digest``."""
        if digest not in self._pages:
            self._pages[digest] = self._read(digest)
        return self._pages[digest]

    def _read(self, digest: str) -> StoredPage:
        try:
            text = self._store.get(digest).decode("utf-8", "replace")
        except LogError:
            return StoredPage()
        return StoredPage(normalised(text), bare_words(plain_text(text)))


def bare_words(text: str) -> str:
    """Return the lower-cased words of a text, with single spaces between, before and after them."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
