"""What changed in the vault since the last build, read into the catalogue; and what that leaves to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import isdir, isfile
from pathlib import Path

from pipeline.site.cache.catalogue import VAULT, Catalogue
from pipeline.site.cache.note_record import Record
from pipeline.site.changed_folders import ASIDE, NO_FOLDER, is_seen, other_folders
from pipeline.site.invalidation import Change, Seen, pages_showing, seen
from pipeline.site.paths import IMAGES, folder_of, suffix_of
from pipeline.system.folder_fingerprint import Folder, Look, Step

_MASS = 0.2  # of the files: when more are read than that, it is cheaper to look at all pages than to ask which
_FEW = 50
_READ = frozenset({".md", ".canvas", ".base", *IMAGES})

Read = Callable[[Sequence[str]], Iterable[list[tuple[Record, str]]]]


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Notes whose pages may differ; what changed, by path. ``everything``: so much that all lists and the whole index may differ.

    ``every_list``: all lists may, for whatever reason.
    """

    pages: frozenset[str]
    changes: Mapping[str, Change]
    everything: bool = False
    every_list: bool = False

    @property
    def lists(self) -> bool:
        """Tell whether any list may differ."""
        return self.everything or self.every_list or any(change.shows for change in self.changes.values())


class Survey:
    """The state of the vault against what is known of it. ``steps`` tell what somebody just did in its folders, if anybody did.

    ``changed`` are the files that are new or were written since they were read, ``gone`` those that are no more; ``unreadable``
    says which files and folders are left out because they cannot be read.
    """

    def __init__(self, catalogue: Catalogue, vault: Path, steps: Mapping[str, Step], *, everything: bool) -> None:
        self._catalogue, self._vault = catalogue, vault
        self.unreadable: list[str] = []
        self._marks: dict[str, str | None] = {}
        self.changed: dict[str, Look] = {}
        self.gone: set[str] = set()
        self._fresh: set[str] = set()
        known = catalogue.marks(VAULT)
        began = bool(known)
        if everything:
            known, steps = dict.fromkeys(known, ""), {}
        for folder, step in steps.items():
            if known.get(folder) == step.before:
                self._follow(folder, step)
                known[folder] = step.after
        given = {folder: step.after for folder, step in steps.items()}
        for folder, found in other_folders(vault, known, given, aside=ASIDE):
            self._compare(folder, found, everything)
        self._forced = self._leading_elsewhere() if began else set()
        self.to_read = sorted(self._forced | self.changed.keys())

    @property
    def is_empty(self) -> bool:
        """Tell whether the vault is as it is known, and nothing is to be remembered of it."""
        return not (self.to_read or self.gone or self._marks)

    def _follow(self, folder: str, step: Step) -> None:
        """Take note of what was done in a folder that stood as it is known."""
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

    def _compare(self, folder: str, found: Folder, everything: bool) -> None:
        if found is NO_FOLDER and isdir(self._vault / folder):  # noqa: PTH112 - as below
            self.unreadable.append(f"{folder}: the folder cannot be read")
        now, known = dict(_wanted(folder, found)), self._catalogue.files_in(folder)
        self.changed |= {path: look for path, look in now.items() if everything or known.get(path) != look}
        self.gone |= known.keys() - now.keys()
        self._fresh |= now.keys() - known.keys()
        self._marks[folder] = None if found is NO_FOLDER else found.mark

    def _leading_elsewhere(self) -> set[str]:
        """Notes with a link that means something else now, because files came or went."""
        moved = self.gone | self._fresh
        linking = {face.path for path in self.gone for face in self._catalogue.linkers(path)}
        return (self._catalogue.naming(moved) | linking) - self.gone

    def taken(self, read: Read) -> ScanResult:
        """Read what changed into the catalogue; return what there is to do."""
        catalogue = self._catalogue
        if len(self.to_read) > max(_FEW, _MASS * (catalogue.count() + len(self._fresh) - len(self.gone))):
            return self._all_taken(read)
        before = {path: seen(catalogue, path) for path in (*self.to_read, *self.gone)}
        old = catalogue.terms(before)
        catalogue.drop(self.gone)
        catalogue.enter(self._fresh)
        entries = [entry for batch in self._read(read) for entry in batch if self._is_news(entry[0])]
        self._put(entries)
        new = {record.face.path: words for record, words in entries}
        changes = {path: self._change(path, before[path], old, new) for path in sorted(new.keys() | self.gone)}
        return ScanResult(frozenset(filter(self._is_note, pages_showing(catalogue, changes))), changes)

    def _read(self, read: Read) -> Iterator[list[tuple[Record, str]]]:
        """Read what is to be read; then the marks of the folders stand, but of those with a file that could not be."""
        unread = set(self.to_read)
        for batch in read(self.to_read):
            unread.difference_update(record.face.path for record, _ in batch)
            yield batch
        self._catalogue.put_marks(VAULT, self._marks | {folder_of(path): "" for path in unread})
        there = filter(lambda path: isfile(self._vault / path), sorted(unread))  # noqa: PTH113 - a path's own method may raise
        self.unreadable += [f"{path}: it cannot be read" for path in there]

    def _change(self, path: str, before: Seen, old: Mapping[str, str], new: Mapping[str, str]) -> Change:
        return Change(before, seen(self._catalogue, path), (old.get(path, ""), new.get(path, "")))

    def _is_note(self, path: str) -> bool:
        return path.endswith(".md") and self._catalogue.digest_and_look(path) is not None

    def _all_taken(self, read: Read) -> ScanResult:
        fresh = not self._catalogue.count()
        self._catalogue.drop(self.gone)
        self._catalogue.enter(self._fresh)
        for batch in self._read(read):
            self._put(batch, fresh=fresh)
        return ScanResult(self.all_notes(), {}, everything=True, every_list=True)

    def all_notes(self) -> frozenset[str]:
        """Return the paths of all notes, once everything is taken."""
        return frozenset(path for path in self._catalogue.paths() if path.endswith(".md"))

    def _is_news(self, record: Record) -> bool:
        """Tell whether a file that was read says something new; remember when it was written if not."""
        path = record.face.path
        known = self._catalogue.digest_and_look(path)
        if known is None or known[0] != record.digest or path in self._forced:
            return True
        self._catalogue.touch(path, *self.changed[path])
        return False

    def _put(self, entries: Sequence[tuple[Record, str]], *, fresh: bool = False) -> None:
        self._catalogue.put([(record, *self._look(record.face.path), words) for record, words in entries], fresh=fresh)

    def _look(self, path: str) -> Look:
        """How a file looked before it was read; one that only leads elsewhere looks as it did."""
        known = None if path in self.changed else self._catalogue.digest_and_look(path)
        return known[1] if known else self.changed[path]


def _wanted(folder: str, found: Folder) -> Iterator[tuple[str, Look]]:
    """The files of a folder that the site is made from."""
    for name, look in found.files.items():
        if _is_wanted(name):
            yield f"{folder}/{name}" if folder else name, look


def _is_wanted(name: str) -> bool:
    return suffix_of(name) in _READ and is_seen(name)
