"""Which files the vault shall hold, and the making of those that show something new.

Each file has an owner, what it is made for, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` ·
``session:<id>`` · ``source:<address>`` · ``templates:`` (what is copied from there). An owner's files are made together, or only
some kinds of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.projection import affected, opening
from pipeline.projection.canvas import canvas_of
from pipeline.projection.cards import Card, readings_of
from pipeline.projection.catalogue import Catalogue
from pipeline.projection.changes import texts_of
from pipeline.projection.charts import charts_of
from pipeline.projection.copies import copies
from pipeline.projection.home_note import home_note
from pipeline.projection.library import Library, Source, Study
from pipeline.projection.news import News
from pipeline.projection.night_note import night_note
from pipeline.projection.notes import Note, Plain, Rendered
from pipeline.projection.report_note import report_note
from pipeline.projection.session_note import session_note
from pipeline.projection.shelving import Shelves
from pipeline.projection.source_note import source_note
from pipeline.projection.templates import Renderer
from pipeline.projection.topic_note import topic_note, topics_of
from pipeline.projection.worker_note import worker_note
from pipeline.state import workers_in_order

FIGURE, COPY = "figure", "copy"
KINDS_OF: Mapping[str, frozenset[str]] = {
    "home": frozenset({"home"}),
    "night": frozenset({"night"}),
    "topic": frozenset({"topic"}),
    "session": frozenset({"session", "report", "worker", FIGURE}),
    "source": frozenset({"source"}),
    "templates": frozenset({COPY}),
}
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Fresh:
    """A file as it shall be, and what it is made for."""

    owner: str
    kind: str
    content: Rendered | Plain

    @property
    def path(self) -> str:
        """Its path in the vault, with suffix."""
        return f"{self.content.path}.md" if isinstance(self.content, Rendered) else self.content.path


class Unreadable(Exception):
    """A session whose outline could be read, but not the rest. ``name`` is its id, ``error`` says why."""

    def __init__(self, name: str, error: LogError) -> None:
        super().__init__(name)
        self.name, self.error = name, error


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
        yield from self._of_sessions()
        yield from self._of_sources()
        before = Library(_in_order(self.news.known), self.shelves.before.sources, self.shelves.before.nights)
        now = Library(_in_order(self.news.staying | self._cards), self.shelves.library.sources, self.shelves.library.nights)
        yield from self._of_nights(before, now)
        yield from self._of_topics(before, now)
        yield from self._of_home(now)
        for _name, _wanted in self._due("templates", [""], [""]):
            yield from (Fresh("templates:", COPY, plain) for plain in copies(self.renderer.folder))

    def _of_sessions(self) -> Iterator[Fresh]:
        library = self.shelves.library
        found = affected.sessions(self.news, self.shelves, self.catalogue)
        for name, wanted in self._due("session", library.by_id, found):
            study = self._study(name)
            if name in self.news.outlines:
                self._learn(study)
            for content in own_files(library, study, wanted):
                yield self._fresh(f"session:{name}", content)

    def _study(self, name: str) -> Study:
        named, outline = self.shelves.library.by_id[name], self.news.outlines.get(name)
        version = outline.state.version if outline else self.news.known[name].version
        try:
            records = self.news.records.pop(name, None) or self.store.load(name)[:version]
            return opening.whole(name, records).study(named)
        except LogError as error:
            raise Unreadable(name, error) from error

    def _learn(self, study: Study) -> None:
        """What other notes need of a session that changed."""
        self._cards[study.id] = study.card
        self.catalogue.put_card(study.id, self.news.marks[study.id], study.card)
        self.catalogue.put_readings(study.id, readings_of(study.state, study.reported_at))

    def _of_sources(self) -> Iterator[Fresh]:
        library, texts = self.shelves.library, texts_of(self.store)
        found = affected.sources(self.shelves, self.catalogue)
        for url, _wanted in self._due("source", library.sources, found):
            source = Source(url, library.sources[url], self.catalogue.readings(url))
            yield self._fresh(f"source:{url}", source_note(library, source, texts))

    def _of_nights(self, before: Library, now: Library) -> Iterator[Fresh]:
        nights = {night.date: night for night in now.nights}
        for date, _wanted in self._due("night", nights, affected.nights(before, now)):
            yield self._fresh(f"night:{date}", night_note(now, nights[date]))

    def _of_topics(self, before: Library, now: Library) -> Iterator[Fresh]:
        topics = topics_of(now.cards)
        for topic, _wanted in self._due("topic", topics, affected.topics(before, now, self.shelves)):
            yield self._fresh(f"topic:{topic}", topic_note(now, topic, topics[topic]))

    def _of_home(self, now: Library) -> Iterator[Fresh]:
        new = self.news.renewed or self.news.batches != self.news.batches_before or not self.news.known
        for _name, _wanted in self._due("home", [""], [""] if new else []):
            yield self._fresh("home:", home_note(now))

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

    def _fresh(self, owner: str, content: Note | Plain) -> Fresh:
        if isinstance(content, Plain):
            return Fresh(owner, FIGURE, content)
        return Fresh(owner, content.kind, self.renderer.render(content))


def own_files(library: Library, study: Study, wanted: Collection[str]) -> Iterator[Note | Plain]:
    """Yield the files of one session that are of the ``wanted`` kinds: its own, its report's, its workers', its drawings."""
    report = study.state.report
    if "session" in wanted:
        yield session_note(library, study)
    if "report" in wanted and report:
        yield report_note(library, study, report)
    if "worker" in wanted:
        yield from (worker_note(library, study, worker) for worker in workers_in_order(study.state))
    if FIGURE in wanted:
        yield from chain([canvas_of(study)], charts_of(study))


def _in_order(cards: Mapping[str, Card]) -> tuple[Card, ...]:
    return tuple(sorted(cards.values(), key=lambda card: (card.started_at, card.id)))
