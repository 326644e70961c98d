"""``Identity``: follows the notes that a person moved or removed since the last build, and gives each rendered note its place.

Where a generated note is now, is told by the ids in the notes themselves; only files that are new or were written since the last
build are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_events import NoteHidden, NoteMoved
from pipeline.system.folders import Folder, is_seen
from pipeline.system.safe_tree import Obstacle, Tree
from pipeline.vault.identity.decisions import Decisions, is_retired
from pipeline.vault.identity.placement import Placement, targets_in
from pipeline.vault.kept import Files, Kept, KnownNote
from pipeline.vault.output.files import GeneratedFile, PlacedFile
from pipeline.vault.paths import ATTIC, OWN

_HEAD = 20_000  # bytes of a note in which its properties are looked for
# The property `id` as any editor writes it.
_ID = re.compile(rb"^id:[ \t]*[\"']?([a-z]+(?::[A-Za-z0-9][A-Za-z0-9_.:/-]*)?)[\"']?[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class FoundNotes:
    """The paths at which the note of each id was found, sorted; and the names of all top folders of the vault."""

    paths: Mapping[str, list[str]] = field(default_factory=dict)
    tops: frozenset[str] = frozenset()


def find_notes(tree: Tree, files: Files, known: Mapping[str, str]) -> FoundNotes:
    """Look through the whole vault, except hidden folders and the attic; ``known`` has the id of each known note by its path.

    A known note that lost its id is still the note of its path.
    """
    paths: dict[str, list[str]] = {}
    tops: set[str] = set()
    for folder, content in _folders(tree):
        tops.add(folder.partition("/")[0])
        looks = files.looks_in(folder)
        for name, look in content.files.items():
            path = f"{folder}/{name}" if folder else name
            if not name.endswith(".md") or not is_seen(name):
                continue
            unchanged = path in known and looks.get(path) == look
            if note := known[path] if unchanged else _id_in(tree, path) or known.get(path, ""):
                paths.setdefault(note, []).append(path)
    return FoundNotes({note: sorted(places) for note, places in paths.items()}, frozenset(tops))


def seen_files(tree: Tree) -> Iterator[str]:
    """Yield the path of every file of the vault, except in hidden folders and the attic."""
    for folder, content in _folders(tree):
        yield from (f"{folder}/{name}" if folder else name for name in content.files if is_seen(name))


def _folders(tree: Tree) -> Iterator[tuple[str, Folder]]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        if content := tree.look(folder):
            yield folder, content
            names = (name for name in content.folders if is_seen(name) and (folder or name != ATTIC))
            waiting += [f"{folder}/{name}" if folder else name for name in names]


def _id_in(tree: Tree, path: str) -> str:
    try:
        data = (tree.read(path) or b"")[:_HEAD]
    except Obstacle:
        return ""
    if not data.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
        return ""
    found = _ID.search(data, 0, max(data.find(b"\n---", 3), 0))
    return found[1].decode() if found else ""


class Identity:
    """The notes of one build. ``drifted``: some folder of the vault is not as the last build left it.

    ``drafts`` are the decisions that this build found and that are to be recorded.
    """

    def __init__(self, decisions: Decisions, kept: Kept, tree: Tree, *, drifted: bool) -> None:
        self._decisions, self._kept, self._tree = decisions, kept, tree
        known = kept.notes()
        self._known = {name: note for name, note in known.items() if not is_retired(name)}
        self._retired = known.keys() - self._known.keys()
        places = {note.path: note.id for note in self._known.values() if note.path}
        self._found = find_notes(tree, kept.files, places) if drifted or not known else None
        self.drafts: list[EventBase] = []
        self._placement = Placement(self._decisions)
        self._decide(self._known.values())
        self._entered = self._placement.enter_all(self._known.values())

    def _decide(self, notes: Iterable[KnownNote]) -> None:
        """Find what a person decided about notes, and take it in."""
        if self._found is None:
            return
        self._take(list(_decisions(notes, self._found, self._placement, self._is_gone)))

    def _take(self, drafts: Sequence[EventBase]) -> None:
        """Take in decisions that are not recorded yet."""
        for draft in drafts:
            self._decisions.apply(draft)
        if drafts:
            self.drafts += drafts
            self._placement = Placement(self._decisions, self._placement.links)

    def _is_gone(self, path: str) -> bool:
        """Tell whether a file is not there; what is behind a link, or may not be read, is not gone."""
        try:
            return self._tree.state(path) is None
        except Obstacle:
            return False

    def due(self) -> dict[str, frozenset[str]] | None:
        """Return the kinds of files to render again by owner, because a note they link to was moved or hidden; None: all files.

        All files are due if a hidden note is shown again: what would link to it cannot be told from the files; and if a note of
        a kind that is no longer made was put back.
        """
        moved = [note for note in self._known.values() if self._entered[note.id] != note.path]
        if any(not note.path for note in moved) or self.retired():
            return None
        names = {path.removesuffix(".md") for note in moved for path in (note.path, note.canonical)}
        due: dict[str, set[str]] = {}
        doubled = (note for note in self._known.values() if self._entered[note.id] and self._doubles(note.id))
        for note in (*moved, *doubled):
            due.setdefault(note.owner, set()).add(note.kind)
        for owner, kind in self._linking(names) if names else ():
            due.setdefault(owner, set()).add(kind)
        return {owner: frozenset(kinds) for owner, kinds in due.items()}

    def _linking(self, names: set[str]) -> Iterator[tuple[str, str]]:
        for path, owner, kind in self._kept.files.all():
            try:
                data = self._tree.read(path) if path.endswith(".md") else None
            except Obstacle:
                continue
            if data and not targets_in(data).isdisjoint(names):
                yield owner, kind

    def placed(self, files: Sequence[GeneratedFile]) -> list[PlacedFile]:
        """Return rendered files in their places, without the hidden ones; those that take in another file come first."""
        notes = [KnownNote(one.id, one.path, "", one.owner, one.kind) for one in files if one.id]
        self._decide(note for note in notes if note.id not in self._known)
        self._entered |= {note.id: self._placement.enter(note.id, note.canonical) for note in notes}
        placed = [PlacedFile(fresh, self._doubles(one.id)) for one in files if (fresh := self._placement.placed(one)).path]
        self._rendered = [note._replace(path=self._entered[note.id]) for note in notes]
        return sorted(placed, key=lambda one: (not one.doubles, one.file.path))

    def _doubles(self, note: str) -> tuple[str, ...]:
        """The other files with the note's id, as a merge or a synchronisation leaves them; copies in ``my/`` are a person's."""
        found = self._found.paths.get(note, ()) if self._found and note else ()
        return tuple(path for path in found if path != self._entered[note] and not path.startswith(f"{OWN}/"))

    def strays(self) -> frozenset[str]:
        """The files of notes that are hidden from this build on, wherever they are: git moves a file together with its folder."""
        hidden = (note.id for note in self._known.values() if note.path and not self._entered[note.id])
        return frozenset(path for note in hidden for path in self._doubles(note))

    def retired(self) -> dict[str, str]:
        """Return the notes of kinds that are no longer made, by path, with their kinds; copies in ``my/`` are a person's."""
        found = self._found.paths if self._found else {}
        notes = ((path, name) for name, paths in found.items() if is_retired(name) for path in paths)
        return {path: name.partition(":")[0] for path, name in notes if not path.startswith(f"{OWN}/")}

    def remember(self, gone: Iterable[str], *, kept: Collection[str]) -> None:
        """Store where all notes are.

        ``gone`` are the paths of files that are no longer generated; of these, ``kept`` are still there. A hidden note that is
        still there keeps its path, or the next build would take it for one that somebody put back.
        """
        lost = set(gone)
        self._kept.drop_notes(note.id for note in self._known.values() if note.path in lost and self._entered[note.id])
        self._kept.drop_notes(self._retired)
        hidden = [note for note in self._known.values() if not self._entered[note.id]]
        held = {note.id for note in hidden if note.path in kept}
        now = (*(note._replace(path="") for note in hidden), *self._rendered)
        self._kept.put_notes(note for note in now if note.id not in held)

    @property
    def moved(self) -> Mapping[str, str]:
        """The notes that a person moved since the last build: the new path by the old one."""
        paths = {note.id: note.path or note.canonical for note in self._known.values()}
        return {paths.get(draft.note, draft.path): draft.path for draft in self.drafts if isinstance(draft, NoteMoved)}

    @property
    def hidden(self) -> tuple[str, ...]:
        """The paths of the notes that a person removed since the last build."""
        hidden = (
            self._known[draft.note].path for draft in self.drafts if isinstance(draft, NoteHidden) and draft.note in self._known
        )
        return tuple(sorted(path for path in hidden if path not in self.moved.values()))


