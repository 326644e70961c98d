"""The stage of a build that renders imports, and lists them for the home note. Only imports that changed are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.imports.state import ImportState, import_of
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.cache.stream_mark import IMPORTS, stream_mark
from pipeline.vault.imports.import_note import import_link, import_note, import_path
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import Note

_KNOWN = "known imports"  # the catalogue's entry: mark, path, title and time of each import


@dataclass
class ImportNotes:
    """What a build shows of imports."""

    store: EventStore
    catalogue: Catalogue
    changes: LogChanges

    @cached_property
    def is_changed(self) -> bool:
        """Whether an import may differ from what the last build showed."""
        mark = stream_mark(self.store, "import")
        changed = self.changes.first_build or mark != self.catalogue.recall(IMPORTS)
        self.catalogue.keep(IMPORTS, mark)
        return changed

    @cached_property
    def known(self) -> dict[str, tuple[str, str, str, str]]:
        """Mark, path, title and time of every readable import, by id."""
        before = {name: tuple(kept) for name, kept in json.loads(self.catalogue.recall(_KNOWN) or "{}").items()}
        if not self.is_changed:
            return before
        marks = self.store.marks(("import",))
        now: dict[str, tuple[str, str, str, str]] = {}
        self._changed: set[str] = set()
        for name, mark in marks.items():
            if not self.changes.first_build and name in before and before[name][0] == mark:
                now[name] = before[name]
            elif state := self._read(name):
                said = state.said
                now[name] = (mark, import_path(state), state.title, said.created or said.at)
                self._changed.add(name)
        self.catalogue.keep(_KNOWN, json.dumps(now))
        return now

    @property
    def changed(self) -> set[str]:
        """The imports that changed since the last build."""
        return self._changed if self.is_changed and self.known is not None else set()

    def _read(self, name: str) -> ImportState | None:
        try:
            state = import_of(name, decode_all(record.data for record in self.store.load(name)))
        except LogError as error:
            self.changes.problems.append(f"the note of {name}: {error}; run `research verify` for details")
            return None
        return state if state.imports else None

    def note(self, name: str) -> Note | None:
        """Return the note of an import, given by its id; None if it cannot be read."""
        state = self._read(name)
        return import_note(state) if state else None

    def latest(self) -> Iterator[Link]:
        """Yield the links to all imports, the one that began last first."""
        for name, (_mark, path, title, _at) in sorted(self.known.items(), key=lambda one: (one[1][3], one[0]), reverse=True):
            yield import_link(path, title or name)

    def gone(self, known: Iterator[str]) -> set[str]:
        """Return the owners among ``known`` that are imports and no longer exist."""
        if not self.is_changed:
            return set()
        return {owner for owner in known if owner.startswith("import:") and owner.removeprefix("import:") not in self.known}
