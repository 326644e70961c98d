"""Which files the vault shall hold, and the making of those that show something new.

Each file has an owner, what it is made for, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` ·
``session:<id>`` · ``source:<address>`` · ``templates:`` (what is copied from there). An owner's files are made together, or only
some kinds of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pipeline.errors import LogError, TemplateInvalid
from pipeline.ports import EventStore
from pipeline.system.folder_fingerprint import plain_bytes
from pipeline.vault import invalidation
from pipeline.vault.cache.catalogue import Catalogue, readings_from
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.notes.home_note import home_note
from pipeline.vault.notes.night_note import night_note
from pipeline.vault.notes.source_note import changes_of
from pipeline.vault.notes.topic_note import topic_note, topics_of
from pipeline.vault.output.note import Plain
from pipeline.vault.path_assignment import PathAssignment
from pipeline.vault.rendering.generated_file import GeneratedFile, of_plain
from pipeline.vault.rendering.render_pool import Crew
from pipeline.vault.rendering.render_task import FIGURE, RenderResult, SessionOrder, SourceOrder, Unreadable, rendered
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.session_card import Brief
from pipeline.vault.source_diff import texts_of
from pipeline.vault.vault_model import Night, Source, VaultModel

STYLE_SHEET = "research.css"
SNIPPET = f".obsidian/snippets/{STYLE_SHEET}"
_RESTORE = "put it back: `research init` in an empty folder makes a fresh copy of all templates; no file was changed"


def copies(templates: Path) -> Iterator[Plain]:
    """Yield the bases and the style sheet that stand among the ``templates``; a base edited in the vault is its reader's.

    Raises:
        TemplateInvalid: one cannot be read, or is not UTF-8.
    """
    for file in sorted((templates / "bases").glob("*.base")):
        yield Plain(f"bases/{file.name}", _text(file), yields=True)
    yield Plain(SNIPPET, _text(templates / STYLE_SHEET))


def _text(file: Path) -> str:
    try:
        return plain_bytes(file).decode()
    except (OSError, ValueError) as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise TemplateInvalid(f"{file}: {what}", hint=_RESTORE) from error


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

    Afterwards ``made`` tells which kinds were made for which owners.
    """

    store: EventStore
    catalogue: Catalogue
    news: LogChanges
    shelves: PathAssignment
    renderer: Renderer
    kinds: frozenset[str]
    owed: Mapping[str, frozenset[str]]
    made: dict[str, frozenset[str]] = field(default_factory=dict)

    def files(self) -> Iterator[GeneratedFile]:
        """Yield every file that shows something new, and note in the catalogue what was learnt from the log.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            Unreadable: a session cannot be read to its end.
        """
        with closing(Crew(self.shelves.library.links, self.renderer)) as crew:
            yield from self._of_sessions(crew)
            yield from self._of_sources(crew)
        yield from self._of_nights()
        yield from self._of_topics()
        yield from self._of_home()
        for _name in self._due("templates", [], lambda: [""]):
            yield from (of_plain("templates:", COPY, plain) for plain in copies(self.renderer.folder))

    def standing(self) -> set[str]:
        """Return all owners; after ``files``."""
        now = self._now
        rooms = {"session": now.by_id, "source": now.sources, "night": self._nights, "topic": self._topics}
        owners = {f"{room}:{name}" for room, names in rooms.items() for name in names}
        return {*owners, "home:", "templates:"}

    def gone(self) -> set[str]:
        """Return the owners that the last build knew and that stand no more; after ``files``."""
        sessions = {f"session:{name}" for name in self.news.absent}
        sources = {f"source:{url}" for url, place in self.shelves.places.items() if place is None}
        before = self.shelves.before.nights if self.news.other_batches else ()
        nights = {f"night:{night.date}" for night in before if night.date not in self._nights}
        topics = {f"topic:{topic}" for topic in self._new_topics if topic not in self._topics}
        return sessions | sources | nights | topics

    @cached_property
    def _now(self) -> VaultModel:
        """All there is, with the cards that were learnt just now whole."""
        return self.catalogue.library()

    @cached_property
    def _briefs(self) -> Sequence[Brief]:
        return self.catalogue.briefs()

    @cached_property
    def _nights(self) -> dict[str, Night]:
        return {night.date: night for night in self._now.nights}

    @cached_property
    def _topics(self) -> dict[str, tuple[Brief, ...]]:
        return topics_of(self._briefs)

    @cached_property
    def _new_topics(self) -> set[str]:
        return invalidation.topics(self.news, self.shelves, self._now, self.catalogue)

    def _of_sessions(self, crew: Crew) -> Iterator[GeneratedFile]:
        found = invalidation.sessions(self.news, self.shelves, self.catalogue)
        due = list(self._due("session", found, lambda: self.shelves.library.by_id))
        for made in crew.made(map(self._session, due), len(due), SESSIONS):
            self._learn(made)
            yield from made.files

    def _session(self, name: str) -> SessionOrder:
        version = self.news.changed.get(name) or self.shelves.library.by_id[name].version
        try:
            events = self.news.left.pop(name, None) or tuple(record.data for record in self.store.load(name)[:version])
        except LogError as error:
            raise Unreadable(name, error) from error
        return SessionOrder(name, events, self.made[f"session:{name}"], name in self.news.changed)

    def _learn(self, made: RenderResult) -> None:
        """What other notes need of a session that changed."""
        if made.card:
            name = made.card.id
            self.catalogue.put_card(name, self.news.marks[name], made.card)
            self.catalogue.put_readings(name, made.readings)

    def _of_sources(self, crew: Crew) -> Iterator[GeneratedFile]:
        found = invalidation.sources(self.news, self.shelves, self.catalogue)
        due = list(self._due("source", found, lambda: self.shelves.library.sources))
        for made in crew.made(map(self._source, due), len(due), SOURCES):
            yield from made.files

    def _source(self, url: str) -> SourceOrder:
        readings = self.catalogue.readings(url)
        if len(readings) == 1:
            return SourceOrder(url, readings, ())
        source = Source(url, self.shelves.library.sources[url], readings_from(readings))
        return SourceOrder(url, readings, tuple(changes_of(source, texts_of(self.store))))

    def _of_nights(self) -> Iterator[GeneratedFile]:
        new = invalidation.nights(self.news, self.shelves.before, self._now)
        for date in self._due("night", new, lambda: self._nights):
            yield rendered(self.renderer, f"night:{date}", night_note(self._now, self._nights[date]))

    def _of_topics(self) -> Iterator[GeneratedFile]:
        for topic in self._due("topic", self._new_topics, lambda: self._topics):
            cards = [self._now.by_id[brief.id] for brief in self._topics[topic]]
            yield rendered(self.renderer, f"topic:{topic}", topic_note(self._now, topic, cards))

    def _of_home(self) -> Iterator[GeneratedFile]:
        new = self.news.renewed or self.news.other_batches or self.news.first
        for _name in self._due("home", [""] if new else [], lambda: [""]):
            yield rendered(self.renderer, "home:", home_note(self._now, self._briefs))

    def _due(self, room: str, new: Collection[str], standing: Callable[[], Collection[str]]) -> Iterator[str]:
        """Yield the names of a room's owners for which something is to be made, and note the kinds that are.

        ``standing`` returns the names of all owners; it is asked only when any of them may be due.
        """
        kinds = KINDS_OF[room]
        owed = {owner.removeprefix(f"{room}:") for owner in self.owed if owner.startswith(f"{room}:")}
        chosen = standing() if kinds & self.kinds else _those_of(standing, {*new, *owed})
        for name in chosen:
            owner = f"{room}:{name}"
            wanted = kinds if name in new else kinds & (self.kinds | self.owed.get(owner, _NONE))
            if wanted:
                self.made[owner] = wanted
                yield name


def _those_of(standing: Callable[[], Collection[str]], names: set[str]) -> list[str]:
    found = standing() if names else ()
    return [name for name in sorted(names) if name in found]
