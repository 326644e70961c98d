"""``NoteGeneration``: renders the notes and other files that a build needs, one stage for each kind of owner.

Each file has an owner, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` · ``session:<id>`` ·
``source:<address>`` · ``templates:`` (files that are copied). A build renders all files of an owner, or only some kinds of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path

from pipeline.domain.events.records import Record
from pipeline.errors import LogError, TemplateInvalid
from pipeline.ports import EventStore
from pipeline.system.files import read_bytes
from pipeline.vault import invalidation
from pipeline.vault.cache.catalogue import Catalogue, readings_from
from pipeline.vault.cache.database import PRUNED, pruned_pages
from pipeline.vault.imports.stage import ImportNotes
from pipeline.vault.log_changes import LogChanges
from pipeline.vault.notes.asked_since import AskedSince, asked_rows
from pipeline.vault.notes.home_note import home_note
from pipeline.vault.notes.night_note import night_note
from pipeline.vault.notes.source_note import around_of, changes_of
from pipeline.vault.notes.topic_note import former_topics, topic_note, topics_of
from pipeline.vault.output.note import Plain
from pipeline.vault.path_assignment import PathAssignment
from pipeline.vault.rendering import render_pool
from pipeline.vault.rendering.base_file import fault_of
from pipeline.vault.rendering.generated_file import GeneratedFile, of_plain
from pipeline.vault.rendering.render_pool import RenderPool
from pipeline.vault.rendering.render_task import RenderResult, SessionOrder, SessionUnreadable, SourceOrder, rendered
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.session_card import Brief, Card
from pipeline.vault.source_diff import texts_of
from pipeline.vault.vault_model import Night, Source, VaultModel

STYLE_SHEET = "research.css"
SNIPPET = f".obsidian/snippets/{STYLE_SHEET}"
_CORRECT = "correct it, then run `research build`; no file was changed"
_RESTORE = "put it back: `research templates update` copies what is missing; no file was changed"


def copies(templates: Path) -> Iterator[Plain]:
    """Yield the bases and the style sheet of the folder ``templates``; a base that was edited in the vault is not overwritten.

    Raises:
        TemplateInvalid: one cannot be read, or is not UTF-8; a base has a fault for which Obsidian would show nothing.
    """
    for file in sorted((templates / "bases").glob("*.base")):
        text = _text(file)
        if fault := fault_of(text):
            raise TemplateInvalid(f"{file}, line {fault.line}: {fault.message}", hint=_CORRECT)
        yield Plain(f"bases/{file.name}", text, yields=True)
    yield Plain(SNIPPET, _text(templates / STYLE_SHEET))


def _text(file: Path) -> str:
    try:
        return read_bytes(file).decode()
    except (OSError, ValueError) as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise TemplateInvalid(f"{file}: {what}", hint=_RESTORE) from error


COPY = "copy"
_KINDS_OF_ROOM: Mapping[str, frozenset[str]] = {
    "home": frozenset({"home"}),
    "night": frozenset({"night"}),
    "topic": frozenset({"topic"}),
    "session": frozenset({"session", "report", "worker"}),
    "source": frozenset({"source"}),
    "import": frozenset({"import"}),
    "templates": frozenset({COPY}),
}
_NONE: frozenset[str] = frozenset()


@dataclass
class NoteGeneration:
    """The rendering of one build: ``kinds`` are rendered for every owner, ``drifted`` kinds for their owners, others if invalid.

    Afterwards ``rendered_kinds`` has the kinds that were rendered, by owner, and ``read`` the changed sessions.
    """

    store: EventStore
    catalogue: Catalogue
    changes: LogChanges
    assigned: PathAssignment
    renderer: Renderer
    pool: RenderPool
    kinds: frozenset[str]
    drifted: Mapping[str, frozenset[str]]
    rendered_kinds: dict[str, frozenset[str]] = field(default_factory=dict)
    read: dict[str, Card] = field(default_factory=dict)

    def files(self) -> Iterator[GeneratedFile]:
        """Yield every file that is due, and store the cards and readings of changed sessions in the catalogue.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            SessionUnreadable: a session cannot be read to its end.
        """
        self.pool.link(self.assigned.model.links)
        yield from self._session_files()
        yield from self._source_files()
        yield from self._night_files()
        yield from self._topic_files()
        yield from self._import_files()
        yield from self._home_file()
        yield from self._copied_files()

    def owners(self) -> set[str]:
        """Return all owners; call it after ``files``."""
        now = self._model
        rooms = {"session": now.by_id, "source": now.sources, "night": self._nights}
        rooms |= {"topic": self._topics, "import": self._imports.known}
        owners = {f"{room}:{name}" for room, names in rooms.items() for name in names}
        return {*owners, "home:", "templates:"}

    def gone_owners(self) -> set[str]:
        """Return the owners that the last build knew and that no longer exist; call it after ``files``."""
        sessions = {f"session:{name}" for name in self.changes.absent}
        sources = {f"source:{url}" for url, place in self.assigned.places.items() if place is None}
        before = self.assigned.before.nights if self.changes.batches_changed else ()
        nights = {f"night:{night.date}" for night in before if night.date not in self._nights}
        topics = {f"topic:{topic}" for topic in self._new_topics if topic not in self._topics}
        return sessions | sources | nights | topics | self._imports.gone(self.catalogue.files.owners())

    @cached_property
    def _model(self) -> VaultModel:
        """The whole vault; complete once the changed sessions are rendered."""
        return self.catalogue.model()

    @cached_property
    def _briefs(self) -> Sequence[Brief]:
        return self.catalogue.briefs()

    @cached_property
    def _nights(self) -> dict[str, Night]:
        return {night.date: night for night in self._model.nights}

    @cached_property
    def _topics(self) -> dict[str, tuple[Brief, ...]]:
        return topics_of(self._briefs)

    @cached_property
    def _new_topics(self) -> set[str]:
        asked = {owner.removeprefix("topic:") for owner in self._asked.changed if owner.startswith("topic:")}
        return (asked & self._topics.keys()) | invalidation.topics(self.changes, self.assigned, self._model, self.catalogue)

    @cached_property
    def _asked(self) -> AskedSince:
        relinked = bool(self.changes.affected or self.assigned.moved or self.changes.first_build)
        return AskedSince(self.store, self.catalogue, self.changes.problems, self.assigned.model, relinked)

    @cached_property
    def _imports(self) -> ImportNotes:
        return ImportNotes(self.store, self.catalogue, self.changes)

    def _session_files(self) -> Iterator[GeneratedFile]:
        found = invalidation.sessions(self.changes, self.assigned, self.catalogue)
        asked = {owner.removeprefix("session:") for owner in self._asked.changed}
        found |= {name for name in asked if name in self.assigned.model.by_id}
        due = list(self._due("session", found, lambda: self.assigned.model.by_id))
        for result in self.pool.render(map(self._session_order, due), len(due), render_pool.SESSIONS):
            self._store_result(result)
            yield from result.files

    def _session_order(self, name: str) -> SessionOrder:
        version = self.changes.sessions.get(name) or self.assigned.model.by_id[name].version
        try:
            events = self.changes.kept_events.pop(name, None) or _up_to(self.store.load(name), version)
        except LogError as error:
            raise SessionUnreadable(name, error) from error
        return SessionOrder(
            name,
            events,
            self.rendered_kinds[f"session:{name}"],
            name in self.changes.sessions,
            self._asked.about(f"session:{name}"),
        )

    def _store_result(self, result: RenderResult) -> None:
        """Store what other notes need of a session that changed."""
        if result.card:
            name = result.card.id
            self.read[name] = result.card
            self.catalogue.put_card(name, self.changes.marks[name], result.card)
            self.catalogue.put_readings(name, result.readings)

    def _source_files(self) -> Iterator[GeneratedFile]:
        found = invalidation.sources(self.changes, self.assigned, self.catalogue) | self._sources_of_pruned_pages()
        due = list(self._due("source", found, lambda: self.assigned.model.sources))
        for result in self.pool.render(map(self._source_order, due), len(due), render_pool.SOURCES):
            yield from result.files

    def _sources_of_pruned_pages(self) -> set[str]:
        """The sources whose notes may show or compare texts of which one was pruned since the last build."""
        stones = self.store.tombstones()
        mark = pruned_pages(self.store)
        if mark == self.catalogue.recall(PRUNED):
            return set()
        self.catalogue.keep(PRUNED, mark)
        return self.catalogue.naming_pages(stones.objects.keys())

    def _source_order(self, url: str) -> SourceOrder:
        readings = self.catalogue.readings(url)
        source = Source(url, self.assigned.model.sources[url], readings_from(readings))
        texts = cache(texts_of(self.store))
        changes = tuple(changes_of(source, texts)) if len(readings) > 1 else ()
        return SourceOrder(url, readings, changes, around_of(source, texts))

    def _night_files(self) -> Iterator[GeneratedFile]:
        new = invalidation.nights(self.changes, self.assigned, self._model, self.catalogue)
        for date in self._due("night", new, lambda: self._nights):
            yield rendered(self.renderer, f"night:{date}", night_note(self._model, self._nights[date]))

    def _topic_files(self) -> Iterator[GeneratedFile]:
        for topic in self._due("topic", self._new_topics, lambda: self._topics):
            cards = [self._model.by_id[brief.id] for brief in self._topics[topic]]
            asked = asked_rows(self._model, self._asked.about(f"topic:{topic}"), self.catalogue.noted_sources())
            note = topic_note(self._model, topic, cards, asked)
            former = tuple(f"topic:{name}" for name in former_topics(topic, cards) if name not in self._topics)
            yield rendered(self.renderer, f"topic:{topic}", replace(note, formerly=former))

    def _import_files(self) -> Iterator[GeneratedFile]:
        for name in self._due("import", self._imports.changed, lambda: self._imports.known):
            if note := self._imports.note(name):
                yield rendered(self.renderer, f"import:{name}", note)

    def _home_file(self) -> Iterator[GeneratedFile]:
        changes = self.changes
        new = changes.affected or changes.batches_changed or changes.first_build or self._imports.is_changed
        for _name in self._due("home", [""] if new else [], lambda: [""]):
            yield rendered(self.renderer, "home:", home_note(self._model, self._briefs, tuple(self._imports.latest())))

    def _copied_files(self) -> Iterator[GeneratedFile]:
        for _name in self._due("templates", [], lambda: [""]):
            yield from (of_plain("templates:", COPY, plain) for plain in copies(self.renderer.folder))

    def _due(self, room: str, new: Collection[str], existing: Callable[[], Collection[str]]) -> Iterator[str]:
        """Yield the names of a room's owners of which a file is due, and record the kinds that are.

        ``existing`` returns the names of all owners; it is called only if any of them may be due.
        """
        kinds = _KINDS_OF_ROOM[room]
        drifted = {owner.removeprefix(f"{room}:") for owner in self.drifted if owner.startswith(f"{room}:")}
        chosen = existing() if kinds & self.kinds else _only_existing({*new, *drifted}, existing)
        for name in chosen:
            owner = f"{room}:{name}"
            wanted = kinds if name in new else kinds & (self.kinds | self.drifted.get(owner, _NONE))
            if wanted:
                self.rendered_kinds[owner] = wanted
                yield name


def _up_to(records: Sequence[Record], version: int) -> tuple[bytes, ...]:
    return tuple(record.data for record in records if record.version <= version)


def _only_existing(names: set[str], existing: Callable[[], Collection[str]]) -> list[str]:
    found = existing() if names else ()
    return [name for name in sorted(names) if name in found]
