"""The values that notes are rendered from: a loaded session, a source across all sessions, a night, and the vault as a whole.

Everything is in an order that depends only on the events: sessions by their start, readings of a source by their time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from pipeline.domain.events import session_events as e
from pipeline.domain.events import stream_events as n
from pipeline.domain.findings import IterationPages, all_facts, all_pages, by_model, facts_on, shown_sources, standings
from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact, ValidatedFact
from pipeline.vault.session_card import Card, Reading, linked

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
    """One session with its card, state and events, what was ``asked`` about it since, and how its passages are ``rated``."""

    card: Card
    state: SessionState
    events: tuple[e.EventBase, ...]
    asked: tuple[Asked, ...] = ()
    rated: Mapping[str, str] = field(default_factory=dict)

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
        return standings(self.state, (fact.id for fact in all_facts(self.state)))


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
    def ended(self) -> tuple[n.QueryEnded, ...]:
        """The ends of its queries, in order."""
        return tuple(entry for batch in self.batches for entry in batch.ended)


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

    ``nights_of`` has the dates of the nights that worked on a session, ``archived`` the ids of the queries that were no longer in
    the queue when the latest night began.
    """

    by_id: Mapping[str, Card]
    followers: Mapping[str, Card]
    of_query: Mapping[str, tuple[Card, ...]]
    sources: Mapping[str, SourceNotePlace]
    nights: tuple[Night, ...]
    nights_of: Mapping[str, tuple[str, ...]]
    archived: Mapping[str, bool]

    @cached_property
    def links(self) -> dict[str, Mapping[str, object]]:
        """What notes of sessions and sources show of others, by room and name: of cards only what links need."""
        by_id = {name: linked(card) for name, card in self.by_id.items()}
        followers = {name: by_id[card.id] for name, card in self.followers.items()}
        rooms: dict[str, Mapping[str, object]] = {"card": by_id, "follower": followers, "source": self.sources}
        return rooms | {"nights": self.nights_of, "archived": self.archived}

    def traced(self, seen: set[tuple[str, str]]) -> VaultModel:
        """Return these links as a model that enters in ``seen`` which of them were asked for."""
        by_id, followers, sources, nights_of, archived = (Traced[Any](room, found, seen) for room, found in self.links.items())
        return VaultModel(by_id, followers, {}, sources, (), nights_of, archived)

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
    nights_of: dict[str, tuple[str, ...]] = {}
    for night in nights:
        for session in dict.fromkeys(entry.session for entry in night.ended):
            nights_of[session] = (*nights_of.get(session, ()), night.date)
    archived = dict.fromkeys(nights[-1].batches[-1].archived, True) if nights else {}
    return VaultModel(by_id, followers, of_query, sources, nights, nights_of, archived)


def nights_from(batches: Iterable[Batch]) -> tuple[Night, ...]:
    """Return the nights that the batches fell in, the latest last."""
    by_date: dict[str, list[Batch]] = {}
    for batch in sorted(batches, key=lambda batch: (batch.started_at, batch.id)):
        by_date.setdefault(batch.started_at[:10], []).append(batch)
    return tuple(Night(date, tuple(found)) for date, found in sorted(by_date.items()))
