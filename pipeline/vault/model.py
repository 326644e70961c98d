"""What notes are made from: a summary value of each stream of the log, a source across all sessions, a night, the whole vault.

``Values.read`` reads only streams whose mark changed since the last build. Everything is in an order that depends on the events
alone: sessions by their start, readings of a source by their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events import stream_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import Kind, kind_of
from pipeline.domain.events.stream_events import import_of
from pipeline.domain.findings import disputed_facts, facts_of, shown_sources
from pipeline.domain.state import SessionState, workers_in_order
from pipeline.domain.talk import TalkState, Turn, read_talk
from pipeline.domain.values import Fact
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.normalise import name_slug, slug
from pipeline.text.times import is_zone, moment_of, night_of
from pipeline.text.words import language_code
from pipeline.vault.kept import Kept, rows_in
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.note import View
from pipeline.vault.paths import Workers
from pipeline.vault.session_cards import Card, Reading, WorkerCard, card_of

_MOST_HELD = 64  # sessions whose state is held from their summary to their notes


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
class Beside:
    """What the notes of a session show of others.

    ``before`` is what the session before on the same question made, ``compared`` that with which this one is compared, ``after``
    the session that followed; ``later`` its report. ``reports`` are the earlier reports, the latest first, with their days;
    ``more`` counts those beyond them. ``sources`` are the places of all sources that the session names. ``asked`` is what was
    asked about it since, as notes show it; ``rated`` is how its passages are rated, by fact.
    """

    before: Link | None = None
    compared: Link | None = None
    after: Link | None = None
    later: Link | None = None
    reports: tuple[tuple[Link, str], ...] = ()
    more: int = 0
    archived: bool = False
    sources: Mapping[str, SourceNotePlace] = field(default_factory=dict)
    asked: Sequence[View] = ()
    rated: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedSession:
    """One session with its card, state and events, and what its notes show of others."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]
    beside: Beside = Beside()

    @cached_property
    def language(self) -> str:
        """The code of the question's language, else of that of its quotes."""
        return language_code(self.state.query, *(fact.quote for fact in self.state.facts.values()))

    @cached_property
    def workers(self) -> dict[str, WorkerCard]:
        """The workers by id."""
        return {worker.id: worker for worker in self.card.workers}

    @cached_property
    def shown_sources(self) -> frozenset[str]:
        """The sources that have a note because of this session."""
        return shown_sources(self.state)

    @cached_property
    def facts(self) -> dict[str, tuple[Fact, ...]]:
        """Each worker's facts, by worker id."""
        return {worker.id: facts_of(worker) for worker in workers_in_order(self.state)}

    def is_disputed(self, facts: Iterable[str]) -> bool:
        """Tell whether another source denies one of these facts."""
        return not disputed_facts(self.state).isdisjoint(facts)


@dataclass(frozen=True, slots=True)
class Source:
    """One address across all sessions: every reading of it with the session's card, in order of time.

    ``others`` are the places of the sources that deny what it says, by address.
    """

    url: str
    place: SourceNotePlace
    readings: tuple[tuple[Card, Reading], ...]
    others: Mapping[str, SourceNotePlace]

    @property
    def title(self) -> str:
        """The title at the latest reading that had one, or the address."""
        titles = (reading.page.title for _, reading in reversed(self.readings) if reading.page.title.strip())
        return self.place.told_apart(next(titles, self.url))


def readings_by_url(cards: Iterable[Card]) -> dict[str, list[tuple[Card, Reading]]]:
    """Return the readings of each source with the sessions' cards, in order of time."""
    found: dict[str, list[tuple[Card, Reading]]] = {}
    read = ((card, reading) for card in cards for reading in card.read)
    for one in sorted(read, key=lambda one: (one[1].page.at, one[0].id)):
        found.setdefault(one[1].page.url, []).append(one)
    return found


@dataclass(frozen=True)
class Batch:
    """One run over the queue, and the day of its night. ``archived``: the ids of the queries that were removed from the queue.

    ``zone`` is that of the night, "" in logs that do not say it. ``unread``: which questions in the vault and folders of
    documents could not be read; ``not_made``: why the vault or the site could not be built.
    """

    id: str
    night: str
    started_at: str
    due: tuple[str, ...]
    skipped: tuple[n.QuerySkipped, ...]
    ended: tuple[n.QueryEnded, ...]
    end: n.BatchEnded | None
    archived: tuple[str, ...] = ()
    not_made: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    zone: str = ""


