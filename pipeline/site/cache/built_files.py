"""``BuiltFiles``: which files of the site are as they were built, and under which keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from pipeline.site.cache.catalogue import SITE, Catalogue, Page
from pipeline.site.changed_folders import NO_FOLDER, all_folders
from pipeline.site.files import temporary_name
from pipeline.site.paths import folder_of
from pipeline.system.folder_fingerprint import Look

_NONE = Look(-1, -1)


class BuiltFiles:
    """The keys of the unchanged files of the site; a build adds the files that it renders under their new keys.

    ``everything``: treat all files as changed. ``lost`` are the missing and changed files by path, with size and time if they
    exist. ``left_over`` are files with a temporary file that an interrupted build left.
    """

    def __init__(self, catalogue: Catalogue, site: Path, *, everything: bool) -> None:
        self._catalogue = catalogue
        self._everything = everything
        self._added: dict[str, tuple[str, str | None]] = {}
        self.lost: dict[str, Look | None] = {}
        self.left_over: list[str] = []
        self._marks = catalogue.marks(SITE)
        self._found = {path: found for path, found in all_folders(site) if found}
        self._other = {
            folder: found
            for folder in self._marks.keys() | self._found.keys()
            if (found := self._found.get(folder, NO_FOLDER)).mark != self._marks.get(folder)
        }
        for folder, found in self._other.items():
            self._compare(folder, {f"{folder}/{name}" if folder else name: look for name, look in found.files.items()})

    @property
    def is_sound(self) -> bool:
        """Tell whether every file is as the last build left it, and no build was interrupted."""
        return not self._other and not self._catalogue.pages_in_doubt()

    def _compare(self, folder: str, now: Mapping[str, Look]) -> None:
        known = self._catalogue.pages_in(folder)
        self.lost |= {path: now.get(path) for path, look in known.items() if now.get(path) != look}
        self.left_over += [path for path in known if temporary_name(path) in now]

    def get(self, path: str) -> str:
        """Return the key of a file; "" if it is missing or was changed."""
        if path in self._added:
            return self._added[path][0]
        page = None if self._everything or path in self.lost else self._catalogue.page(path)
        return page.key if page else ""

    def add(self, path: str, key: str, source: str | None = None) -> None:
        """Add a file that this build rendered or found unchanged: its key, and the file of the vault that it shows."""
        self._added[path] = key, source

    def changed_files(self) -> Iterator[Page]:
        """Yield the stored data of each file that is missing, was changed, or was in doubt after an interruption."""
        yield from (page for path in self.lost if (page := self._catalogue.page(path)))
        yield from (page for page in self._catalogue.pages_in_doubt() if page.path not in self.lost)

    def record(self, written: dict[str, Look], removed: Iterable[str]) -> None:
        """Store the added files with size and time of those ``written``, and delete those ``removed``."""
        gone = list(removed)
        self._catalogue.drop_pages(gone)
        self._catalogue.put_pages(self._rows(written))
        self._keep_marks(written | dict.fromkeys(gone))

    def _keep_marks(self, touched: Mapping[str, Look | None]) -> None:
        """Store the folders' marks, computed from their state before the build: other changes since then show next time."""
        by_folder: dict[str, dict[str, Look | None]] = {folder: {} for folder in self._found}
        for path, look in touched.items():
            by_folder.setdefault(folder_of(path), {})[path.rpartition("/")[2]] = look
        for folder in list(by_folder):
            while folder := folder_of(folder):
                by_folder.setdefault(folder, {})
        incomplete = {folder_of(path) for path in self.lost.keys() - touched.keys() - self._added.keys()}
        now: dict[str, str | None] = dict.fromkeys(self._marks)
        for folder, changed in by_folder.items():
            found = self._found.get(folder, NO_FOLDER)
            now[folder] = "" if folder in incomplete else found.with_files(changed).mark if changed else found.mark
        self._catalogue.put_marks(SITE, {folder: mark for folder, mark in now.items() if mark != self._marks.get(folder)})

    def _rows(self, written: Mapping[str, Look]) -> Iterator[Page]:
        there = cache(lambda folder: self._found.get(folder, NO_FOLDER).files)
        for path, (key, source) in self._added.items():
            known = self._catalogue.page(path)
            if known and known.size >= 0 and path not in self.lost and path not in written:
                look = Look(known.size, known.mtime)
            else:  # a file that was not written is as it was found, even if it was unknown
                look = written.get(path) or there(folder_of(path)).get(path.rpartition("/")[2], _NONE)
            if (page := Page(path, source, key, *look)) != known:
                yield page
