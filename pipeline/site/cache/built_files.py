"""``BuiltFiles``: which files of the site are as they were built, and under which keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.site.cache.catalogue import Catalogue, Page
from pipeline.site.files import temporary_name
from pipeline.system.folder_fingerprint import Look, all_folders
from pipeline.system.manifest import Drift

_NONE = Look(-1, -1)


class BuiltFiles:
    """The keys of the unchanged files of the site; a build adds the files that it renders under their new keys.

    ``everything``: treat all files as changed. ``left_over`` are files with a temporary file that an interrupted build left.
    """

    def __init__(self, catalogue: Catalogue, site: Path, *, everything: bool) -> None:
        self._catalogue = catalogue
        self._everything = everything
        self._added: dict[str, tuple[str, str | None]] = {}
        self._drift = Drift(catalogue.pages, {path: found for path, found in all_folders(site) if found})
        known = (path for folder in self._drift.folders for path in catalogue.pages.looks_in(folder))
        self.left_over = [path for path in known if self._drift.look(temporary_name(path))]

    @property
    def is_sound(self) -> bool:
        """Tell whether every file is as the last build left it, and no build was interrupted."""
        return not self._drift.folders and not self._catalogue.pages_in_doubt()

    def get(self, path: str) -> str:
        """Return the key of a file; "" if it is missing or was changed."""
        if path in self._added:
            return self._added[path][0]
        page = None if self._everything or path in self._drift.files else self._catalogue.page(path)
        return page.key if page else ""

    def add(self, path: str, key: str, source: str | None = None) -> None:
        """Add a file that this build rendered or found unchanged: its key, and the file of the vault that it shows."""
        self._added[path] = key, source

    def changed_files(self) -> Iterator[Page]:
        """Yield the stored data of each file that is missing, was changed, or was in doubt after an interruption."""
        yield from (page for path in self._drift.files if (page := self._catalogue.page(path)))
        yield from (page for page in self._catalogue.pages_in_doubt() if page.path not in self._drift.files)

    def record(self, written: dict[str, Look], removed: Iterable[str]) -> None:
        """Store the added files with size and time of those ``written``, and delete those ``removed``."""
        gone = list(removed)
        self._catalogue.pages.drop(gone)
        self._catalogue.put_pages(self._rows(written))
        self._drift.record(written | dict.fromkeys(gone), self._added)

    def _rows(self, written: Mapping[str, Look]) -> Iterator[Page]:
        for path, (key, source) in self._added.items():
            known = self._catalogue.page(path)
            if known and known.size >= 0 and path not in self._drift.files and path not in written:
                look = Look(known.size, known.mtime)
            else:  # a file that was not written is as it was found, even if it was unknown
                look = written.get(path) or self._drift.look(path) or _NONE
            if (page := Page(path, source, key, *look)) != known:
                yield page
