"""The only writer of generated notes: what differs is written, what a person wrote is never lost.

A manifest outside the vault remembers what was generated. A file that is neither in it nor recognisably ours is not touched; a
generated part that someone edited is set aside in ``attic/`` before it is replaced; a note that is no longer made goes away,
or, if anyone wrote in it, to ``attic/``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import ResearchError
from pipeline.projection import keeping
from pipeline.projection.disk import Obstacle, Tree
from pipeline.projection.manifest import Entry, Manifest
from pipeline.projection.notes import Rendered
from pipeline.text import digest_of

ATTIC = "attic"
_LEFT = "left as it is, so that no words are lost; put that right and build again"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did, as vault paths with suffix, sorted; ``problems`` each name what was not written, why, and what to do."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Done:
    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Output:
    """Puts rendered notes into a vault."""

    def __init__(self, vault: Path, state_dir: Path) -> None:
        self._tree = Tree(vault)
        self._manifest = Manifest(Tree(state_dir))
        self._done = _Done()

    def place(self, notes: Iterable[Rendered], *, remove_stale: bool = True) -> BuildReport:
        """Bring the vault to hold exactly these notes beside what is not ours; return what was done.

        ``remove_stale`` False keeps notes that are no longer made.

        Raises:
            ResearchError: the disk refuses; each file is as it was or as it should be.
        """
        try:
            paths = [self._place(note) for note in sorted(notes, key=lambda note: note.path)]
            stale = self._manifest.paths() - set(paths) if remove_stale else ()
            for path in sorted(stale):
                self._remove(path)
            self._manifest.save()
        except OSError as error:
            where = error.filename or "the vault"
            raise ResearchError(
                f"the vault cannot be written: {where}: {error.strerror or error}",
                hint="free some space or allow writing there, then run `research build`; nothing is lost",
            ) from error
        done = self._done
        lists = (done.written, done.unchanged, done.removed, done.set_aside, done.problems)
        return BuildReport(*(tuple(sorted(entries)) for entries in lists))

    def _place(self, note: Rendered) -> str:
        path = f"{note.path}.md"
        try:
            self._put(path, note)
        except Obstacle as obstacle:
            self._done.problems.append(f"{path}: {obstacle}; move it away and run `research build` again")
        return path

    def _put(self, path: str, note: Rendered) -> None:
        data = self._tree.read(path)
        if data is None or data == keeping.compose(note, keeping.Kept()).encode():
            self._finish(path, note, keeping.Kept(), data)
        elif (additions := self._reconciled(path, note, data)) is not None:
            self._finish(path, note, additions, data)

    def _reconciled(self, path: str, note: Rendered, data: bytes) -> keeping.Kept | None:
        """What a person added to the file that stands there, after an edited one was set aside; None if it must stay."""
        entry = self._manifest.get(path)
        try:
            disk = keeping.parse(data.decode("utf-8", "surrogateescape"))
        except ValueError as error:
            self._done.problems.append(f"{path}: {error}; {_LEFT}")
            return None
        if entry is None and not disk.is_ours:
            self._done.problems.append(f"{path}: a file that is not ours stands there; rename or move it and build again")
            return None
        additions = keeping.kept(disk, note, entry.aliases if entry else ())
        edited = entry is None or entry.skeleton != disk.skeleton
        if edited and keeping.compose(note, additions).encode("utf-8", "surrogateescape") != data:
            self._set_aside(path, data)
        return additions

    def _finish(self, path: str, note: Rendered, additions: keeping.Kept, data: bytes | None) -> None:
        text = keeping.compose(note, additions).encode("utf-8", "surrogateescape")
        if text == data:
            self._done.unchanged.append(path)
        else:
            self._tree.write(path, text, durable=bool(additions))
            self._done.written.append(path)
        aliases = note.properties.get("aliases", ())
        entry = Entry(keeping.skeleton_of(note, additions), aliases if isinstance(aliases, tuple) else ())
        self._manifest.put(path, entry)

    def _set_aside(self, path: str, data: bytes) -> None:
        stem = path.rpartition("/")[2].removesuffix(".md")
        copy = f"{ATTIC}/{stem}.{digest_of(data)[:8]}.md"
        if self._tree.read(copy) != data:
            self._tree.write(copy, data, durable=True)
        self._done.set_aside.append(copy)

    def _remove(self, path: str) -> None:
        try:
            self._take_away(path)
        except Obstacle as obstacle:
            self._done.problems.append(f"{path}: no longer made, but left where it is: {obstacle}")

    def _take_away(self, path: str) -> None:
        data = self._tree.read(path)
        if data is not None:
            if self._was_touched(path, data):
                self._set_aside(path, data)
            self._tree.remove(path)
            self._done.removed.append(path)
        self._manifest.drop(path)

    def _was_touched(self, path: str, data: bytes) -> bool:
        """Tell whether anyone wrote in a note since it was generated; what cannot be parsed counts as touched."""
        entry = self._manifest.get(path)
        try:
            disk = keeping.parse(data.decode("utf-8", "surrogateescape"))
        except ValueError:
            return True
        nothing = Rendered(path, {}, "")
        added = keeping.kept(disk, nothing, entry.aliases if entry else ())
        return bool(added) or entry is None or entry.skeleton != disk.skeleton
