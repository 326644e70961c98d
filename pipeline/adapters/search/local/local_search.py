"""The embedded search: finds passages in folders of documents, and reads the documents.

The index is refreshed before the first search and on demand. It is a cache and may be deleted at any time. A document is
always read from its current file.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pipeline.adapters.search.local.document_folder import SkippedFile, contents
from pipeline.adapters.search.local.document_folders import Corpus
from pipeline.adapters.search.local.index_query import QueryResult, query_index
from pipeline.adapters.search.local.index_refresh import IndexReport, refresh_index, thin_files
from pipeline.adapters.search.local.passage_index import Index, is_damage, remove_index
from pipeline.documents.extractor import Extractor, page_of
from pipeline.errors import CorpusUnusable, ReadFailed, SearchFailed
from pipeline.ports import Page, SearchResult
from pipeline.search.vectors import ByMeaning, PassageScope, Progress, SemanticIndex
from pipeline.system.files import open_lock
from pipeline.system.process_lock import turn

__all__ = ["IndexReport", "LocalFolder", "SkippedFile"]

T = TypeVar("T")


class LocalFolder:
    """Folders of documents, by the ports ``Search`` and ``Fetch``. ``cache`` is the index file, created if missing.

    With ``meaning``, passages are ranked by meaning too. ``extractor`` reads the files.
    """

    name = "local"

    def __init__(
        self,
        folders: Path | Sequence[Path],
        cache: Path,
        meaning: SemanticIndex | None = None,
        extractor: Extractor | None = None,
    ) -> None:
        self._folder = Corpus(folders)
        self._extractor = extractor or Extractor()
        self._cache = cache
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._report: IndexReport | None = None
        self._meaning = meaning
        self._scope: PassageScope | None = None

    @property
    def problems(self) -> tuple[SkippedFile, ...]:
        """The files that the latest refresh skipped, by path; empty before the first refresh."""
        return self._report.problems if self._report else ()

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` passages, best first, and the index's counts of the query's stems.

        If passages cannot be ranked by meaning, ``failed`` says why.

        Raises:
            SearchFailed: the index cannot be read or built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        near = await self._meaning.rank(query, await asyncio.to_thread(self._passages)) if self._meaning else ByMeaning()
        found = await asyncio.to_thread(self._search, query, limit, near)
        return SearchResult(self.name, found.hits, near.cost, near.failed, found.statistics, found.languages)

    async def embed(self) -> AsyncIterator[Progress]:
        """Ask for the vectors of all passages that have none, a group at a time; nothing without ``meaning``.

        Raises:
            StepError: the server of the embeddings failed; ``cost`` is what was spent since the last group.
            SearchFailed: the index or the cache of vectors cannot be used.
            CorpusUnusable: as in ``search``.
        """
        if self._meaning is None:
            return
        scope = await asyncio.to_thread(self._passages)
        with self._translate_errors():
            while progress := await self._meaning.complete(scope):
                yield progress

    async def read(self, url: str) -> Page:
        """Return the current text of the document at ``url``.

        Raises:
            ReadFailed: there is no such document in the folders, or it cannot be read.
        """
        return await asyncio.to_thread(self._read, url)

    def refresh(self) -> IndexReport:
        """Bring the index up to date with the folders; only changed files are read.

        Raises:
            SearchFailed: the index cannot be built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        with self._lock, self._translate_errors():
            return self._refresh()

    def thin(self) -> tuple[SkippedFile, ...]:
        """Return the documents whose text lacks much, as they were when the index was last brought up to date.

        Raises:
            SearchFailed: the index cannot be read.
        """
        with self._lock, self._translate_errors():
            return thin_files(self._open_index())

    def close(self) -> None:
        """Close the index; the next search opens it again."""
        with self._lock:
            self._close_index()

    def _search(self, query: str, limit: int, near: ByMeaning) -> QueryResult:
        with self._lock, self._translate_errors():
            if self._report is None:
                self._refresh()
            return self._with_rebuild(lambda index: query_index(index, query, max(0, limit), near))

    def _passages(self) -> PassageScope:
        """Return all passages, as the ranking by meaning knows them."""
        assert self._meaning is not None  # noqa: S101 - its callers have asked
        with self._lock, self._translate_errors():
            if self._report is None:
                self._refresh()
            if self._scope is None:
                self._scope = self._meaning.scope(self._open_index().texts(), self._texts_of)
            return self._scope

    def _texts_of(self, numbers: Sequence[int]) -> list[str]:
        with self._lock:
            return self._open_index().texts_of(numbers)

    def _read(self, url: str) -> Page:
        path = self._folder.locate(url)
        address = url.partition("#")[0]
        try:
            document = self._extractor.file(contents(path), path)
        except ReadFailed as error:
            raise ReadFailed(f"{address} cannot be read: {error.message}", hint=error.hint) from error
        return page_of(address, document)

    def _refresh(self) -> IndexReport:
        self._scope = None
        with self._refresh_lock():
            self._report = self._with_rebuild(lambda index: refresh_index(index, self._folder, self._extractor))
        if not self._report.files:
            raise _no_documents(self._folder, self._report.problems)
        return self._report

    def _with_rebuild(self, action: Callable[[Index], T]) -> T:
        """Run ``action``; if the index file is damaged, delete it, build it again and run ``action`` again."""
        try:
            return action(self._open_index())
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        self._close_index()
        remove_index(self._cache)
        refresh_index(self._open_index(), self._folder, self._extractor)
        return action(self._open_index())

    def _open_index(self) -> Index:
        if self._index is None:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            self._index = Index(self._cache, self._folder.identity)
        return self._index

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None

    @contextmanager
    def _refresh_lock(self) -> Iterator[None]:
        """Hold the lock that makes other processes wait while this one builds the index."""
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        with turn(open_lock(f"{self._cache}.lock")):
            yield

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = f"make sure its folder is writable and delete {self._cache}; it is a cache and will be built again"
            raise SearchFailed(f"The index of {self._folder} cannot be used: {error}.", hint=hint) from error


def _no_documents(folder: Corpus, problems: tuple[SkippedFile, ...]) -> CorpusUnusable:
    reasons = Counter(problem.reason for problem in problems).most_common(3)
    seen = "; ".join(f"{count} x {reason}" for reason, count in reasons) or "it is empty"
    hint = "put .md, .html, .txt, .rst or .pdf files there, or name another folder under settings: corpus: in queries.yaml"
    return CorpusUnusable(f"The folder {folder} holds no document that can be read ({seen}).", hint=hint)
