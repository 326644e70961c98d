"""``AuxiliaryPages``: the site's files that belong to no note: lists, tags, search, feed, error page, assets and images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import Catalogue, CataloguedPlaces
from pipeline.site.cache.note_record import Face, body_of
from pipeline.site.files import Staged, read
from pipeline.site.invalidation import Change
from pipeline.site.markdown.note_draft import Draft
from pipeline.site.markdown.note_to_html import Reader
from pipeline.site.pages import feeds, list_pages
from pipeline.site.pages.page_values import Site
from pipeline.site.pages.pagination import NoteList, all_lists, moves_of
from pipeline.site.paths import HOME, file_of, is_shortened, product_of, suffix_of
from pipeline.site.public import PublicVault
from pipeline.site.rendering.page_templates import Layout
from pipeline.site.rendering.render_task import key_of
from pipeline.system.folder_fingerprint import NO_FOLDER, Look, all_folders, is_seen
from pipeline.text.labels import in_all_languages
from pipeline.text.normalise import digest_of

ASSETS = "assets"
_OLD_SEARCH = (
    "its search is of an earlier version and cannot read the index: `research templates update` brings "
    "_base.html.j2, search.html.j2 and assets/search* up to date (edited ones with --replace, which keeps a copy)"
)
NIGHTS_IN_FEED = 7  # with their text: answers and failures
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|object|embed|!entity|[^>\s]*:script)|\son\w+\s*=|javascript:|data:text", re.IGNORECASE
)


class AuxiliaryPages:
    """Renders and copies these files, except those that ``built`` knows as unchanged."""

    def __init__(self, site: Site, catalogue: Catalogue, layout: Layout, staged: Staged, built: BuiltFiles) -> None:
        self._site = site
        self._catalogue = catalogue
        self._layout = layout
        self._staged = staged
        self._built = built
        self.problems: list[str] = []
        self.notices: list[str] = []

    def _put(self, path: str, key: str, make: Callable[[], bytes]) -> None:
        """Write a file unless the present one has this key."""
        if self._built.get(path) != key:
            self._staged.write_if_new(path, make())
            self._built.add(path, key)

    def _put_page(self, template: str, page: object, path: str) -> None:
        key = key_of(self._layout.digest(template), self._site, page)
        self._put(path, key, lambda: self._layout.render(template, self._site, page))

    def render_single_pages(self, vault: PublicVault) -> set[str]:
        """Write the pages for tags, search and missing pages, and the feed; return their site paths."""
        self._put_page("tags", list_pages.tags_page(self._site, self._catalogue), list_pages.TAGS)
        self._put_page("search", list_pages.search_page(self._site), "search.html")
        self._put_page("404", list_pages.missing_page(self._site), "404.html")
        front = {"index.html"} if self._catalogue.face(HOME) is None else set()
        for path in front:
            self._put_data(path, list_pages.front_page(self._catalogue))
        items = [feeds.Item(face) for face in self._catalogue.newest("report", feeds.NEWEST)]
        items += [feeds.Item(face, self._night_html(vault, face)) for face in self._catalogue.newest("night", NIGHTS_IN_FEED)]
        self._put_data(feeds.FEED, feeds.feed(self._site, feeds.newest_first(items)))
        return {list_pages.TAGS, "search.html", "404.html", feeds.FEED, *front}

    def _night_html(self, vault: PublicVault, face: Face) -> str:
        """What a night found and what failed, with links as in the feed; the tables of its runs are left to its page."""
        text = body_of(vault.read(face.path) or b"")
        for runs in in_all_languages("Runs"):
            text = text.partition(f"\n## {runs}\n")[0]
        draft = Reader().read(text, Draft(face.path, self._site.url, CataloguedPlaces(self._catalogue)))
        return "".join(part for part in draft.parts() if isinstance(part, str)).strip()

    def render_lists(self, changes: Mapping[str, Change], *, every: bool) -> None:
        """Render the pages of lists that may show a change or are not as they were built; with ``every`` all."""
        moves = moves_of(changes.values())
        for note_list in self._lists:
            moved = moves.get(note_list.key)
            touched = note_list.touched(moved) if moved and not every else set()
            for path, page in note_list.paths().items():
                if every or page in touched or not self._built.get(path):
                    self._put_page("list", list_pages.page_of_list(self._site, note_list, page), path)

    def _put_data(self, path: str, data: bytes) -> None:
        self._put(path, digest_of(data), lambda: data)

    def list_paths(self) -> Iterator[str]:
        """Return the site path of each page of each list."""
        return (path for note_list in self._lists for path in note_list.paths())

    @cached_property
    def _lists(self) -> list[NoteList]:
        return all_lists(self._catalogue)

    def copy_assets(self, templates: Path) -> Iterator[str]:
        """Copy the templates' assets; yield the site path of each."""
        paths = sorted(_below(templates / ASSETS))
        self.notices += [_OLD_SEARCH] if "search.js" in paths and "search-index.js" not in paths else []
        for path in paths:
            data = read(templates / ASSETS, path) or b""
            self._put_data(f"{ASSETS}/{path}", data)
            yield f"{ASSETS}/{path}"

    def copy_images(self, vault: Path, images: Mapping[str, Look]) -> None:
        """Copy images of the vault, given by path with size and time."""
        for path, look in images.items():
            key = key_of(tuple(look))
            if self._built.get(file_of(path)) != key:
                self._copy(vault, path, key)

    def _copy(self, vault: Path, path: str, key: str) -> None:
        data = read(vault, path)
        if data is None:
            self.problems.append(f"{path}: not copied, because it cannot be read")
            return
        if suffix_of(path) == ".svg" and _ACTIVE.search(data):
            self.notices.append(f"{path} is not copied: it may run scripts")
            return
        self.notices += [long_name_notice(path)] if is_shortened(path) else []
        self._staged.write_if_new(file_of(path), data)
        self._built.add(file_of(path), key, path)


def long_name_notice(path: str) -> str:
    """Return the notice for a file whose name is too long."""
    return f"{path} has a name that is too long; its file on the site is called {product_of(path)}"


def _below(folder: Path) -> Iterator[str]:
    """The paths of all files below a folder, except hidden ones."""
    for path, found in all_folders(folder):
        yield from (f"{path}/{name}" if path else name for name in (found or NO_FOLDER).files if is_seen(name))