@dataclass(frozen=True)
class Night:
    """All batches of one night, which lasts from noon to noon where the log says in which zone; else of one UTC date."""

    date: str
    batches: tuple[Batch, ...]

    @property
    def ended(self) -> tuple[n.QueryEnded, ...]:
        """The ends of its queries, in order."""
        return tuple(entry for batch in self.batches for entry in batch.ended)

    @property
    def last(self) -> dict[str, n.QueryEnded]:
        """How each query ended at last, by its id."""
        return {entry.query_id: entry for entry in self.ended}


class Spent(NamedTuple):
    """What a query cost in one night: dollars, seconds, and what no reply accounts for, at most and probably."""

    usd: float = 0.0
    seconds: float = 0.0
    unknown_usd: float = 0.0
    likely_usd: float = 0.0


@dataclass(frozen=True)
class VaultModel:
    """The whole vault: cards by session id, in order of their start, and by query id; sources by address; nights.

    ``archived`` has the ids of the queries that were no longer in the queue when the latest night began.
    """

    by_id: Mapping[str, Card]
    of_query: Mapping[str, tuple[Card, ...]]
    sources: Mapping[str, SourceNotePlace]
    nights: tuple[Night, ...]
    archived: frozenset[str]

    @cached_property
    def spent(self) -> dict[str, Spent]:
        """By event id of a query's end: what it cost in that night alone. The log has the session's sums so far."""
        sums: dict[str, Spent] = {}
        found = {}
        for entry in (entry for night in self.nights for entry in night.ended):
            cost, before = entry.cost, sums.get(entry.session, Spent())
            sums[entry.session] = now = Spent(cost.charged_usd, entry.duration_s, cost.assumed_usd, cost.expected_usd)
            found[entry.id] = Spent(*(max(0.0, new - old) for new, old in zip(now, before, strict=True)))
        return found


def model_of(cards: Iterable[Card], sources: Mapping[str, SourceNotePlace], batches: Iterable[Batch]) -> VaultModel:
    """Return the whole vault; ``cards`` in order of the sessions' start."""
    by_id = {card.id: card for card in cards}
    of_query: dict[str, list[Card]] = {}
    for card in by_id.values():
        of_query.setdefault(card.query_id, []).append(card)
    nights = nights_from(batches)
    archived = frozenset(nights[-1].batches[-1].archived if nights else ())
    return VaultModel(by_id, {name: tuple(same) for name, same in of_query.items()}, sources, nights, archived)


def nights_from(batches: Iterable[Batch]) -> tuple[Night, ...]:
    """Return the nights that the batches fell in, the latest last."""
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.night, []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))


_CARD: TypeAdapter[Card | None] = TypeAdapter(Card | None)
_BATCH: TypeAdapter[Batch | None] = TypeAdapter(Batch | None)
_TALK: TypeAdapter[TalkState] = TypeAdapter(TalkState)
_IMPORT: TypeAdapter[tuple[Link, str] | None] = TypeAdapter(tuple[Link, str] | None)


