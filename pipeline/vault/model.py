"""What notes are made from: a summary value of each stream of the log, a source across all sessions, a night, the whole vault.

``Values.read`` reads only streams whose mark changed since the last build. Everything is in an order that depends on the events
alone: sessions by their start, readings of a source by their time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events import stream_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import Kind, Record
from pipeline.domain.events.stream_events import import_of
from pipeline.domain.findings import IterationPages, all_pages, disputed_facts, facts_on, shown_sources
from pipeline.domain.state import SessionState
from pipeline.domain.talk import TalkState, Turn, talk_of
from pipeline.domain.values import Fact
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of, name_slug, one_line, slug
from pipeline.text.times import is_zone, moment_of, night_of
from pipeline.vault.cards import Card, Reading, WorkerCard, card_of, linked, readings_of
from pipeline.vault.kept import Kept
from pipeline.vault.output.escaping import Link
from pipeline.vault.output.page_markdown import flat
from pipeline.vault.paths import Workers

_MOST_HELD = 64  # sessions whose state is held from their summary to their notes
_LONGEST = 320  # characters of an answer in a talk
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


@dataclass(frozen=True, slots=True)
class Talk:
    """What a talk is about, when it began, and what was asked in it."""

    id: str
    scope: str
    ids: tuple[str, ...]
    opened_at: str
    asked: tuple[Asked, ...]


@dataclass(frozen=True)
class LoadedSession:
    """One session with its card, state and events, what was ``asked`` about it since, and how its passages are ``rated``."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]
    asked: tuple[Asked, ...] = ()
    rated: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def workers(self) -> dict[str, WorkerCard]:
        """The workers by id."""
        return {worker.id: worker for worker in self.card.workers}

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

    def is_disputed(self, facts: Iterable[str]) -> bool:
        """Tell whether another source denies one of these facts."""
        return not disputed_facts(self.state).isdisjoint(facts)


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
    """One run over the queue, and the day of its night. ``archived``: the ids of the queries that were removed from the queue.

    ``zone`` is that of the night, "" in logs that do not say it. ``unread``: which questions in the vault could not be read;
    ``not_made``: why the vault or the site could not be built.
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


class Spent(NamedTuple):
    """What a query cost in one night: dollars, seconds, and what no reply accounts for, at most and probably."""

    usd: float = 0.0
    seconds: float = 0.0
    unknown_usd: float = 0.0
    likely_usd: float = 0.0


class Traced(Mapping[str, T]):
    """Values that are looked up by name; which were asked for is entered in ``seen`` as (``room``, name)."""

    def __init__(self, room: str, values: Mapping[str, T], seen: set[tuple[str, str]]) -> None:
        self._room, self._values, self._seen = room, values, seen

    def __getitem__(self, name: str) -> T:
        self._seen.add((self._room, name))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        raise TypeError("what is traced is asked for by name")

    def __len__(self) -> int:
        raise TypeError("what is traced is asked for by name")


@dataclass(frozen=True)
class VaultModel:
    """The whole vault: cards by session id, by the id of the previous session, and by query id; sources by address; nights.

    ``archived`` has the ids of the queries that were no longer in the queue when the latest night began.
    """

    by_id: Mapping[str, Card]
    followers: Mapping[str, Card]
    of_query: Mapping[str, tuple[Card, ...]]
    sources: Mapping[str, SourceNotePlace]
    nights: tuple[Night, ...]
    archived: Mapping[str, bool]

    @cached_property
    def links(self) -> dict[str, Mapping[str, object]]:
        """What notes of sessions and sources show of others, by room and name: of cards only what links need."""
        by_id = {name: linked(card) for name, card in self.by_id.items()}
        followers = {name: by_id[card.id] for name, card in self.followers.items()}
        return {"card": by_id, "follower": followers, "source": self.sources, "archived": self.archived}

    def traced(self, seen: set[tuple[str, str]]) -> VaultModel:
        """Return these links as a model that enters in ``seen`` which of them were asked for."""
        by_id, followers, sources, archived = (Traced[Any](room, found, seen) for room, found in self.links.items())
        return VaultModel(by_id, followers, {}, sources, (), archived)

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
    followers: dict[str, Card] = {}
    of_query: dict[str, tuple[Card, ...]] = {}
    for card in by_id.values():
        followers.setdefault(card.previous_session, card)
        of_query[card.query_id] = (*of_query.get(card.query_id, ()), card)
    followers.pop("", None)
    nights = nights_from(batches)
    archived = dict.fromkeys(nights[-1].batches[-1].archived, True) if nights else {}
    return VaultModel(by_id, followers, of_query, sources, nights, archived)


def nights_from(batches: Iterable[Batch]) -> tuple[Night, ...]:
    """Return the nights that the batches fell in, the latest last."""
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.night, []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))


@cache
def _adapter(made: Any) -> TypeAdapter[Any]:
    """What stores values of a type, or None, as JSON."""
    return TypeAdapter(made | None)


@dataclass
class Values:
    """The summaries of all streams that can be read, by id; ``cards`` in order of the sessions' start.

    ``marks`` are the streams'; ``fresh`` are the cards of sessions that changed since the last build. ``imports`` has the link to
    each import's note, and when it began. ``problems`` say which streams cannot be read, and why.
    """

    store: EventStore
    kept: Kept
    workers: Workers
    marks: dict[str, str] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    talks: dict[str, Talk] = field(default_factory=dict)
    imports: dict[str, tuple[Link, str]] = field(default_factory=dict)
    fresh: dict[str, Card] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    _held: dict[str, tuple[SessionState, tuple[e.EventBase, ...]]] = field(default_factory=dict)
    _readings: dict[str, dict[str, bytes]] = field(default_factory=dict)  # of the session whose card is made

    def read(self) -> None:
        """Read all summaries, and store those of streams that changed."""
        known = self.kept.summaries()
        cards = self._read(known, "session", "the notes of", Card, self._card)
        self.cards = dict(sorted(cards.items(), key=lambda entry: (entry[1].started_at, entry[0])))
        self.batches = self._read(known, "batch", "the night of", Batch, lambda name: batch_of(name, self.store.load(name)))
        self.talks = self._read(known, "talk", "what was asked in", Talk, lambda name: _talk(talk_of(name, self._events(name))))
        self.imports = self._read(known, "import", "the note of", tuple[Link, str], self._import)
        self.kept.drop_summaries(known.keys() - self.marks.keys())

    def _read(
        self, known: Mapping[str, tuple[str, bytes]], kind: Kind, what: str, made: Any, make: Callable[[str], T | None]
    ) -> dict[str, T]:
        """The summaries, of the type ``made``, of the streams of a kind; ``make`` returns None for one that has not begun."""
        adapter: TypeAdapter[T | None] = _adapter(made)
        found: dict[str, T | None] = {}
        for name, mark in self.store.marks((kind,)).items():
            self.marks[name] = mark
            if name in known and known[name][0] == mark:
                found[name] = adapter.validate_json(known[name][1])
                continue
            try:
                found[name] = value = make(name)
            except LogError as error:
                self.problems.append(f"{what} {name}: {error}; run `research verify` for details")
                self.kept.drop_summaries([name])
                continue
            self.kept.put_summary(name, mark, adapter.dump_json(value), self._readings.pop(name, {}))
        return {name: value for name, value in found.items() if value is not None}

    def _events(self, name: str) -> Iterator[e.EventBase]:
        return decode_all(record.data for record in self.store.load(name))

    def _card(self, name: str) -> Card | None:
        state, events = self._folded(name)
        if not state.query:
            return None
        if len(self._held) < _MOST_HELD:
            self._held[name] = state, events
        card, self._readings[name] = summarised(state, events, self.workers)
        self.fresh[name] = card
        return card

    def _folded(self, name: str) -> tuple[SessionState, tuple[e.EventBase, ...]]:
        return folded(name, (record.data for record in self.store.load(name)))

    def _import(self, name: str) -> tuple[Link, str] | None:
        """The link to an import's note; the path derives from the first event of the import and never changes."""
        found = import_of(name, self._events(name))
        if found is None:
            return None
        first = found.first
        path = f"sessions/{(first.created or first.at)[:4]}/{found.id}"
        if first.ordinals >= 0:  # recorded by an earlier version, so the note has its place
            path = f"imports/{(first.created or first.at)[:4]}/{slug(first.question or first.title, 60)}-{found.id[-8:]}"
        return Link(path, found.last.heading), found.last.created or found.last.at

    def loaded(self, card: Card) -> LoadedSession:
        """Return a session with its card, read again if its state is no longer held.

        Raises:
            LogError: it cannot be read any more.
        """
        state, events = self._held.pop(card.id) if card.id in self._held else self._folded(card.id)
        return LoadedSession(card, state, events)

    def readings(self, url: str) -> tuple[Reading, ...]:
        """Return the readings of a source, in order of time."""
        return tuple(sorted(readings_from(self.kept.readings(url)), key=lambda reading: (reading.page.at, reading.session)))


