"""``Kept``: a small SQLite file beside the log with what the last build derived. It can be deleted at any time.

It has the summary value of each stream under the stream's mark, a digest of what each note was made from, and for each
file of the vault its owner, size, time and digest. Another version of the program discards all that was derived; only the
tables of files and notes are kept, because they show what a person removed. If the file is damaged, a build renders everything
again and recognises its notes by their properties.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pipeline.errors import SystemRefused
from pipeline.system.files import connect_sqlite
from pipeline.system.manifest import Drift, Folder, Look, Manifest, Tree, all_folders, folder_of, is_seen

T = TypeVar("T")
OWN = "my"  # the folder of the vault for a person's own notes
ATTIC = "attic"  # the folder for what is set aside; a note that a person moves there is no part of the vault any more
FILE = "projection.sqlite"
# The entry for the fingerprint of the log, the templates and the program with which the last build finished; "" if work was left.
SETTLED = "settled"
_LASTING = ("files", "folders", "notes", "pages", "site_folders")  # tables that survive all other changes of the program
_TABLES = (
    "CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS summaries (stream TEXT PRIMARY KEY, mark TEXT NOT NULL, value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS made (note TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID",
    # Versions before notes were signed kept the kind, the digest of the generated part and the generated aliases here.
    "CREATE TABLE IF NOT EXISTS files (path TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, skeleton TEXT NOT NULL,"
    " aliases TEXT NOT NULL, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS records (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, value TEXT, words TEXT)",
    "CREATE TABLE IF NOT EXISTS read_folders (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS pages (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, key TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS site_folders (path TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS notes (id TEXT PRIMARY KEY, canonical TEXT NOT NULL, path TEXT NOT NULL, owner TEXT NOT NULL,"
    " kind TEXT NOT NULL) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The result of a build, as sorted vault paths with suffix; ``problems`` say which streams cannot be read.
    ``left_alone`` says which files were not written, why, and what to do: no reason for a night to fail.

    ``unchanged`` is the number of unchanged files. ``moved`` are the notes that a person moved since the last build, the new path
    by the old one; ``hidden`` are those that a person removed; ``united`` are further files with the id of a note, which the
    build put together with it: the note's path by theirs. ``waits`` says that a build of the ``first`` notes left others for the
    next one. ``found`` are the folders of the vault in which it changed nothing.
    """

    written: tuple[str, ...] = ()
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    moved: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    united: Mapping[str, str] = field(default_factory=dict)
    waits: bool = False
    found: Mapping[str, Folder] = field(default_factory=dict, compare=False, repr=False)


def markdown_files(vault: Path) -> Iterator[tuple[str, Look]]:
    """Yield path and look of each Markdown file of a vault that is neither hidden nor in the attic."""
    for folder, content in all_folders(vault, aside=(ATTIC,)):
        for name, look in content.files.items():
            if name.endswith(".md") and is_seen(name):
                yield f"{folder}/{name}".lstrip("/"), look


class Files(Manifest):
    """The tables ``files`` and ``folders``: each file of the vault with its owner, each folder with its mark."""

    def drift(self, tree: Tree) -> Drift:
        """Return which files of the vault differ from what the last build left; read before anything is written.

        In new folders too, where a person may have put a note back.
        """
        known = {folder: found for folder in {"", *self.marks()} if (found := tree.look(folder))}
        return Drift(self, known | dict(all_folders(tree.root, aside=(OWN, ATTIC), known=known)))

    def all(self) -> dict[str, str]:
        """Return the owner of every file, by path."""
        return dict(self._base.execute("SELECT path, owner FROM files"))

    def digest(self, path: str) -> str | None:
        """Return the digest of a file as the last build left it, "" if a person's text is in it; None if it made none there."""
        row = self._base.execute("SELECT digest FROM files WHERE path = ?", (path,)).fetchone()
        return row[0] if row else None

    def put(self, path: str, owner: str, digest: str, look: Look) -> None:
        """Store a file as the build left it, by what it was made for (see ``stages``)."""
        row = (path, owner, "", "", "[]", digest, *look)
        self._base.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


class KnownNote(NamedTuple):
    """A note as the last build left it.

    ``canonical`` is the path that the log gives it, ``path`` where it is ("" if it is hidden), ``owner`` what it is made for.
    """

    id: str
    canonical: str
    path: str
    owner: str
    kind: str


