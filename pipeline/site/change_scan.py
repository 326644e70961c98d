"""``ChangeScan``: finds the files of the vault that changed since the last build, and the pages that must be rendered again."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path

from pipeline.site import public
from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Record
from pipeline.site.files import read
from pipeline.site.invalidation import Change, FileState, file_state, pages_showing
from pipeline.site.paths import IMAGES, suffix_of
from pipeline.system.folder_fingerprint import EMPTY, NO_FOLDER, TOO_DEEP, Folder, Look, Step, all_folders, folder_of, is_seen

_MASS = 0.2  # share of the files: if more changed, checking all pages is cheaper than finding the affected ones
_FEW = 50
_ASIDE = frozenset({"attic"})
_READ = frozenset({".md", ".base", *IMAGES})

_NOTHING = "[[], []]"
_MARKS, _PRIVATE = "unpublished", "private"  # the catalogue's entries for which notes say that they are private, and which are
Read = Callable[[Sequence[str]], Iterable[list[tuple[Record, str]]]]


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The notes whose pages may differ, and the changes by path. ``everything``: all lists and the whole search index may differ.

    ``every_list``: all lists may differ.
    """

    pages: frozenset[str]
    changes: Mapping[str, Change]
    everything: bool = False
    every_list: bool = False

    @property
    def lists(self) -> bool:
        """Tell whether any list may differ."""
        return self.everything or self.every_list or any(change.shows for change in self.changes.values())


