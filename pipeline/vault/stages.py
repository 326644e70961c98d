"""One build of the vault as its stages: values of the streams, paths and links, notes, files that differ, what is kept.

Each file has an owner, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` · ``session:<id>`` ·
``source:<address>`` · ``import:<id>`` · ``templates:`` (files that are copied). An owner's files are rendered if the digest of
its own value, or of what they show of others, is not the one kept. What they show of others is entered while they are rendered:
no rule says which notes a change affects. A run with nothing to do does not import this module.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import NoteRated, import_of
from pipeline.domain.state import workers_in_order
from pipeline.errors import LogError, ObjectMissing, SystemRefused, TemplateInvalid
from pipeline.ports import EventStore
from pipeline.system.files import read_bytes
from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.text.normalise import digest_of, one_line
from pipeline.vault.cards import Card, named
from pipeline.vault.identity.decisions import is_retired, read_decisions
from pipeline.vault.identity.identity import Identity
from pipeline.vault.identity.said import marked, rating_of
from pipeline.vault.identity.takeover import relink, taken_over
from pipeline.vault.kept import SETTLED, Kept, Made
from pipeline.vault.model import Asked, Source, SourceNotePlace, Values, VaultModel, asked_by_owner, model_of
from pipeline.vault.notes.mornings import home_note, night_note, picture, topic_note, topics_of
from pipeline.vault.notes.parts import asked_rows
from pipeline.vault.notes.report import report_note
from pipeline.vault.notes.session import import_note, session_note, worker_note
from pipeline.vault.notes.source import around_of, source_note
from pipeline.vault.output.escaping import host_of
from pipeline.vault.output.files import GeneratedFile, PlacedFile, as_text, of_note, of_plain
from pipeline.vault.output.note import KINDS, Note, Plain
from pipeline.vault.output.templates import Renderer
from pipeline.vault.output.writer import BuildReport, VaultWriter, WriteResult
from pipeline.vault.paths import Names, Workers, block_id, source_path

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
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Owner:
    """Whom files are made for: the kinds of them, a digest of its own value, and what makes the notes of some of these kinds.

    ``make`` is given a model that notes what is asked of it.
    """

    name: str
    kinds: tuple[str, ...]
    own: str
    make: Callable[[VaultModel, Collection[str]], Iterable[Note | Plain]]


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
        self._record_decisions, self._documents = record, documents
        self._renderer, self._vault, self._tree, self._kept = renderer, vault, Tree(vault), kept
        self._values = Values(store, kept, workers)
        self._digests: dict[str, dict[str, str]] = {}

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
            self._values.read()
            self._drift = self._kept.files.drift(self._tree)
            self._decisions = read_decisions(self._store)
            ratings = list(self._new_ratings())
            for draft in ratings:
                self._decisions.apply(draft)
            self._model, self._owners = self._place()
            placed = self._identified()
            stale = self._stale_files(placed)
            placed, links = taken_over(self._tree, placed, {} if self._values.problems else self._orphans)
            self._check_in_place()
            drafts, dry = [*self._identity.drafts, *ratings], self._mode == "check"
            if self._record_decisions and drafts and not dry:
                self._record_decisions(drafts)
            own = list(relink(self._tree, self._kept.files, {} if dry else links))
            # With a problem in the log nothing is removed.
            away = set() if self._values.problems else stale - {path for one in placed for path in one.former}
            writer = VaultWriter(self._tree, self._kept.files, trusting=self._mode == "new", dry=dry, generated=self._all_of)
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
            with suppress(Obstacle, LogError):  # another stage says what is wrong with it
                text, note = as_text(self._tree.read(file.path) or b""), f"report:{card.id}"
                boxes, rating = dict(marked(text)), rating_of(text)
                is_new = rating != self._decisions.ratings.of(card.query_id, note)
                if not boxes and not is_new:
                    continue
                state = self._values.loaded(card).state
                answer = {name for sentence in (state.report.summary if state.report else ()) for name in sentence.facts}
                if is_new:
                    yield NoteRated.model_validate({"note": note, "rating": rating, "query_id": card.query_id})
                for fact in state.facts.values():
                    said = boxes.get(block_id(fact.id), rating if is_new and fact.id in answer else None)
                    if said is not None:
                        about = {"query_id": card.query_id, "fact": fact.id, "url": fact.url}
                        yield NoteRated.model_validate({"note": note, "rating": said, **about})

    def _place(self) -> tuple[VaultModel, dict[str, Owner]]:
        """The whole vault with the path of every note, and the owner of every file."""
        taken = Names()
        cards = [named(card, taken) for card in self._values.cards.values()]
        model = model_of(cards, _sources(cards, taken), self._values.batches.values())
        asked = asked_by_owner(self._values.talks.values(), model)
        owners = (
            *(self._session(card, asked.get(f"session:{card.id}", ())) for card in cards),
            *self._source_owners(cards),
            *self._whole_owners(model, cards, asked),
            *(self._import(name) for name in self._values.imports),
            Owner("templates:", (COPY,), "", lambda _model, _kinds: copies(self._renderer.folder)),
        )
        return model, {owner.name: owner for owner in owners}

    def _session(self, card: Card, asked: tuple[Asked, ...]) -> Owner:
        mine = (event for (query, _), event in self._decisions.ratings.latest.items() if query == card.query_id)
        rated = {event.fact: event.rating for event in mine if event.rating}

        def notes(model: VaultModel, kinds: Collection[str]) -> Iterator[Note]:
            loaded = replace(self._values.loaded(card), asked=asked, rated=rated)
            if "session" in kinds:
                yield session_note(model, loaded)
            if "report" in kinds and card.has_note:
                yield report_note(model, loaded)
            if "worker" in kinds:
                own = (worker for worker in workers_in_order(loaded.state) if not loaded.workers[worker.id].block)
                yield from (worker_note(model, loaded, worker) for worker in own)

        # Its own paths are its value too: another note may have taken its name.
        paths = card.session_path, card.report_path, tuple(worker.path for worker in card.workers)
        own = repr((self._values.marks[card.id], paths, asked, rated))
        return Owner(f"session:{card.id}", ("session", "report", "worker"), own, notes)

    def _source_owners(self, cards: Iterable[Card]) -> Iterator[Owner]:
        """The sources that a session's result leads to; the workers' notes name the others, with what they found there."""
        read: dict[str, list[tuple[str, str]]] = {}
        shown: set[str] = set()
        stones = self._store.tombstones().objects
        pruned = repr(self._store.marks(("prune",))) if stones else ""
        for card in cards:
            for page in card.read:
                read.setdefault(page.url, []).append((card.id, f"{page.taken}{pruned if page.digest in stones else ''}"))
                shown |= {page.url} if page.shown else set()

        @cache
        def texts(digest: str) -> str | None:
            with suppress(ObjectMissing):
                return self._store.objects.get(digest).decode("utf-8", "replace")
            return None

        def note(url: str) -> Callable[[VaultModel, Collection[str]], Iterator[Note]]:
            def notes(model: VaultModel, _kinds: Collection[str]) -> Iterator[Note]:
                source = Source(url, model.sources[url], self._values.readings(url))
                yield source_note(model, source, around_of(source, texts), self._documents)

            return notes

        return (
            Owner(f"source:{url}", ("source",), repr((read[url], self._documents)), note(url)) for url in read if url in shown
        )

    def _whole_owners(self, model: VaultModel, cards: Sequence[Card], asked: Mapping[str, tuple[Asked, ...]]) -> Iterator[Owner]:
        """Nights, topics and the home note: their values are made at every build, and tell themselves whether they changed."""
        noted = {page.url for card in cards for page in card.read if page.shown}
        for night in model.nights:
            yield _of_value(f"night:{night.date}", night_note(model, night))
        topics = topics_of(cards)
        for topic, found in topics.items():
            rows = asked_rows(model, asked.get(f"topic:{topic}", ()), noted)
            yield _of_value(f"topic:{topic}", topic_note(model, topic, found, rows))
        imports = sorted(self._values.imports.items(), key=lambda one: (one[1][1], one[0]), reverse=True)
        if model.nights:
            image = picture(model)
            yield Owner("nights:", (COPY,), image.text, lambda _model, _kinds: [image])
        yield _of_value("home:", home_note(model, cards, tuple(link for _, (link, _at) in imports)))

    def _import(self, name: str) -> Owner:
        def notes(_model: VaultModel, _kinds: Collection[str]) -> Iterator[Note]:
            if found := import_of(name, decode_all(record.data for record in self._store.load(name))):
                yield import_note(found, self._values.imports[name][0].path)

        return Owner(f"import:{name}", ("session",), self._values.marks[name], notes)

    def _identified(self) -> list[PlacedFile]:
        """Render all files that are due; return them at the places where a person has them."""
        known = self._kept.made()
        self._made: dict[str, Made | None] = dict.fromkeys(known.keys() - self._owners.keys())
        self._rendered: dict[str, frozenset[str]] = {}
        self._identity = Identity(self._decisions, self._kept, self._tree, drifted=bool(self._drift.folders))
        self._versions: dict[str, str] = {kind: self._renderer.version_of(kind) for kind in KINDS}
        self._versions[COPY] = ""
        drifted, moved = self._drifted_kinds(), self._identity.due()
        files: list[GeneratedFile] = []
        for owner in self._owners.values():
            kinds = {*owner.kinds}
            if moved is not None and owner.name != "templates:":
                others = moved.get(owner.name, _NONE) | drifted.get(owner.name, _NONE)
                kinds = self._due_kinds(owner, known.get(owner.name)) | kinds & others
            if kinds:
                files += self._files(owner, kinds, known.get(owner.name))
        return self._identity.placed(files)

    def _due_kinds(self, owner: Owner, known: Made | None) -> set[str]:
        """The kinds of an owner's files that are made from something else than the last time."""
        if known is None or known.own != _short(owner.own) or known.seen.partition(" ")[0] != self._digest(_seen(known)):
            return {*owner.kinds}
        versions = json.loads(known.versions)
        return {kind for kind in owner.kinds if versions.get(kind) != self._versions[kind]}

    def _digest(self, seen: Iterable[Sequence[str]]) -> str:
        """A digest of what notes show of others, each given by room and name."""
        return digest_of("\n".join(self._digest_of_one(room, name) for room, name in seen).encode())[:16]

    def _digest_of_one(self, room: str, name: str) -> str:
        known = self._digests.setdefault(room, {})
        if name not in known:
            known[name] = _short(repr(self._model.links[room].get(name)))
        return known[name]

    def _files(self, owner: Owner, kinds: set[str], known: Made | None) -> list[GeneratedFile]:
        """The files of an owner that are of these kinds; what they were made from is kept. A session may turn out unreadable."""
        seen: set[tuple[str, str]] = set()
        try:
            files = list(self._made_files(owner, kinds, self._model.traced(seen)))
        except LogError as error:
            name = owner.name.partition(":")[2]
            self._values.problems.append(f"the notes of {name}: {error}; run `research verify` for details")
            return []
        self._rendered[owner.name] = frozenset(kinds)
        versions = {kind: self._versions[kind] for kind in kinds}
        if known and {*owner.kinds} - kinds:
            seen |= {(room, name) for room, name in _seen(known)}
            versions = {**json.loads(known.versions), **versions}
        shown = sorted(seen)
        value = f"{self._digest(shown)} {json.dumps(shown)}"
        self._made[owner.name] = Made(_short(owner.own), value, json.dumps(versions))
        return files

    def _made_files(self, owner: Owner, kinds: Collection[str], model: VaultModel) -> Iterator[GeneratedFile]:
        for note in owner.make(model, kinds):
            if isinstance(note, Plain):
                yield of_plain(owner.name, COPY, note)
            else:
                yield of_note(owner.name, note, self._renderer.render(note))

    def _drifted_kinds(self) -> dict[str, frozenset[str]]:
        """By owner: the kinds of files that are not as the last build left them, or that it could not write."""
        kinds: dict[str, set[str]] = {}
        for owner, kind in json.loads(self._kept.recall("refused") or "[]"):
            kinds.setdefault(owner, set()).add(kind)
        for file in filter(None, map(self._kept.files.find, self._drift.files)):
            kinds.setdefault(file.owner, set()).add(file.kind)
        return {owner: frozenset(found) for owner, found in kinds.items()}

    def _stale_files(self, placed: Sequence[PlacedFile]) -> set[str]:
        """The files to remove: those of owners that are gone, and those that their owner no longer has.

        A session whose log is lost is added to the problems.
        """
        known = self._kept.files
        gone = set(known.owners()) - self._owners.keys()
        sessions = (owner.removeprefix("session:") for owner in sorted(gone) if owner.startswith("session:"))
        self._values.problems += [f"the notes of {name}: {_LOST}" for name in sessions if self._is_lost(name)]
        stale = {path for owner in gone for path, _kind in known.of_owner(owner)}
        for owner, kinds in self._rendered.items():
            stale.update(path for path, kind in known.of_owner(owner) if kind in kinds or kind not in self._versions)
        retired = self._identity.retired()
        stale = (stale | retired.keys()) - {one.file.path for one in placed}
        united = {path for one in placed for path in one.doubles}  # another place of a note that is still made
        notes = ((path, known.find(path)) for path in stale - united if path.endswith(".md"))
        self._orphans = retired | {
            path: note.kind for path, note in notes if note and (is_retired(note.kind) or note.owner not in gone)
        }
        return stale | self._identity.strays() - {one.file.path for one in placed}

    def _is_lost(self, name: str) -> bool:
        """Tell whether a session's log is missing without having been written off, while notes of it are there.

        A switch of the git branch takes both away, and brings both back.
        """
        if not any(self._tree.state(path) for path, _kind in self._kept.files.of_owner(f"session:{name}")):
            return False
        with suppress(LogError):  # damage is reported already, as another problem
            given_up = name in (stones := self._store.tombstones()).written_off or stones.is_forgotten(name)
            return not given_up and not self._store.load(name)
        return False

    def _all_of(self, kind: str) -> Iterator[GeneratedFile]:
        """Render every file of a kind once more, at the paths that the log gives them."""
        for owner in self._owners.values():
            if kind in owner.kinds:
                yield from self._made_files(owner, {kind}, self._model.traced(set()))

    def _record(self, stale: set[str], result: WriteResult) -> BuildReport:
        """Keep what is done and what is left to do; return the report."""
        swept = stale <= result.left.keys()
        is_done = swept and not self._values.problems and not result.problems and not result.refused
        self._kept.put_made(self._made)
        self._kept.keep("refused", json.dumps(sorted({(fresh.owner, fresh.kind) for fresh in result.refused})))
        self._identity.remember(stale, kept=stale - result.left.keys())
        self._kept.keep(SETTLED, self._settled if is_done else "")
        self._drift.record(result.left)
        return BuildReport(
            tuple(sorted(result.written)),
            self._kept.files.count() - len(result.made),
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


def _of_value(name: str, note: Note) -> Owner:
    """The owner of a note that is made already."""
    return Owner(name, (note.kind,), repr(note), lambda _model, _kinds: [note])


def _seen(known: Made) -> list[Sequence[str]]:
    found: list[Sequence[str]] = json.loads(known.seen.partition(" ")[2])
    return found


def _short(text: str) -> str:
    return digest_of(text.encode("utf-8", "replace"))[:16]


def _sources(cards: Iterable[Card], taken: Names) -> dict[str, SourceNotePlace]:
    """The place of each source, named in the order of first reading; sources of one name are told apart by path or address."""
    read: dict[str, list[tuple[str, str, str]]] = {}
    names: dict[str, str] = {}
    for card in cards:
        names[card.id] = card.names
        for page in card.read:
            read.setdefault(page.url, []).append((page.at, card.id, page.title))
    places = {}
    for at, url in sorted((min(found)[0], url) for url, found in read.items()):
        found = sorted(read[url])
        path = taken.claim(source_path(url, at, names[found[0][1]]), url)
        places[url] = SourceNotePlace(path, next((title for *_, title in found if title.strip()), url))
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
