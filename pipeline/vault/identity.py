"""What a note is known by: its id, where a person put it, whether it is hidden, and which note takes the place of one that goes.

``Decisions`` is what a person decided, folded from the events under ``events/vault/``: the streams of all machines are united,
and the latest event about a note counts. ``Identity`` follows the notes that a person moved or removed since the last build, and
gives each rendered note its place.

Where a generated note is now, is told by the ids in the notes themselves; only files that are new or were written since the last
build are read. Notes are rendered with the paths that the log gives them. Only where a person decided otherwise, the links are
changed after that: to the path where the note is, or into plain text if it is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_records import Tombstones
from pipeline.domain.events.upkeep_events import NoteHidden, NoteMoved, NoteShown, Ratings
from pipeline.ports import EventStore
from pipeline.system.manifest import Obstacle, Tree, all_folders, is_seen
from pipeline.text.cleaning import digest_of, grouped
from pipeline.text.links_to_hidden_notes import targets_of, without_blocks
from pipeline.vault.build_cache import ATTIC, OWN, Files, Kept, KnownNote, markdown_files
from pipeline.vault.output.escaping import WIKILINK, inert
from pipeline.vault.output.frontmatter import id_in, id_today, split
from pipeline.vault.output.writer import GeneratedFile, as_bytes, as_text

RETIRED = ("entity", "memory", "question", "talk")  # the kinds of notes that only earlier versions of the program made


@dataclass
class Decisions:
    """What a person decided about notes, by the notes' ids.

    ``paths`` is where each note was moved last, in order of time.
    """

    paths: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    ratings: Ratings = field(default_factory=Ratings)

    @property
    def hidden_reports(self) -> set[str]:
        """The sessions whose reports are hidden."""
        return {name.removeprefix("report:") for name in self.hidden if name.startswith("report:")}

    def apply(self, event: EventBase) -> None:
        """Take in one event, later than all before it; an event of another kind, or with an unfit path, changes nothing."""
        if isinstance(event, NoteMoved) and is_fit(event.path):
            note = id_today(event.note)
            self.paths.pop(note, None)  # the one that was first at a path keeps it
            self.paths[note] = event.path
            self.hidden.discard(note)
        elif isinstance(event, NoteShown):
            self.hidden.discard(id_today(event.note))
        elif isinstance(event, NoteHidden):
            self.hidden.add(id_today(event.note))
        else:
            self.ratings.apply(event)


def is_fit(path: str) -> bool:
    """Tell whether a generated note may be at ``path``: a Markdown file that is neither hidden nor in the attic."""
    parts = path.split("/")
    return path.endswith(".md") and parts[0] != ATTIC and not any(not part or part.startswith(".") for part in parts)


def read_decisions(store: EventStore) -> Decisions:
    """Return what the log says.

    Raises:
        LogError: a stream is damaged.
    """
    streams = {name: decode_all(record.data for record in store.load(name)) for name in store.marks(["vault"])}
    events = [(event.at, name, event.version, event) for name, found in streams.items() for event in found]
    decisions = Decisions()
    for *_order, event in sorted(events, key=lambda entry: entry[:3]):
        decisions.apply(event)
    return decisions


def is_retired(note: str) -> bool:
    """Tell whether a note's id, or its kind, is of a kind that is no longer made."""
    return note.partition(":")[0] in RETIRED


_FOLDERS = frozenset(("sources", "nights", "topics"))  # of notes that several sessions may have made
_HEAD = 20_000  # bytes of a note in which its properties are looked for
# A wikilink up to its words, if it leads to a quote (see `block_id`): without that place it leads to the source.
_TO_QUOTE = re.compile(r"(\[\[[^\[\]|#\\\n]+)#\^q-[A-Za-z0-9-]+")
# Signs in a path that a wikilink cannot hold.
_UNLINKABLE = re.compile(r'[\[\]#^|\\"\x00-\x1f]|%%|::|<%|%>')


