"""The site's pages that no note makes: lists, search, feed, map, and the files that are only copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pipeline.site import feeds, lists, words
from pipeline.site.affected import Change
from pipeline.site.catalogue import Catalogue
from pipeline.site.files import Staged, Stat, read, site_files
from pipeline.site.layout import Layout
from pipeline.site.pages import Site
from pipeline.site.paths import IMAGES, file_of, suffix_of
from pipeline.site.shelves import Shelf, moves_of, shelves
from pipeline.site.workshop import key_of

ASSETS = "assets"
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|object|embed|!entity|[^>\s]*:script)|\son\w+\s*=|javascript:|data:text", re.IGNORECASE
)


class Extras:
    """Makes those pages. ``keys`` holds the keys of the pages that stand as they were made; each new one is put there."""

    def __init__(self, site: Site, catalogue: Catalogue, layout: Layout, staged: Staged, keys: dict[str, str]) -> None:
        self._site = site
        self._catalogue = catalogue
        self._layout = layout
        self._staged = staged
        self.keys = keys
        self.problems: list[str] = []

    def _put(self, path: str, key: str, make: Callable[[], bytes]) -> None:
        """Make a file unless what stands there has this key."""
        if self.keys.get(path) != key:
            self._staged.write_if_new(path, make())
            self.keys[path] = key

    def _put_page(self, template: str, page: object, path: str) -> None:
        key = key_of(self._layout.digest(template), self._site, page)
        self._put(path, key, lambda: self._layout.render(template, self._site, page))

    def others(self) -> set[str]:
        """Make the pages of all tags, of the search, and for addresses without a page; feed and map. Return their site paths."""
        self._put_page("tags", lists.tags_page(self._site, self._catalogue), lists.TAGS)
        self._put_page("search", lists.search_page(self._site), "search.html")
        self._put_page("404", lists.missing_page(self._site), "404.html")
        self._feeds()
        return {lists.TAGS, "search.html", "404.html", feeds.FEED, feeds.MAP}

    def some_lists(self, changes: Mapping[str, Change], *, every: bool) -> None:
        """Make the leaves of lists that may show what changed, and those that do not stand as they were made; or all."""
        moves = moves_of(changes.values())
        for shelf in self._shelves:
            moved = moves.get(shelf.key)
            touched = shelf.touched(moved) if moved and not every else set()
            for path, leaf in shelf.paths().items():
                if every or leaf in touched or path not in self.keys:
                    self._put_page("list", lists.list_leaf(self._site, shelf, leaf), path)

    def _feeds(self) -> None:
        reports = self._catalogue.newest("report", feeds.NEWEST)
        self._put_data(feeds.FEED, feeds.feed(self._site, reports))
        self._put_data(feeds.MAP, feeds.site_map(self._site, self._catalogue.days(), sorted(self.list_paths())))

    def _put_data(self, path: str, data: bytes) -> None:
        self._put(path, key_of(data), lambda: data)

    def list_paths(self) -> Iterator[str]:
        """Return the site path of each leaf of each list."""
        return (path for shelf in self._shelves for path in shelf.paths())

    @cached_property
    def _shelves(self) -> list[Shelf]:
        return shelves(self._catalogue)

    def copies(self, templates: Path, vault: Path, found: dict[str, Stat]) -> Iterator[str]:
        """Copy the templates' assets and the vault's images; yield the site path of each."""
        for path in sorted(site_files(templates / ASSETS)):
            data = read(templates / ASSETS, path) or b""
            self._put_data(f"{ASSETS}/{path}", data)
            yield f"{ASSETS}/{path}"
        for path in sorted(path for path in found if suffix_of(path) in IMAGES):
            if self._copy(vault, path, found[path]):
                yield file_of(path)

    def _copy(self, vault: Path, path: str, stat: Stat) -> bool:
        key = key_of(stat)
        if self.keys.get(file_of(path)) != key:
            data = read(vault, path)
            if data is None or (suffix_of(path) == ".svg" and _ACTIVE.search(data)):
                self.problems.append(f"{path}: not copied: {'it may run scripts' if data else 'it cannot be read'}")
                return False
            self._staged.write_if_new(file_of(path), data)
            self.keys[file_of(path)] = key
        return True

    def whole_index(self, terms: dict[str, str]) -> Iterator[str]:
        """Make the search index of all notes, whose terms are given by path; yield the site path of each of its files."""
        everything = {**words.meta_file(len(terms)), **words.note_files(self._catalogue.every_note())}
        for path, data in (*everything.items(), *words.word_files(terms)):
            self._put_data(path, data)
            yield path

    def changed_index(self, changes: Mapping[str, Change], notes: int) -> dict[str, bool]:
        """Change the index where notes changed; return which files it touched are still needed.

        Raises:
            ValueError: a file of the index is not what it was made as.
        """
        terms = {path: change.terms for path, change in changes.items() if path.endswith(".md")}
        made = dict(words.changed(terms, self._catalogue.face, lambda path: read(self._staged.site, path) or b""))
        for file, data in (*made.items(), *words.meta_file(notes).items()):
            if data is not None:
                self._put_data(file, data)
        return {file: data is not None for file, data in made.items()}
