"""``read_changes``: the sessions and batches whose log changed since the last build, read far enough to link to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.vault import load
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.load import FoldedSession, ReadSession
from pipeline.vault.rendering.render_pool import RenderPool
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import Batch

_KEPT_BYTES = 48_000_000  # of events kept from the outline for the rendering, so that they are not read twice


@dataclass
class LogChanges:
    """The difference between the log and the last build.

    ``sessions`` are the new and changed sessions in order of their start, with the version up to which they were read;
    ``outlines`` are their states, until all paths are assigned. ``cards_before`` are the last build's cards of sessions that
    changed, are gone, or cannot be read; ``batches_before`` are its batches; ``first_build``: it knew no session. ``forgotten``
    are streams to delete from the catalogue. ``kept_events`` are sessions' events as JSON, kept for rendering.
    """

    marks: Mapping[str, str]
    first_build: bool
    batches_before: Mapping[str, Batch]
    cards_before: dict[str, Card] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    outlines: dict[str, FoldedSession] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    batches_changed: bool = False
    problems: list[str] = field(default_factory=list)
    kept_events: dict[str, tuple[bytes, ...]] = field(default_factory=dict)

    @property
    def absent(self) -> set[str]:
        """The sessions of the last build that are gone or cannot be read."""
        return self.cards_before.keys() - self.sessions.keys()

    @property
    def affected(self) -> set[str]:
        """The sessions whose cards of the last build are no longer valid: new, changed, gone and unreadable ones."""
        return self.sessions.keys() | self.cards_before.keys()


def read_changes(
    marks: Mapping[str, str], store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError], pool: RenderPool
) -> LogChanges:
    """Read the streams whose mark changed since the last build; ``marks`` are the store's, and ``pool`` shares the work.

    Streams that are damaged or already ``refused`` are left out and reported as problems.
    """
    return _Reader(marks, store, catalogue, refused, pool).read()


class _Reader:
    def __init__(
        self, marks: Mapping[str, str], store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError], pool: RenderPool
    ) -> None:
        self._store, self._catalogue, self._refused, self._pool = store, catalogue, refused, pool
        self._room = _KEPT_BYTES
        self._changes = LogChanges(marks, catalogue.is_blank(), catalogue.batches())

    def read(self) -> LogChanges:
        changes = self._changes
        self._read_sessions()
        self._read_batches()
        ordered = sorted(changes.outlines.items(), key=lambda entry: (entry[1].state.started_at, entry[0]))
        changes.outlines = dict(ordered)
        changes.sessions = {name: opened.state.version for name, opened in ordered}
        changes.forgotten |= changes.absent
        return changes

    def _read_sessions(self) -> None:
        marks, known = self._changes.marks, self._catalogue.session_marks()
        other = [name for name, mark in marks.items() if known.get(name) != mark and not name.startswith("batch-")]
        self._changes.forgotten |= known.keys() - marks.keys()
        for name in {*other, *self._refused, *self._changes.forgotten}:
            if card := self._catalogue.card(name):
                self._changes.cards_before[name] = card
        faults = {}
        for read in self._pool.read([name for name in other if name not in self._refused]):
            self._keep(read)
            if read.error:
                faults[read.name] = read.error
        for name, fault in sorted(faults.items()):
            self._report(f"the notes of {name}", fault)
        for name in sorted(self._refused.keys() & marks.keys()):
            self._report(f"the notes of {name}", self._refused[name])

    def _keep(self, read: ReadSession) -> None:
        if read.opened and read.opened.state.query:
            self._changes.outlines[read.name] = read.opened
            self._keep_events(read)
        elif read.opened:
            self._catalogue.put_card(read.name, self._changes.marks[read.name], None)

    def _read_batches(self) -> None:
        changes, known = self._changes, self._catalogue.batch_marks()
        other = {name: mark for name, mark in changes.marks.items() if name.startswith("batch-") and known.get(name) != mark}
        gone = known.keys() - changes.marks.keys()
        if other or gone:
            changes.batches_before = dict(changes.batches_before)
            changes.batches_changed = not gone.isdisjoint(changes.batches_before)
            self._catalogue.drop_streams(gone)
        for name, mark in other.items():
            self._read_batch(name, mark)

    def _read_batch(self, name: str, mark: str) -> None:
        batch = None
        try:
            batch = load.batch_of(name, self._store.load(name))
            self._catalogue.put_batch(name, mark, batch)
        except LogError as error:
            self._report(f"the night of {name}", error)
            self._catalogue.drop_streams([name])
        self._changes.batches_changed |= batch is not None or name in self._changes.batches_before

    def _keep_events(self, read: ReadSession) -> None:
        size = sum(map(len, read.events))
        if size <= self._room:
            self._changes.kept_events[read.name] = read.events
            self._room -= size

    def _report(self, what: str, error: LogError) -> None:
        self._changes.problems.append(f"{what}: {error}; run `research verify` for details")
