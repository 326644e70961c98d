"""``read_values``: the summary value of each stream of the log; only streams whose mark changed since the last build are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events import stream_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import Kind, Record
from pipeline.domain.events.stream_events import import_of
from pipeline.domain.state import SessionState
from pipeline.domain.talk import talk_of
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of
from pipeline.vault.kept import Kept
from pipeline.vault.notes.asked_since import TalkSummary, talk_summary
from pipeline.vault.notes.import_note import import_link
from pipeline.vault.output.escaping import Link
from pipeline.vault.paths import Workers
from pipeline.vault.session_card import Card, Reading, card_of, readings_of
from pipeline.vault.vault_model import Batch, LoadedSession

_MOST_HELD = 64  # sessions whose state is held from their summary to their notes
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """An import as the home note shows it: the link to its note, and when it began."""

    note: Link
    at: str


@cache
def _adapter(made: Any) -> TypeAdapter[Any]:
    """What stores values of a type, or None, as JSON."""
    return TypeAdapter(made | None)


@dataclass
class Values:
    """The summaries of all streams that can be read, by id; ``cards`` in order of the sessions' start.

    ``marks`` are the streams'; ``fresh`` are the cards of sessions that changed since the last build. ``problems`` say
    which streams cannot be read, and why.
    """

    store: EventStore
    kept: Kept
    workers: Workers
    marks: dict[str, str] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    batches: dict[str, Batch] = field(default_factory=dict)
    talks: dict[str, TalkSummary] = field(default_factory=dict)
    imports: dict[str, ImportSummary] = field(default_factory=dict)
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
        self.talks = self._read(known, "talk", "what was asked in", TalkSummary, self._talk)
        self.imports = self._read(known, "import", "the note of", ImportSummary, self._import)
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

    def _talk(self, name: str) -> TalkSummary:
        return talk_summary(talk_of(name, decode_all(record.data for record in self.store.load(name))))

    def _import(self, name: str) -> ImportSummary | None:
        found = import_of(name, decode_all(record.data for record in self.store.load(name)))
        return ImportSummary(import_link(found), found.last.created or found.last.at) if found else None

    def loaded(self, card: Card) -> LoadedSession:
        """Return a session with its card, read again if its state is no longer held.

        Raises:
            LogError: it cannot be read any more.
        """
        state, events = self._held.pop(card.id) if card.id in self._held else self._folded(card.id)
        return LoadedSession(card, state, events)

    def state_of(self, card: Card) -> SessionState:
        """Return the state of a session.

        Raises:
            LogError: it cannot be read any more.
        """
        return self._folded(card.id)[0]

    def readings(self, url: str) -> tuple[Reading, ...]:
        """Return the readings of a source, in order of time."""
        found = map(_adapter(Reading).validate_json, self.kept.readings(url))
        return tuple(sorted(found, key=lambda reading: (reading.page.at, reading.session)))


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
    return Batch(
        batch_id,
        started.at,
        started.due,
        tuple(event for event in history if isinstance(event, n.QuerySkipped)),
        tuple(event for event in history if isinstance(event, n.QueryEnded)),
        next((event for event in reversed(history) if isinstance(event, n.BatchEnded)), None),
        started.archived,
        tuple(f"{event.part}: {event.reason}" for event in history if isinstance(event, n.VaultFailed)),
    )
