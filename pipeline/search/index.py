"""The index of passages: one SQLite file for the folders of documents and for the pages that sessions read.

A page is kept by the SHA-256 of its text, whoever read it and however often, with the stems of its passages (FTS5) and one vector
a passage. What is searched is a ``Scope``: some pages, with the address at which each is found. The file is a cache and may be
deleted at any time; vectors are then made, or paid for, again. SQLite finds candidates, ``passage_search`` ranks them.
A passage's number derives from its page's digest, so equally good ones have the same order in whatever order they were indexed.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pipeline.ports import StoredPage
from pipeline.system.files import connect_sqlite
from pipeline.text.passages import Passage, passages
from pipeline.text.ranking import StemmedText
from pipeline.text.words import DEFAULT_LANGUAGE, language_of, stems

FILE = "passages.sqlite"
_EARLIER = ("corpus.sqlite", "corpus.sqlite.lock", "stored-pages.sqlite", "embeddings.sqlite", "summaries.sqlite")
VERSION = 29  # raised when tables, cutting or text of passages change; of an older file only the vectors stay
_ORDINAL_BITS = 16  # a page has at most 65,536 passages
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE files (
    url TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, bytes TEXT NOT NULL, digest TEXT NOT NULL,
    reason TEXT NOT NULL, title TEXT NOT NULL, published TEXT NOT NULL, missing TEXT NOT NULL
);
CREATE TABLE sessions (id TEXT PRIMARY KEY, mark TEXT NOT NULL);
CREATE TABLE readings (
    url TEXT NOT NULL, title TEXT NOT NULL, digest TEXT NOT NULL, session TEXT NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (session, url)
);
CREATE TABLE pages (
    number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, language TEXT NOT NULL,
    passages INTEGER NOT NULL, body_stems INTEGER NOT NULL, heading_stems INTEGER NOT NULL
);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, packed BLOB NOT NULL, key INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (
    heads, body, content = '', tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* Co' tokenchars '._:/+#-'"
);
"""


class IndexedFile(NamedTuple):
    """A file of the folders. ``bytes`` is its SHA-256, or "" if it was not read; ``digest`` that of its text, or "".

    ``reason`` is why it is not searched, or ""; ``missing`` is what its stored text lacks, or "".
    """

    url: str
    size: int
    changed: int
    bytes: str
    digest: str = ""
    reason: str = ""
    title: str = ""
    published: str = ""
    missing: str = ""


class Source(NamedTuple):
    """Where a page of a scope is found. ``place`` is that of its folder in the order of preference, from 0."""

    url: str
    title: str = ""
    published: str = ""
    place: int = 0


@dataclass(eq=False)
class Scope:
    """The pages that a search ranks, by the digest of their text; and, once they are known, the passages in them."""

    sources: Mapping[str, Source]
    keys: dict[int, int] | None = None  # of the passages' texts by number; of equal texts the lowest number stands for all
    missing: list[int] | None = None  # numbers of passages without a vector


class Candidate(NamedTuple):
    """A passage of the index: its number, where its page is found, the passage, and the form that the ranking reads.

    When it is ranked: the score, 0 to 1, the share of the question's words that it holds, and its cosine if that is known.
    """

    number: int
    source: Source
    passage: Passage
    stemmed: StemmedText
    score: float = 0.0
    coverage: float = 0.0
    cosine: float | None = None