class Values:
    """The summaries of all streams that can be read, by id; ``cards`` in order of the sessions' start.

    ``marks`` are the streams'; ``fresh`` are the cards of sessions that changed since the last build. ``imports`` has the link to
    each import's note, and when it began. ``problems`` say which streams cannot be read, and why.
    """

    def __init__(self, store: EventStore, kept: Kept, workers: Workers) -> None:
        self._store, self._kept, self._workers = store, kept, workers
        self._held: dict[str, tuple[SessionState, tuple[e.EventBase, ...]]] = {}
        self.marks: dict[str, str] = {}
        self.fresh: dict[str, Card] = {}
        self.problems: list[str] = []
        known = kept.summaries()
        cards = self._read(known, "session", "the notes of", _CARD, self._card).values()
        self.cards: dict[str, Card] = {card.id: card for card in sorted(cards, key=lambda card: (card.started_at, card.id))}
        self.batches: dict[str, Batch] = self._read(known, "batch", "the night of", _BATCH, partial(batch_of, store))
        self.talks: dict[str, TalkState] = self._read(known, "talk", "what was asked in", _TALK, partial(read_talk, store))
        self.imports: dict[str, tuple[Link, str]] = self._read(known, "import", "the note of", _IMPORT, self._import)
        kept.drop_summaries(known.keys() - self.marks.keys())

    def _read(
        self, known: Mapping[str, tuple[str, bytes]], kind: Kind, what: str, stored: TypeAdapter[Any], make: Callable[[str], Any]
    ) -> dict[str, Any]:
        """The summaries of the streams of a kind; ``make`` returns None for one that has not begun."""
        found = {}
        for name, mark in self._store.marks((kind,)).items():
            self.marks[name] = mark
            if name in known and known[name][0] == mark:
                found[name] = stored.validate_json(known[name][1])
                continue
            try:
                found[name] = value = make(name)
            except LogError as error:
                self.problems.append(f"{what} {name}: {error}; run `research verify` for details")
                self._kept.drop_summaries([name])
                continue
            self._kept.put_summary(name, mark, stored.dump_json(value))
        return {name: value for name, value in found.items() if value is not None}

    def _card(self, name: str) -> Card | None:
        state, events = folded(name, (record.data for record in self._store.load(name)))
        if not state.query:
            return None
        if len(self._held) < _MOST_HELD:
            self._held[name] = state, events
        self.fresh[name] = card = summarised(state, events, self._workers)
        return card

    def _import(self, name: str) -> tuple[Link, str] | None:
        """The link to an import's note; the path derives from the first event of the import and never changes."""
        found = import_of(name, decode_all(record.data for record in self._store.load(name)))
        if found is None:
            return None
        first = found.first
        path = f"sessions/{(first.created or first.at)[:4]}/{found.id}"
        if first.ordinals >= 0:  # recorded by an earlier version, so the note has its place
            path = f"imports/{(first.created or first.at)[:4]}/{slug(first.question or first.title, 60)}-{found.id[-8:]}"
        return Link(path, found.last.heading), found.last.created or found.last.at

    def loaded(self, card: Card, beside: Beside) -> LoadedSession:
        """Return a session with its card, read again if its state is no longer held.

        Raises:
            LogError: it cannot be read any more.
        """
        held = self._held.pop(card.id, None) or folded(card.id, (record.data for record in self._store.load(card.id)))
        return LoadedSession(card, *held, beside)


def summarised(state: SessionState, events: Sequence[e.EventBase], workers: Workers = "notes") -> Card:
    """Return a session's card."""
    reported_at = next((event.at for event in reversed(events) if isinstance(event, e.ReportGenerated)), "")
    return card_of(state, reported_at, workers)


def stored_cards(state_dir: Path) -> list[Card]:
    """Return the cards that the last build kept, without the paths of their notes."""
    rows = rows_in(state_dir, "SELECT stream, value FROM summaries ORDER BY stream")
    return [card for stream, value in rows if kind_of(stream) == "session" and (card := _CARD.validate_json(value))]


def folded(session_id: str, events: Iterable[bytes]) -> tuple[SessionState, tuple[e.EventBase, ...]]:
    """Return the state of a session, and its events, which are given as JSON.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    state, history = SessionState(id=session_id), tuple(decode_all(events))
    for event in history:
        fold.apply(state, event)
    return state, history


def batch_of(store: EventStore, batch_id: str) -> Batch | None:
    """Return a run over the queue, None if it never began.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    history = tuple(decode_all(record.data for record in store.load(batch_id)))
    started = next((event for event in history if isinstance(event, n.BatchStarted)), None)
    if started is None:
        return None
    zone = started.timezone if is_zone(started.timezone or "UTC") else ""
    return Batch(
        batch_id,
        night_of(moment_of(started.at), zone).isoformat() if zone else started.at[:10],
        started.at,
        started.due,
        tuple(event for event in history if isinstance(event, n.QuerySkipped)),
        tuple(event for event in history if isinstance(event, n.QueryEnded)),
        next((event for event in reversed(history) if isinstance(event, n.BatchEnded)), None),
        started.archived,
        tuple(f"{event.part}: {event.reason}" for event in history if isinstance(event, n.VaultFailed)),
        started.unread,
        zone,
    )


def asked_by_owner(talks: Iterable[TalkState], model: VaultModel) -> dict[str, list[Turn]]:
    """Return what was asked about each session (``session:…``) and topic (``topic:…``), in order of time.

    What was asked about a query belongs to the session of its newest report.
    """
    found: dict[str, list[Turn]] = {}
    for talk in sorted(talks, key=lambda talk: (talk.opened_at, talk.id)):
        owners = []
        for name in talk.ids:
            reported = [card for card in model.of_query.get(name, ()) if card.has_report] if talk.scope == "query" else []
            if talk.scope == "topic":
                owners.append(f"topic:{name_slug(name)}")
            elif reported or (talk.scope == "session" and name in model.by_id):
                owners.append(f"session:{reported[-1].id if reported else name}")
        for owner in dict.fromkeys(owners):
            found.setdefault(owner, []).extend(talk.turns)
    return found
