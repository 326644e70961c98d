"""The vault made from the events: what shows something new is made, all of it rendered, and only then what differs is written.

The catalogue (``events/local/projection.sqlite``) remembers what the log said at the last build and what was made of it. A build
that ignores it makes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from pipeline.domain.fold import fold_id
from pipeline.errors import LogError, ResearchError
from pipeline.ports import EventStore
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.database import FILE, lost
from pipeline.vault.cache.drift import VaultDrift
from pipeline.vault.generate import COPY, Making
from pipeline.vault.log_changes import read_news
from pipeline.vault.output.generated_file import GeneratedFile
from pipeline.vault.output.note import KINDS
from pipeline.vault.output.templates import Renderer
from pipeline.vault.output.writer import BuildReport, Done, Output
from pipeline.vault.path_assignment import Clash, shelve
from pipeline.vault.render_task import Unreadable

Mode = Literal["new", "all", "check"]
_LOST = "its log is missing, so they stay; bring it back from a backup, or write it off: research verify --repair"
_SWEPT = "swept"  # kept under this name: that no file is left which should have gone


def build_vault(store: EventStore, *, templates: Path, vault: Path, state_dir: Path, mode: Mode = "new") -> BuildReport:
    """Make ``vault`` hold the notes of all that ``store`` holds; return what was written, removed and set aside.

    ``templates`` holds ``<kind>.md.j2`` for each kind of note; what is remembered between builds is kept in ``state_dir``. Mode
    ``new`` makes only what shows something new; ``all`` makes everything; ``check`` makes everything and tells what would be done
    to the vault, but does nothing. The same events and templates always give the same bytes; a second build writes nothing. A
    session whose log is damaged or missing is named in the report's problems, its notes stay as they are, and no file is removed
    then; the notes of one that is written off go.

    Raises:
        TemplateInvalid: a template is missing or faulty; no note was changed.
        ResearchError: the disk refuses, or another build is under way.
    """
    try:
        return _Build(store, templates, vault, state_dir, mode).report()
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        raise ResearchError(f"{state_dir / FILE} cannot be written: {error}", hint=_FREE) from error
    except (sqlite3.DatabaseError, ValidationError):  # damaged: what it held can be worked out again
        lost(state_dir)
        return _Build(store, templates, vault, state_dir, mode).report()


_FREE = "free some space or allow writing there; the file may also be deleted: then all notes are made anew"


class _Build:
    def __init__(self, store: EventStore, templates: Path, vault: Path, state_dir: Path, mode: Mode) -> None:
        self._store, self._mode = store, mode
        self._renderer = Renderer(templates)
        self._tree = Tree(vault)
        self._catalogue = Catalogue(state_dir, layout_id(), passing=mode == "check")
        self._refused: dict[str, LogError] = {}

    @cached_property
    def _marks(self) -> Mapping[str, str]:
        """The store's, asked for while no other build is under way: none may know of streams that this one does not."""
        return self._store.marks()

    def report(self) -> BuildReport:
        try:
            making, files = self._made()
            found = self._placed(making, files)
            self._catalogue.commit()
            return found
        finally:
            self._catalogue.close()
            self._tree.close()

    def _made(self) -> tuple[Making, list[GeneratedFile]]:
        """What was made, all of it rendered before anything is written."""
        making = self._making()
        try:
            return making, sorted(making.files(), key=lambda fresh: fresh.path)
        except Unreadable as found:
            self._refused[found.name] = found.error
            self._catalogue.undo()
            return self._made()

    def _making(self) -> Making:
        catalogue = self._catalogue
        if self._mode != "new":
            catalogue.forget_derived()
        news = read_news(self._marks, self._store, catalogue, self._refused)
        try:
            shelves = shelve(news, catalogue)
        except Clash:
            catalogue.forget_derived()
            news = read_news(self._marks, self._store, catalogue, self._refused)
            shelves = shelve(news, catalogue)
        return Making(self._store, catalogue, news, shelves, self._renderer, self._changed_kinds(), self._owed())

    def _changed_kinds(self) -> frozenset[str]:
        """The kinds of which a template changed, and what is simply copied."""
        versions = self._versions()
        changed = {kind for kind in KINDS if self._catalogue.recall(f"template of {kind}") != versions[kind]}
        for kind in changed:
            self._catalogue.keep(f"template of {kind}", versions[kind])
        return frozenset({*changed, COPY})

    def _versions(self) -> dict[str, str]:
        """What each kind is rendered from; worked out anew only if any template changed."""
        if self._catalogue.recall("templates") != self._renderer.version:
            self._catalogue.keep("templates", self._renderer.version)
            self._catalogue.keep("versions", json.dumps({kind: self._renderer.version_of(kind) for kind in KINDS}))
        return dict(json.loads(self._catalogue.recall("versions")))

    def _owed(self) -> dict[str, frozenset[str]]:
        """The owners and kinds of files that do not stand as the last build left them, or that it could not put in place."""
        self._standing = VaultDrift(self._tree, self._catalogue.files)
        owed: dict[str, set[str]] = {}
        for owner, kind in json.loads(self._catalogue.recall("refused") or "[]"):
            owed.setdefault(owner, set()).add(kind)
        for file in self._standing.unlike.values():
            owed.setdefault(file.owner, set()).add(file.kind)
        return {owner: frozenset(kinds) for owner, kinds in owed.items()}

    def _placed(self, making: Making, files: Sequence[GeneratedFile]) -> BuildReport:
        output = Output(self._tree, self._catalogue.files, trusting=self._mode == "new", dry=self._mode == "check")
        gone = making.gone() if self._catalogue.recall(_SWEPT) else set(self._catalogue.files.owners()) - making.standing()
        sessions = (owner.removeprefix("session:") for owner in sorted(gone) if owner.startswith("session:"))
        making.news.problems += [f"the notes of {name}: {_LOST}" for name in sessions if self._is_lost(name)]
        stale = self._stale(making, gone, {fresh.path for fresh in files})
        output.place(files, [] if making.news.problems else sorted(stale))
        done = output.done
        self._catalogue.keep("refused", json.dumps(sorted({(fresh.owner, fresh.kind) for fresh in done.refused})))
        self._catalogue.keep(_SWEPT, "yes" if stale <= done.left.keys() else "")
        steps = self._standing.keep(done.left)
        return BuildReport(
            tuple(sorted(done.written)),
            len(done.unchanged) + self._untouched(files, done),
            tuple(sorted(done.removed)),
            tuple(sorted(done.set_aside)),
            (*making.news.problems, *done.problems),
            steps,
            self._marks,
        )

    def _is_lost(self, name: str) -> bool:
        """Tell whether a session's log is missing, and nobody has accepted that."""
        with suppress(LogError):  # damage is another problem, and named already
            return name not in self._store.written_off() and not self._store.load(name)
        return False

    def _stale(self, making: Making, gone: AbstractSet[str], placed: AbstractSet[str]) -> set[str]:
        """The files that are no longer made: those of owners that are ``gone``, and what an owner has no more."""
        known = self._catalogue.files
        stale = {path for owner in gone for path, _kind in known.of_owner(owner)}
        stale.update(path for owner, made in making.made.items() for path, kind in known.of_owner(owner) if kind in made)
        return stale - placed

    def _untouched(self, files: Sequence[GeneratedFile], done: Done) -> int:
        """Count the known files that the build had nothing to do with."""
        known = self._catalogue.files
        standing = sum(how is not None for how in done.left.values())
        others = (fresh.path for fresh in files if fresh.path not in done.left)
        return known.number() - standing - sum(known.made(path) is not None for path in others)


@cache
def layout_id() -> str:
    """Return a name for this very program, as far as it decides what notes say: the digest of its sources."""
    here = Path(__file__).parent
    files = (*sorted(here.rglob("*.py")), *sorted((here.parent / "text").glob("*.py")))
    sources = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(sources + fold_id().encode()).hexdigest()[:16]
