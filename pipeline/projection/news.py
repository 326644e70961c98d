"""What is new in the log since the last build: the streams whose mark changed, read as far as other notes must know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.errors import LogError
from pipeline.ports import EventStore, Record
from pipeline.projection import opening
from pipeline.projection.cards import Card
from pipeline.projection.catalogue import Catalogue
from pipeline.projection.library import Batch
from pipeline.projection.opening import Opened

T = TypeVar("T")
_KEPT_BYTES = 48_000_000  # of events that the first reading leaves to the second


@dataclass
class News:
    """The log by what the last build knew of it.

    ``changed`` are the sessions that changed, in order of their start, with the version up to which they are read; ``outlines``
    are theirs, until everything has its name. ``absent`` are those that were known and are gone, or cannot be read; ``dropped``
    are streams of which nothing shall be remembered. ``known`` and ``batches_before`` are of the last build, ``batches`` all that
    can be read now; ``left`` are sessions' events as JSON, kept for the second reading.
    """

    marks: Mapping[str, str]
    known: Mapping[str, Card]
    batches_before: Mapping[str, Batch]
    changed: dict[str, int] = field(default_factory=dict)
    outlines: dict[str, Opened] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    batches: dict[str, Batch] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    left: dict[str, tuple[bytes, ...]] = field(default_factory=dict)

    @property
    def renewed(self) -> set[str]:
        """The sessions of which nothing holds that was known."""
        return self.changed.keys() | self.absent

    @property
    def other_batches(self) -> bool:
        """Tell whether any batch is new, gone, or says something else."""
        before = self.batches_before
        return before.keys() != self.batches.keys() or any(before[name] is not batch for name, batch in self.batches.items())

    @property
    def staying(self) -> dict[str, Card]:
        """The cards that still hold."""
        return {name: card for name, card in self.known.items() if name not in self.renewed}


def read_news(store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError]) -> News:
    """Read what changed since the last build; what cannot be trusted, or is ``refused`` already, is left out and named."""
    return _Reader(store, catalogue, refused).news()


class _Reader:
    def __init__(self, store: EventStore, catalogue: Catalogue, refused: Mapping[str, LogError]) -> None:
        self._store, self._catalogue, self._refused = store, catalogue, refused
        self._cards, self._batches = catalogue.cards(), catalogue.batches()
        self._room = _KEPT_BYTES
        self._news = News(
            store.marks(),
            {name: card for name, (_, card) in self._cards.items() if card},
            {name: batch for name, (_, batch) in self._batches.items() if batch},
        )

    def news(self) -> News:
        news = self._news
        for name, mark in news.marks.items():
            if name.startswith("batch-"):
                self._see_batch(name, mark)
            elif name in self._refused:
                self._blame(f"the notes of {name}", self._refused[name])
            elif self._cards.get(name, ("",))[0] != mark:
                self._see_session(name, mark)
        ordered = sorted(news.outlines.items(), key=lambda entry: (entry[1].state.started_at, entry[0]))
        news.outlines = dict(ordered)
        news.changed = {name: opened.state.version for name, opened in ordered}
        changed = {name for name in news.known if self._cards[name][0] != news.marks.get(name)}
        news.absent = (changed | self._refused.keys() & news.known.keys()) - news.outlines.keys()
        news.dropped = news.absent | ((self._cards.keys() | self._batches.keys()) - news.marks.keys())
        return news

    def _see_session(self, name: str, mark: str) -> None:
        try:
            records = self._store.load(name)
            opened = opening.outline(name, records)
        except LogError as error:
            self._blame(f"the notes of {name}", error)
            return
        if opened.state.query:
            self._news.outlines[name] = opened
            self._leave(name, records)
        else:
            self._catalogue.put_card(name, mark, None)

    def _see_batch(self, name: str, mark: str) -> None:
        if name in self._batches and self._batches[name][0] == mark:
            batch = self._batches[name][1]
        else:
            try:
                batch = opening.batch_of(name, self._store.load(name))
            except LogError as error:
                self._blame(f"the night of {name}", error)
                self._catalogue.drop_streams([name])
                return
            self._catalogue.put_batch(name, mark, batch)
        if batch:
            self._news.batches[name] = batch

    def _leave(self, name: str, records: Sequence[Record]) -> None:
        size = sum(len(record.data) for record in records)
        if size <= self._room:
            self._news.left[name] = tuple(record.data for record in records)
            self._room -= size

    def _blame(self, what: str, error: LogError) -> None:
        self._news.problems.append(f"{what}: {error}; `research verify` says more")
