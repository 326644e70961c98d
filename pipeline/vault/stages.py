"""One build of the vault as its stages: values of the streams, paths and links, notes, files that differ, what is kept.

Each file has an owner, written ``room:name``: ``home:`` · ``night:<date>`` · ``topic:<slug>`` · ``session:<id>`` ·
``source:<address>`` · ``import:<id>`` · ``templates:`` (files that are copied). A note is made from one value, with all that it
shows of others in it; it is rendered if the digest of that value and of its template is not the one kept.
No rule says which notes a change affects; where a person moved or removed a note, all are rendered. A run with nothing to do does
not import this module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from time import monotonic

from pipeline.domain.events.import_events import import_of
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.talk import Turn
from pipeline.errors import LogError, LogUnreadable, SystemRefused, TemplateInvalid
from pipeline.ports import EventStore
from pipeline.system.files import read_bytes
from pipeline.system.manifest import Tree
from pipeline.text.addresses import path_of
from pipeline.text.cleaning import digest_of, grouped, one_line
from pipeline.vault.build_cache import OWN, SETTLED, BuildReport, Kept, KnownNote
from pipeline.vault.identity import Identity, Places, read_decisions, relink
from pipeline.vault.note import block_id
from pipeline.vault.notes.nights_and_home import home_note, night_note, picture, topic_note, topics_of
from pipeline.vault.notes.parts import asked_rows, best_link
from pipeline.vault.notes.reports_and_sources import file_of, import_note, report_note, session_note, source_note, worker_note
from pipeline.vault.output.templates import Renderer
from pipeline.vault.output.user_text import marked, rating_of
from pipeline.vault.output.writer import GeneratedFile, VaultWriter, signed
from pipeline.vault.read_model import Beside, Card, LoadedSession, Values, VaultModel, asked_by_owner, model_of, rated_for

STYLE_SHEET = "research.css"
SNIPPET = f".obsidian/snippets/{STYLE_SHEET}"
_FIRST_S = 0.2  # for how long the first notes that a template changes are rendered, so that its editor soon sees them
_RESTORE = "put it back: `research templates update` copies what is missing; no file was changed"
_LOST = "its log is not here, so they are kept: switch back to its git branch, restore it or give it up: research verify --repair"
_REFUSED = "free some space or allow writing there, then run `research build`; no text is lost"
_AWAY = "put the folder or drive back, then run `research build`; nothing was recorded, so no note counts as removed"


@dataclass
class Build:
    """One build: renders every note with new content first, and only then writes the files that differ.

    ``marks`` are those of all streams that notes are made from, ``settled`` is a digest of these and of the rest, read while no
    other build was running. ``record`` and ``documents`` are as in ``build_vault``.
    """

    store: EventStore
    renderer: Renderer
    vault: Path
    kept: Kept
    mode: str
    marks: Mapping[str, str]
    settled: str
    record: Callable[[Sequence[EventBase]], None] | None = None
    documents: Path | None = None
    _last: LoadedSession | None = None

    def run(self) -> BuildReport:
        """Bring the vault up to date; return what was done.

        Raises:
            sqlite3.DatabaseError: what is kept is damaged.
            TemplateInvalid, SystemRefused: as ``build_vault``.
            SystemRefused: the vault's folder or drive went away meanwhile.
        """
        self._tree = Tree(self.vault)
        try:
            if self.mode in ("all", "check") or not self.kept.is_current:
                self.kept.forget_derived()
            self._values = Values(self.store, self.kept, self.marks)
            self._drift = self.kept.files.drift(self._tree)
            self._decisions = read_decisions(self.store)
            places = Places(self.kept, self._tree, drifted=bool(self._drift.folders))
            ratings = list(self._new_ratings(places))
            if self.mode == "ratings":
                if self.record and ratings:
                    self.record(ratings)
                return BuildReport()
            for draft in ratings:
                self._decisions.apply(draft)
            self._planned = list(self._all_files())
            notes = [KnownNote(one.id, one.path, "", one.owner, one.kind) for one in self._planned if one.kind]
            self._identity = Identity(self._decisions, self.kept, self._tree, notes, places, self.store.tombstones())
            if self._identity.drafts:  # what is hidden from now on is counted nowhere
                self._planned = list(self._all_files())
            placed = self._identity.placed(self._rendered_files())
            stale = self._stale_files(placed)
            away = set[str]() if self._values.problems else stale  # with a problem in the log nothing is removed
            heirs = self._identity.heirs(sorted(away))
            former = grouped((heir, path) for path, heir in heirs.items() if self._identity.leaves_words(path))
            placed = [replace(one, former=tuple(former.get(one.path, ()))) for one in placed]
            self._check_in_place()
            drafts, dry = [*self._identity.drafts, *ratings], self.mode == "check"
            if self.record and drafts and not dry:
                self.record(drafts)
            links = {old.removesuffix(".md"): new.removesuffix(".md") for old, new in {**heirs, **self._identity.moved}.items()}
            links |= {old.removesuffix(".md").rpartition("/")[2]: new.removesuffix(".md") for old, new in heirs.items()}
            own = list(relink(self._tree, self.kept.files, {} if dry else links))
            writer = VaultWriter(self._tree, self.kept.files, dry=dry)
            writer.place(placed, sorted(away - {path for one in placed for path in one.former}))
            report = self._record(stale, writer, own)
            self._check_in_place()
            self.kept.commit()  # a check has a copy
            return report
        except OSError as error:
            self._check_in_place()
            what = f"the vault cannot be written: {error.filename or self.vault}: {error.strerror or error}"
            raise SystemRefused(what, hint=_REFUSED) from error
        finally:
            self._tree.close()

    def _check_in_place(self) -> None:
        """Refuse to record anything of a vault that went away: its notes would look removed by a person when it is back."""
        if not self._tree.is_in_place():
            raise SystemRefused(f"the vault {self.vault} went away while its notes were built", hint=_AWAY)

    def _new_ratings(self, places: Places) -> Iterator[NoteRated]:
        """What a person said with the boxes and the property ``rating`` of reports that changed or came since the last build.

        A report's rating is that of each quote on which its answer rests. A report that no build knew here takes none back.
        """
        for note, texts in sorted(places.written().items()):
            card = self._values.cards.get(note.removeprefix("report:"))
            if card is None or not note.startswith("report:") or not texts:
                continue
            boxes = {block: said for text in reversed(texts) for block, said in marked(text)}
            rating = next(filter(None, map(rating_of, texts)), "")
            is_new = rating != (self._decisions.ratings.of(card.query_id, note) or "") and bool(rating or note in places.known)
            if is_new:
                yield NoteRated.model_validate({"note": note, "rating": rating, "query_id": card.query_id})
            for fact in (fact for one in card.read for fact in one.facts):
                said = boxes.get(block_id(fact.id), rating if is_new and fact.id in card.answering else None)
                if said is not None and said != self._decisions.ratings.of(card.query_id, fact.id):
                    given = {"note": note, "rating": said, "query_id": card.query_id, "fact": fact.id, "url": fact.url}
                    yield NoteRated.model_validate(given)

    def _all_files(self) -> Iterator[GeneratedFile]:
        """The whole vault: every file, most notes with the value that they are made from when they are due."""
        model = model_of(self._values, self._decisions.ratings, self._decisions.hidden_reports)
        cards = [*model.by_id.values()]
        asked = asked_by_owner(self._values.talks.values(), model)
        noted = {reading.page.url for card in cards for reading in card.read if reading.shown}
        self._rated_for = cache(partial(rated_for, self.store, self._decisions.ratings))
        self._rated = grouped((query, event) for (query, _), event in self._decisions.ratings.latest.items())
        followers = {card.previous_session: card for card in reversed(cards)}
        for card in cards:
            yield from self._session(model, card, followers.get(card.id), asked.get(f"session:{card.id}", ()))
        yield from self._sources(model, noted)
        for name, path in self._values.imports.items():
            value, make = self._values.marks[name] + path, partial(self._import, name, path)
            yield GeneratedFile(f"import:{name}", f"{path}.md", kind="session", value=value, make=make)
        for night in (night for night in model.nights if night.last):
            yield night_note(model, night)
        for topic, found in topics_of(cards).items():
            rows = list(asked_rows(model, asked.get(f"topic:{topic}", ()), noted))
            yield topic_note(model, topic, found, rows)
        if model.nights:
            yield picture(model)
        yield home_note(model)
        yield from copies(self.renderer.folder, "templates:")

    def _session(self, model: VaultModel, card: Card, after: Card | None, asked: Iterable[Turn]) -> Iterator[GeneratedFile]:
        """The notes of a session; ``after`` is the session that followed it, ``asked`` what was asked about it."""
        rated = [*self._rated.get("", ()), *self._rated.get(card.query_id, ())]  # a source may be wrong for every question
        beside = Beside(
            later=best_link(after) if after and after.has_note else None,  # a session that failed takes the place of none
            later_outcome=after.outcome if after else "",
            reports={
                one.id: (best_link(one), one.reported_at or one.ended_at, one.outcome, one.rating)
                for one in model.reported_before(card)
            },
            archived=card.query_id in model.archived,
            sources={reading.page.url: model.sources[reading.page.url] for reading in card.read},
            asked=list(asked_rows(model, asked, {reading.page.url for reading in card.read if reading.shown})),
            rated={event.fact: event.rating for event in rated if event.rating},
        )
        # Its own paths are its value too: another note may have taken its name. So is what links to it say.
        value = repr((self._values.marks[card.id], card.session_path, best_link(card), card.rating, card.workers, beside))
        planned = partial(GeneratedFile, f"session:{card.id}", value=value)
        make = partial(self._of_session, card, beside)
        yield planned(f"{card.session_path}.md", kind="session", make=partial(make, session_note))
        if card.has_note:
            yield planned(f"{card.report_path}.md", kind="report", make=partial(make, report_note))
        for name, path in card.workers.items():
            yield planned(f"{path}.md", kind="worker", key=name, make=partial(make, partial(worker_note, name=name)))

    def _of_session(self, card: Card, beside: Beside, note_of: Callable[[LoadedSession], GeneratedFile]) -> GeneratedFile:
        """A note of a session, whose log is read once for all its notes: these are made one after the other."""
        if self._last is None or self._last.card is not card:
            loaded = self._values.loaded(card, beside)
            if beside.rated:  # a passage that was rated in another report may have other words here
                same = self._rated_for(card.query_id).same
                by_fact = {name: beside.rated.get(same(fact), "") for name, fact in loaded.state.facts.items()}
                loaded = replace(loaded, beside=replace(beside, rated=by_fact))
            self._last = loaded
        return note_of(self._last)

    def _sources(self, model: VaultModel, noted: Collection[str]) -> Iterator[GeneratedFile]:
        """The ``noted`` sources, to which a session's result leads; the workers' notes name the others, with what they found."""
        lost = {path: card.started_at for card in model.by_id.values() if card.news for path in card.news.lost}
        for url, place in model.sources.items():
            if url not in noted:
                continue
            readings = model.readings[url]
            sessions = [(self._values.marks[card.id], card.session_path, best_link(card)) for card, _ in readings]
            found, gone = file_of(url, self.documents), lost.get(one_line(path_of(url)), "") > readings[-1][0].started_at
            if found and self.documents:
                with suppress(OSError):  # what may not be looked at may be there
                    gone = self.documents.is_dir() and not found.exists()
            file = None if gone else found
            make = partial(source_note, url, place, readings, file, model.hidden, gone=gone)
            value = repr((place, sessions, file, gone))
            yield GeneratedFile(f"source:{url}", f"{place.path}.md", kind="source", value=value, make=make)

    def _import(self, name: str, path: str) -> GeneratedFile:
        found = import_of(name, decode_all(record.data for record in self.store.load(name)))
        if found is None:
            raise LogUnreadable("it went away while its note was made", hint="run `research build` again")
        return import_note(found, path)

    def _rendered_files(self) -> Iterator[GeneratedFile]:
        """Render the notes that are due, and enter what they were made from. A session may turn out unreadable.

        The newest come first. What waits for the next build is not entered, so that it is due then. Other files are quickly made.
        """
        known, all_are_due = self.kept.made(), self._identity.was_rearranged
        self._made: dict[str, str] = {}
        self._waits, ends = False, monotonic() + _FIRST_S
        for one in reversed(self._planned):
            if not one.kind:
                yield one
                continue
            parts = self.renderer.version_of(f"{one.kind}.md.j2"), one.value or repr(one)
            digest = digest_of(" ".join(parts).encode("utf-8", "replace"))[:16]
            is_due = all_are_due or self._identity.paths[one.id] in self._drift.files
            if not is_due and known.get(one.id) == digest:
                continue
            if self.mode == "first" and not is_due and known.get(one.id) and monotonic() > ends:
                self._waits = True
                continue
            try:
                made = one.make() if one.make else one
                yield replace(made, body=self.renderer.render(made))
                self._made[one.id] = digest
            except LogError as error:
                what = f"the notes of {one.owner.partition(':')[2]}: {error}"
                self._values.problems.append(f"{what}; run `research verify` for details")

    def _stale_files(self, placed: Sequence[GeneratedFile]) -> set[str]:
        """The files to remove: those that an earlier build made and this one has no more.

        If the log of a session is missing without having been written off, while notes of it are there, that is a problem: a
        switch of the git branch takes both away, and brings both back.
        """
        known, stones = self.kept.files.all(), self.store.tombstones()
        gone = {*known.values()} - {one.owner for one in self._planned}
        for name in sorted(owner.removeprefix("session:") for owner in gone if owner.startswith("session:")):
            is_there = any(self._tree.state(path) for path, owner in known.items() if owner == f"session:{name}")
            given_up = name in stones.written_off or stones.is_forgotten(name)
            if is_there and not given_up and name not in self.marks:  # damage is reported already, as another problem
                self._values.problems.append(f"the notes of {name}: {_LOST}")
        now = {*self._identity.paths.values(), *(path for one in placed for path in (one.path, *one.doubles))}
        return (known.keys() | self._identity.unmade()) - now

    def _record(self, stale: set[str], writer: VaultWriter, own: Sequence[str]) -> BuildReport:
        """Keep what is done and what is left to do; return the report. In a person's ``own`` files links were changed."""
        left = stale - writer.left.keys()
        is_done = not left and not self._waits and not self._values.problems and not writer.problems
        to_do = (self.kept.made().keys() - self._identity.paths.keys()) | {fresh.id for fresh in writer.refused}
        self.kept.put("made", self._made.items())
        self.kept.drop("made", "note", to_do)
        self._identity.remember(left)
        self.kept.keep(SETTLED, self.settled if is_done else "")
        self._drift.record(writer.left)
        return BuildReport(
            tuple(sorted([*writer.written, *own])),
            len(self.kept.files.all()) - len(writer.written),
            tuple(sorted(writer.removed)),
            tuple(sorted(writer.set_aside)),
            tuple(dict.fromkeys(self._values.problems)),
            tuple(writer.problems),
            self._identity.moved,
            self._identity.hidden,
            writer.united,
            self._waits,
            self._drift.untouched([f"{OWN}/", *writer.left, *writer.written]),
        )


def copies(templates: Path, owner: str) -> Iterator[GeneratedFile]:
    """Yield the bases and the style sheet of the folder ``templates``, signed; one that was edited in the vault stays.

    Raises:
        TemplateInvalid: one cannot be read, or is not UTF-8.
    """
    for file in sorted((templates / "bases").glob("*.base")):
        yield GeneratedFile(owner, f"bases/{file.name}", signed(_text(file), "# {}"))
    yield GeneratedFile(owner, SNIPPET, signed(_text(templates / STYLE_SHEET), "/* {} */"))


def _text(file: Path) -> str:
    try:
        return read_bytes(file).decode()
    except (OSError, ValueError) as error:
        raise TemplateInvalid(f"{file} cannot be read: {error}", hint=_RESTORE) from error