class Places:
    """Where the notes of the vault are, by their ids, before anything is written; hidden folders are left out.

    The vault is looked through if it ``drifted``, that is if some folder is not as the last build left it. ``known`` are the
    notes as that left them, ``found`` the paths of each, sorted.
    """

    def __init__(self, kept: Kept, tree: Tree, *, drifted: bool) -> None:
        self._tree, self.known, pairs = tree, kept.notes(), list[tuple[str, str]]()
        self.looked, self._fresh = drifted, set[str]()
        ids = {note.path: note.id for note in self.known.values() if note.path}
        for folder, content in all_folders(tree.root, aside=(ATTIC,)) if self.looked else ():
            looks = kept.files.looks_in(folder)
            for name, look in content.files.items():
                path = f"{folder}/{name}" if folder else name
                if not name.endswith(".md") or not is_seen(name):
                    continue
                known, is_fresh = ids.get(path, ""), looks.get(path) != look
                # A known note that lost its id is still that note.
                note = known if known and not is_fresh else _id_in(_bytes_of(tree, path)) or known
                if note:
                    pairs.append((note, path))
                    self._fresh.update([path] if is_fresh else ())
        self.found = grouped(sorted(pairs))

    def written(self) -> dict[str, list[str]]:
        """Return the texts of each note with a file that is new or was written since the last build, by its id.

        The file that was there comes first, copies in ``my/`` do not count. Of a note that is gone from its place, what a person
        put into the attic counts, but no copy that the program set aside there.
        """
        texts: dict[str, list[str]] = {}
        for note, found in self.found.items():
            place = self.known[note].path if note in self.known else ""
            paths = [path for path in found if path == place or not path.startswith(f"{OWN}/")] or found
            if not self._fresh.isdisjoint(paths):
                paths = sorted(paths, key=lambda path: path != place)
                texts[note] = [as_text(data) for path in paths if (data := _bytes_of(self._tree, path))]
        gone = {one.id for one in self.known.values() if self.looked and one.path and one.id not in self.found}
        for path, _ in sorted(markdown_files(self._tree.root / ATTIC)) if gone else ():
            data = _bytes_of(self._tree, f"{ATTIC}/{path}")
            if (note := _id_in(data)) in gone and not path.endswith(f".{digest_of(data)[:8]}.md"):
                texts.setdefault(note, []).append(as_text(data))
        return texts


