"""The index of stored pages: one SQLite file with FTS5 that can be rebuilt at any time from the log.

It is the passage index of the local search, with the digest of a page's text as its address, because a stored page never changes.
Two more tables say which session read which page. A query is limited to a *scope*, the pages that some sessions read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.adapters.search.local.passage_index import Candidate, Index, IndexedFile

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, mark TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS readings (
    session TEXT NOT NULL, url TEXT NOT NULL, digest TEXT NOT NULL, title TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (session, url)
);
CREATE TEMP TABLE scope (digest TEXT PRIMARY KEY);
CREATE TEMP TABLE scope_passages (id INTEGER PRIMARY KEY);
"""


class Reading(NamedTuple):
    """A page as one session read it at one time; ``digest`` is that of its stored text."""

    session: str
    url: str
    digest: str
    title: str
    at: str


class StoredPageIndex(Index):
    """One open index file. Not thread-safe: its owner holds a lock. All methods may raise ``sqlite3.Error``."""

    def __init__(self, cache: Path) -> None:
        super().__init__(cache, "stored pages")
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        self._whole = True

    def marks(self) -> dict[str, str]:
        """Return the mark of each session whose readings are known."""
        return dict(self._db.execute("SELECT id, mark FROM sessions"))

    def put_session(self, session: str, mark: str, readings: Sequence[Reading]) -> None:
        """Replace what is known of a session."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM readings WHERE session = ?", (session,))
        self._db.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?, ?)", readings)
        self._db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (session, mark))
        self._db.execute("COMMIT")

    def readings(self, sessions: Sequence[str]) -> dict[str, Reading]:
        """Return the latest reading of each page that these sessions read, by address."""
        found: dict[str, Reading] = {}
        for session in sessions:
            for row in self._db.execute("SELECT session, url, digest, title, at FROM readings WHERE session = ?", (session,)):
                reading = Reading(*row)
                known = found.get(reading.url)
                if known is None or (known.at, known.session) < (reading.at, reading.session):
                    found[reading.url] = reading
        return found

    def unindexed(self, digests: Iterable[str]) -> list[str]:
        """Return those of the pages whose passages are not here yet, each once, sorted."""
        known = {row[0] for row in self._db.execute("SELECT url FROM files")}
        return sorted(set(digests) - known)

    def limit_to(self, digests: Iterable[str]) -> None:
        """Limit all queries from now on to the pages of these digests."""
        wanted = [(digest,) for digest in sorted(set(digests))]
        self._db.execute("DELETE FROM scope")
        self._db.execute("DELETE FROM scope_passages")
        self._db.executemany("INSERT INTO scope VALUES (?)", wanted)
        self._whole = len(wanted) == self._db.execute("SELECT count(*) FROM files").fetchone()[0]
        if not self._whole:
            self._db.execute("INSERT INTO scope_passages SELECT id FROM passages JOIN scope ON url = digest")

    def languages(self) -> tuple[str, ...]:
        """Return the languages of the scope's pages, the most frequent first."""
        rows = self._db.execute(
            "SELECT language FROM files JOIN scope ON url = scope.digest WHERE language != '' "
            "GROUP BY language ORDER BY count(*) DESC, language"
        )
        return tuple(row[0] for row in rows)

    def totals(self) -> tuple[int, int, float, float]:
        """Return the numbers of the scope's pages and passages, and the mean numbers of stems in text and headings."""
        pages = self._db.execute("SELECT count(*) FROM files JOIN scope ON url = scope.digest WHERE reason = ''").fetchone()
        row = self._db.execute(
            "SELECT count(*), avg(body_stems), avg(heading_stems) FROM passages JOIN scope ON url = digest"
        ).fetchone()
        return int(pages[0]), int(row[0]), float(row[1] or 0.0), float(row[2] or 0.0)

    def counts(self, wanted: Iterable[str]) -> dict[str, int]:
        """Return for each stem the number of the scope's passages that hold it; stems without any are left out."""
        if self._whole:
            return super().counts(wanted)
        statement = "SELECT count(*) FROM words JOIN scope_passages ON words.rowid = scope_passages.id WHERE words MATCH ?"
        found = {stem: int(self._db.execute(statement, (f'"{stem}"',)).fetchone()[0]) for stem in wanted}
        return {stem: count for stem, count in found.items() if count}

    def candidates(self, wanted: Sequence[str], limit: int) -> list[Candidate]:
        """Return at most ``limit`` of the scope's passages that hold any of the stems ``wanted``, best first by BM25."""
        expression = " OR ".join(f'"{stem}"' for stem in wanted)
        within = "" if self._whole else "AND rowid IN (SELECT id FROM scope_passages) "
        best = self._db.execute(f"SELECT rowid FROM words WHERE words MATCH ? {within}ORDER BY rank, rowid", (expression,))  # noqa: S608
        return [self._candidate(number) for (number,) in islice(best, limit)]

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield number and whole text of each of the scope's passages, by number."""
        numbers = [row[0] for row in self._db.execute("SELECT id FROM passages JOIN scope ON url = digest ORDER BY id")]
        yield from zip(numbers, self.texts_of(numbers), strict=True)

    def unreadable(self) -> Mapping[str, str]:
        """Return why pages are not searched, by digest."""
        rows: Iterator[tuple[str, str]] = self._db.execute("SELECT url, reason FROM files WHERE reason != ''")
        return dict(rows)

    def put_pages(self, pages: Sequence[IndexedFile]) -> None:
        """Store the passages of new pages, in one transaction."""
        self.replace(pages)
