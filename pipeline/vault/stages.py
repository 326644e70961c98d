"""One build of the vault as its stages: values of the streams, paths and links, notes, files that differ, what is kept.

Each file has an owner, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` · ``session:<id>`` ·
``source:<address>`` · ``import:<id>`` · ``templates:`` (files that are copied). The files of one kind and owner are made from one
value, with all that they show of others in it; they are rendered if the digest of that value and of their template is not the one
kept. No rule says which notes a change affects. A run with nothing to do does not import this module.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import NoteRated, import_of
from pipeline.domain.state import workers_in_order
from pipeline.domain.talk import Turn
from pipeline.errors import LogError, ObjectMissing, SystemRefused, TemplateInvalid
from pipeline.ports import EventStore
from pipeline.system.files import read_bytes
from pipeline.system.folders import Obstacle, Tree
from pipeline.text.normalise import digest_of, one_line
from pipeline.vault.identity import Identity, is_retired, read_decisions, relink, taken_over
from pipeline.vault.kept import SETTLED, Kept, KnownNote
from pipeline.vault.model import (
    Beside,
    Card,
    LoadedSession,
    Source,
    SourceNotePlace,
    Values,
    VaultModel,
    asked_by_owner,
    model_of,
    named,
    readings_by_url,
)
from pipeline.vault.note import ID, Names, Note, Plain, Workers, block_id, source_path
from pipeline.vault.notes.mornings import home_note, night_note, picture, topic_note, topics_of
from pipeline.vault.notes.parts import asked_rows, best_link
from pipeline.vault.notes.report import MOST, report_note
from pipeline.vault.notes.session import import_note, session_note, worker_note
from pipeline.vault.notes.source import around_of, source_note
from pipeline.vault.output.escaping import host_of
from pipeline.vault.output.templates import Renderer
from pipeline.vault.output.writer import BuildReport, GeneratedFile, VaultWriter, WriteResult, as_text, note_id, of_plain
from pipeline.vault.said import marked, rating_of

STYLE_SHEET = "research.css"
SNIPPET = f".obsidian/snippets/{STYLE_SHEET}"
_RESTORE = "put it back: `research templates update` copies what is missing; no file was changed"
_LOST = (
    "its log is not here, so they are kept; in another git branch it may be there: switch back, or restore it from a backup; "
    "only what is lost for good is written off: research verify --repair"
)
_AWAY = "put the folder or drive back, then run `research build`; nothing was recorded, so no note counts as removed"
COPY = "copy"
_LONGEST = 80  # characters of a path or address that tells sources of one name apart


@dataclass(frozen=True)
class Part:
    """The files of one kind that are made for one owner from one value; ``notes`` are paths and keys of the notes among them.

    ``kind`` is ``COPY`` for files that are no notes. Which of ``reports``, by their notes' ids, are hidden belongs to the value,
    and is known when all notes are.
    """

    owner: str
    kind: str
    value: str
    make: Callable[[], Iterable[Note | Plain]]
    notes: tuple[tuple[str, str], ...] = ()
    reports: tuple[str, ...] = ()


class Build:
    """One build: renders every note with new content first, and only then writes the files that differ.

    ``marks`` are the store's and ``settled`` a digest of all that notes are made from, read while no other build was running;
    ``workers``, ``record`` and ``documents`` as in ``build_vault``.
    """

    def __init__(
        self,
        store: EventStore,
        renderer: Renderer,
        vault: Path,
        kept: Kept,
        mode: str,
        marks: Mapping[str, str],
        settled: str,
        workers: Workers = "notes",
        record: Callable[[Sequence[EventBase]], None] | None = None,
        documents: Path | None = None,
    ) -> None:
        self._store, self._mode, self._marks, self._settled = store, mode, marks, settled
        self._record_decisions, self._documents, self._workers = record, documents, workers
        self._renderer, self._vault, self._tree, self._kept = renderer, vault, Tree(vault), kept
        self._loaded: LoadedSession | None = None

    def run(self) -> BuildReport:
        """Bring the vault up to date; return what was done.

        Raises:
            sqlite3.DatabaseError: what is kept is damaged.
            TemplateInvalid, SystemRefused: as ``build_vault``.
            SystemRefused: the vault's folder or drive went away meanwhile.
        """
        try:
            if self._mode != "new" or not self._kept.is_current:
                self._kept.forget_derived()
            self._values = Values(self._store, self._kept, self._workers)
            self._drift = self._kept.files.drift(self._tree)
            self._decisions = read_decisions(self._store)
            ratings = list(self._new_ratings())
            for draft in ratings:
                self._decisions.apply(draft)
            self._parts = list(self._all_parts())
            self._identity = Identity(
                self._decisions, self._kept, self._tree, self._all_notes(), drifted=bool(self._drift.folders)
            )
            placed = self._identity.placed(self._rendered_files())
            stale = self._stale_files(placed)
            placed, links = taken_over(self._tree, placed, {} if self._values.problems else self._orphans)
            self._check_in_place()
            drafts, dry = [*self._identity.drafts, *ratings], self._mode == "check"
            if self._record_decisions and drafts and not dry:
                self._record_decisions(drafts)
            own = list(relink(self._tree, self._kept.files, {} if dry else links))
            # With a problem in the log nothing is removed.
            away = set() if self._values.problems else stale - {path for one in placed for path in one.former}
            writer = VaultWriter(self._tree, self._kept.files, trusting=self._mode == "new", dry=dry)
            writer.place(placed, sorted(away))
            writer.result.written += own
            report = self._record(stale, writer.result)
            self._check_in_place()
            self._kept.commit()
            return report
        except ValidationError as error:
            raise sqlite3.DatabaseError("what is kept contains values that this program did not write") from error
        except OSError:
            self._check_in_place()
            raise
        finally:
            self._tree.close()

    def _check_in_place(self) -> None:
        """Refuse to record anything of a vault that went away: its notes would look removed by a person when it is back."""
        if not self._tree.is_in_place():
            raise SystemRefused(f"the vault {self._vault} went away while its notes were built", hint=_AWAY)

    def _new_ratings(self) -> Iterator[NoteRated]:
        """What a person said with the boxes and the property ``rating`` of reports that changed since the last build.

        A report's rating is that of each quote on which its answer rests.
        """
        for file in filter(None, map(self._kept.files.find, self._drift.files)):
            card = self._values.cards.get(file.owner.removeprefix("session:"))
            if card is None or file.kind != "report":
                continue
            with suppress(Obstacle):  # another stage says what is wrong with it
                text, note = as_text(self._tree.read(file.path) or b""), f"report:{card.id}"
                boxes, rating = dict(marked(text)), rating_of(text)
                is_new = rating != self._decisions.ratings.of(card.query_id, note)
                if is_new:
                    yield NoteRated.model_validate({"note": note, "rating": rating, "query_id": card.query_id})
                for url, quote in ((one.page.url, quote) for one in card.read for quote in one.quotes):
                    said = boxes.get(block_id(quote.fact), rating if is_new and quote.answers else None)
                    if said is not None:
                        about = {"query_id": card.query_id, "fact": quote.fact, "url": url}
                        yield NoteRated.model_validate({"note": note, "rating": said, **about})

    def _all_parts(self) -> Iterator[Part]:
        """The whole vault: the files of each kind and owner, the value that they are made from, and the path of every note."""
        taken = Names()
        cards = [named(card, taken) for card in self._values.cards.values()]
        model = model_of(cards, _sources(cards, taken), self._values.batches.values())
        asked = asked_by_owner(self._values.talks.values(), model)
        noted = {reading.page.url for card in cards for reading in card.read if reading.shown}
        self._rated: dict[str, dict[str, str]] = {}
        for (query, _), event in self._decisions.ratings.latest.items():
            self._rated.setdefault(query, {}).update({event.fact: event.rating} if event.rating else {})
        followers = {card.previous_session: card for card in reversed(cards)}
        for card in cards:
            beside = self._beside(model, card, followers.get(card.id), asked.get(f"session:{card.id}", ()))
            yield from self._session(card, beside)
        yield from self._source_parts(model, noted)
        for name, (link, _at) in self._values.imports.items():
            make = partial(self._import, name, link.path)
            yield Part(f"import:{name}", "session", self._values.marks[name] + link.path, make, ((link.path, ""),))
        for night in model.nights:
            yield _of_value(f"night:{night.date}", night_note(model, night))
        for topic, found in topics_of(cards).items():
            rows = asked_rows(model, asked.get(f"topic:{topic}", ()), noted)
            yield _of_value(f"topic:{topic}", topic_note(model, topic, found, rows))
        if model.nights:
            image = picture(model)
            yield Part("nights:", COPY, image.text, lambda: [image])
        imports = sorted(self._values.imports.items(), key=lambda one: (one[1][1], one[0]), reverse=True)
        yield _of_value("home:", home_note(model, cards, tuple(link for _, (link, _at) in imports)))
        yield Part("templates:", COPY, "", partial(copies, self._renderer.folder))

    def _beside(self, model: VaultModel, card: Card, after: Card | None, asked: Iterable[Turn]) -> Beside:
        """What the notes of a session show of others; ``after`` is the session that followed it."""
        passed: dict[str, Card] = {}
        name = card.previous_session
        while name not in passed and (found := model.by_id.get(name)):
            passed[name] = found
            name = found.previous_session
        reports = [one for one in passed.values() if one.has_report and one.query_id == card.query_id]
        before, compared = (model.by_id.get(name) for name in (card.previous_session, card.compared_with))
        urls = (*(reading.page.url for reading in card.read), *card.compared)
        return Beside(
            before=best_link(before) if before else None,
            compared=best_link(compared) if compared else None,
            after=best_link(after) if after else None,
            later=best_link(after) if after and after.has_report else None,  # a session without a report takes the place of none
            reports=tuple((best_link(one), one.started_at) for one in reports[:MOST]),
            more=max(0, len(reports) - MOST),
            archived=card.query_id in model.archived,
            sources={url: model.sources[url] for url in urls if url in model.sources},
            asked=asked_rows(model, asked, {reading.page.url for reading in card.read if reading.shown}),
            rated=self._rated.get(card.query_id, {}),
        )

    def _session(self, card: Card, beside: Beside) -> Iterator[Part]:
        def loaded() -> LoadedSession:
            if self._loaded is None or self._loaded.card is not card:
                self._loaded = self._values.loaded(card, beside)
            return self._loaded

        def workers() -> Iterator[Note]:
            session = loaded()
            own = (worker for worker in workers_in_order(session.state) if not session.workers[worker.id].block)
            yield from (worker_note(session, worker) for worker in own)

        own = tuple((worker.path, worker.id) for worker in card.workers if not worker.block)
        # Its own paths are its value too: another note may have taken its name.
        value = repr((self._values.marks[card.id], card.session_path, card.report_path, own, beside))
        name = f"session:{card.id}"
        reports = (f"report:{card.id}",)
        yield Part(name, "session", value, lambda: [session_note(loaded())], ((card.session_path, ""),), reports)
        report = ((card.report_path, ""),) if card.has_note else ()
        yield Part(name, "report", value, lambda: [report_note(loaded())] if report else [], report)
        yield Part(name, "worker", value, workers, own, reports)

    def _source_parts(self, model: VaultModel, noted: set[str]) -> Iterator[Part]:
        """The sources that a session's result leads to; the workers' notes name the others, with what they found there."""
        stones = self._store.tombstones().objects
        pruned = repr(self._store.marks(("prune",))) if stones else ""

        @cache
        def texts(digest: str) -> str | None:
            with suppress(ObjectMissing):
                return self._store.objects.get(digest).decode("utf-8", "replace")
            return None

        def note(source: Source) -> Iterator[Note]:
            hidden = {name.removeprefix("report:") for name in self._decisions.hidden if name.startswith("report:")}
            yield source_note(source, around_of(source, texts), self._documents, hidden)

        for url, readings in readings_by_url(model.by_id.values()).items():
            if url not in noted:
                continue
            against = {one.url for _, reading in readings for quote in reading.quotes for one in quote.against}
            source = Source(url, model.sources[url], tuple(readings), {other: model.sources[other] for other in sorted(against)})
            sessions = [
                (self._values.marks[card.id], card.session_path, card.report_path, reading.page.digest in stones and pruned)
                for card, reading in readings
            ]
            value = repr((source.place, source.others, sessions, self._documents))
            reports = tuple(f"report:{card.id}" for card, _ in readings)
            yield Part(f"source:{url}", "source", value, partial(note, source), ((source.place.path, ""),), reports)

    def _import(self, name: str, path: str) -> Iterator[Note]:
        if found := import_of(name, decode_all(record.data for record in self._store.load(name))):
            yield import_note(found, path)

    def _all_notes(self) -> Iterator[KnownNote]:
        for part in self._parts:
            for path, key in part.notes:
                yield KnownNote(note_id(part.owner, part.kind, key), f"{path}.md", "", part.owner, part.kind)

    def _rendered_files(self) -> Iterator[GeneratedFile]:
        """Render the files of all parts that are due, and enter what they were made from. A session may turn out unreadable."""
        known, due = self._kept.made(), self._identity.due()
        altered = {(file.owner, file.kind) for file in filter(None, map(self._kept.files.find, self._drift.files))}
        versions = cache(self._renderer.version_of)
        self._made: dict[tuple[str, str], str] = {}
        for part in self._parts:
            name = part.owner, part.kind
            hidden = "".join(report for report in part.reports if report in self._decisions.hidden)
            value = f"{versions(part.kind) if part.kind != COPY else ''} {part.value}{hidden}"
            digest = digest_of(value.encode("utf-8", "replace"))[:16]
            if due is not None and known.get(name) == digest and name not in due | altered and part.owner != "templates:":
                continue
            try:
                yield from map(partial(self._rendered, part), part.make())
                self._made[name] = digest
            except LogError as error:
                what = f"the notes of {part.owner.partition(':')[2]}: {error}; run `research verify` for details"
                self._values.problems += [what] if what not in self._values.problems else []

    def _rendered(self, part: Part, made: Note | Plain) -> GeneratedFile:
        if isinstance(made, Plain):
            return of_plain(part.owner, COPY, made)
        name, body = note_id(part.owner, made.kind, made.key), self._renderer.render(made)
        return GeneratedFile(part.owner, made.kind, f"{made.path}.md", body, {**made.properties, ID: name}, name)

    def _stale_files(self, placed: Sequence[GeneratedFile]) -> set[str]:
        """The files to remove: those of owners that are gone, and those that their owner no longer has.

        A session whose log is lost is added to the problems.
        """
        known, parts = self._kept.files.all(), {(part.owner, part.kind) for part in self._parts}
        gone = {owner for owner, _ in known.values()} - {part.owner for part in self._parts}
        for name in sorted(owner.removeprefix("session:") for owner in gone if owner.startswith("session:")):
            if self._is_lost(name, [path for path, (owner, _) in known.items() if owner == f"session:{name}"]):
                self._values.problems.append(f"the notes of {name}: {_LOST}")
        retired, now = self._identity.retired(), {one.path for one in placed}
        stale = {path for path, part in known.items() if part in self._made or part not in parts}
        stale = (stale | retired.keys()) - now
        united = {path for one in placed for path in one.doubles}  # another place of a note that is still made
        notes = ((path, *known[path]) for path in stale - united if path.endswith(".md") and path in known)
        self._orphans = retired | {path: kind for path, owner, kind in notes if is_retired(kind) or owner not in gone}
        return stale | self._identity.strays() - now

    def _is_lost(self, name: str, paths: Iterable[str]) -> bool:
        """Tell whether a session's log is missing without having been written off, while notes of it are there.

        A switch of the git branch takes both away, and brings both back.
        """
        if not any(map(self._tree.state, paths)):
            return False
        with suppress(LogError):  # damage is reported already, as another problem
            given_up = name in (stones := self._store.tombstones()).written_off or stones.is_forgotten(name)
            return not given_up and not self._store.load(name)
        return False

    def _record(self, stale: set[str], result: WriteResult) -> BuildReport:
        """Keep what is done and what is left to do; return the report."""
        left = stale - result.left.keys()
        is_done = not left and not self._values.problems and not result.problems and not result.refused
        made = self._made | dict.fromkeys(((fresh.owner, fresh.kind) for fresh in result.refused), "")
        gone = self._kept.made().keys() - {(part.owner, part.kind) for part in self._parts}
        self._kept.put_made(dict.fromkeys(gone, "") | made)
        self._identity.remember(left)
        self._kept.keep(SETTLED, self._settled if is_done else "")
        self._drift.record(result.left)
        return BuildReport(
            tuple(sorted(result.written)),
            len(self._kept.files.all()) - len(result.made),
            tuple(sorted(result.removed)),
            tuple(sorted(result.set_aside)),
            tuple(self._values.problems),
            tuple(result.problems),
            self._marks,
            self._values.fresh,
            self._identity.moved,
            self._identity.hidden,
            result.united,
        )


def _of_value(owner: str, note: Note) -> Part:
    """The part of a note that is made already."""
    return Part(owner, note.kind, repr(note), lambda: [note], ((note.path, note.key),))


def _sources(cards: Iterable[Card], taken: Names) -> dict[str, SourceNotePlace]:
    """The place of each source, named in the order of first reading; sources of one name are told apart by path or address."""
    places = {}
    for url, readings in readings_by_url(cards).items():
        first, page = readings[0][0], readings[0][1].page
        path = taken.claim(source_path(url, page.at, first.names), url)
        places[url] = SourceNotePlace(path, next((one.page.title for _, one in readings if one.page.title.strip()), url))
    shared = Counter(place.name for place in places.values())
    return {url: replace(place, where=_where(url)) if shared[place.name] > 1 else place for url, place in places.items()}


def _where(url: str) -> str:
    """Return the path of a document, or the address of a web page without its scheme."""
    scheme, _, path = url.partition(":")
    if not host_of(url):
        return one_line(path if scheme == "corpus" and path else url, _LONGEST)
    parts = urlsplit(url)
    return one_line(f"{host_of(url)}{parts.path}{'?' + parts.query if parts.query else ''}", _LONGEST)


def copies(templates: Path) -> Iterator[Plain]:
    """Yield the bases and the style sheet of the folder ``templates``; a base that was edited in the vault is not overwritten.

    Raises:
        TemplateInvalid: one cannot be read, or is not UTF-8.
    """
    for file in sorted((templates / "bases").glob("*.base")):
        yield Plain(f"bases/{file.name}", _text(file), yields=True)
    yield Plain(SNIPPET, _text(templates / STYLE_SHEET))


def _text(file: Path) -> str:
    try:
        return read_bytes(file).decode()
    except (OSError, ValueError) as error:
        what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise TemplateInvalid(f"{file}: {what}", hint=_RESTORE) from error
