"""Finds passages in the folders of documents, in the pages that sessions read, and in given pages; and reads documents.

It is the embedded search, by the ports ``Search``, ``Fetch`` and ``StoredPages``. The index is brought up to date before the
first search, and on demand. A document is always read from its current file. Passages are ranked by words, and by meaning where
that is known; over the whole scope both times. An earlier folder wins over a later one within ``PREFERENCE`` of the score. Of
passages that repeat each other the best is kept.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic_core import from_json

from pipeline.documents.extractor import Extractor
from pipeline.domain.research_values import Cost, FailedSide, Hit, total
from pipeline.errors import CorpusUnusable, IndexRefused, LogError, ObjectMissing, ReadFailed, ReadTimedOut, StepError
from pipeline.ports import EventStore, FoundPassages, Page, SearchResult, StoredPage
from pipeline.search.corpus_files import Corpus, FoundFile, SkippedFile, contents, last_change, printable
from pipeline.search.index import Candidate, Index, IndexedFile, Scope, Source, is_damage, remove_index
from pipeline.search.vectors import ByMeaning, Meaning, Progress
from pipeline.system.files import open_lock
from pipeline.system.process_lock import turn
from pipeline.text.addresses import path_of, readable
from pipeline.text.cleaning import clean, digest_of, one_line
from pipeline.text.passages import what_is_missing
from pipeline.text.questions import ParsedQuestion, content_stems, names_in, parse_in, parse_question
from pipeline.text.ranking import BEST, TermStatistics, coverage, importance, scores, term_weights, without_twins

if TYPE_CHECKING:  # most searches need no HTTP
    from pipeline.search.combined_searches import NamedSearch
    from pipeline.search.embedding_servers import Reranker

PREFERENCE = 0.1
_CANDIDATES = 400
_POOL = 150  # of the ranked passages: what is looked at for twins and for the words of the subject
_MOST_STEMS = 64  # of one query
_COMMON = 0.25  # a stem in more than this share of the passages selects no candidates, if rarer stems are left
_PER_DOCUMENT = 4  # hits of one document that come before others
_NUMBERED = 2  # passages of a section that is named by its number
_CONCEPTS = 200  # stems of the best passages whose counts are returned


def hit_of(one: Candidate) -> Hit:
    """Return a ranked passage as a hit."""
    source, passage = one.source, one.passage
    return Hit(
        url=f"{source.url}#{passage.anchor}" if passage.anchor else source.url,
        title=source.title,
        snippet=passage.body,
        heading=_heading(one),
        score=round(one.score, 6),
        coverage=round(one.coverage, 4),
        cosine=None if one.cosine is None else round(one.cosine, 4),
        published=source.published,
    )


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages, best first; counts of the stems of the query and of the best passages; the documents' languages."""

    passages: tuple[Candidate, ...]
    statistics: TermStatistics
    languages: tuple[str, ...]


def ranking(index: Index, scope: Scope, text: str, limit: int, near: ByMeaning) -> Ranking:
    """Return at most ``limit`` passages of ``scope`` for the query ``text``, ranked by words and, with ``near``, by meaning.

    Raises:
        sqlite3.Error: the index cannot be read.
    """
    index.limit_to(scope)
    languages = index.languages()
    query = parse_in(text, languages)
    documents, number, body, heads = index.totals()
    known = TermStatistics(
        language=query.language,
        documents=documents,
        passages=number,
        body_stems=round(body, 3),
        heading_stems=round(heads, 3),
        counts=index.counts(dict.fromkeys(stem for term in query.terms for stem in (term.stem, *term.parts))),
    )
    best = _ranked(index, text, query, known, near) if limit else []
    frequent = Counter(stem for one in best[:_POOL] for stem in set(one.stemmed.body) if len(stem) > 2)
    several = sorted((stem for stem in frequent if frequent[stem] > 1), key=lambda stem: (-frequent[stem], stem))[:_CONCEPTS]
    counts = {**known.counts, **index.counts(stem for stem in several if stem not in known.counts)}
    statistics = known.model_copy(update={"counts": dict(sorted(counts.items())), "nearest": near.floor})
    together = max(_PER_DOCUMENT, text.count(";") + 1)  # a search for several headings may name as many of one document
    return Ranking(tuple(_spread(best, limit, together)), statistics, languages)


def _in_order(passages: Sequence[Candidate]) -> list[Candidate]:
    """Return passages by score, those of an earlier folder first within ``PREFERENCE``, equal ones by number."""
    last = max((one.source.place for one in passages), default=0) or 1
    return sorted(passages, key=lambda one: (one.source.place * PREFERENCE / last - one.score, one.number))


