"""The catalogue's tables of files and folders: each file of the vault with its owner, each folder with its mark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipeline.system.folder_fingerprint import folder_of
from pipeline.system.manifest import Drift, Manifest
from pipeline.system.safe_tree import Tree


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """A file of the vault as the last build left it.

    ``owner`` is what it was made for (see ``generate``), ``digest`` the digest of all its bytes, "" if a person's text is among
    them; ``mtime`` is in nanoseconds. ``skeleton`` and ``aliases`` are of versions before signatures: the digest of the generated
    part, and the generated aliases.
    """

    path: str
    owner: str
    kind: str
    digest: str
    size: int
    mtime: int
    skeleton: str = ""
    aliases: tuple[str, ...] = ()


class Files(Manifest):
    """The tables ``files`` and ``folders`` of an open catalogue."""

    def compare_all(self) -> None:
        """Forget the marks of the folders: all files are compared at the next build."""
        paths = (path for (path,) in self._base.execute("SELECT path FROM files"))
        self.put_marks(dict.fromkeys({*self.marks(), *map(folder_of, paths)}, ""))

    def drift(self, tree: Tree) -> Drift:
        """Return which files of the vault differ from what the last build left; read before anything is written."""
        return Drift(self, {folder: found for folder in {"", *self.marks()} if (found := tree.look(folder))})

    def count(self) -> int:
        """Count the files."""
        (found,) = self._base.execute("SELECT count(*) FROM files").fetchone()
        return int(found)

    def owners(self) -> Iterator[str]:
        """Yield the owners of all files."""
        return (owner for (owner,) in self._base.execute("SELECT DISTINCT owner FROM files"))

    def of_owner(self, owner: str) -> list[tuple[str, str]]:
        """Return path and kind of an owner's files."""
        return self._base.execute("SELECT path, kind FROM files WHERE owner = ?", (owner,)).fetchall()

    def all(self) -> list[tuple[str, str, str]]:
        """Return path, owner and kind of every file, sorted by path."""
        return self._base.execute("SELECT path, owner, kind FROM files ORDER BY path").fetchall()

    def find(self, path: str) -> BuiltFile | None:
        """Return what is stored about a file."""
        row = self._base.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return None
        _, owner, kind, skeleton, aliases, digest, size, mtime = row
        return BuiltFile(path, owner, kind, digest, size, mtime, skeleton, tuple(json.loads(aliases)))

    def put(self, files: Iterable[BuiltFile]) -> None:
        """Store files as the build left them."""
        self._base.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", map(_row, files))


def _row(one: BuiltFile) -> tuple[str, str, str, str, str, str, int, int]:
    aliases = json.dumps(one.aliases) if one.aliases else "[]"
    return one.path, one.owner, one.kind, one.skeleton, aliases, one.digest, one.size, one.mtime
