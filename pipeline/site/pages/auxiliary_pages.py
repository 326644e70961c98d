"""The site's pages that no note makes: lists, search, feed, and the files that are only copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.changed_folders import is_seen, other_folders
from pipeline.site.files import Staged, read
from pipeline.site.invalidation import Change
from pipeline.site.pages import feeds, list_pages
from pipeline.site.pages.page_values import Site
from pipeline.site.pages.pagination import NoteList, moves_of, shelves
from pipeline.site.paths import file_of, is_shortened, product_of, suffix_of
from pipeline.site.rendering.page_templates import Layout
from pipeline.site.rendering.render_task import key_of
from pipeline.system.folder_fingerprint import Look
from pipeline.text.normalise import digest_of

ASSETS = "assets"
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|object|embed|!entity|[^>\s]*:script)|\son\w+\s*=|javascript:|data:text", re.IGNORECASE
)


class Extras:
    """Makes those pages, but those of which ``standing`` knows that they stand."""

    def __init__(self, site: Site, catalogue: Catalogue, layout: Layout, staged: Staged, standing: BuiltFiles) -> None:
        self._site = site
        self._catalogue = catalogue
        self._layout = layout
        self._staged = staged
        self._standing = standing
        self.problems: list[str] = []
        self.notices: list[str] = []

    def _put(self, path: str, key: str, make: Callable[[], bytes]) -> None:
        """Make a file unless what stands there has this key."""
        if self._standing.get(path) != key:
            self._staged.write_if_new(path, make())
            self._standing.add(path, key)

    def _put_page(self, template: str, page: object, path: str) -> None:
        key = key_of(self._layout.digest(template), self._site, page)
        self._put(path, key, lambda: self._layout.render(template, self._site, page))

    def others(self) -> set[str]:
        """Make the pages of all tags, of the search, and for addresses without a page; the feed. Return their site paths."""
        self._put_page("tags", list_pages.tags_page(self._site, self._catalogue), list_pages.TAGS)
        self._put_page("search", list_pages.search_page(self._site), "search.html")
        self._put_page("404", list_pages.missing_page(self._site), "404.html")
        reports = self._catalogue.newest("report", feeds.NEWEST)
        self._put_data(feeds.FEED, feeds.feed(self._site, reports))
        return {list_pages.TAGS, "search.html", "404.html", feeds.FEED}

    def some_lists(self, changes: Mapping[str, Change], *, every: bool) -> None:
        """Make the leaves of lists that may show what changed, and those that do not stand as they were made; or all."""
        moves = moves_of(changes.values())
        for shelf in self._shelves:
            moved = moves.get(shelf.key)
            touched = shelf.touched(moved) if moved and not every else set()
            for path, leaf in shelf.paths().items():
                if every or leaf in touched or not self._standing.get(path):
                    self._put_page("list", list_pages.list_leaf(self._site, shelf, leaf), path)

    def _put_data(self, path: str, data: bytes) -> None:
        self._put(path, digest_of(data), lambda: data)

    def list_paths(self) -> Iterator[str]:
        """Return the site path of each leaf of each list."""
        return (path for shelf in self._shelves for path in shelf.paths())

    @cached_property
    def _shelves(self) -> list[NoteList]:
        return shelves(self._catalogue)

    def copy_assets(self, templates: Path) -> Iterator[str]:
        """Copy the templates' assets; yield the site path of each."""
        for path in sorted(_below(templates / ASSETS)):
            data = read(templates / ASSETS, path) or b""
            self._put_data(f"{ASSETS}/{path}", data)
            yield f"{ASSETS}/{path}"

    def copy_images(self, vault: Path, images: Mapping[str, Look]) -> None:
        """Copy images of the vault; ``images`` maps the path of each to how it looks."""
        for path, look in images.items():
            key = key_of(tuple(look))
            if self._standing.get(file_of(path)) != key:
                self._copy(vault, path, key)

    def _copy(self, vault: Path, path: str, key: str) -> None:
        data = read(vault, path)
        if data is None:
            self.problems.append(f"{path}: not copied: it cannot be read")
            return
        if suffix_of(path) == ".svg" and _ACTIVE.search(data):
            self.notices.append(f"{path} is not copied: it may run scripts")
            return
        self.notices += [shortened(path)] if is_shortened(path) else []
        self._staged.write_if_new(file_of(path), data)
        self._standing.add(file_of(path), key, path)


def shortened(path: str) -> str:
    """Return what is to be said of a file with a name that is too long."""
    return f"{path} has too long a name; what is made of it is called {product_of(path)}"


def _below(folder: Path) -> Iterator[str]:
    """The paths of the files below a folder, but hidden ones."""
    for path, found in other_folders(folder, {}):
        yield from (f"{path}/{name}" if path else name for name in found.files if is_seen(name))
