"""The embedded search: finds passages in a folder of documents, and reads the documents.

The index is brought up to date before the first search and when asked to; it is a cache and may be deleted at any time.
A document is always read from its file as it is now.
"""

from __future__ import annotations

import asyncio
import fcntl
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pipeline.adapters.documents.page_writer import Document
from pipeline.adapters.search.local.document_folder import SkippedFile, contents
from pipeline.adapters.search.local.document_folders import Corpus
from pipeline.adapters.search.local.index_query import Found, ranked
from pipeline.adapters.search.local.index_refresh import IndexReport, refreshed
from pipeline.adapters.search.local.passage_index import Index
from pipeline.adapters.search.local.read_document import parse
from pipeline.errors import CorpusUnusable, ReadFailed, SearchFailed
from pipeline.ports import Page, SearchResult

__all__ = ["IndexReport", "LocalFolder", "SkippedFile"]

T = TypeVar("T")


class LocalFolder:
    """Folders of documents as one, by both ports ``Search`` and ``Fetch``. ``cache`` is the index's file, made if missing."""

    name = "local"

    def __init__(self, folders: Path | Sequence[Path], cache: Path) -> None:
        self._folder = Corpus(folders)
        self._cache = cache
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._report: IndexReport | None = None

    @property
    def problems(self) -> tuple[SkippedFile, ...]:
        """The files that the latest refresh skipped, by path; empty before the first."""
        return self._report.problems if self._report else ()

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` passages, best first, and what the index knows of the query's words.

        Raises:
            SearchFailed: the index cannot be read or built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        found = await asyncio.to_thread(self._search, query, limit)
        return SearchResult(self.name, found.hits, statistics=found.statistics, languages=found.languages)

    async def read(self, url: str) -> Page:
        """Return the document at ``url`` as it is now.

        Raises:
            ReadFailed: no such document in the folder, or it cannot be read.
        """
        return await asyncio.to_thread(self._read, url)

    def refresh(self) -> IndexReport:
        """Bring the index up to date with the folder; only files that changed are read.

        Raises:
            SearchFailed: the index cannot be built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        with self._lock, self._translated():
            return self._refreshed()

    def close(self) -> None:
        """Let go of the index; the next search opens it again."""
        with self._lock:
            self._shut()

    def _search(self, query: str, limit: int) -> Found:
        with self._lock, self._translated():
            if self._report is None:
                self._refreshed()
            return self._surely(lambda index: ranked(index, query, max(0, limit)))

    def _read(self, url: str) -> Page:
        path = self._folder.located(url)
        address = url.partition("#")[0]
        try:
            document = parse(contents(path), path)
        except ReadFailed as error:
            raise ReadFailed(f"{address} cannot be read: {error.message}", hint=error.hint) from error
        return _page(address, document)

    def _refreshed(self) -> IndexReport:
        with self._alone():
            self._report = self._surely(lambda index: refreshed(index, self._folder))
        if not self._report.files:
            raise _no_documents(self._folder, self._report.problems)
        return self._report

    def _surely(self, action: Callable[[Index], T]) -> T:
        """Do ``action``; when the cache turns out to be damaged, throw it away, build it anew and do it again."""
        try:
            return action(self._opened())
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
        self._shut()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._cache}{suffix}").unlink(missing_ok=True)
        refreshed(self._opened(), self._folder)
        return action(self._opened())

    def _opened(self) -> Index:
        if self._index is None:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            self._index = Index(self._cache, self._folder.identity)
        return self._index

    def _shut(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from building the same index at the same time; they wait and find it done."""
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        with Path(f"{self._cache}.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = f"delete {self._cache} and see that its folder can be written: it is a cache and will be built again"
            raise SearchFailed(f"The index of {self._folder} cannot be used: {error}.", hint=hint) from error


def _page(address: str, document: Document) -> Page:
    return Page(
        url=address,
        title=document.title,
        text=document.text,
        media_type=document.media_type,
        author=document.author,
        published=document.published,
    )


def _no_documents(folder: Corpus, problems: tuple[SkippedFile, ...]) -> CorpusUnusable:
    reasons = Counter(problem.reason for problem in problems).most_common(3)
    seen = "; ".join(f"{count} x {reason}" for reason, count in reasons) or "it is empty"
    hint = "put .md, .html, .txt, .rst or .pdf files there, or name another folder under settings: corpus: in queries.yaml"
    return CorpusUnusable(f"The folder {folder} holds no document that can be read ({seen}).", hint=hint)


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the cache itself is at fault, not the disk or another process."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such table" in str(error) or "no such column" in str(error)
