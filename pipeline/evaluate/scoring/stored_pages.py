"""Stored pages, as what reports say is compared with: each read and prepared once."""

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
    """A page's text: ``text`` normalised, for quotes; ``words`` as lower-cased words alone, between single spaces."""

    text: str = ""
    words: str = ""


class StoredPages:
    """The stored pages of a workspace by digest. One that is missing or altered is empty: it supports nothing."""

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
    """Return the lower-cased words of a text between single spaces, with one before the first and after the last."""
    return f" {' '.join(_WORD.findall(text.lower()))} "
