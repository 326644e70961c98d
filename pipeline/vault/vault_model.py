"""The values that notes are rendered from: a loaded session, a source across all sessions, a night, and the vault as a whole.

Everything is in an order that depends only on the events: sessions by their start, readings of a source by their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pipeline.domain.events import batch_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.findings import IterationPages, all_facts, all_pages, by_model, facts_on, shown_sources, standings
from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact, ValidatedFact
from pipeline.vault.session_card import Card, Reading, linked, readings_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a talk: its answer in a line, when it was asked, address and title of the answer's sources.

    ``session`` is the one that researched the question further, "" if none did.
    """

    question: str
    answer: str
    at: str
    sources: tuple[tuple[str, str], ...] = ()
    session: str = ""


@dataclass(frozen=True)
class LoadedSession:
    """One session with its card, state and events, and what was ``asked`` about it since."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]
    asked: tuple[Asked, ...] = ()

    @cached_property
    def worker_paths(self) -> dict[str, str]:
        """The paths of the workers' notes, by worker id."""
        return {worker.id: worker.path for worker in self.card.workers}

    @cached_property
    def folded(self) -> frozenset[str]:
        """The ids of the workers that the session's note shows."""
        return frozenset(worker.id for worker in self.card.workers if worker.block)

    @cached_property
    def shown_sources(self) -> frozenset[str]:
        """The sources that have a note because of this session."""
        return shown_sources(self.state)

    @cached_property
    def pages(self) -> dict[str, tuple[IterationPages, ...]]:
        """The pages of each worker's iterations, by worker id."""
        return all_pages(self.state)

    @cached_property
    def facts(self) -> dict[str, tuple[Fact, ...]]:
        """Each worker's facts, by worker id."""
        return {worker: facts_on(iterations) for worker, iterations in self.pages.items()}

    @cached_property
    def standings(self) -> dict[str, ValidatedFact]:
        """The result of cross-checking each fact, by fact id; what rules once compared without a model does not count."""
        if not by_model(self.state):
            return {}
        return standings(self.state, (fact.id for fact in all_facts(self.state, self.pages)))

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """What the session learnt from each page."""
        return readings_of(self.state, self.card.reported_at, self.standings, self.pages)


@dataclass(frozen=True, slots=True)
class SourceNotePlace:
    """The path of a source's note, and its name in links to it: the title at the first reading that had one.

    The first title is used because it never changes; the source's own note shows the latest. ``where`` is the source's path or
    address if another source has the same name, else "".
    """

    path: str
    name: str
    where: str = ""

    @property
    def title(self) -> str:
        """The name, with the path or address if another source has the same name."""
        return self.told_apart(self.name)

    def told_apart(self, title: str) -> str:
        """Return ``title``, a title of this source, as ``title`` shows its name."""
        return f"{title} ({self.where})" if self.where else title


@dataclass(frozen=True, slots=True)
class Source:
    """One address across all sessions: every reading of it, in order of time."""

    url: str
    place: SourceNotePlace
    readings: tuple[Reading, ...]

    @property
    def title(self) -> str:
        """The title at the latest reading that had one, or the address."""
        titles = (reading.page.title for reading in reversed(self.readings) if reading.page.title.strip())
        return self.place.told_apart(next(titles, self.url))


@dataclass(frozen=True)
class Batch:
    """One run over the queue. ``archived``: the ids of the queries that were removed from the queue before it.

    ``not_made``: why the vault or the site could not be built.
    """

    id: str
    started_at: str
    due: tuple[str, ...]
    skipped: tuple[n.QuerySkipped, ...]
    ended: tuple[n.QueryEnded, ...]
    end: n.BatchEnded | None
    archived: tuple[str, ...] = ()
    not_made: tuple[str, ...] = ()


