"""Refresh of a passage index: reads the files that changed since the last time and parses those with new content."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.adapters.search.local.document_folder import FoundFile, SkippedFile, contents, path_of, printable
from pipeline.adapters.search.local.document_folders import Corpus
from pipeline.adapters.search.local.passage_index import Index, IndexedFile, with_passages
from pipeline.documents.extractor import Extractor
from pipeline.documents.page import Document
from pipeline.errors import ReadFailed
from pipeline.text.normalise import digest_of
from pipeline.text.page_format import what_is_missing

_BATCH_FILES = 200
_BATCH_BYTES = 20_000_000
_OPTIMISE_AFTER = 50
_RETRY = -1


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of a refresh: number of files searched, of those new or changed, of those removed, and of passages.

    ``problems`` are the files that are not searched, by path, ``thin`` those whose text lacks much.
    """

    files: int
    changed: int
    removed: int
    passages: int
    problems: tuple[SkippedFile, ...]
    thin: tuple[SkippedFile, ...] = ()


def refresh_index(index: Index, folder: Corpus, extractor: Extractor) -> IndexReport:
    """Bring ``index`` up to date with ``folder``.

    Raises:
        CorpusUnusable: the folder is missing or cannot be listed.
        sqlite3.Error: the index cannot be read or written.
    """
    known = index.files()
    found, skipped = _scan(folder)
    removed = sorted(known.keys() - {file.url for file in found})
    new = [file for file in found if not _is_known(file, known.get(file.url))]
    changed = _index_files(index, folder, extractor, new, known)
    index.replace([], removed)
    if changed + len(removed) > _OPTIMISE_AFTER:
        index.optimise()
    return _report(index, skipped, changed, len(removed))


def _scan(folder: Corpus) -> tuple[list[FoundFile], list[SkippedFile]]:
    found: list[FoundFile] = []
    skipped: list[SkippedFile] = []
    for entry in folder.scan():
        if isinstance(entry, FoundFile):
            found.append(entry)
        else:
            skipped.append(entry)
    return sorted(found), skipped


def _is_known(file: FoundFile, known: IndexedFile | None) -> bool:
    return known is not None and (known.size, known.changed) == (file.size, file.changed)


def _index_files(index: Index, folder: Corpus, extractor: Extractor, new: list[FoundFile], known: dict[str, IndexedFile]) -> int:
    """Index the files ``new``; return how many of them have new content."""
    batch: list[IndexedFile] = []
    same: list[IndexedFile] = []
    size = changed = 0
    for file in new:
        entry = _index_entry(folder, extractor, file, known.get(file.url))
        (batch if entry.rows or entry.reason else same).append(entry)
        changed += bool(entry.rows)
        size += file.size
        if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
            index.replace(batch)
            batch, size = [], 0
    index.replace(batch)
    index.touch(same)
    return changed


def _index_entry(folder: Corpus, extractor: Extractor, file: FoundFile, known: IndexedFile | None) -> IndexedFile:
    """Return the file's new entry, without reason and passages if its bytes are those already indexed."""
    path = folder.path_at(file.url)
    try:
        data = contents(path)
    except ReadFailed as error:
        return IndexedFile(file.url, file.size, _RETRY, "", error.message)
    digest = digest_of(data)
    if known is not None and known.digest == digest and not known.reason:
        return IndexedFile(file.url, file.size, file.changed, digest)
    try:
        document = extractor.file(data, path)
    except ReadFailed as error:
        return IndexedFile(file.url, file.size, file.changed, digest, error.message)
    return _searched(file, digest, document)


def _searched(file: FoundFile, digest: str, document: Document) -> IndexedFile:
    losses = document.losses
    missing = what_is_missing(losses.visible, losses.stored, losses.empty_pages)
    entry = IndexedFile(file.url, file.size, file.changed, digest, "", document.title, document.published, "", missing)
    return with_passages(entry, document.text)


def _report(index: Index, skipped: list[SkippedFile], changed: int, removed: int) -> IndexReport:
    files = index.files().values()
    problems = [*skipped, *(SkippedFile(printable(path_of(file.url)), file.reason) for file in files if file.reason)]
    searched = sum(not file.reason for file in files)
    return IndexReport(searched, changed, removed, index.count(), tuple(sorted(problems)), thin_files(index))


def thin_files(index: Index) -> tuple[SkippedFile, ...]:
    """Return the files whose text lacks much, by path."""
    return tuple(
        sorted(SkippedFile(printable(path_of(file.url)), file.missing) for file in index.files().values() if file.missing)
    )
