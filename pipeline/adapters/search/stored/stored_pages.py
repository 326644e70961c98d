"""Finds passages in the pages that sessions read, by the port ``StoredPages``. The index is a cache and may be deleted."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic_core import from_json

from pipeline.adapters.search.local.index_query import query_index
from pipeline.adapters.search.local.passage_index import IndexedFile, is_damage, remove_index, with_passages
from pipeline.adapters.search.stored.page_index import Reading, StoredPageIndex
from pipeline.errors import LogError, ObjectMissing, SearchFailed
from pipeline.ports import EventStore, FoundPassages, StoredPage
from pipeline.search.vectors import ByMeaning, PassageScope, SemanticIndex
from pipeline.system.worker_pool import Pool, processors
from pipeline.text.normalise import clean

T = TypeVar("T")

_OF_PAGES = ("page.read", "research.pruned")
_BATCH = 100  # pages a transaction
_OPTIMISE_AFTER = 50
WORTH_IT = 300  # pages; fewer are indexed before a second process has started
_MOST = 4  # processes
_HANDED_OVER, _AHEAD = 10, 2  # pages at a time; batches in the queue of one process


class StoredPageSearch:
    """The pages in ``store``, indexed in the file ``cache``, which is created if missing. ``meaning`` as in the local search."""

    def __init__(self, store: EventStore, cache: Path, meaning: SemanticIndex | None = None) -> None:
        self._store, self._cache, self._meaning = store, cache, meaning
        self._lock = threading.Lock()

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Return at most ``limit`` passages, best first, of the pages that ``sessions`` read, with these pages.

        Raises:
            SearchFailed: the index cannot be read or built.
        """
        near = ByMeaning()
        if self._meaning:
            near = await self._meaning.rank(question, await asyncio.to_thread(self._passages, tuple(sessions)))
        found = await asyncio.to_thread(self._find, question, tuple(sessions), limit, near)
        return replace(found, cost=near.cost, failed=near.failed)

    def refresh(self, sessions: Sequence[str]) -> int:
        """Index the pages of these sessions that are not indexed yet; return their number.

        Raises:
            SearchFailed: the index cannot be built.
        """
        with self._lock, self._translated():
            return self._with_index(lambda index: self._refresh(index, sessions))

    def _passages(self, sessions: Sequence[str]) -> PassageScope:
        """Return the passages of the pages that these sessions read, as the ranking by meaning knows them."""
        assert self._meaning is not None  # noqa: S101 - its caller has asked
        meaning = self._meaning

        def found(index: StoredPageIndex) -> PassageScope:
            self._refresh(index, sessions)
            index.limit_to(reading.digest for reading in index.readings(sessions).values())
            return meaning.scope(index.texts(), self._texts_of)

        with self._lock, self._translated():
            return self._with_index(found)

    def _texts_of(self, numbers: Sequence[int]) -> list[str]:
        with self._lock:
            return self._run(lambda index: index.texts_of(numbers))

    def _find(self, question: str, sessions: Sequence[str], limit: int, near: ByMeaning) -> FoundPassages:
        def found(index: StoredPageIndex) -> FoundPassages:
            self._refresh(index, sessions)
            return _query(index, question, sessions, limit, near)

        with self._lock, self._translated():
            return self._with_index(found)

    def _refresh(self, index: StoredPageIndex, sessions: Sequence[str]) -> int:
        known, marks = index.marks(), self._store.marks()
        for session in sessions:
            if marks.get(session, "") != known.get(session):
                index.put_session(session, marks.get(session, ""), self._readings(session))
        new = index.unindexed(reading.digest for reading in index.readings(sessions).values())
        entries = _prepared(map(self._entry, new), len(new))
        while some := list(islice(entries, _BATCH)):
            index.put_pages(some)
        if len(new) > _OPTIMISE_AFTER:
            index.optimise()
        return len(new)

    def _readings(self, session: str) -> list[Reading]:
        """Return the pages that a session read. One whose log cannot be read has none; ``research verify`` names it."""
        try:
            events = [from_json(record.data) for record in self._store.load(session) if record.type in _OF_PAGES]
        except LogError:
            return []
        pages = (page for event in events for page in event.get("pages", [event]))  # what is kept of a pruned session lists them
        return [Reading(session, page["url"], page["digest"], page["title"], page["at"]) for page in pages]

    def _entry(self, digest: str) -> tuple[IndexedFile, str]:
        """A page's entry without its passages, and its text."""
        try:
            text = clean(self._store.get(digest).decode("utf-8", "replace"))
        except ObjectMissing as error:
            return IndexedFile(digest, 0, 0, digest, error.message), ""
        return IndexedFile(digest, len(text), 0, digest), text

    def _with_index(self, action: Callable[[StoredPageIndex], T]) -> T:
        """Run ``action`` on the open index; if the file is damaged, delete it and run ``action`` again on a new one."""
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        try:
            return self._run(action)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        remove_index(self._cache)
        return self._run(action)

    def _run(self, action: Callable[[StoredPageIndex], T]) -> T:
        index = StoredPageIndex(self._cache)
        try:
            return action(index)
        finally:
            index.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = f"make sure its folder is writable and delete {self._cache}; it is a cache and will be built again"
            raise SearchFailed(f"The index of the stored pages cannot be used: {error}.", hint=hint) from error


def _prepared(entries: Iterable[tuple[IndexedFile, str]], number: int) -> Iterator[IndexedFile]:
    """Yield the entries with their passages, in any order; ``number`` tells whether other processes are worth their start."""
    pool = Pool(processors(_MOST) - 1 if number >= WORTH_IT else 0, None, _nothing, None)
    try:
        yield from pool.shared(_with_passages, entries, _HANDED_OVER, _AHEAD)
    finally:
        pool.close()


def _nothing(_given: None) -> None:
    """What a process works with: what it is given is enough."""


def _with_passages(_nothing: None, entries: Sequence[tuple[IndexedFile, str]]) -> list[IndexedFile]:
    return [entry if entry.reason else with_passages(entry, text) for entry, text in entries]


def _query(index: StoredPageIndex, question: str, sessions: Sequence[str], limit: int, near: ByMeaning) -> FoundPassages:
    readings = {reading.digest: reading for reading in index.readings(sessions).values()}
    index.limit_to(readings)
    result = query_index(index, question, limit, near)
    hits = []
    pages: dict[str, StoredPage] = {}
    for hit in result.hits:
        digest, _, anchor = hit.url.partition("#")
        one = readings[digest]
        pages.setdefault(one.url, StoredPage(one.url, one.title, digest, one.session, one.at))
        url = f"{one.url}#{anchor}" if anchor else one.url
        hits.append(hit.model_copy(update={"url": url, "title": one.title}))
    return FoundPassages(tuple(hits), tuple(pages.values()), result.statistics, result.languages, len(readings))
