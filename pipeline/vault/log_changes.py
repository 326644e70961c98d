"""What is new in the log since the last build: the streams whose mark changed, read as far as other notes must know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.domain.events.records import Record
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.vault import load
from pipeline.vault.cache.catalogue import Catalogue
from pipeline.vault.load import Opened
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import Batch

_KEPT_BYTES = 48_000_000  # of events that the first reading leaves to the second


@dataclass
class LogChanges:
    """The log by what the last build knew of it.

    ``changed`` are the sessions that changed, in order of their start, with the version up to which they are read; ``outlines``
    are theirs, until everything has its name. ``before`` are the cards that sessions had at the last build which changed, are
    gone, or cannot be read; ``batches_before`` all batches of then; ``first``: no session was known. ``dropped`` are streams of
    which nothing shall be remembered. ``left`` are sessions' events as JSON, kept for the second reading.
    """

    marks: Mapping[str, str]
    first: bool
    batches_before: Mapping[str, Batch]
    before: dict[str, Card] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    outlines: dict[str, Opened] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    other_batches: bool = False
    problems: list[str] = field(default_factory=list)
    left: dict[str, tuple[bytes, ...]] = field(default_factory=dict)

    @property
    def absent(self) -> set[str]:
        """The sessions that were known and are gone, or cannot be read."""
        return self.before.keys() - self.changed.keys()

    @property
    def renewed(self) -> set[str]:
        """The sessions of which nothing holds that was known."""
        return self.changed.keys() | self.before.keys()


def read_news(marks: Mapping[str, str], store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError]) -> LogChanges:
    """Read what changed since the last build; what cannot be trusted, or is ``refused`` already, is left out and named.

    ``marks`` are those of the store.
    """
    return _Reader(marks, store, catalogue, refused).news()


class _Reader:
    def __init__(
        self, marks: Mapping[str, str], store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError]
    ) -> None:
        self._store, self._catalogue, self._refused = store, catalogue, refused
        self._room = _KEPT_BYTES
        self._news = LogChanges(marks, catalogue.is_blank(), catalogue.batches())

    def news(self) -> LogChanges:
        news = self._news
        self._see_sessions()
        self._see_batches()
        ordered = sorted(news.outlines.items(), key=lambda entry: (entry[1].state.started_at, entry[0]))
        news.outlines = dict(ordered)
        news.changed = {name: opened.state.version for name, opened in ordered}
        news.dropped |= news.absent
        return news

    def _see_sessions(self) -> None:
        marks, known = self._news.marks, self._catalogue.session_marks()
        other = [name for name, mark in marks.items() if known.get(name) != mark and not name.startswith("batch-")]
        self._news.dropped |= known.keys() - marks.keys()
        for name in {*other, *self._refused, *self._news.dropped}:
            if card := self._catalogue.card(name):
                self._news.before[name] = card
        for name in other:
            if name not in self._refused:
                self._see_session(name, marks[name])
        for name in sorted(self._refused.keys() & marks.keys()):
            self._blame(f"the notes of {name}", self._refused[name])

    def _see_session(self, name: str, mark: str) -> None:
        try:
            records = self._store.load(name)
            opened = load.outline(name, records)
        except LogError as error:
            self._blame(f"the notes of {name}", error)
            return
        if opened.state.query:
            self._news.outlines[name] = opened
            self._leave(name, records)
        else:
            self._catalogue.put_card(name, mark, None)

    def _see_batches(self) -> None:
        news, known = self._news, self._catalogue.batch_marks()
        other = {name: mark for name, mark in news.marks.items() if name.startswith("batch-") and known.get(name) != mark}
        gone = known.keys() - news.marks.keys()
        if other or gone:
            news.batches_before = dict(news.batches_before)
            news.other_batches = not gone.isdisjoint(news.batches_before)
            self._catalogue.drop_streams(gone)
        for name, mark in other.items():
            self._see_batch(name, mark)

    def _see_batch(self, name: str, mark: str) -> None:
        batch = None
        try:
            batch = load.batch_of(name, self._store.load(name))
            self._catalogue.put_batch(name, mark, batch)
        except LogError as error:
            self._blame(f"the night of {name}", error)
            self._catalogue.drop_streams([name])
        self._news.other_batches |= batch is not None or name in self._news.batches_before

    def _leave(self, name: str, records: Sequence[Record]) -> None:
        size = sum(len(record.data) for record in records)
        if size <= self._room:
            self._news.left[name] = tuple(record.data for record in records)
            self._room -= size

    def _blame(self, what: str, error: LogError) -> None:
        self._news.problems.append(f"{what}: {error}; `research verify` says more")
