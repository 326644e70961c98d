"""The passage index of the documents: one SQLite file with FTS5 that can be rebuilt at any time.

Words are stored as stems (``pipeline.text.words``), separated by spaces. SQLite finds candidates; Python ranks them. A
passage's number derives from its document's address, so the order of equally good hits does not depend on the order of
indexing. Batches are inserted in the order of their numbers, because FTS5 flushes its buffer early on numbers out of order.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.system.files import connect_sqlite
from pipeline.text.ranking.passages import Passage, passages
from pipeline.text.ranking.scoring import StemmedText
from pipeline.text.words import DEFAULT_LANGUAGE, language_of, stems

VERSION = "16"  # raised when the tables or the parsing of files change; a new version rebuilds the cache
_ORDINAL_BITS = 20

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (
    url TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, digest TEXT NOT NULL, reason TEXT NOT NULL,
    title TEXT NOT NULL, published TEXT NOT NULL, language TEXT NOT NULL, missing TEXT NOT NULL
);
CREATE INDEX files_digest ON files (digest);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL, path TEXT NOT NULL, anchor TEXT NOT NULL,
    lead TEXT NOT NULL, text TEXT NOT NULL, body_stems INTEGER NOT NULL, heading_stems INTEGER NOT NULL
);
CREATE INDEX passages_url ON passages (url);
CREATE VIRTUAL TABLE words USING fts5 (
    heads, body, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co' tokenchars '._:/+#-'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, row);
"""


class PassageRow(NamedTuple):
    """A passage's row of the table ``passages``, and that of ``words``; both begin with its number."""

    stored: tuple[int, str, str, str, str, str, int, int]
    words: tuple[int, str, str]


class IndexedFile(NamedTuple):
    """A file's entry. ``reason`` is why it is not searched, or ""; ``digest`` is its SHA-256, or "" if it was not read.

    ``missing`` is what its stored text lacks, or "".
    """

    url: str
    size: int
    changed: int
    digest: str
    reason: str = ""
    title: str = ""
    published: str = ""
    language: str = ""
    missing: str = ""
    rows: Sequence[PassageRow] = ()


def with_passages(file: IndexedFile, text: str) -> IndexedFile:
    """Return a file's entry with the rows of its passages, and its language if it has none: nearly all the work of indexing."""
    language = file.language or language_of(text) or DEFAULT_LANGUAGE
    return file._replace(language=language, rows=tuple(_rows(file.url, passages(text), language)))


class Candidate(NamedTuple):
    """A passage that holds stems of a query; ``path`` are its headings, ``ranked`` the form that the ranking reads."""

    number: int
    url: str
    title: str
    published: str
    path: tuple[str, ...]
    anchor: str
    text: str
    ranked: StemmedText


