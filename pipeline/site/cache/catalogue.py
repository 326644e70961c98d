"""``Catalogue``: an SQLite cache of the vault's files and of the pages made from them. It can be deleted at any time.

It answers what a page shows of other notes (who links to it, their titles, its neighbours), so that a changed note costs only the
pages that show something of it. The processes that render read it; only the one that builds writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pipeline.site.cache import schema
from pipeline.site.cache.note_record import KINDS, OTHER, Face, Record
from pipeline.site.cache.table_order_store import Orders
from pipeline.site.markdown.note_draft import Around
from pipeline.site.paths import Places, key_of, name_of, nearness
from pipeline.system.folder_fingerprint import Look
from pipeline.system.manifest import Manifest

SETTLED = "settled"  # remembered under this name: what all was made from when a build ended; "" while one is under way
_LISTED = {"kind": "notes", "tag": "tags"}  # what a list's notes are found in
_FACE = "n.path, n.kind, n.title, n.created, n.status, n.description, n.facts"
_PAGE = "path, source, key, size, mtime"
_PLACED = "FROM notes n WHERE n.kind = ? AND (n.created, n.path) >= (?, ?) AND (n.created, n.path) < (?, ?)"
_NEWEST = "ORDER BY n.created DESC, n.path"


class Page(NamedTuple):
    """A file of the site as it was made: the file of the vault it shows (None for another), its key, bytes, and time in ns."""

    path: str
    source: str | None
    key: str
    size: int
    mtime: int


@dataclass(frozen=True, slots=True)
class Rest:
    """What a note's own page shows beside its face and its text. Lists as in ``Record``."""

    digest: str
    heading: str
    properties: list[tuple[str, list[str]]]
    tags: list[str]
    toc: list[tuple[int, str, str]]
    names: dict[str, str]
    cites: list[tuple[str, str, str, str]]
    slots: list[list[str]]
    lang: str