@dataclass(frozen=True)
class Night:
    """All batches that began on one UTC date."""

    date: str
    batches: tuple[Batch, ...]

    @property
    def path(self) -> str:
        """The path of its note."""
        return f"nights/{self.date}"

    @property
    def ended(self) -> tuple[n.QueryEnded, ...]:
        """The ends of its queries, in order."""
        return tuple(entry for batch in self.batches for entry in batch.ended)


class Lookup(Mapping[str, T]):
    """Values that are looked up one by one when needed, and then kept; pickling for another process looks up all of them.

    ``find`` returns the value under a name, or None; ``names`` returns all names.
    """

    def __init__(self, find: Callable[[str], T | None], names: Callable[[], Iterable[str]]) -> None:
        self._find, self._names = find, names
        self._found: dict[str, T | None] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._found:
            self._found[name] = self._find(name)
        if (value := self._found[name]) is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(list(self._names()))

    def __reduce__(self) -> tuple[type, tuple[dict[str, T]]]:
        return dict, (dict(self),)


@dataclass(frozen=True)
class VaultModel:
    """The whole vault: cards by session id, by the id of the previous session, and by query id; sources; batches by id.

    The notes of a session and of a source are rendered from ``links``.
    """

    by_id: Mapping[str, Card]
    followers: Mapping[str, Card]
    of_query: Mapping[str, tuple[Card, ...]]
    sources: Mapping[str, SourceNotePlace]
    batches: Mapping[str, Batch]

    @cached_property
    def links(self) -> VaultModel:
        """The same with blank cards except for links, so that notes that show only links are not affected by other changes."""
        return VaultModel(_blank(self.by_id), _blank(self.followers), {}, self.sources, self.batches)

    @cached_property
    def nights(self) -> tuple[Night, ...]:
        """The nights, the latest last."""
        return nights_from(self.batches.values())

    @cached_property
    def nights_of(self) -> dict[str, tuple[Night, ...]]:
        """By session id: the nights that worked on it."""
        found: dict[str, dict[str, Night]] = {}
        for night in self.nights:
            for entry in night.ended:
                found.setdefault(entry.session, {})[night.date] = night
        return {session: tuple(nights.values()) for session, nights in found.items()}

    @cached_property
    def archived(self) -> frozenset[str]:
        """The ids of the queries that were no longer in the queue when the latest night began."""
        return frozenset(self.nights[-1].batches[-1].archived) if self.nights else frozenset()

    @cached_property
    def spent(self) -> dict[str, tuple[float, float]]:
        """By event id of a query's end: the dollars and seconds of that night alone. The log has the session's sums so far."""
        sums: dict[str, tuple[float, float]] = {}
        found = {}
        for entry in (entry for night in self.nights for entry in night.ended):
            before = sums.get(entry.session, (0.0, 0.0))
            sums[entry.session] = (entry.cost.charged_usd, entry.duration_s)
            found[entry.id] = (max(0.0, entry.cost.charged_usd - before[0]), max(0.0, entry.duration_s - before[1]))
        return found

    @cached_property
    def unknown(self) -> dict[str, tuple[float, float]]:
        """By event id of a query's end: the dollars of that night that no reply accounts for, at most and probably."""
        sums: dict[str, tuple[float, float]] = {}
        found = {}
        for entry in (entry for night in self.nights for entry in night.ended):
            before, now = sums.get(entry.session, (0.0, 0.0)), (entry.cost.assumed_usd, entry.cost.expected_usd)
            sums[entry.session] = now
            found[entry.id] = (max(0.0, now[0] - before[0]), max(0.0, now[1] - before[1]))
        return found


def _blank(cards: Mapping[str, Card]) -> Lookup[Card]:
    """The same cards with only what links need."""
    return Lookup(lambda name: linked(card) if (card := cards.get(name)) else None, lambda: cards)


def nights_from(batches: Iterable[Batch]) -> tuple[Night, ...]:
    """Return the nights that the batches fell in, the latest last."""
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.started_at[:10], []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))