class Index:
    """One open index file. Not thread-safe: its owner holds a lock. All methods may raise ``sqlite3.Error``."""

    def __init__(self, path: Path) -> None:
        """Open the file ``path``; of one of another version only the vectors stay."""
        self._db = connect_sqlite(path, threads=True)
        self._scope: Scope | None = None
        self._pages: dict[int, Source] = {}
        self._languages: dict[int, str] = {}
        try:
            self._share()
            self._db.execute("PRAGMA synchronous = FULL")  # a vector that was paid for must survive a power cut
            self._db.execute("CREATE TEMP TABLE scope (page INTEGER PRIMARY KEY)")
            if self._version() != VERSION:
                with self._transaction():
                    if self._version() != VERSION:  # another process may have been faster
                        self._build()
        except BaseException:
            self._db.close()
            raise

    def _share(self, wait_s: float = 60.0) -> None:
        """Let readers and a writer share the file. SQLite refuses this at once while another process opens it, so try again."""
        until = time.monotonic() + wait_s
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:  # commits, or rolls back
            yield

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _build(self) -> None:
        kept = "('vocabulary', 'words', 'meta', 'vectors')"  # the first two go below; vectors may have been paid for
        made = f"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN {kept}"  # noqa: S608
        for name in ("vocabulary", "words", *(row[0] for row in self._db.execute(made).fetchall())):
            self._db.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    # --- what is indexed

    def files(self) -> dict[str, IndexedFile]:
        """Return all files of the folders by address."""
        return {row[0]: IndexedFile(*row) for row in self._db.execute("SELECT * FROM files ORDER BY url")}

    def put_files(self, files: Sequence[IndexedFile], texts: Mapping[str, str], gone: Iterable[str] = ()) -> None:
        """Replace the entries of ``files``, whose new ``texts`` come by digest, and delete those of the addresses ``gone``."""
        with self._transaction():
            self._db.executemany("DELETE FROM files WHERE url = ?", [(url,) for url in gone])
            self._db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", files)
            self._add(texts)

    def marks(self) -> dict[str, str]:
        """Return the mark of each session whose readings are known."""
        return dict(self._db.execute("SELECT id, mark FROM sessions"))

    def put_session(self, session: str, mark: str, readings: Sequence[StoredPage]) -> None:
        """Replace what is known of a session."""
        with self._transaction():
            self._db.execute("DELETE FROM readings WHERE session = ?", (session,))
            self._db.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?, ?)", map(astuple, readings))
            self._db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (session, mark))

    def readings(self, sessions: Iterable[str]) -> dict[str, StoredPage]:
        """Return the latest reading of each page that these sessions read, by address."""
        of_one = "SELECT * FROM readings WHERE session = ?"
        rows = [StoredPage(*row) for session in sessions for row in self._db.execute(of_one, (session,))]
        return {one.url: one for one in sorted(rows, key=lambda one: (one.at, one.session))}

    def reading(self, digest: str, sessions: Collection[str]) -> StoredPage | None:
        """Return a reading of the page with that digest in one of these sessions."""
        rows = self._db.execute("SELECT * FROM readings WHERE digest = ?", (digest,))
        return next((page for row in rows if (page := StoredPage(*row)).session in sessions), None)

    def unindexed(self, digests: Iterable[str]) -> list[str]:
        """Return those of the pages that are not here yet, each once, sorted."""
        return sorted(set(digests) - {row[0] for row in self._db.execute("SELECT digest FROM pages")})

    def _add(self, texts: Mapping[str, str]) -> None:
        """Cut pages into passages and insert them, in the order of their numbers: FTS5 is slow with numbers out of order."""
        self._scope = None
        for digest in sorted(self.unindexed(texts)):
            page, text = int(digest[:12], 16) >> 1, texts[digest]
            language = language_of(text) or DEFAULT_LANGUAGE
            found = passages(text)[: 1 << _ORDINAL_BITS]
            headings = {one.headings: stems(one.headings, language) for one in found}
            bodies = [stems(one.body, language) for one in found]
            sums = len(found), sum(map(len, bodies)), sum(len(headings[one.headings]) for one in found)
            self._db.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)", (page, digest, language, *sums))
            numbered = list(enumerate(zip(found, bodies, strict=True), page << _ORDINAL_BITS))
            for number, (one, _) in numbered:
                parts = (one.path, one.anchor, one.lead, one.text, one.start)
                packed = zlib.compress(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass"))
                self._db.execute("INSERT INTO passages VALUES (?, ?, ?)", (number, packed, key_of(_whole(one))))
            words = [(n, " ".join(headings[one.headings]), " ".join(body)) for n, (one, body) in numbered]
            self._db.executemany("INSERT INTO words (rowid, heads, body) VALUES (?, ?, ?)", words)

    def tidy(self) -> None:
        """Delete pages that no file holds and no session read, and merge what many batches left."""
        unused = (
            "SELECT number, language FROM pages WHERE digest NOT IN (SELECT digest FROM files UNION SELECT digest FROM readings)"
        )
        with self._transaction():
            for page, language in self._db.execute(unused).fetchall():
                first = page << _ORDINAL_BITS
                of_page = "SELECT id, packed FROM passages WHERE id BETWEEN ? AND ?"
                for number, packed in self._db.execute(of_page, (first, first + (1 << _ORDINAL_BITS) - 1)).fetchall():
                    heads, body = _words(_unpacked(packed), language)  # FTS5 wants what it was given
                    delete = "INSERT INTO words (words, rowid, heads, body) VALUES ('delete', ?, ?, ?)"
                    self._db.execute(delete, (number, " ".join(heads), " ".join(body)))
                    self._db.execute("DELETE FROM passages WHERE id = ?", (number,))
                self._db.execute("DELETE FROM pages WHERE number = ?", (page,))
            self._db.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._scope = None
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def count(self, digests: Iterable[str]) -> int:
        """Return the number of passages that these pages have."""
        known = dict(self._db.execute("SELECT digest, passages FROM pages"))
        return sum(known.get(digest, 0) for digest in set(digests))

    # --- what is searched

    def limit_to(self, scope: Scope) -> None:
        """Limit all that follows to the pages of ``scope``."""
        if self._scope is scope:
            return
        rows = self._db.execute("SELECT number, digest, language FROM pages").fetchall()
        self._pages = {row[0]: scope.sources[row[1]] for row in rows if row[1] in scope.sources}
        self._languages = {row[0]: row[2] for row in rows if row[0] in self._pages}
        self._db.execute("DELETE FROM scope")
        self._db.executemany("INSERT INTO scope VALUES (?)", [(number,) for number in sorted(self._pages)])
        self._scope = scope

    def languages(self) -> tuple[str, ...]:
        """Return the languages of the pages, the most frequent first."""
        found = list(self._languages.values())
        return tuple(sorted(set(found), key=lambda language: (-found.count(language), language)))

    def totals(self) -> tuple[int, int, float, float]:
        """Return the numbers of pages and passages, and the mean numbers of stems in a passage's text and headings."""
        sums = "count(*), sum(passages), sum(body_stems), sum(heading_stems)"
        pages, number, body, heads = self._db.execute(f"SELECT {sums} FROM pages JOIN scope ON page = number").fetchone()  # noqa: S608
        return pages, number or 0, (body or 0) / (number or 1), (heads or 0) / (number or 1)

    def holds(self, name: str, scope: Scope) -> bool:
        """Return whether a passage of ``scope``, or a heading above one, contains ``name``, in whatever case its letters are.

        "VMs" and "Raspberry Pis" are there where one is.
        """
        self.limit_to(scope)
        wanted, rows = name.removesuffix("s").casefold(), self._db.execute("SELECT id, packed FROM passages")
        return any(
            number >> _ORDINAL_BITS in self._pages and wanted in _whole(_unpacked(packed)).casefold() for number, packed in rows
        )

    def counts(self, wanted: Iterable[str]) -> dict[str, int]:
        """Return for each stem the number of passages that hold it, headings included; stems without any are left out."""
        one = f"SELECT count(*) FROM words WHERE words MATCH ? {_INSIDE}"  # noqa: S608
        found = {stem: self._db.execute(one, (f'"{stem}"',)).fetchone()[0] for stem in wanted}
        return {stem: number for stem, number in found.items() if number}

    def candidates(self, wanted: Sequence[str], limit: int) -> list[Candidate]:
        """Return at most ``limit`` passages that hold any of the stems ``wanted``, best first by SQLite's BM25."""
        expression = " OR ".join(f'"{stem}"' for stem in wanted)
        best = self._db.execute(f"SELECT rowid FROM words WHERE words MATCH ? {_INSIDE} ORDER BY rank, rowid", (expression,))  # noqa: S608
        return self.passages(number for (number,) in islice(best, limit))

    def passages(self, numbers: Iterable[int]) -> list[Candidate]:
        """Return these passages in their order; one that is no longer in the index is left out."""
        found: list[Candidate] = []
        for number in numbers:
            source = self._pages.get(number >> _ORDINAL_BITS)
            if source and (one := self._passage(number)):
                heads, body = _words(one, self._languages[number >> _ORDINAL_BITS])
                found.append(Candidate(number, source, one, StemmedText(tuple(body), tuple(heads))))
        return found

    def _passage(self, number: int) -> Passage | None:
        row = self._db.execute("SELECT packed FROM passages WHERE id = ?", (number,)).fetchone()
        return _unpacked(row[0]) if row else None

    # --- vectors

    def use_space(self, space: str, probe: bytes) -> bytes | None:
        """Keep vectors of this space from now on, and delete those of another; return the known text's vector kept before."""
        kept = dict(self._db.execute("SELECT key, value FROM meta"))
        if kept.get("space") == space and kept.get("probe") == probe:
            return probe
        before: bytes | None = kept.get("probe") if kept.get("space") == space else None
        if before is None:
            self.forget_vectors()
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [("space", space), ("probe", probe)])
        return before

    def forget_vectors(self) -> None:
        """Delete all vectors."""
        with self._transaction():
            self._db.execute("DELETE FROM vectors")

    def keys(self, scope: Scope) -> dict[int, int]:
        """Return the key of each passage's text by number; of equal texts the lowest number stands for all."""
        if scope.keys is None:
            self.limit_to(scope)
            rows = self._db.execute("SELECT id, key FROM passages ORDER BY id")
            first: dict[int, int] = {}
            for number, key in rows:
                if number >> _ORDINAL_BITS in self._pages:
                    first.setdefault(key, number)
            scope.keys = {number: key for key, number in first.items()}
        return scope.keys

    def without_vector(self, scope: Scope) -> list[int]:
        """Return the numbers of the passages of ``scope`` whose texts have no vector."""
        known = {row[0] for row in self._db.execute("SELECT key FROM vectors")}
        return [number for number, key in self.keys(scope).items() if key not in known]

    def vector(self, key: int) -> bytes | None:
        """Return the vector of one text."""
        row = self._db.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return bytes(row[0]) if row else None

    def vectors_of(self, scope: Scope) -> dict[int, bytes]:
        """Return the vectors of the passages of ``scope`` by number."""
        known = dict(self._db.execute("SELECT key, vector FROM vectors"))
        return {number: known[key] for number, key in self.keys(scope).items() if key in known}

    def put_vectors(self, vectors: Mapping[int, bytes]) -> None:
        """Keep vectors durably."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", sorted(vectors.items()))

    def texts_of(self, numbers: Iterable[int]) -> list[str]:
        """Return headings and text of these passages, which vectors are made of; "" for one that is no longer in the index."""
        return [_whole(one) if (one := self._passage(number)) else "" for number in numbers]


_INSIDE = f"AND (rowid >> {_ORDINAL_BITS}) IN (SELECT page FROM scope)"  # noqa: S608 - a number of ours


def key_of(text: str) -> int:
    """Return the key of a text that a vector is made of: eight bytes of its SHA-256."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:8], "big", signed=True)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the index file itself is damaged, in contrast to a fault of the disk or another process."""
    name = getattr(error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "no such table" in str(error) or "no such column" in str(error)


def copy_index(path: Path, to: Path) -> None:
    """Copy an index file to ``to`` without touching it or what is beside it; nothing if there is none that can be read."""
    with suppress(sqlite3.Error), closing(connect_sqlite(path, "ro&immutable=1")) as known, closing(connect_sqlite(to)) as copy:
        known.backup(copy)


def remove_index(path: Path) -> None:
    """Delete an index file, the files that SQLite keeps beside it, and the caches of earlier versions of the program."""
    for name in (path.name, *_EARLIER):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(f"{name}{suffix}").unlink(missing_ok=True)


def _unpacked(packed: bytes) -> Passage:
    path, anchor, lead, text, start = json.loads(zlib.decompress(packed))
    return Passage(text, lead, tuple(path), anchor, start)


def _words(one: Passage, language: str) -> tuple[list[str], list[str]]:
    return stems(one.headings, language), stems(one.body, language)


def _whole(one: Passage) -> str:
    return "\n".join(filter(None, (" › ".join(one.path), one.lead, one.text)))
