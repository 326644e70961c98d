"""The making of a vault's notes. Nothing here is imported by a run that has none to make."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.drift import SETTLED, VaultDrift, name_of_templates
from pipeline.vault.log_changes import read_news
from pipeline.vault.note_generation import COPY, Making
from pipeline.vault.output.note import KINDS
from pipeline.vault.output.writer import BuildReport, Done, Output
from pipeline.vault.path_assignment import Clash, shelve
from pipeline.vault.rendering.generated_file import GeneratedFile
from pipeline.vault.rendering.render_task import Unreadable
from pipeline.vault.rendering.templates import Renderer

_LOST = "its log is missing, so they stay; bring it back from a backup, or write it off: research verify --repair"
SWEPT = "swept"  # kept under this name: that no file is left which should have gone


class Build:
    """One build: what shows something new is made, all of it rendered, and only then what differs is written.

    ``marks`` are the store's, asked for while no other build was under way.
    """

    def __init__(
        self, store: EventStore, templates: Path, vault: Path, catalogue: Catalogue, mode: str, marks: Mapping[str, str]
    ) -> None:
        self._store, self._mode, self._marks = store, mode, marks
        self._templates = name_of_templates(templates)
        self._renderer = Renderer(templates)
        self._tree = Tree(vault)
        self._catalogue = catalogue
        self._refused: dict[str, LogError] = {}

    def report(self) -> BuildReport:
        """Make the vault hold what it shall; return what was done.

        Raises:
            sqlite3.DatabaseError: what the catalogue holds is damaged.
            TemplateInvalid, ResearchError: as ``build_vault``.
        """
        try:
            making, files = self._made()
            found = self._placed(making, files)
            self._catalogue.commit()
            return found
        except ValidationError as error:
            raise sqlite3.DatabaseError("the catalogue holds what this program did not put there") from error
        finally:
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
        gone = making.gone() if self._catalogue.recall(SWEPT) else set(self._catalogue.files.owners()) - making.standing()
        sessions = (owner.removeprefix("session:") for owner in sorted(gone) if owner.startswith("session:"))
        making.news.problems += [f"the notes of {name}: {_LOST}" for name in sessions if self._is_lost(name)]
        stale = self._stale(making, gone, {fresh.path for fresh in files})
        output.place(files, [] if making.news.problems else sorted(stale))
        done = output.done
        self._catalogue.keep("refused", json.dumps(sorted({(fresh.owner, fresh.kind) for fresh in done.refused})))
        swept = stale <= done.left.keys()
        self._catalogue.keep(SWEPT, "yes" if swept else "")
        problems = (*making.news.problems, *done.problems)
        self._catalogue.keep(SETTLED, self._templates if swept and not problems and not done.refused else "")
        steps = self._standing.keep(done.left)
        return BuildReport(
            tuple(sorted(done.written)),
            len(done.unchanged) + self._untouched(files, done),
            tuple(sorted(done.removed)),
            tuple(sorted(done.set_aside)),
            problems,
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