class Index:
    """One open index file. Not thread-safe: its owner holds a lock. All methods may raise ``sqlite3.Error``."""

    def __init__(self, cache: Path, source: str) -> None:
        """Open ``cache``; an index built from another ``source`` or by another version is replaced by an empty one."""
        self._db = connect_sqlite(cache, threads=True)
        try:
            self._prepare(f"{VERSION} {source}")
        except BaseException:
            self._db.close()
            raise

    def _prepare(self, identity: str) -> None:
        self._db.execute("PRAGMA journal_mode = WAL")
        if self._identity() != identity:
            self._db.execute("BEGIN IMMEDIATE")
            if self._identity() != identity:  # another process may have been faster
                self._build(identity)
            self._db.execute("COMMIT")

    def _build(self, identity: str) -> None:
        for name in ("vocabulary", "words", "passages", "files", "meta"):
            self._db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        self._db.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))

    def _identity(self) -> str:
        known = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        row = self._db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone() if known else None
        return str(row[0]) if row else ""

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def files(self) -> dict[str, IndexedFile]:
        """Return all files by address, without their passages."""
        rows = self._db.execute("SELECT url, size, changed, digest, reason, title, published, language, missing FROM files")
        return {row[0]: IndexedFile(*row) for row in rows}

    def count(self) -> int:
        """Return the number of passages."""
        return int(self._db.execute("SELECT count(*) FROM passages").fetchone()[0])

    def totals(self) -> tuple[int, int, float, float]:
        """Return the numbers of documents and passages, and the mean numbers of stems in a passage's text and headings."""
        documents = self._db.execute("SELECT count(*) FROM files WHERE reason = ''").fetchone()
        row = self._db.execute("SELECT count(*), avg(body_stems), avg(heading_stems) FROM passages").fetchone()
        return int(documents[0]), int(row[0]), float(row[1] or 0.0), float(row[2] or 0.0)

    def languages(self) -> tuple[str, ...]:
        """Return the languages that the documents are written in, the most frequent first."""
        rows = self._db.execute(
            "SELECT language FROM files WHERE language != '' GROUP BY language ORDER BY count(*) DESC, language"
        )
        return tuple(row[0] for row in rows)

    def counts(self, wanted: Iterable[str]) -> dict[str, int]:
        """Return for each stem the number of passages that hold it, headings included; stems without any are left out."""
        found: dict[str, int] = {}
        for stem in wanted:
            row = self._db.execute("SELECT doc FROM vocabulary WHERE term = ?", (stem,)).fetchone()
            if row:
                found[stem] = int(row[0])
        return found

    def touch(self, files: Sequence[IndexedFile]) -> None:
        """Store new sizes and times of files with unchanged content."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("UPDATE files SET size = ?, changed = ? WHERE url = ?", [(f.size, f.changed, f.url) for f in files])
        self._db.execute("COMMIT")

    def replace(self, files: Sequence[IndexedFile], gone: Sequence[str] = ()) -> None:
        """Replace the entries and passages of ``files``, and delete those of the addresses ``gone``, in one transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._delete([*(file.url for file in files), *gone])
            self._insert(files)
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def _delete(self, urls: Sequence[str]) -> None:
        keys = [(url,) for url in urls]
        self._db.executemany("DELETE FROM words WHERE rowid IN (SELECT id FROM passages WHERE url = ?)", keys)
        self._db.executemany("DELETE FROM passages WHERE url = ?", keys)
        self._db.executemany("DELETE FROM files WHERE url = ?", keys)

    def _insert(self, files: Sequence[IndexedFile]) -> None:
        self._db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [file[:9] for file in files])
        rows = sorted((row for file in files for row in file.rows), key=lambda row: row.words[0])
        self._db.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row.stored for row in rows])
        self._db.executemany("INSERT INTO words (rowid, heads, body) VALUES (?, ?, ?)", [row.words for row in rows])

    def optimise(self) -> None:
        """Merge the segments that many batches left; worth its time after many changes."""
        self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def candidates(self, wanted: Sequence[str], limit: int) -> list[Candidate]:
        """Return at most ``limit`` passages that hold any of the stems ``wanted``, best first by SQLite's BM25.

        Of files with the same bytes, only the first by address is searched.
        """
        expression = " OR ".join(f'"{stem}"' for stem in wanted)
        firsts = self._firsts()
        best = self._db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid", (expression,))
        found = (candidate for (number,) in best if (candidate := self._candidate(number)).url in firsts)
        return list(islice(found, limit))

    def _firsts(self) -> set[str]:
        return {row[0] for row in self._db.execute("SELECT min(url) FROM files WHERE reason = '' GROUP BY digest")}

    def texts(self) -> Iterator[tuple[int, str]]:
        """Yield number and whole text (headings, lead, text) of each passage that is searched, by number."""
        firsts = self._firsts()
        rows = self._db.execute("SELECT id, url, path, lead, text FROM passages ORDER BY id")
        yield from ((row[0], _whole(*row[2:])) for row in rows if row[1] in firsts)

    def texts_of(self, numbers: Iterable[int]) -> list[str]:
        """Return the whole texts of these passages; "" for one that is no longer in the index."""
        one = "SELECT path, lead, text FROM passages WHERE id = ?"
        rows = [self._db.execute(one, (number,)).fetchone() for number in numbers]
        return [_whole(*row) if row else "" for row in rows]

    def passages(self, numbers: Iterable[int]) -> list[Candidate]:
        """Return these passages in the order of their numbers' list; one that is no longer in the index is left out."""
        return [one for one in map(self._candidate_or_none, numbers) if one is not None]

    def _candidate(self, number: int) -> Candidate:
        found = self._candidate_or_none(number)
        assert found is not None  # noqa: S101 - the two tables change together
        return found

    def _candidate_or_none(self, number: int) -> Candidate | None:
        row = self._db.execute(
            "SELECT p.id, p.url, f.title, f.published, p.path, p.anchor, p.lead, p.text, w.heads, w.body "
            "FROM passages p JOIN words w ON w.rowid = p.id JOIN files f ON f.url = p.url WHERE p.id = ?",
            (number,),
        ).fetchone()
        return _candidate(row) if row else None


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the index file itself is damaged, in contrast to a fault of the disk or another process."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such table" in str(error) or "no such column" in str(error)


def remove_index(cache: Path) -> None:
    """Delete an index file and the files that SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{cache}{suffix}").unlink(missing_ok=True)


@lru_cache(maxsize=256)  # the passages of a section follow each other
def _as_json(path: tuple[str, ...]) -> str:
    return json.dumps(path, ensure_ascii=False)


def _rows(url: str, found: Sequence[Passage], language: str) -> Iterator[PassageRow]:
    start = int.from_bytes(hashlib.sha256(url.encode()).digest()[:5], "big") << _ORDINAL_BITS
    headings = {text: stems(text, language) for text in {passage.headings for passage in found}}
    for number, one in enumerate(found, start):
        body, heads = stems(one.body, language), headings[one.headings]
        path = _as_json(one.path)
        stored = (number, url, path, one.anchor, one.lead, one.text, len(body), len(heads))
        yield PassageRow(stored, (number, " ".join(heads), " ".join(body)))


def _whole(path: str, lead: str, text: str) -> str:
    return "\n".join(filter(None, (" › ".join(json.loads(path)), lead, text)))


def _candidate(row: tuple[int, str, str, str, str, str, str, str, str, str]) -> Candidate:
    number, url, title, published, path, anchor, lead, text, heads, body = row
    shown = f"{lead}\n{text}" if lead else text
    ranked = StemmedText(tuple(body.split()), tuple(heads.split()), shown, url)
    return Candidate(number, url, title, published, tuple(json.loads(path)), anchor, text, ranked)