class Catalogue:
    """The cache in ``file``; created again if there is none or it has another format.

    ``notes`` has the files of the vault as they were read, ``pages`` the files of the site as they were built.
    """

    def __init__(self, file: Path, *, writes: bool = False) -> None:
        self._file = file
        self._db = schema.prepared(file) if writes else schema.connected(file)
        self.orders = Orders(self._db)
        self.notes = Manifest(self._db, "notes", "vault_folders")
        self.pages = Manifest(self._db, "pages", "site_folders")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what is written inside."""
        self._db.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # files

    def digest_and_look(self, path: str) -> tuple[str, Look] | None:
        """Return the digest of a file, and how it looked, when it was read; None if it never was."""
        row = self._db.execute("SELECT digest, size, mtime FROM notes WHERE path = ? AND digest IS NOT NULL", (path,)).fetchone()
        return (row[0], Look(row[1], row[2])) if row else None

    def paths(self) -> tuple[str, ...]:
        """Return the path of every file that was entered."""
        return tuple(path for (path,) in self._db.execute("SELECT path FROM notes ORDER BY path"))

    def count(self) -> int:
        """Return how many files there are."""
        found: int = self._db.execute("SELECT count(*) FROM notes").fetchone()[0]
        return found

    def like(self, *, key: str = "", name: str = "") -> list[str]:
        """Return the paths of the files that were entered with this key, or this bare name."""
        column, value = ("key", key) if key else ("name", name)
        return [path for (path,) in self._db.execute(f"SELECT path FROM notes WHERE {column} = ?", (value,))]  # noqa: S608 - ours

    def touch(self, path: str, size: int, mtime: int) -> None:
        """Remember when a file whose content did not change was written."""
        self._db.execute("UPDATE notes SET size = ?, mtime = ? WHERE path = ?", (size, mtime, path))

    def enter(self, paths: Iterable[str]) -> None:
        """Make room for files, so that links can name them."""
        rows = ((path, key_of(path), name_of(key_of(path))) for path in paths)
        self._many("INSERT OR IGNORE INTO notes (path, key, name) VALUES (?, ?, ?)", rows)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files and what leads from them and to them."""
        for number in self._ids(paths).values():
            self._clear(number)
            self._db.execute("DELETE FROM links WHERE dst = ?", (number,))
            self._db.execute("DELETE FROM notes WHERE id = ?", (number,))

    def put(self, entries: Sequence[tuple[Record, int, int, str]], *, fresh: bool = False) -> None:
        """Remember files: each with its size, its time of change in ns, and what is searched of it (``Content``, packed).

        All files that they lead to are entered. ``fresh``: nothing was known of them.
        """
        ids = self._ids({path for record, *_ in entries for path in (record.face.path, *record.links)})
        if not fresh:
            for record, *_ in entries:
                self._clear(ids[record.face.path])
        pairs = [(ids[record.face.path], record) for record, *_ in entries]
        self._many(
            "UPDATE notes SET size=?, mtime=?, digest=?, kind=?, title=?, created=?, status=?, description=?, facts=?, "
            "rest=?, terms=? WHERE path=?",
            (_row(*entry) for entry in entries),
        )
        self._many(
            "INSERT INTO links VALUES (?, ?, ?)",
            ((n, ids[dst], deep) for n, record in pairs for dst, deep in record.links.items() if dst in ids),
        )
        self._many("INSERT INTO names VALUES (?, ?)", ((name, n) for n, record in pairs for name in record.names))
        self._many(
            "INSERT INTO tags VALUES (?, ?, ?, ?, ?)",
            (
                (tag, record.face.created, record.face.path, n, words)
                for n, record in pairs
                for tag, words in {words.lower(): words for words in sorted(record.tags, reverse=True)}.items()
            ),
        )
        self._many("INSERT INTO watched VALUES (?, ?)", ((tag, n) for n, record in pairs for tag in record.watched))
        self._many(
            "INSERT INTO blocks VALUES (?, ?, ?, ?)",
            ((n, block, text, _around(record, block)) for n, record in pairs for block, text in record.blocks.items()),
        )

    def _many(self, sql: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._db.executemany(sql, rows)

    def _ids(self, paths: Iterable[str]) -> dict[str, int]:
        asked = json.dumps(list(paths), ensure_ascii=False)
        return dict(
            self._db.execute("SELECT path, id FROM notes WHERE path IN (SELECT value FROM json_each(?))", (asked,)).fetchall()
        )

    def _clear(self, number: int) -> None:
        for table in ("links", "names", "tags", "watched", "blocks"):
            self._db.execute(f"DELETE FROM {table} WHERE src = ?", (number,))  # noqa: S608 - names of ours

    # what a page shows

    def face(self, path: str) -> Face | None:
        """Return a note's face, None if there is no such note."""
        return next(self._faces("WHERE n.path = ? AND n.digest IS NOT NULL", path), None)

    def rest(self, path: str) -> Rest:
        """Return what a note's own page shows beside its face."""
        digest, rest = self._db.execute("SELECT digest, rest FROM notes WHERE path = ?", (path,)).fetchone()
        return Rest(digest, **json.loads(rest))

    def targets(self, path: str) -> list[Face]:
        """Return the files that a note leads to."""
        return list(self._faces(f"JOIN links l ON l.dst = n.id JOIN notes s ON s.id = l.src WHERE s.path = ? {_NEWEST}", path))

    def linkers(self, path: str) -> list[Face]:
        """Return the files that lead to a file."""
        return list(self._faces(f"JOIN links l ON l.src = n.id JOIN notes d ON d.id = l.dst WHERE d.path = ? {_NEWEST}", path))

    def showers(self, path: str) -> set[str]:
        """Return the paths of the notes that show something of a file's content."""
        sql = "SELECT s.path FROM links l JOIN notes s ON s.id = l.src JOIN notes d ON d.id = l.dst WHERE d.path = ? AND l.deep"
        return {found for (found,) in self._db.execute(sql, (path,))}

    def watchers(self, tags: Iterable[str]) -> set[str]:
        """Return the paths of the notes with a table that may show notes with one of ``tags``."""
        sql = "SELECT n.path FROM watched w JOIN notes n ON n.id = w.src WHERE w.tag = ?"
        wanted = {"", *(part for tag in tags for part in _with_parents(tag))}
        return {path for tag in wanted for (path,) in self._db.execute(sql, (tag,))}

    def tagged(self, tags: Iterable[str]) -> list[Face]:
        """Return all notes that have one of ``tags`` or one below it."""
        where = "WHERE n.id IN (SELECT src FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?))"
        found = {face.path: face for tag in tags for face in self._faces(where, tag, f"{tag}/", f"{tag}0")}
        return list(found.values())

    def every_note(self) -> list[Face]:
        """Return all notes."""
        return list(self._faces("WHERE n.path LIKE '%.md' AND n.digest IS NOT NULL"))

    def leads(self, path: str, target: str) -> bool:
        """Tell whether one file leads to another."""
        sql = "SELECT 1 FROM links l JOIN notes s ON s.id = l.src JOIN notes d ON d.id = l.dst WHERE s.path = ? AND d.path = ?"
        return self._db.execute(sql, (path, target)).fetchone() is not None

    def naming(self, paths: Iterable[str]) -> set[str]:
        """Return the paths of the notes with a link whose name could mean one of ``paths``, now or before."""
        names = {form for key in map(key_of, paths) for form in (key, name_of(key))}
        sql = "SELECT n.path FROM names m JOIN notes n ON n.id = m.src WHERE m.name = ?"
        return {found for name in names for (found,) in self._db.execute(sql, (name,))}

    def block(self, path: str, block: str) -> str:
        """Return the text of a marked block, "" if there is none."""
        sql = "SELECT b.text FROM blocks b JOIN notes n ON n.id = b.src WHERE n.path = ? AND b.block = ?"
        row = self._db.execute(sql, (path, block)).fetchone()
        return row[0] if row else ""

    def around(self, path: str, block: str) -> Around:
        """Return what stands around the quote of a marked block."""
        sql = "SELECT b.around FROM blocks b JOIN notes n ON n.id = b.src WHERE n.path = ? AND b.block = ?"
        row = self._db.execute(sql, (path, block)).fetchone()
        return Around(*json.loads(row[0])) if row and row[0] else Around()

    def beside(self, face: Face) -> tuple[Face | None, Face | None]:
        """Return the note before and the note after one of the same kind, in the order of their days."""
        where = "WHERE n.kind = ? AND (n.created, n.path) {} (?, ?) ORDER BY n.created {}, n.path {} LIMIT 1"
        older = self._faces(where.format("<", "DESC", "DESC"), face.kind, face.created, face.path)
        newer = self._faces(where.format(">", "ASC", "ASC"), face.kind, face.created, face.path)
        return next(older, None), next(newer, None)

    def of_kind(self, kind: str) -> list[Face]:
        """Return all notes of a kind, oldest first."""
        return list(self._faces("WHERE n.kind = ? ORDER BY n.created, n.path", kind))

    def newest(self, kind: str, limit: int) -> list[Face]:
        """Return the newest notes of a kind, newest first."""
        return list(self._faces("WHERE n.kind = ? ORDER BY n.created DESC, n.path DESC LIMIT ?", kind, limit))

    def tags(self) -> list[tuple[str, str, int]]:
        """Return each tag, how it is written, and how many notes have it."""
        sql = "SELECT name, min(words), sum(count) FROM counts WHERE sort = 'tag' AND count > 0 GROUP BY name ORDER BY name"
        return self._db.execute(sql).fetchall()

    def spellings(self, tag: str) -> dict[str, int]:
        """Return how many notes write a tag in each of its ways."""
        sql = "SELECT words, sum(count) FROM counts WHERE sort = 'tag' AND name = ? AND count > 0 GROUP BY words"
        return dict(self._db.execute(sql, (tag,)).fetchall())

    def kinds(self) -> dict[str, int]:
        """Return how many notes there are of each kind."""
        sql = "SELECT name, sum(count) FROM counts WHERE sort = 'kind' AND count > 0 GROUP BY name"
        return dict(self._db.execute(sql).fetchall())

    def note_count(self) -> int:
        """Return how many notes there are."""
        kinds = self.kinds()
        return sum(kinds.get(kind, 0) for kind in (*KINDS, OTHER))

    def months(self, sort: str, name: str) -> dict[str, int]:
        """Return how many notes of a ``kind`` or with a ``tag`` are of each month, oldest first; "" for those without a day."""
        sql = "SELECT month, sum(count) FROM counts WHERE sort = ? AND name = ? AND count > 0 GROUP BY month ORDER BY month"
        return dict(self._db.execute(sql, (sort, name)).fetchall())

    def before(self, sort: str, name: str, created: str, path: str) -> int:
        """Return how many of them in the month of ``created`` stand before this place."""
        sql = f"SELECT count(*) FROM {_LISTED[sort]} WHERE {sort} = ? AND created >= ? AND (created, path) < (?, ?)"  # noqa: S608
        counted: int = self._db.execute(sql, (name, created[:7], created, path)).fetchone()[0]
        return counted

    def listed(self, sort: str, name: str, month: str, skipped: int, limit: int) -> list[Face]:
        """Return so many of them from a month on, oldest first, but ``skipped``."""
        inside = f"SELECT path FROM {_LISTED[sort]} WHERE {sort} = ? AND created >= ? ORDER BY created, path LIMIT ? OFFSET ?"  # noqa: S608
        return list(self._faces(f"WHERE n.path IN ({inside}) ORDER BY n.created, n.path", name, month, limit, skipped))

    def places(self, first: tuple[str, str], end: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield when each note was created, and its path, from one such place on and before another; sorted within each kind."""
        return (
            place
            for kind in (*KINDS, OTHER)
            for place in self._db.execute(f"SELECT created, path {_PLACED}", (kind, *first, *end))
        )

    def written(self, first: tuple[str, str], end: tuple[str, str]) -> Iterator[tuple[Face, str]]:
        """Yield the notes from one such place on and before another, each with what is searched of it."""
        for kind in (*KINDS, OTHER):
            for *face, terms in self._db.execute(f"SELECT {_FACE}, n.terms {_PLACED}", (kind, *first, *end)):
                yield _face(*face), terms

    def terms(self, paths: Iterable[str]) -> dict[str, str]:
        """Return what is searched of these notes, by path."""
        sql = "SELECT terms FROM notes WHERE path = ? AND digest IS NOT NULL"
        return {path: row[0] for path in paths if (row := self._db.execute(sql, (path,)).fetchone())}

    def _faces(self, rest: str, *given: object) -> Iterator[Face]:
        rows = self._db.execute(f"SELECT {_FACE} FROM notes n {rest}", given)  # noqa: S608 - every part is ours
        return (_face(*row) for row in rows)

    # pages

    def page(self, path: str) -> Page | None:
        """Return what is known of a file of the site."""
        row = self._db.execute(f"SELECT {_PAGE} FROM pages WHERE path = ?", (path,)).fetchone()  # noqa: S608 - a part of ours
        return Page(*row) if row else None

    def page_paths(self, prefix: str) -> list[str]:
        """Return the paths of the pages that were written, of those that begin with ``prefix``."""
        rows = self._db.execute("SELECT path FROM pages WHERE path >= ? AND path < ?", (prefix, f"{prefix}\U0010ffff"))
        return [path for (path,) in rows]

    def pages_of_none(self) -> set[str]:
        """Return the paths of the site's files that are made from no file of the vault."""
        return {path for (path,) in self._db.execute("SELECT path FROM pages WHERE source IS NULL")}

    def pages_of(self, sources: Iterable[str]) -> set[str]:
        """Return the paths of what was made from these files of the vault."""
        sql = "SELECT path FROM pages WHERE source = ?"
        return {path for source in sources for (path,) in self._db.execute(sql, (source,))}

    def pages_in_doubt(self) -> list[Page]:
        """Return what is known of the files that a build which was cut off may have left otherwise than they should be."""
        return [Page(*row) for row in self._db.execute(f"SELECT {_PAGE} FROM pages WHERE key = ''")]  # noqa: S608 - a part of ours

    def put_pages(self, pages: Iterable[Page]) -> None:
        """Remember files of the site."""
        self._many("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?)", pages)

    def doubt(self, pages: Iterable[tuple[str, str | None]]) -> None:
        """Mark files of the site (path, source) as not what they should be; the next build sees the mark."""
        self._many(
            "INSERT INTO pages VALUES (?, ?, '', -1, -1) ON CONFLICT (path) DO UPDATE SET key = ''",
            pages,
        )

    def recall(self, name: str) -> str:
        """Return the value stored under a name, "" if there is none."""
        row = self._db.execute("SELECT value FROM made WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def remember(self, name: str, value: str) -> None:
        """Store a value under a name; nothing is written if it is there already."""
        if self.recall(name) != value:
            self._db.execute("INSERT OR REPLACE INTO made VALUES (?, ?)", (name, value))


class CataloguedPlaces(Places):
    """The files of a vault, looked up in the catalogue: for when only a few are."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def _at(self, key: str) -> str:
        return min(self._catalogue.like(key=key), key=nearness, default="")

    def _named(self, name: str) -> str:
        return min(self._catalogue.like(name=name), key=nearness, default="")


def _face(path: str, kind: str, title: str, created: str, status: str, description: str, facts: str) -> Face:
    return Face(path, kind, title, created, status, description, tuple(facts.split("\n")) if facts else ())


def _around(record: Record, block: str) -> str:
    found = record.around.get(block)
    parts = (found.before, found.after, found.standing, found.there) if found else ()
    return json.dumps(parts, ensure_ascii=False) if any(parts) else ""


def _with_parents(tag: str) -> Iterator[str]:
    parts = tag.split("/")
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))


def _row(record: Record, size: int, mtime: int, terms: str) -> tuple[object, ...]:
    face = record.face
    rest = {name: getattr(record, name) for name in ("heading", "properties", "tags", "toc", "names", "cites", "slots", "lang")}
    shown = (face.kind, face.title, face.created, face.status, face.description, "\n".join(face.facts))
    return (size, mtime, record.digest, *shown, json.dumps(rest, ensure_ascii=False), terms, face.path)
