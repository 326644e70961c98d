"""Which files the vault shall hold, and the making of those that show something new.

Each file has an owner, what it is made for, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` ·
``session:<id>`` · ``source:<address>`` · ``templates:`` (what is copied from there). An owner's files are made together, or only
some kinds of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.projection import affected
from pipeline.projection.cards import Card
from pipeline.projection.catalogue import Catalogue, readings_from
from pipeline.projection.changes import texts_of
from pipeline.projection.copies import copies
from pipeline.projection.crew import Crew
from pipeline.projection.fresh import Fresh, of_plain
from pipeline.projection.home_note import home_note
from pipeline.projection.library import Library, Source
from pipeline.projection.news import News
from pipeline.projection.night_note import night_note
from pipeline.projection.shelving import Shelves
from pipeline.projection.source_note import changes_of
from pipeline.projection.templates import Renderer
from pipeline.projection.topic_note import topic_note, topics_of
from pipeline.projection.workshop import FIGURE, Made, SessionOrder, SourceOrder, Unreadable, rendered

COPY = "copy"
KINDS_OF: Mapping[str, frozenset[str]] = {
    "home": frozenset({"home"}),
    "night": frozenset({"night"}),
    "topic": frozenset({"topic"}),
    "session": frozenset({"session", "report", "worker", FIGURE}),
    "source": frozenset({"source"}),
    "templates": frozenset({COPY}),
}
_NONE: frozenset[str] = frozenset()
# How many are handed to a process at once: about as much work of either.
SESSIONS, SOURCES = 8, 64


@dataclass
class Making:
    """One build's making. ``kinds`` are made for every owner, ``owed`` for those owners, whether or not they show something new.

    Afterwards ``made`` tells which kinds were made for which owners, and ``standing`` are all owners.
    """

    store: EventStore
    catalogue: Catalogue
    news: News
    shelves: Shelves
    renderer: Renderer
    kinds: frozenset[str]
    owed: Mapping[str, frozenset[str]]
    made: dict[str, frozenset[str]] = field(default_factory=dict)
    standing: set[str] = field(default_factory=set)
    _cards: dict[str, Card] = field(default_factory=dict)

    def files(self) -> Iterator[Fresh]:
        """Yield every file that shows something new, and note in the catalogue what was learnt from the log.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            Unreadable: a session cannot be read to its end.
        """
        with closing(Crew(self.shelves.library.links, self.renderer)) as crew:
            yield from self._of_sessions(crew)
            yield from self._of_sources(crew)
        before = self.shelves.before
        now = Library(_in_order(self.news.staying | self._cards), self.shelves.library.sources, self.shelves.library.nights)
        yield from self._of_nights(before, now)
        yield from self._of_topics(before, now)
        yield from self._of_home(now)
        for _name, _wanted in self._due("templates", [""], [""]):
            yield from (of_plain("templates:", COPY, plain) for plain in copies(self.renderer.folder))

    def _of_sessions(self, crew: Crew) -> Iterator[Fresh]:
        found = affected.sessions(self.news, self.shelves, self.catalogue)
        due = list(self._due("session", self.shelves.library.by_id, found))
        for made in crew.made(map(self._session, due), len(due), SESSIONS):
            self._learn(made)
            yield from made.files

    def _session(self, due: tuple[str, frozenset[str]]) -> SessionOrder:
        name, wanted = due
        version = self.news.changed.get(name) or self.news.known[name].version
        try:
            events = self.news.left.pop(name, None) or tuple(record.data for record in self.store.load(name)[:version])
        except LogError as error:
            raise Unreadable(name, error) from error
        return SessionOrder(name, events, wanted, name in self.news.changed)

    def _learn(self, made: Made) -> None:
        """What other notes need of a session that changed."""
        if made.card:
            name = made.card.id
            self._cards[name] = made.card
            self.catalogue.put_card(name, self.news.marks[name], made.card)
            self.catalogue.put_readings(name, made.readings)

    def _of_sources(self, crew: Crew) -> Iterator[Fresh]:
        found = affected.sources(self.news, self.shelves, self.catalogue)
        due = [url for url, _wanted in self._due("source", self.shelves.library.sources, found)]
        for made in crew.made(map(self._source, due), len(due), SOURCES):
            yield from made.files

    def _source(self, url: str) -> SourceOrder:
        readings = self.catalogue.readings(url)
        if len(readings) == 1:
            return SourceOrder(url, readings, ())
        source = Source(url, self.shelves.library.sources[url], readings_from(readings))
        return SourceOrder(url, readings, tuple(changes_of(source, texts_of(self.store))))

    def _of_nights(self, before: Library, now: Library) -> Iterator[Fresh]:
        nights = {night.date: night for night in now.nights}
        for date, _wanted in self._due("night", nights, affected.nights(before, now)):
            yield rendered(self.renderer, f"night:{date}", night_note(now, nights[date]))

    def _of_topics(self, before: Library, now: Library) -> Iterator[Fresh]:
        topics = topics_of(now.cards)
        for topic, _wanted in self._due("topic", topics, affected.topics(before, now, self.shelves)):
            yield rendered(self.renderer, f"topic:{topic}", topic_note(now, topic, topics[topic]))

    def _of_home(self, now: Library) -> Iterator[Fresh]:
        new = self.news.renewed or self.news.other_batches or not self.news.known
        for _name, _wanted in self._due("home", [""], [""] if new else []):
            yield rendered(self.renderer, "home:", home_note(now))

    def _due(self, room: str, names: Iterable[str], new: Collection[str]) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the owners of a room for which something is to be made, and the kinds that are."""
        kinds = KINDS_OF[room]
        for name in names:
            owner = f"{room}:{name}"
            self.standing.add(owner)
            wanted = kinds if name in new else kinds & (self.kinds | self.owed.get(owner, _NONE))
            if wanted:
                self.made[owner] = wanted
                yield name, wanted


def _in_order(cards: Mapping[str, Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards.values(), key=lambda card: (card.started_at, card.id)))