def _ranked(index: Index, text: str, query: ParsedQuestion, known: TermStatistics, near: ByMeaning) -> list[Candidate]:
    """Rank the passages that hold the rarer stems of the query, and those that are nearest to it by meaning; without twins."""
    wanted = [stem for stem in importance(query, known) if stem in known.counts][:_MOST_STEMS]
    rare = [stem for stem in wanted if known.counts[stem] <= _COMMON * known.passages]
    found = index.candidates(rare or wanted, _CANDIDATES) if wanted else []
    cosines = near.cosines([one.number for one in found]) if near.cosines else {}
    held = {one.number for one in found}
    found += index.passages(number for number in cosines if number not in held)
    texts = [one.stemmed for one in found]
    strength = scores(query, texts, known, [cosines.get(one.number) for one in found])
    weights = term_weights(query, known)
    rows = [
        one._replace(score=min(1.0, score / BEST), coverage=coverage(weights, one.stemmed.held), cosine=cosines.get(one.number))
        for score, one in zip(strength, found, strict=True)
        if score > 0
    ]
    best = _called_first(_in_order(rows), text, query.language)[: 2 * _POOL]
    kept = without_twins([one.stemmed for one in best], [_heading(one) for one in best])
    return [best[place] for place in kept]


def _called_first(best: Sequence[Candidate], query: str, language: str) -> list[Candidate]:
    """Return passages with those first that are from a section which the query names, one of each section before its others,
    and of sections called alike that of the document in which it names most.

    Each part of a query between semicolons names a section by its heading, alone or with those above it, by a number and a word
    of its heading, or, of several, by the identifier with which both begin; then its other words may ask for more, so few
    passages are first.
    """
    asked = [content_stems(part, language) for part in query.split(";")]
    begun = [[term.stem for term in parse_question(part, language).terms[:1] if term.parts] for part in query.split(";")]
    taken: Counter[int] = Counter()
    named: list[tuple[int, Candidate]] = []
    for one in best:
        heading = " ".join(one.passage.path[-1:])
        own = content_stems(heading, language)
        begins = [term.stem for term in parse_question(heading, language).terms[:1]] if len(asked) > 1 else []
        for place, stems in enumerate(asked):
            is_whole = len(stems) > (len(asked) == 1) and own <= stems <= {*own, *one.stemmed.heads}
            numbers = [word for word in own & stems if "." in word and word.replace(".", "").isdecimal()]
            by_sign = (numbers and len(own & stems) > 1) or (begins and begins == begun[place])
            if is_whole or (by_sign and taken[place] < _NUMBERED):
                taken[place] += 1
                named.append((place, one))
                break
    parts = Counter(url for url, _ in {(one.source.url, place) for place, one in named})
    taken.clear()
    turns: dict[int, int] = {}
    for place, one in sorted(named, key=lambda pair: -parts[pair[1].source.url]):
        taken[place] += 1
        turns[one.number] = taken[place]
    return sorted(best, key=lambda one: turns.get(one.number, len(best)))


def _spread(best: Sequence[Candidate], limit: int, together: int) -> list[Candidate]:
    """Return ``limit`` passages, ``together`` of each document before its others: hits are what a session reads whole."""
    taken: Counter[str] = Counter()
    found: list[Candidate] = []
    others: list[Candidate] = []
    for entry in best:
        url = entry.source.url
        taken[url] += 1
        (found if taken[url] <= together else others).append(entry)
    return [*found, *others][:limit]


def _heading(one: Candidate) -> str:
    return one.passage.path[-1] if len(one.passage.path) > 1 else ""


T = TypeVar("T")
_log = logging.getLogger(__name__)

_OF_PAGES = ("page.read", "research.pruned")
_BATCH_FILES, _BATCH_BYTES = 200, 20_000_000  # of a transaction
_BATCH_SESSIONS = 50
_TIDY_AFTER = 50  # changed pages
_RETRY = -1
_RERANKED = 50  # passages that a reranker orders