class Identity:
    """The ``notes`` of one build, by the ``places`` at which they were found.

    ``drafts`` are the decisions that this build found and that are to be recorded. ``paths`` says where each note is to be, by
    its id; "" if it is hidden.
    """

    def __init__(
        self, decisions: Decisions, kept: Kept, tree: Tree, notes: Iterable[KnownNote], places: Places, stones: Tombstones
    ) -> None:
        self._decisions, self._kept, self._tree, self._stones = decisions, kept, tree, stones
        self._known, self._found = places.known, places.found
        self._before = {name: note for name, note in places.known.items() if not self._is_past(name)}
        self._notes = {one.id: one._replace(path=self._before.get(one.id, one).path) for one in notes}
        self.drafts: list[EventBase] = list(self._decided()) if places.looked else []
        for draft in self.drafts:
            decisions.apply(draft)
        owners = self._owners()
        self.paths = {note.id: self._place(note, owners) for note in self._notes.values()}
        # By the path that the log gives, the path to link to; "" stands for a note that is hidden, or that no link can lead to.
        canonical = {note.id: note.canonical.removesuffix(".md") for note in self._notes.values()}
        self._links = {
            canonical[name]: "" if _UNLINKABLE.search(path) else path.removesuffix(".md")
            for name, path in self.paths.items()
            if path.removesuffix(".md") != canonical[name]
        }
        # Hidden reports and their sessions: other notes say nothing of these.
        names = (f"{kind}:{session}" for session in decisions.hidden_reports for kind in ("report", "session"))
        self._left_out = {canonical[name] for name in names if name in canonical}

    def _owners(self) -> dict[str, str]:
        """The note that a person gave each path to, the first of several."""
        given = reversed(self._decisions.paths.items())
        return {path: note for note, path in given if note not in self._decisions.hidden}

    def _place(self, note: KnownNote, owners: Mapping[str, str]) -> str:
        """The path of a note, "" if it is hidden. A path that a person gave to another note gets a digest of the id appended."""
        if note.id in self._decisions.hidden:
            return ""
        path = self._decisions.paths.get(note.id, note.canonical)
        is_free = owners.get(path, note.id) == note.id
        return path if is_free else f"{path.removesuffix('.md')}-{digest_of(note.id.encode())[:8]}.md"

    def _decided(self) -> Iterator[EventBase]:
        """What a person did with notes, by where they are now."""
        last, owners, found = self._before | self._notes, self._owners(), self._found
        is_lost = not any(note.path in found.get(note.id, ()) for note in last.values())  # the vault itself is gone
        for note in last.values():
            places, wanted = found.get(note.id, ()), self._place(note, owners)
            if not wanted and note.path:
                continue  # hidden by a command, or elsewhere: this build removes it
            if wanted in places or (note.path and note.path in places):
                continue
            if places:  # of several copies, first those outside `my/`, the one that kept its name, else the first
                places = self._files_of(note.id) or places
                name = (wanted or note.canonical).rpartition("/")[2]
                yield NoteMoved(note=note.id, path=next((path for path in places if path.rpartition("/")[2] == name), places[0]))
                continue
            top, slash, _ = note.path.partition("/")
            with_folder = note.canonical.startswith(f"{top}/") and self._tree.look(top) is None  # it comes back, as Home does
            if wanted and slash and not is_lost and not with_folder and note.id in self._notes:
                with suppress(Obstacle):  # what is behind a link, or may not be read, is not gone
                    if self._tree.state(note.path) is None:
                        yield NoteHidden(note=note.id)

    @property
    def was_rearranged(self) -> bool:
        """Whether a person moved, removed, doubled or put back a note since the last build: others may link to it, or count it.

        So may a note of a kind that is no longer made.
        """
        last = (note for note in self._before.values() if note.id in self._notes)
        return any(self.paths[one.id] != one.path or self._doubles(one.id) for one in last) or any(map(is_retired, self._found))

    def placed(self, files: Iterable[GeneratedFile]) -> list[GeneratedFile]:
        """Return rendered files in their places, without the hidden ones; those that take in another file come first."""
        placed = (self._placed(one) if one.kind else one for one in files if not one.kind or self.paths[one.id])
        return sorted(placed, key=lambda one: (not one.doubles, one.path))

    def _placed(self, fresh: GeneratedFile) -> GeneratedFile:
        body, properties, is_of_session = fresh.body, dict(fresh.properties), fresh.owner.startswith("session:")
        if self._left_out and not is_of_session:
            body = without_blocks(body, self._left_out.__contains__)
        if is_of_session and fresh.owner.replace("session:", "report:") in self._decisions.hidden:
            # The quotes that were found for this report alone are no longer in their sources' notes.
            body = _TO_QUOTE.sub(r"\1", body)
        body = relinked(body, self._links.get, inert)
        for name, value in properties.items():
            if isinstance(value, str):  # no entry of a list is a link
                properties[name] = relinked(value, self._links.get)
        return replace(fresh, path=self.paths[fresh.id], body=body, properties=properties, doubles=self._doubles(fresh.id))

    def _files_of(self, note: str) -> list[str]:
        """The files with the note's id; copies in ``my/`` are a person's."""
        return [path for path in self._found.get(note, ()) if not path.startswith(f"{OWN}/")]

    def _doubles(self, note: str) -> tuple[str, ...]:
        """The other files with the note's id, as a merge or a synchronisation leaves them."""
        return tuple(path for path in self._files_of(note) if path != self.paths[note])

    def unmade(self) -> set[str]:
        """Return the files of notes that are not made, wherever they are: git moves a file together with its folder.

        They are of kinds of earlier versions, of a session that was forgotten or no longer makes them, as a merge brings them
        back, or hidden from this build on. A source of what was forgotten is gone too, if the log of no other note is missing;
        not from a folder of a person's own, where a note of another vault may lie.
        """
        owners = {note.owner for note in self._notes.values()}
        absent = {name for name in self._found if not self.paths.get(name)}
        gone = {name for name in absent if name in self.paths or self._is_past(name) or f"session:{session_of(name)}" in owners}
        if self._stones.forgotten and all(name.startswith(("source:", "night:", "topic:")) for name in absent - gone):
            gone |= {name for name in absent if {path.partition("/")[0] for path in self._files_of(name)} <= _FOLDERS}
        return {path for name in gone for path in self._files_of(name)}

    def _is_past(self, note: str) -> bool:
        return is_retired(note) or self._stones.is_forgotten(session_of(note))

    def heirs(self, gone: Iterable[str]) -> dict[str, str]:
        """Return which notes take the place of files that are ``gone``, by path.

        It is the newest report that a file led to; Home if it led to none and is of a kind of earlier versions, or is what was
        remembered, which is about no report.
        """
        at = {path.removesuffix(".md"): name for name, path in self.paths.items() if path and name.startswith("report:")}
        found = dict[str, str]()
        for path in gone:
            data = _bytes_of(self._tree, path)
            name, led = _id_in(data), (at[to] for to in targets_of(as_text(data)) if to in at)
            newest = max(led, default="") if name != "memory" else ""
            if heir := self.paths.get(newest or ("home" if is_retired(name) else "")):
                found[path] = heir
        return found

    def leaves_words(self, path: str) -> bool:
        """Return whether what a person wrote in a file that is gone belongs into its heir: it is neither hidden nor forgotten."""
        name, owners = _id_in(_bytes_of(self._tree, path)), {note.owner for note in self._notes.values()}
        return is_retired(name) or (name not in self.paths and f"session:{session_of(name)}" in owners)

    def remember(self, left: Collection[str]) -> None:
        """Store where all notes are; ``left`` are the files that are no longer generated, but still there.

        A hidden note that is still there keeps its path, or the next build would take it for one that somebody put back.
        """
        now = {name: note._replace(path=self.paths[name]) for name, note in self._notes.items()}
        still = {name: note for name, note in self._before.items() if note.path in left and not self.paths.get(name)}
        self._kept.drop("notes", "id", self._known.keys() - now.keys() - still.keys())
        self._kept.put("notes", (note for name, note in (now | still).items() if note != self._before.get(name)))

    @property
    def moved(self) -> Mapping[str, str]:
        """The notes that a person moved since the last build: the new path by the old one."""
        paths = {note.id: note.path or note.canonical for note in self._before.values()}
        return {paths.get(draft.note, draft.path): draft.path for draft in self.drafts if isinstance(draft, NoteMoved)}

    @property
    def hidden(self) -> tuple[str, ...]:
        """The paths of the notes that a person removed since the last build."""
        return tuple(sorted(self._before[one.note].path for one in self.drafts if isinstance(one, NoteHidden)))


