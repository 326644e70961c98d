"""All that a store holds, read once and laid out for the notes: studies, sources across them, nights; and where each note stands.

Everything is put in an order that depends on the events alone: studies by their start, sources by their first reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pipeline import events as e
from pipeline import night_events as n
from pipeline.codec import decode_all
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.projection import names
from pipeline.projection.names import Names
from pipeline.session import ResearchSession
from pipeline.state import PageDone, SessionState, contradictions, standings, workers_in_order
from pipeline.values import Contradiction, Fact, ValidatedFact


@dataclass(frozen=True)
class Study:
    """One session: its state and events, and the paths of its notes (``report_path`` is "" without a report)."""

    id: str
    state: SessionState
    events: tuple[e.EventBase, ...]
    session_path: str
    report_path: str
    worker_paths: Mapping[str, str]

    @cached_property
    def standings(self) -> dict[str, ValidatedFact]:
        """What cross-checking made of each fact, by fact id."""
        return standings(self.state)

    @cached_property
    def cited_facts(self) -> frozenset[str]:
        """The ids of the facts that the report cites."""
        references = self.state.report.references if self.state.report else ()
        return frozenset(name for entry in references for name in entry.facts)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What the sources disagree on."""
        return contradictions(self.state)

    @cached_property
    def reported_at(self) -> str:
        """When the report was finished, "" without one."""
        return next((event.at for event in reversed(self.events) if isinstance(event, e.ReportGenerated)), "")


@dataclass(frozen=True)
class Quote:
    """A fact, and the studies that found it."""

    fact: Fact
    studies: tuple[Study, ...]


@dataclass(frozen=True)
class Source:
    """One address across all studies: each reading, and every quote taken from it, in order of reading."""

    url: str
    path: str
    readings: tuple[tuple[Study, PageDone], ...]
    quotes: tuple[Quote, ...]

    @property
    def title(self) -> str:
        """The title at the latest reading, or the address."""
        titles = (page.title for _, page in reversed(self.readings) if page.title.strip())
        return next(titles, self.url)


@dataclass(frozen=True)
class Citation:
    """A report that cites a source: under which number, and with how many of its quotes."""

    study: Study
    number: int
    quotes: int


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
    """The whole: studies and sources in order, nights with the latest last; ``problems`` names streams that cannot be read."""

    studies: tuple[Study, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    nights: tuple[Night, ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Study]:
        """The studies by session id."""
        return {study.id: study for study in self.studies}

    @cached_property
    def followers(self) -> dict[str, Study]:
        """By session id: the study that researched the same question next."""
        return {study.state.previous_session: study for study in reversed(self.studies) if study.state.previous_session}

    @cached_property
    def nights_of(self) -> dict[str, tuple[Night, ...]]:
        """By session id: the nights that worked on it."""
        found: dict[str, dict[str, Night]] = {}
        for night in self.nights:
            for entry in night.ended:
                found.setdefault(entry.session, {})[night.date] = night
        return {session: tuple(nights.values()) for session, nights in found.items()}

    @cached_property
    def citations(self) -> dict[str, tuple[Citation, ...]]:
        """By address: the reports that cite it."""
        found: dict[str, list[Citation]] = {}
        for study in self.studies:
            for entry in study.state.report.references if study.state.report else ():
                found.setdefault(entry.url, []).append(Citation(study, entry.number, len(entry.facts)))
        return {url: tuple(entries) for url, entries in found.items()}

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


def read(store: EventStore) -> Library:
    """Return all that ``store`` holds; a stream that cannot be trusted is left out and named in ``problems``."""
    problems: list[str] = []
    opened = [found for name in store.session_ids() if (found := _opened(store, name, problems))]
    taken = Names()
    opened.sort(key=lambda found: (found[0].started_at, found[0].id))
    studies = tuple(_study(state, history, taken) for state, history in opened)
    batches = [batch for name in store.batch_ids() if (batch := _batch(store, name, problems))]
    return Library(studies, _sources(studies, taken), _nights(batches), tuple(problems))


def _opened(store: EventStore, session_id: str, problems: list[str]) -> tuple[SessionState, tuple[e.EventBase, ...]] | None:
    try:
        state = ResearchSession.open(store, session_id).state
        history = tuple(decode_all(record.data for record in store.load(session_id)))
    except LogError as error:
        problems.append(f"the notes of {session_id}: {error}; `research verify` says more")
        return None
    return (state, history) if state.query else None


def _study(state: SessionState, history: tuple[e.EventBase, ...], taken: Names) -> Study:
    year, month = names.in_year(state.started_at), names.in_month(state.started_at)
    report = taken.claim(f"reports/{year}", names.report_stem(state.query, state.id), state.id)
    session = taken.claim(f"sessions/{year}", names.session_stem(state.query, state.id), state.id)
    workers = {}
    for worker in workers_in_order(state):
        view = state.perspectives[worker.perspective_id]
        stem = names.worker_stem(state.query, state.id, view.name)
        workers[worker.id] = taken.claim(f"workers/{month}", stem, f"{state.id}/{worker.id}")
    return Study(state.id, state, history, session, report if state.report else "", workers)


def _sources(studies: tuple[Study, ...], taken: Names) -> dict[str, Source]:
    readings: dict[str, list[tuple[Study, PageDone]]] = {}
    for study in studies:
        for page in study.state.pages.values():
            readings.setdefault(page.url, []).append((study, page))
    for found in readings.values():
        found.sort(key=lambda reading: (reading[1].at, reading[0].id))
    quotes = _quotes(studies)
    order = sorted(readings, key=lambda url: (readings[url][0][1].at, url))
    return {url: _source(url, readings[url], quotes.get(url, {}), taken) for url in order}


def _source(url: str, readings: list[tuple[Study, PageDone]], quotes: dict[str, Quote], taken: Names) -> Source:
    path = taken.claim(f"sources/{names.in_month(readings[0][1].at)}", names.source_stem(url), url)
    return Source(url, path, tuple(readings), tuple(quotes.values()))


def _quotes(studies: tuple[Study, ...]) -> dict[str, dict[str, Quote]]:
    found: dict[str, dict[str, Quote]] = {}
    for study in studies:
        for fact in study.state.facts.values():
            entries = found.setdefault(fact.url, {})
            earlier = entries.get(fact.id)
            entries[fact.id] = Quote(earlier.fact if earlier else fact, (*(earlier.studies if earlier else ()), study))
    return found


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


def _nights(batches: Iterable[Batch]) -> tuple[Night, ...]:
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.started_at[:10], []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))