class Kept:
    """The open file. One build at a time; ``commit`` stores the changes.

    ``layout`` identifies the program that derived the tables.

    Raises:
        sqlite3.OperationalError: the file cannot be used, or another build has it.
    """

    def __init__(self, folder: Path, layout: str) -> None:
        self._layout = layout
        with suppress(OSError):  # which is said when the file in it cannot be opened
            folder.mkdir(parents=True, exist_ok=True)
        self._base = connect_sqlite(folder / FILE)
        self._base.execute("PRAGMA cache_size = -20000")
        self.files = Files(self._base)
        self.read = Manifest(self._base, "records", "read_folders")  # the files of the vault as the site read them
        self.pages = Manifest(self._base, "pages", "site_folders")  # the files of the site
        self._base.execute("BEGIN IMMEDIATE")
        self._prepare()
        self.is_current = self.recall("layout") == layout  # whether the derived tables were written under this layout

    def forget_derived(self) -> None:
        """Empty all tables derived from the log, those of earlier versions too; the tables of files and notes are kept."""
        tables = [name for (name,) in self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table not in _LASTING:
                self._base.execute(f'DROP TABLE "{table}"')
        self._prepare()
        folders = {*self.files.marks(), *map(folder_of, self.files.all())}
        self.files.put_marks(dict.fromkeys(folders, ""))  # all files are compared at this build
        self.keep("layout", self._layout)

    def _prepare(self) -> None:
        for statement in _TABLES:
            self._base.execute(statement)

    def close(self) -> None:
        """Close the file; changes that were not committed are lost."""
        self._base.close()

    def commit(self) -> None:
        """Store the changes so far."""
        self._base.commit()
        self._base.execute("BEGIN IMMEDIATE")

    def recall(self, name: str) -> str:
        """Return the text kept under a name, or ""."""
        return next((value for (value,) in self.rows("SELECT value FROM kept WHERE name = ?", name)), "")

    def keep(self, name: str, value: str) -> None:
        """Keep a short text under a name."""
        self.put("kept", [(name, value)])

    def put(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Store rows in one of the ``_TABLES``; each replaces what is there under its first value."""
        for row in rows:
            marks = ", ".join("?" * len(row))
            self._base.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)  # noqa: S608 - our own names

    def drop(self, table: str, key: str, values: Iterable[str]) -> None:
        """Delete the rows of a table whose column ``key`` has one of these values."""
        self._base.executemany(f"DELETE FROM {table} WHERE {key} = ?", ((value,) for value in values))  # noqa: S608 - our own names

    def summaries(self) -> dict[str, tuple[str, bytes]]:
        """Return mark and summary of each stream by its id."""
        return {stream: (mark, value) for stream, mark, value in self._base.execute("SELECT * FROM summaries")}

    def made(self) -> dict[str, str]:
        """Return the digest of what each note was made from, by its id."""
        return dict(self._base.execute("SELECT * FROM made"))

    def notes(self) -> dict[str, KnownNote]:
        """Return all notes by id."""
        return {row[0]: KnownNote(*row) for row in self._base.execute("SELECT * FROM notes ORDER BY id")}

    def rows(self, select: str, *values: str) -> list[tuple[Any, ...]]:
        """Return what the file answers, with ``values`` in place of the question marks."""
        return self._base.execute(select, values).fetchall()


def with_kept(folder: Path, layout: str, build: Callable[[Kept], T]) -> T:
    """Return what ``build`` does with the file in ``folder``. If that is damaged, it is removed, and computed again.

    Raises:
        SystemRefused: the file cannot be used or written, or another build has it.
        OSError: a damaged file cannot be removed.
    """
    file = folder / FILE
    try:
        with closing(Kept(folder, layout)) as kept:
            return build(kept)
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        hint = "free some space or allow writing there; you may also delete the file, then all is built again"
        raise SystemRefused(f"{file} cannot be used: {error}", hint=hint) from error
    except sqlite3.DatabaseError:
        file.unlink(missing_ok=True)
        with closing(Kept(folder, layout)) as kept:
            return build(kept)


def rows_in(folder: Path, select: str) -> list[tuple[str, ...]]:
    """Return what the file in ``folder`` answers; nothing if no vault was built or the file cannot be read."""
    with suppress(sqlite3.Error), closing(connect_sqlite(folder / FILE, "ro")) as stored:
        return stored.execute(select).fetchall()
    return []


def notes_in(folder: Path) -> list[KnownNote]:
    """Return the notes of a vault as the last build left them, sorted by id; one that a person hid has no path."""
    return [KnownNote._make(row) for row in rows_in(folder, "SELECT * FROM notes ORDER BY id")]


def paths_of(folder: Path, kind: str) -> dict[str, str]:
    """Return the paths of the notes of a kind, without suffix, by what they are about: a session's id, a source's address."""
    named = (note for note in notes_in(folder) if note.kind == kind and note.path)
    return {note.owner.partition(":")[2]: note.path.removesuffix(".md") for note in named}
