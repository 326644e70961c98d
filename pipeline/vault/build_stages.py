"""One build of the vault as its stages: read the log's changes, assign paths, render, write, record.

A run with nothing to do does not import this module.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from pipeline.domain.events.event_base import EventBase
from pipeline.errors import LogError, SystemRefused
from pipeline.ports import EventStore
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.database import SETTLED, templates_fingerprint
from pipeline.vault.identity.identity import Identity
from pipeline.vault.identity.takeover import is_retired, relink, taken_over
from pipeline.vault.log_changes import LogChanges, read_changes
from pipeline.vault.note_generation import COPY, NoteGeneration
from pipeline.vault.output.note import KINDS
from pipeline.vault.output.writer import BuildReport, VaultWriter, WriteResult
from pipeline.vault.path_assignment import NameClash, PathAssignment, assign_paths
from pipeline.vault.paths import Workers
from pipeline.vault.rendering.generated_file import GeneratedFile, PlacedFile
from pipeline.vault.rendering.render_pool import RenderPool
from pipeline.vault.rendering.render_task import SessionUnreadable
from pipeline.vault.rendering.templates import Renderer

_LOST = "its log is missing, so they are kept; restore it from a backup, or write it off: research verify --repair"
_AWAY = "put the folder or drive back, then run `research build`; nothing was recorded, so no note counts as removed"
_NONE: frozenset[str] = frozenset()
_ALL_KINDS = frozenset({*KINDS, COPY})  # what an earlier version made of another kind is removed
SWEPT = "swept"  # the catalogue's entry for: no file is left that should have been removed


class Build:
    """One build: renders every note with new content first, and only then writes the files that differ.

    ``marks`` are the store's, read while no other build was running; ``workers`` and ``record`` as in ``build_vault``.
    """

    def __init__(
        self,
        store: EventStore,
        renderer: Renderer,
        vault: Path,
        catalogue: Catalogue,
        mode: str,
        marks: Mapping[str, str],
        workers: Workers = "notes",
        record: Callable[[Sequence[EventBase]], None] | None = None,
    ) -> None:
        self._store, self._mode, self._marks, self._workers = store, mode, marks, workers
        self._record_decisions = record
        self._templates = templates_fingerprint(renderer.folder)
        self._renderer = renderer
        self._vault, self._tree = vault, Tree(vault)
        self._catalogue = catalogue
        self._refused: dict[str, LogError] = {}
        self._pool = RenderPool(renderer, store)

    def run(self) -> BuildReport:
        """Bring the vault up to date; return what was done.

        Raises:
            sqlite3.DatabaseError: the catalogue is damaged.
            TemplateInvalid, SystemRefused: as ``build_vault``.
            SystemRefused: the vault's folder or drive went away meanwhile.
        """
        try:
            generation, files = self._render()
            stale = self._stale_files(generation, files)
            files, links = taken_over(self._tree, files, {} if generation.changes.problems else self._orphans)
            self._check_in_place()
            if self._record_decisions and self._identity.drafts and self._mode != "check":
                self._record_decisions(self._identity.drafts)
            relinked = relink(self._tree, self._catalogue.files, links if self._mode != "check" else {})
            own = list(relinked)
            result = self._write(files, stale - {path for one in files for path in one.former}, generation)
            result.written += own
            report = self._record(files, stale, generation, result)
            self._check_in_place()
            self._catalogue.commit()
            return report
        except ValidationError as error:
            raise sqlite3.DatabaseError("the catalogue contains values that this program did not write") from error
        except OSError:
            self._check_in_place()
            raise
        finally:
            self._pool.close()
            self._tree.close()

    def _check_in_place(self) -> None:
        """Refuse to record anything of a vault that went away: its notes would look removed by a person when it is back."""
        if not self._tree.is_in_place():
            raise SystemRefused(f"the vault {self._vault} went away while its notes were built", hint=_AWAY)

    def _render(self) -> tuple[NoteGeneration, list[PlacedFile]]:
        """Render all files that are due; a session that turns out to be unreadable is left out on the next try."""
        if self._mode != "new":
            self._catalogue.forget_derived()
        changes, assigned = self._read_log()
        kinds, drifted = self._changed_kinds(), self._drifted_kinds()
        self._identity = Identity(self._store, self._catalogue, self._tree, drifted=bool(self._drift.folders))
        moved = self._identity.due()
        kinds = kinds | {*KINDS} if moved is None else kinds
        drifted = {owner: drifted.get(owner, _NONE) | (moved or {}).get(owner, _NONE) for owner in {*drifted, *(moved or {})}}
        generation = NoteGeneration(self._store, self._catalogue, changes, assigned, self._renderer, self._pool, kinds, drifted)
        try:
            return generation, self._identity.placed(list(generation.files()))
        except SessionUnreadable as found:
            self._refused[found.name] = found.error
            self._catalogue.undo()
            return self._render()

    def _read_log(self) -> tuple[LogChanges, PathAssignment]:
        """The changes since the last build, and the path of every note; after a name clash all paths are assigned again."""
        changes = read_changes(self._marks, self._store, self._catalogue, self._refused, self._pool)
        try:
            return changes, assign_paths(changes, self._catalogue, self._workers)
        except NameClash:
            self._catalogue.forget_derived()
            return self._read_log()

    def _changed_kinds(self) -> frozenset[str]:
        """The kinds whose template changed, and the files that are copied."""
        versions = {kind: self._renderer.version_of(kind) for kind in KINDS}
        changed = {kind for kind in KINDS if self._catalogue.recall(f"template of {kind}") != versions[kind]}
        for kind in changed:
            self._catalogue.keep(f"template of {kind}", versions[kind])
        return frozenset({*changed, COPY})

    def _drifted_kinds(self) -> dict[str, frozenset[str]]:
        """By owner: the kinds of files that are not as the last build left them, or that it could not write."""
        self._drift = self._catalogue.files.drift(self._tree)
        kinds: dict[str, set[str]] = {}
        for owner, kind in json.loads(self._catalogue.recall("refused") or "[]"):
            kinds.setdefault(owner, set()).add(kind)
        for file in filter(None, map(self._catalogue.files.find, self._drift.files)):
            kinds.setdefault(file.owner, set()).add(file.kind)
        return {owner: frozenset(found) for owner, found in kinds.items()}

    def _stale_files(self, generation: NoteGeneration, files: Sequence[PlacedFile]) -> set[str]:
        """The files to remove: those of owners that are gone, and those that their owner no longer has.

        A session whose log is lost is added to the problems.
        """
        known = self._catalogue.files
        gone = generation.gone_owners() if self._catalogue.recall(SWEPT) else set(known.owners()) - generation.owners()
        sessions = (owner.removeprefix("session:") for owner in sorted(gone) if owner.startswith("session:"))
        generation.changes.problems += [f"the notes of {name}: {_LOST}" for name in sessions if self._is_lost(name)]
        stale = {path for owner in gone for path, _kind in known.of_owner(owner)}
        for owner, rendered in generation.rendered_kinds.items():
            stale.update(path for path, kind in known.of_owner(owner) if kind in rendered or kind not in _ALL_KINDS)
        retired = self._identity.retired()
        stale = (stale | retired.keys()) - {placed.file.path for placed in files}
        united = {path for placed in files for path in placed.doubles}  # another place of a note that is still made
        notes = ((path, known.find(path)) for path in stale - united if path.endswith(".md"))
        self._orphans = retired | {
            path: note.kind for path, note in notes if note and (is_retired(note.kind) or note.owner not in gone)
        }
        return stale | self._identity.strays() - {placed.file.path for placed in files}

    def _is_lost(self, name: str) -> bool:
        """Tell whether a session's log is missing without having been written off."""
        with suppress(LogError):  # damage is reported already, as another problem
            given_up = name in self._store.written_off() or self._store.tombstones().is_forgotten(name)
            return not given_up and not self._store.load(name)
        return False

    def _write(self, files: Sequence[PlacedFile], stale: set[str], generation: NoteGeneration) -> WriteResult:
        """Write the files and remove the stale ones; with a problem in the log nothing is removed."""
        writer = VaultWriter(
            self._tree, self._catalogue.files, trusting=self._mode == "new", dry=self._mode == "check",
            generated=lambda kind: _all_of(kind, generation),
        )  # fmt: skip
        writer.place(files, [] if generation.changes.problems else sorted(stale))
        return writer.result

    def _record(
        self, files: Sequence[PlacedFile], stale: set[str], generation: NoteGeneration, result: WriteResult
    ) -> BuildReport:
        """Record in the catalogue what is done and what is left to do; return the report."""
        swept = stale <= result.left.keys()
        problems = (*generation.changes.problems, *result.problems)
        self._catalogue.keep("refused", json.dumps(sorted({(fresh.owner, fresh.kind) for fresh in result.refused})))
        self._catalogue.keep(SWEPT, "yes" if swept else "")
        self._identity.remember(stale, kept=stale - result.left.keys())
        self._catalogue.keep(SETTLED, self._templates if swept and not problems and not result.refused else "")
        return BuildReport(
            tuple(sorted(result.written)),
            len(result.unchanged) + self._count_untouched(files, result),
            tuple(sorted(result.removed)),
            tuple(sorted(result.set_aside)),
            problems,
            self._drift.record(result.left),
            self._marks,
            generation.read,
            self._identity.moved,
            self._identity.hidden,
            result.united,
        )

    def _count_untouched(self, files: Sequence[PlacedFile], result: WriteResult) -> int:
        """The number of known files that this build neither wrote nor checked."""
        known = self._catalogue.files
        present = sum(how is not None for how in result.left.values())
        others = (placed.file.path for placed in files if placed.file.path not in result.left)
        return known.count() - present - sum(known.find(path) is not None for path in others)


def _all_of(kind: str, done: NoteGeneration) -> Iterator[GeneratedFile]:
    """Render every file of a kind once more, at the paths that the log gives them."""
    again = NoteGeneration(
        done.store, done.catalogue, done.changes, done.assigned, done.renderer, done.pool, frozenset({kind}), drifted={}
    )  # fmt: skip
    with suppress(SessionUnreadable):
        yield from (file for file in again.files() if file.kind == kind)
