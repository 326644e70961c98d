"""The files of the site: which of them stand as they were made, under which keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.folders import Look
from pipeline.site.catalogue import SITE, Catalogue, Page
from pipeline.site.files import temporary_name
from pipeline.site.looking import NO_FOLDER, other_folders
from pipeline.site.paths import folder_of

_NONE = Look(-1, -1)


class Standing:
    """The keys of the files that stand as they were made; what is made is added under its new key.

    ``everything``: as if no file stood as it was made. ``lost`` are those that do not, by path; how they look, if there.
    ``left_over`` are those whose temporary file a build that was cut off left beside them.
    """

    def __init__(self, catalogue: Catalogue, site: Path, *, everything: bool) -> None:
        self._catalogue = catalogue
        self._everything = everything
        self._added: dict[str, tuple[str, str | None]] = {}
        self.lost: dict[str, Look | None] = {}
        self.left_over: list[str] = []
        self._marks: dict[str, str | None] = {}
        for folder, found in other_folders(site, catalogue.marks(SITE)):
            self._compare(folder, {f"{folder}/{name}" if folder else name: look for name, look in found.files.items()})
            self._marks[folder] = None if found is NO_FOLDER else found.mark
        for path in self.lost:
            self._marks[folder_of(path)] = ""

    def _compare(self, folder: str, now: Mapping[str, Look]) -> None:
        known = self._catalogue.pages_in(folder)
        self.lost |= {path: now.get(path) for path, look in known.items() if now.get(path) != look}
        self.left_over += [path for path in known if temporary_name(path) in now]

    def get(self, path: str) -> str:
        """Return the key of a file, "" if it does not stand as it was made."""
        if path in self._added:
            return self._added[path][0]
        page = None if self._everything or path in self.lost else self._catalogue.page(path)
        return page.key if page else ""

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.get(path) != ""

    def __setitem__(self, path: str, key: str) -> None:
        self.add(path, key)

    def add(self, path: str, key: str, source: str | None = None) -> None:
        """Take note that a file stands as made under this key, from that file of the vault."""
        self._added[path] = key, source

    def unmade(self) -> Iterator[Page]:
        """Yield what is known of each file that does not stand as it was made."""
        yield from (page for path in self.lost if (page := self._catalogue.page(path)))
        yield from (page for page in self._catalogue.pages_in_doubt() if page.path not in self.lost)

    def settle(self, written: Mapping[str, Look], removed: Iterable[str]) -> None:
        """Remember what was added, how what was ``written`` looks, and what was ``removed``."""
        gone = list(removed)
        self._catalogue.drop_pages(gone)
        self._catalogue.put_pages(self._rows(written))
        # What was written to is compared once more by the next build: then it is known to have stayed so.
        self._marks |= {folder_of(path): "" for path in (*written, *gone)}
        self._catalogue.put_marks(SITE, self._marks)

    def _rows(self, written: Mapping[str, Look]) -> Iterator[Page]:
        for path, (key, source) in self._added.items():
            known = self._catalogue.page(path)
            look = written.get(path) or self.lost.get(path) or (Look(known.size, known.mtime) if known else _NONE)
            page = Page(path, source, key, *look)
            if page != known:
                yield page