def relinked(text: str, links: Callable[[str], str | None], plain: Callable[[str], str] = str) -> str:
    """Return a text with its wikilinks changed.

    ``links`` returns the path to link to for the path that is there, both without suffix; "" makes plain words of the link, None
    leaves it. ``plain`` makes these words fit for where they are.
    """

    def link(found: re.Match[str]) -> str:
        path = links(found["to"])
        if path is None:
            return found[0]
        return found[0].replace(found["to"], path, 1) if path else plain(found["words"] or "")

    return WIKILINK.sub(link, text)


def relink(tree: Tree, files: Files, links: Mapping[str, str]) -> Iterator[str]:
    """Change a person's links in all notes of the vault; yield the paths of a person's own files that were changed.

    ``files`` are those of the last build: one that is as it left them has nothing of a person. Only the targets of links change,
    as when Obsidian renames a note.
    """
    for path, _ in [*markdown_files(tree.root)] if links else ():
        data, made = _bytes_of(tree, path), files.digest(path)
        if links.keys().isdisjoint(targets_of(as_text(data))) or made == digest_of(data):
            continue
        tree.write(path, as_bytes(relinked(as_text(data), links.get)), durable=True)
        if made is None:
            yield path


def session_of(note: str) -> str:
    """Return the id of the session, or import, that a note's id names; for a note of another kind what tells it from others."""
    return note.partition(":")[2].partition("/")[0]


def _id_in(data: bytes) -> str:
    return id_in(split(as_text(data[:_HEAD]))[0])


def _bytes_of(tree: Tree, path: str) -> bytes:
    with suppress(Obstacle):
        return tree.read(path) or b""
    return b""