def summarised(state: SessionState, events: Sequence[e.EventBase], workers: Workers = "notes") -> tuple[Card, dict[str, bytes]]:
    """Return a session's card, and as JSON what it took from each source, by address."""
    reported_at = next((event.at for event in reversed(events) if isinstance(event, e.ReportGenerated)), "")
    readings = {reading.page.url: reading for reading in readings_of(state, reported_at)}
    datas = {url: _adapter(Reading).dump_json(reading) for url, reading in readings.items()}
    card = card_of(state, reported_at, [(one, digest_of(datas[url])[:16]) for url, one in readings.items()], workers)
    return card, datas


def readings_from(values: Iterable[bytes]) -> tuple[Reading, ...]:
    """Return the readings of stored values."""
    return tuple(map(_adapter(Reading).validate_json, values))


def folded(session_id: str, events: Iterable[bytes]) -> tuple[SessionState, tuple[e.EventBase, ...]]:
    """Return the state of a session, and its events, which are given as JSON.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    state, history = SessionState(id=session_id), tuple(decode_all(events))
    for event in history:
        fold.apply(state, event)
    return state, history


def batch_of(batch_id: str, records: Sequence[Record]) -> Batch | None:
    """Return a run over the queue, None if it never began.

    Raises:
        LogError: a record is not a valid event, or was written by a newer major version.
    """
    history = tuple(decode_all(record.data for record in records))
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


def _talk(talk: TalkState) -> Talk:
    return Talk(talk.id, talk.scope, talk.ids, talk.opened_at, tuple(map(_asked, talk.turns)))


def _asked(turn: Turn) -> Asked:
    """A question with the first sentence or passage of its answer, or why there is none."""
    titles = {page.url: page.title for page in turn.found.pages} if turn.found else {}
    sources = tuple((url, titles.get(url, url)) for url in dict.fromkeys(fact.url for fact in turn.cited()))
    answer = "Not answered yet. Ask it again, or go on with the talk."
    if turn.answer and turn.answer.sentences:
        answer = one_line(flat(turn.answer.sentences[0].text), _LONGEST)
    elif turn.answer and turn.answer.nearest:
        nearest = one_line(flat(turn.answer.nearest[0].text), _LONGEST)
        answer = f"The stored pages do not clearly say. This comes nearest: {nearest}"
    elif turn.answer:
        answer = "The stored pages do not say."
    return Asked(one_line(turn.text, 500), answer, turn.at, sources, turn.session)


def asked_by_owner(talks: Iterable[Talk], model: VaultModel) -> dict[str, tuple[Asked, ...]]:
    """Return what was asked about each session (``session:…``) and topic (``topic:…``), in order of time.

    What was asked about a query belongs to the session of its newest report.
    """
    found: dict[str, tuple[Asked, ...]] = {}
    for talk in sorted(talks, key=lambda talk: (talk.opened_at, talk.id)):
        owners = []
        for name in talk.ids:
            reported = [card for card in model.of_query.get(name, ()) if card.has_report] if talk.scope == "query" else []
            if talk.scope == "topic":
                owners.append(f"topic:{name_slug(name)}")
            elif reported or (talk.scope == "session" and name in model.by_id):
                owners.append(f"session:{reported[-1].id if reported else name}")
        for owner in dict.fromkeys(owners):
            found[owner] = (*found.get(owner, ()), *talk.asked)
    return found