class ChangeScan:
    """The vault compared with the catalogue. ``steps`` has what the vault's build just did in its folders, if it ran.

    ``changed`` are the files that are new or were written since they were read, ``gone`` those that were removed; ``unreadable``
    says which files and folders cannot be read and are left out. ``public`` is what of the vault is public; ``hidden`` are
    the ids of the notes that the vault leaves out. If what is public changed, every note is read again.
    """

    def __init__(
        self, catalogue: Catalogue, vault: Path, steps: Mapping[str, Step], *, everything: bool, hidden: Collection[str] = ()
    ) -> None:
        self._catalogue, self._vault, self._everything = catalogue, vault, everything
        began = bool(catalogue.notes.marks())
        before = catalogue.recall(_PRIVATE)
        self._compare_all(steps)
        self.public = self._decide(hidden)
        if not self._everything and self._private_now != (before or _NOTHING):
            self._everything = True
            self._compare_all({})
        self._leave_out_private()
        self._relinked = self._with_moved_links() if began else set()
        self.to_read = sorted(self._relinked | self.changed.keys())

    def _compare_all(self, steps: Mapping[str, Step]) -> None:
        """Find which files differ from what the catalogue knows."""
        self.unreadable: list[str] = []
        self._marks: dict[str, str] = {}
        self.changed: dict[str, Look] = {}
        self.gone: set[str] = set()
        self._fresh: set[str] = set()
        known = self._catalogue.notes.marks()
        if self._everything:
            known, steps = dict.fromkeys(known, ""), {}
        followed = {folder for folder, step in steps.items() if is_seen(folder) and known.get(folder, EMPTY) == step.before}
        for folder in followed:
            self._follow(folder, steps[folder])
        found = dict(all_folders(self._vault, followed, aside=_ASIDE))
        for folder in (known.keys() | found.keys()) - followed:
            self._compare(folder, found.get(folder) or NO_FOLDER, known.get(folder, EMPTY))

    @property
    def is_empty(self) -> bool:
        """Tell whether the vault is as the catalogue knows it, folders included."""
        return not (self.to_read or self.gone or self._marks)

    def _decide(self, hidden: Collection[str]) -> public.PublicVault:
        """What is public now; what notes say themselves is known of all that did not change."""
        known = {} if self._everything else json.loads(self._catalogue.recall(_MARKS) or "{}")
        marks: dict[str, str] = {path: value for path, value in known.items() if isfile(self._vault / path)}  # noqa: PTH113
        for path in filter(lambda path: path.endswith(".md"), self.changed):
            marks.pop(path, None)
            if (value := public.marks_of(read(self._vault, path) or b"")) is not None:
                marks[path] = value
        decided = public.public_vault(self._vault, self._notes() if marks or hidden else (), marks.keys(), hidden)
        self.notices = public.unknown(marks)
        self._marks_now = json.dumps(marks)
        self._private_now = json.dumps([sorted(decided.private), sorted(decided.unsaid)])
        return decided

    def _notes(self) -> list[str]:
        """The paths of all notes, those included that were private until now."""
        private = json.loads(self._catalogue.recall(_PRIVATE) or _NOTHING)[0]
        return sorted(path for path in {*self._catalogue.paths(), *private, *self.changed} - self.gone if path.endswith(".md"))

    def _leave_out_private(self) -> None:
        """Take the notes that are not public for files that are not there."""
        self.gone |= {path for path in self.public.private if self._catalogue.digest_and_look(path)}
        self._fresh -= self.public.private
        self.changed = {path: look for path, look in self.changed.items() if path not in self.public.private}

    def _follow(self, folder: str, step: Step) -> None:
        """Apply the steps of the vault's build to a folder that was as the catalogue knows it."""
        paths = {f"{folder}/{name}" if folder else name: look for name, look in step.files.items() if _is_wanted(name)}
        for path, look in paths.items():
            known = self._catalogue.digest_and_look(path)
            if look is None:
                self.gone |= {path} if known else set()
            elif known is None or known[1] != look:
                self.changed[path] = look
                self._fresh |= set() if known else {path}
        if step.after != step.before:
            self._marks[folder] = step.after

    def _compare(self, folder: str, found: Folder, mark: str) -> None:
        if found is NO_FOLDER and isdir(self._vault / folder):  # noqa: PTH112 - as below
            self.unreadable.append(f"{folder}: the folder cannot be read")
        elif found is TOO_DEEP:
            self.unreadable.append(_too_deep(folder))
        elif found.mark == mark:
            return
        now, known = dict(_wanted(folder, found)), self._catalogue.notes.looks_in(folder)
        self.changed |= {path: look for path, look in now.items() if self._everything or known.get(path) != look}
        self.gone |= known.keys() - now.keys()
        self._fresh |= now.keys() - known.keys()
        self._marks[folder] = found.mark

    def _with_moved_links(self) -> set[str]:
        """The notes with a link that leads elsewhere now, because files were added or removed."""
        moved = self.gone | self._fresh
        linking = {face.path for path in self.gone for face in self._catalogue.linkers(path)}
        return (self._catalogue.naming(moved) | linking) - self.gone

    def read_changes(self, read: Read) -> ScanResult:
        """Read the changed files into the catalogue; return what has to be rendered again."""
        catalogue = self._catalogue
        catalogue.remember(_MARKS, self._marks_now)
        catalogue.remember(_PRIVATE, self._private_now)
        if self._everything or len(self.to_read) > max(_FEW, _MASS * (catalogue.count() + len(self._fresh) - len(self.gone))):
            return self._read_everything(read)
        before = {path: file_state(catalogue, path) for path in (*self.to_read, *self.gone)}
        old = catalogue.terms(before)
        catalogue.drop(self.gone)
        catalogue.enter(self._fresh)
        entries = [entry for batch in self._read(read) for entry in batch if self._has_changed(entry[0])]
        self._put(entries)
        new = {record.face.path: words for record, words in entries}
        changes = {path: self._change(path, before[path], old, new) for path in sorted(new.keys() | self.gone)}
        return ScanResult(frozenset(filter(self._is_note, pages_showing(catalogue, changes))), changes)

    def _read(self, read: Read) -> Iterator[list[tuple[Record, str]]]:
        """Read the changed files, then store the marks of the folders, except those with a file that cannot be read."""
        unread = set(self.to_read)
        for batch in read(self.to_read):
            unread.difference_update(record.face.path for record, _ in batch)
            yield batch
        self._catalogue.notes.put_marks(self._marks | {folder_of(path): "" for path in unread})
        there = filter(lambda path: isfile(self._vault / path), sorted(unread))  # noqa: PTH113 - a path's own method may raise
        self.unreadable += [f"{path}: the file cannot be read" for path in there]

    def _change(self, path: str, before: FileState, old: Mapping[str, str], new: Mapping[str, str]) -> Change:
        return Change(before, file_state(self._catalogue, path), (old.get(path, ""), new.get(path, "")))

    def _is_note(self, path: str) -> bool:
        return path.endswith(".md") and self._catalogue.digest_and_look(path) is not None

    def _read_everything(self, read: Read) -> ScanResult:
        fresh = not self._catalogue.count()
        self._catalogue.drop(self.gone)
        self._catalogue.enter(self._fresh)
        for batch in self._read(read):
            self._put(batch, fresh=fresh)
        return ScanResult(self.all_notes(), {}, everything=True, every_list=True)

    def all_notes(self) -> frozenset[str]:
        """Return the paths of all notes; call it after ``read_changes``."""
        return frozenset(path for path in self._catalogue.paths() if path.endswith(".md"))

    def _has_changed(self, record: Record) -> bool:
        """Tell whether the content or the links of a file changed; if not, store its new size and time."""
        path = record.face.path
        known = self._catalogue.digest_and_look(path)
        if known is None or known[0] != record.digest or path in self._relinked:
            return True
        self._catalogue.touch(path, *self.changed[path])
        return False

    def _put(self, entries: Sequence[tuple[Record, str]], *, fresh: bool = False) -> None:
        self._catalogue.put([(record, *self._look(record.face.path), words) for record, words in entries], fresh=fresh)

    def _look(self, path: str) -> Look:
        """Size and time of a file before it was read; those in the catalogue if only its links changed."""
        known = None if path in self.changed else self._catalogue.digest_and_look(path)
        return known[1] if known else self.changed[path]


def _wanted(folder: str, found: Folder) -> Iterator[tuple[str, Look]]:
    """The files of a folder that the site shows or copies."""
    for name, look in found.files.items():
        if _is_wanted(name):
            yield f"{folder}/{name}" if folder else name, look


def _is_wanted(name: str) -> bool:
    return suffix_of(name) in _READ and is_seen(name)


def _too_deep(folder: str) -> str:
    length, top = len(folder.encode()), folder if len(folder) <= 60 else f"{folder[:60]}…"
    return (
        f"{top}: a folder in it has a path of {length:,} bytes, too long for this system; nothing in that folder is on the site, "
        "so shorten the names of the folders around it"
    )