@dataclass(frozen=True, slots=True)
class IndexReport:
    """The result of a refresh: number of files searched, of those new or changed, of those removed, and of passages.

    ``problems`` are the files that are not searched, by path, ``thin`` those whose text lacks much. ``fingerprint`` is the
    SHA-256 of all addresses and contents.
    """

    files: int
    changed: int
    removed: int
    passages: int
    problems: tuple[SkippedFile, ...]
    thin: tuple[SkippedFile, ...] = ()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class _Inside:
    """The search of one folder of the documents."""

    documents: PassageSearch
    folder: str
    name: str = "local"

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search. Raises as ``PassageSearch.search``."""
        return await self.documents.search(query, limit, self.folder)


class PassageSearch:
    """The passages of ``folders``, in their order of preference, and of the pages in ``store``.

    ``cache`` is the index file, created if missing. With ``meaning``, passages are ranked by meaning too; with ``reranker``, the
    best are put in the order that it gives them. ``extractor`` reads the files.
    """

    name = "local"

    def __init__(
        self,
        cache: Path,
        folders: Path | Sequence[Path] = (),
        *,
        store: EventStore | None = None,
        meaning: Meaning | None = None,
        reranker: Reranker | None = None,
        extractor: Extractor | None = None,
    ) -> None:
        self._cache, self._corpus, self._store = cache, Corpus(folders), store
        self._meaning, self._reranker, self._extractor = meaning, reranker, extractor or Extractor()
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._report: IndexReport | None = None
        self._scopes: dict[str, Scope] = {}  # of the folders, by what they are limited to

    # --- the folders

    async def search(self, query: str, limit: int, within: str = "") -> SearchResult:
        """Return at most ``limit`` passages of the folders, best first, and the index's counts of the query's stems.

        ``within`` limits it to one folder. If passages cannot be ranked by meaning, ``failed`` says why.

        Raises:
            IndexRefused: the index cannot be read or built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        with self._translated():
            scope = await self._on(lambda index: self._folder_scope(index, within))
            found, near = await self._ranked(query, scope, limit)
            counts, language = found.statistics.counts, found.statistics.language

            def lacks(index: Index, name: str) -> bool:
                """Tell whether a word of a name is in no passage; a quote with small letters is looked for as one word."""
                words = name.split() if all(word[0].isupper() for word in name.split()) else [name]
                # A word that is there in another form is not absent: "Rust's", "в Москве".
                other = (word for word in words if " " in word or not content_stems(word, language) <= counts.keys())
                return not all(index.holds(word, scope) for word in other)

            absent = await self._on(lambda index: tuple(name for name in names_in(query) if lacks(index, name)))
        hits = tuple(map(hit_of, found.passages))
        return SearchResult(self.name, hits, near.cost, near.failed, found.statistics, found.languages, absent)

    def inside(self, folder: str) -> NamedSearch:
        """Return the search of one folder alone, or of one within the folders."""
        return _Inside(self, folder)

    async def embed(self) -> AsyncIterator[Progress]:
        """Ask for the vectors of all passages of the folders that have none, a group at a time; nothing without ``meaning``.

        Raises:
            StepError: the server of the embeddings failed; ``cost`` is what was spent since the last group.
            IndexRefused: the index cannot be used.
            CorpusUnusable: as in ``search``.
        """
        if self._meaning is None:
            return
        with self._translated():
            scope = await self._on(self._folder_scope)
            while progress := await self._meaning.complete(scope, self._on):
                yield progress

    async def read(self, url: str) -> Page:
        """Return the current text of the document at ``url``.

        Raises:
            ReadFailed: there is no such document in the folders, or it cannot be read.
        """
        path, address = self._corpus.locate(url), url.partition("#")[0]
        try:
            page = await asyncio.to_thread(lambda: self._extractor.file(contents(path), path))
            return replace(page, url=address, file_changed=last_change(path))
        except ReadFailed as error:
            raise ReadFailed(f"{readable(address)} cannot be read: {error.message}", hint=error.hint) from error

    def refresh(self) -> IndexReport:
        """Bring the index up to date with the folders; only changed files are read.

        Raises:
            IndexRefused: the index cannot be built.
            CorpusUnusable: the folder is missing, unreadable, or holds no document.
        """
        with self._translated():
            return self._run(self._refresh)

    def thin(self) -> tuple[SkippedFile, ...]:
        """Return the documents whose text lacks much, as they were when the index was last brought up to date.

        Raises:
            IndexRefused: the index cannot be read.
        """
        with self._translated():
            return self._run(lambda index: _thin(index.files()))

    def close(self) -> None:
        """Close the index; the next search opens it again."""
        with self._lock:
            self._close_index()

    def _folder_scope(self, index: Index, within: str = "") -> Scope:
        if self._report is None:
            self._refresh(index)
        if within not in self._scopes:
            begin = self._corpus.prefixes(within) if within else ("",)
            files = [file for file in index.files().values() if not file.reason and file.url.startswith(begin)]
            sources: dict[str, Source] = {}
            for file in sorted(files, key=lambda file: self._corpus.place(file.url)):  # of files with the same text, the first
                place = self._corpus.place(file.url)
                sources.setdefault(file.digest, Source(file.url, file.title, file.published, place))
            if not files:
                raise CorpusUnusable(
                    f"The folder {within} holds no document that can be read.", hint="look at in: of the question"
                )
            self._scopes[within] = Scope(sources)
        return self._scopes[within]

    def _refresh(self, index: Index) -> IndexReport:
        self._scopes.clear()
        with turn(open_lock(f"{self._cache}.lock")):  # other processes wait while this one builds the index
            known = index.files()
            entries = list(self._corpus.scan())
            files = sorted(entry for entry in entries if isinstance(entry, FoundFile))
            gone = known.keys() - {file.url for file in files}
            new = [file for file in files if (one := known.get(file.url)) is None or one[1:3] != file[1:3]]
            changed = self._put_files(index, new, known)
            index.put_files([], {}, gone)
            if changed + len(gone) > _TIDY_AFTER:
                index.tidy()
        held = index.files()
        problems = [entry for entry in entries if isinstance(entry, SkippedFile)]
        problems += [SkippedFile(printable(path_of(file.url)), file.reason) for file in held.values() if file.reason]
        searched = [file.digest for file in held.values() if not file.reason]
        if not searched:
            reasons = Counter(problem.reason for problem in problems).most_common(3)
            seen = "; ".join(f"{count} x {reason}" for reason, count in reasons) or "it is empty"
            hint = (
                "put .md, .html, .txt, .rst or .pdf files there, or name another folder under settings: corpus: in queries.yaml"
            )
            raise CorpusUnusable(f"The folder {self._corpus} holds no document that can be read ({seen}).", hint=hint)
        count, sorted_problems = index.count(searched), tuple(sorted(problems))
        fingerprint = digest_of("\n".join(f"{file.url} {file.bytes}" for file in held.values()).encode())
        self._report = IndexReport(len(searched), changed, len(gone), count, sorted_problems, _thin(held), fingerprint)
        return self._report

    def _put_files(self, index: Index, new: Sequence[FoundFile], known: Mapping[str, IndexedFile]) -> int:
        """Index files; return how many of them have a new text."""
        batch: list[IndexedFile] = []
        texts: dict[str, str] = {}
        size = changed = 0
        for file in new:
            path, before = self._corpus.path_at(file.url), known.get(file.url)
            entry = IndexedFile(file.url, file.size, _RETRY, "")
            try:
                data = contents(path)
                entry = entry._replace(changed=file.changed, bytes=digest_of(data))
                if before is not None and before.bytes == entry.bytes and not before.reason:
                    entry = before._replace(size=file.size, changed=file.changed)
                else:
                    document = self._extractor.file(data, path)
                    digest = digest_of(document.text.encode("utf-8", "replace"))
                    missing = what_is_missing(document.visible, document.stored, document.empty_pages)
                    entry = entry._replace(digest=digest, title=document.title, published=document.published, missing=missing)
                    texts[digest] = document.text
                    changed += 1
            except ReadFailed as error:
                entry = entry._replace(reason=error.message, changed=_RETRY if isinstance(error, ReadTimedOut) else entry.changed)
            batch.append(entry)
            size += file.size
            if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
                index.put_files(batch, texts)
                batch, texts, size = [], {}, 0
        index.put_files(batch, texts)
        return changed

    # --- the pages that sessions read, and given pages

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Return at most ``limit`` passages, best first, of the pages that ``sessions`` read, with these pages.

        Raises:
            IndexRefused: the index cannot be read or built.
        """

        with self._translated():
            latest = await self._of_sessions(sessions, lambda index: index.readings(sessions))
            readings = {one.digest: one for one in latest.values()}
            found, near = await self._ranked(
                question, Scope({key: Source(one.url, one.title) for key, one in readings.items()}), limit
            )
        hits = tuple(map(hit_of, found.passages))
        by_url = {one.url: one for one in readings.values()}
        pages = tuple(by_url[url] for url in dict.fromkeys(one.source.url for one in found.passages))
        return FoundPassages(hits, pages, found.statistics, found.languages, len(readings), near.cost, near.failed)

    async def page(self, digest: str, sessions: Collection[str]) -> StoredPage | None:
        """Return the page with the digest of its text, if one of ``sessions`` read it. Raises as ``find``."""
        with self._translated():
            return await self._of_sessions(sessions, lambda index: index.reading(digest, sessions))

    async def _of_sessions(self, sessions: Collection[str], read: Callable[[Index], T]) -> T:
        """Return what ``read`` finds when all sessions are indexed. Whoever cancels it waits for one batch of them at most."""
        while True:
            is_current, found = await self._on(lambda index: (self._refresh_sessions(index, sessions), read(index)))
            if is_current:
                return found

    def _refresh_sessions(self, index: Index, sessions: Collection[str]) -> bool:
        """Index the pages of a batch of these sessions that are not indexed yet; return whether it was the last.

        A missing session, or one of a damaged log, has no pages.
        """
        assert self._store is not None  # noqa: S101 - who finds stored pages gave their store
        known, marks = index.marks(), self._store.marks()
        changed = [session for session in sessions if marks.get(session, "") != known.get(session)]
        for session in changed[:_BATCH_SESSIONS]:
            index.put_session(session, marks.get(session, ""), _readings(self._store, session))
        new = index.unindexed(reading.digest for reading in index.readings(sessions).values())
        for start in range(0, len(new), _BATCH_FILES):
            texts: dict[str, str] = {}
            for digest in new[start : start + _BATCH_FILES]:
                with suppress(ObjectMissing):
                    texts[digest] = clean(self._store.objects.get(digest).decode("utf-8", "replace"))
            index.put_files((), texts)
        return len(changed) <= _BATCH_SESSIONS

    # --- the index

    async def _ranked(self, query: str, scope: Scope, limit: int) -> tuple[Ranking, ByMeaning]:
        near = await self._meaning.rank(query, scope, self._on) if self._meaning else ByMeaning()
        most = max(limit, _RERANKED) if self._reranker and limit > 0 else max(0, limit)
        found = await self._on(lambda index: ranking(index, scope, query, most, near))
        if self._reranker is None or not found.passages:
            return found, near
        try:
            best = list(found.passages[:_RERANKED])
            scores, cost = await self._reranker.scores(query, [one.passage.body for one in best])
        except StepError as error:
            _log.warning("the passages are in the order of the index, not of the reranker: %s", error.message)
            side = FailedSide(origin="reranker", reason=one_line(error.message, 500))
            near = replace(near, cost=total([near.cost, error.cost or Cost()]), failed=(*near.failed, side))
            return replace(found, passages=found.passages[:limit]), near
        known = found.statistics.model_copy(update={"nearest": self._reranker.model.floor})
        best = _in_order([one._replace(score=score, cosine=score) for one, score in zip(best, scores, strict=True)])
        best += [one._replace(score=0.0, cosine=None) for one in found.passages[_RERANKED:]]  # nobody has compared them
        return Ranking(tuple(best[:limit]), known, found.languages), replace(near, cost=total([near.cost, cost]))

    async def _on(self, action: Callable[[Index], T]) -> T:
        return await asyncio.to_thread(self._run, action)

    def _run(self, action: Callable[[Index], T]) -> T:
        """Run ``action`` on the open index; if the file is damaged, delete it, build it again and run ``action`` again."""
        with self._lock:
            try:
                return action(self._opened())
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
            self._close_index()
            remove_index(self._cache)
            if self._report:
                self._refresh(self._opened())
            return action(self._opened())

    def _opened(self) -> Index:
        if self._index is None:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            self._index = Index(self._cache)
        return self._index

    def _close_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            hint = f"free some space or make {self._cache.parent} writable, then run again; nothing that was recorded is lost"
            raise IndexRefused(f"The index of passages cannot be used: {error}.", hint=hint) from error


def _readings(store: EventStore, session: str) -> list[StoredPage]:
    """Return the pages that a session read. One whose log cannot be read has none; ``research verify`` names it."""
    try:
        events = [from_json(record.data) for record in store.load(session) if record.type in _OF_PAGES]
    except LogError:
        return []
    pages = (page for event in events for page in event.get("pages", [event]))  # what is kept of a pruned session lists them
    return [StoredPage(page["url"], page["title"], page["digest"], session, page["at"]) for page in pages]


def _thin(files: Mapping[str, IndexedFile]) -> tuple[SkippedFile, ...]:
    return tuple(sorted(SkippedFile(printable(path_of(file.url)), file.missing) for file in files.values() if file.missing))
