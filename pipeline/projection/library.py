"""All that a store holds, read once and laid out for the notes: studies, sources across them, nights; and where each note stands.

Everything is put in an order that depends on the events alone: studies by their start, sources by their first reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pipeline import events as e
from pipeline import night_events as n
from pipeline.codec import decode_all
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.projection import names
from pipeline.projection.cards import Card, Reading, WorkerCard, card_of, readings_of
from pipeline.projection.names import Names
from pipeline.session import ResearchSession
from pipeline.state import SessionState, standings
from pipeline.values import ValidatedFact


@dataclass(frozen=True)
class Study:
    """One session opened: its card, state and events. What a card says of a session a study says too."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]

    @property
    def id(self) -> str:
        """The session's id."""
        return self.card.id

    @property
    def query(self) -> str:
        """The question."""
        return self.card.query

    @property
    def session_path(self) -> str:
        """Where the session's note stands."""
        return self.card.session_path

    @property
    def report_path(self) -> str:
        """Where the report stands, "" without one."""
        return self.card.report_path

    @property
    def report_title(self) -> str:
        """The title of the report; the question without one."""
        return self.card.report_title

    @property
    def reported_at(self) -> str:
        """When the report was finished, "" without one."""
        return self.card.reported_at

    def worker(self, worker_id: str) -> WorkerCard:
        """Return one of the workers.

        Raises:
            KeyError: the session has no such worker.
        """
        return self.card.worker(worker_id)

    @cached_property
    def worker_paths(self) -> dict[str, str]:
        """Where the workers' notes stand, by worker id."""
        return {worker.id: worker.path for worker in self.card.workers}

    @cached_property
    def standings(self) -> dict[str, ValidatedFact]:
        """What cross-checking made of each fact, by fact id."""
        return standings(self.state)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source's note stands, and the title by which other notes link to it: that of its first reading that had one.

    The first, because a link then says the same for ever; the source's own note shows the latest.
    """

    path: str
    title: str


@dataclass(frozen=True, slots=True)
class Source:
    """One address across all sessions: every reading of it, in order of time."""

    url: str
    place: Place
    readings: tuple[Reading, ...]

    @property
    def title(self) -> str:
        """The title at the latest reading that had one, or the address."""
        titles = (reading.page.title for reading in reversed(self.readings) if reading.page.title.strip())
        return next(titles, self.url)


@dataclass(frozen=True)
class Batch:
    """One run over the queue."""

    id: str
    started_at: str
    due: tuple[str, ...]
    skipped: tuple[n.QuerySkipped, ...]
    ended: tuple[n.QueryEnded, ...]
    end: n.BatchEnded | None


@dataclass(frozen=True)
class Night:
    """All batches that began on one UTC date."""

    date: str
    batches: tuple[Batch, ...]

    @property
    def path(self) -> str:
        """Where its note stands."""
        return f"nights/{self.date}"

    @property
    def ended(self) -> tuple[n.QueryEnded, ...]:
        """What became of the queries, in order."""
        return tuple(entry for batch in self.batches for entry in batch.ended)


@dataclass(frozen=True)
class Library:
    """The whole vault by cards: sessions in order of their start, where each source stands, nights with the latest last.

    ``problems`` names streams that cannot be read.
    """

    cards: tuple[Card, ...] = ()
    sources: Mapping[str, Place] = field(default_factory=dict)
    nights: tuple[Night, ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Card]:
        """The cards by session id."""
        return {card.id: card for card in self.cards}

    @cached_property
    def order(self) -> dict[str, int]:
        """By session id: which of all it is, from 0, in order of their start."""
        return {card.id: place for place, card in enumerate(self.cards)}

    @cached_property
    def of_query(self) -> dict[str, tuple[Card, ...]]:
        """By query id: its sessions in order of their start."""
        found: dict[str, list[Card]] = {}
        for card in self.cards:
            found.setdefault(card.query_id, []).append(card)
        return {query_id: tuple(cards) for query_id, cards in found.items()}

    @cached_property
    def followers(self) -> dict[str, Card]:
        """By session id: the session that researched the same question next."""
        return {card.previous_session: card for card in reversed(self.cards) if card.previous_session}

    @cached_property
    def nights_of(self) -> dict[str, tuple[Night, ...]]:
        """By session id: the nights that worked on it."""
        found: dict[str, dict[str, Night]] = {}
        for night in self.nights:
            for entry in night.ended:
                found.setdefault(entry.session, {})[night.date] = night
        return {session: tuple(nights.values()) for session, nights in found.items()}

    @cached_property
    def spent(self) -> dict[str, tuple[float, float]]:
        """By event id of a query's end: the dollars and seconds of that night alone. The log has the session's sums so far."""
        sums: dict[str, tuple[float, float]] = {}
        found = {}
        for entry in (entry for night in self.nights for entry in night.ended):
            before = sums.get(entry.session, (0.0, 0.0))
            sums[entry.session] = (entry.cost.usd, entry.duration_s)
            found[entry.id] = (max(0.0, entry.cost.usd - before[0]), max(0.0, entry.duration_s - before[1]))
        return found


@dataclass(frozen=True)
class Contents:
    """A library with all that its notes are made of."""

    library: Library
    studies: tuple[Study, ...]
    sources: tuple[Source, ...]


def read(store: EventStore) -> Contents:
    """Return all that ``store`` holds; a stream that cannot be trusted is left out and named in ``problems``."""
    problems: list[str] = []
    opened = [found for name in store.session_ids() if (found := _opened(store, name, problems))]
    taken = Names()
    opened.sort(key=lambda found: (found[0].started_at, found[0].id))
    studies = tuple(_study(state, history, taken) for state, history in opened)
    batches = [batch for name in store.batch_ids() if (batch := _batch(store, name, problems))]
    sources = _sources(studies, taken)
    places = {source.url: source.place for source in sources}
    library = Library(tuple(study.card for study in studies), places, nights_from(batches), tuple(problems))
    return Contents(library, studies, sources)


def _opened(store: EventStore, session_id: str, problems: list[str]) -> tuple[SessionState, tuple[e.EventBase, ...]] | None:
    try:
        state = ResearchSession.open(store, session_id).state
        history = tuple(decode_all(record.data for record in store.load(session_id)))
    except LogError as error:
        problems.append(f"the notes of {session_id}: {error}; `research verify` says more")
        return None
    return (state, history) if state.query else None


def _study(state: SessionState, history: tuple[e.EventBase, ...], taken: Names) -> Study:
    reported_at = next((event.at for event in reversed(history) if isinstance(event, e.ReportGenerated)), "")
    return Study(card_of(state, reported_at, taken), state, history)


def _sources(studies: tuple[Study, ...], taken: Names) -> tuple[Source, ...]:
    found: dict[str, list[Reading]] = {}
    for study in studies:
        for reading in readings_of(study.state):
            found.setdefault(reading.page.url, []).append(reading)
    for readings in found.values():
        readings.sort(key=lambda reading: (reading.page.at, reading.session))
    order = sorted(found, key=lambda url: (found[url][0].page.at, url))
    return tuple(Source(url, place_of(url, found[url], taken), tuple(found[url])) for url in order)


def place_of(url: str, readings: Sequence[Reading], taken: Names) -> Place:
    """Return where the source of these readings, the earliest first, stands; its name is claimed from ``taken``."""
    path = taken.claim(f"sources/{names.in_month(readings[0].page.at)}", names.source_stem(url), url)
    return Place(path, next((reading.page.title for reading in readings if reading.page.title.strip()), url))


def _batch(store: EventStore, batch_id: str, problems: list[str]) -> Batch | None:
    try:
        history = tuple(decode_all(record.data for record in store.load(batch_id)))
    except LogError as error:
        problems.append(f"the night of {batch_id}: {error}; `research verify` says more")
        return None
    started = next((event for event in history if isinstance(event, n.BatchStarted)), None)
    return _batch_of(batch_id, started, history) if started else None


def _batch_of(batch_id: str, started: n.BatchStarted, history: tuple[e.EventBase, ...]) -> Batch:
    return Batch(
        batch_id,
        started.at,
        started.due,
        tuple(event for event in history if isinstance(event, n.QuerySkipped)),
        tuple(event for event in history if isinstance(event, n.QueryEnded)),
        next((event for event in reversed(history) if isinstance(event, n.BatchEnded)), None),
    )


def nights_from(batches: Iterable[Batch]) -> tuple[Night, ...]:
    """Return the nights that the batches fell in, the latest last."""
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.started_at[:10], []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))