def _decisions(
    notes: Iterable[KnownNote], found: FoundNotes, placement: Placement, is_gone: Callable[[str], bool]
) -> Iterator[EventBase]:
    """What a person did with notes, by where they are now."""
    notes = list(notes)
    is_lost = not any(note.path in found.paths.get(note.id, ()) for note in notes)  # the vault itself is gone
    for note in notes:
        places = found.paths.get(note.id, ())
        wanted = placement.place(note.id, note.canonical)
        if not wanted and note.path:
            continue  # hidden by a command, or elsewhere: this build removes it
        if wanted in places or (note.path and note.path in places):
            continue
        if places:
            yield NoteMoved(note=note.id, path=_likeliest(places, wanted or note.canonical))
        elif wanted and note.path and not is_lost and not _is_with_folder(note, found) and is_gone(note.path):
            yield NoteHidden(note=note.id)


def _likeliest(places: Sequence[str], last: str) -> str:
    """Of several copies the one that kept its name, else the first."""
    name = last.rpartition("/")[2]
    return next((path for path in places if path.rpartition("/")[2] == name), places[0])


def _is_with_folder(note: KnownNote, found: FoundNotes) -> bool:
    """Tell whether a note is gone with the whole folder of its kind; the home note, which has none, always comes back."""
    top, slash, _name = note.path.partition("/")
    return not slash or (note.canonical.startswith(f"{top}/") and top not in found.tops)
