"""The site's pages that no note makes: lists, search, feed, and the files that are only copied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.folders import Look
from pipeline.site import feeds, lists
from pipeline.site.affected import Change
from pipeline.site.catalogue import Catalogue
from pipeline.site.files import Staged, read
from pipeline.site.layout import Layout
from pipeline.site.looking import is_seen, other_folders
from pipeline.site.pages import ListPage, Site
from pipeline.site.paths import file_of, list_page, suffix_of, tag_list
from pipeline.site.standing import Standing
from pipeline.site.wording import LISTS
from pipeline.site.workshop import key_of
from pipeline.text import digest_of

ASSETS = "assets"
_ACTIVE = re.compile(
    rb"<\s*(?:script|foreignobject|iframe|object|embed|!entity|[^>\s]*:script)|\son\w+\s*=|javascript:|data:text", re.IGNORECASE
)


class Extras:
    """Makes those pages, but those of which ``standing`` knows that they stand."""

    def __init__(self, site: Site, catalogue: Catalogue, layout: Layout, staged: Staged, standing: Standing) -> None:
        self._site = site
        self._catalogue = catalogue
        self._layout = layout
        self._staged = staged
        self._standing = standing
        self.problems: list[str] = []

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
        self._put_page("tags", lists.tags_page(self._site, self._catalogue), lists.TAGS)
        self._put_page("search", lists.search_page(self._site), "search.html")
        self._put_page("404", lists.missing_page(self._site), "404.html")
        reports = self._catalogue.newest("report", feeds.NEWEST)
        self._put_data(feeds.FEED, feeds.feed(self._site, reports))
        return {lists.TAGS, "search.html", "404.html", feeds.FEED}

    def some_lists(self, changes: Mapping[str, Change], *, every: bool) -> None:
        """Make the lists that may show what changed, or all."""
        shown = [change for change in changes.values() if change.shows]
        kinds = {face.kind for change in shown for face in (change.before.face, change.after.face) if face}
        tags = {tag for change in shown for tag in change.tags}
        for name, kind in LISTS.items():
            if every or kind in kinds:
                self._leaves(lists.kind_lists(self._site, self._catalogue, name))
        for tag, spelt, _ in self._catalogue.tags():
            if (every or tag in tags) and lists.has_list(tag):
                self._leaves(lists.tag_lists(self._site, self._catalogue, tag, spelt))

    def _leaves(self, leaves: Iterable[ListPage]) -> None:
        for leaf in leaves:
            self._put_page("list", leaf, leaf.path)

    def _put_data(self, path: str, data: bytes) -> None:
        self._put(path, digest_of(data), lambda: data)

    def list_paths(self) -> Iterator[str]:
        """Yield the site path of each leaf of each list."""
        kinds = self._catalogue.kinds()
        names = [(name, kinds.get(kind, 0)) for name, kind in LISTS.items()]
        names += [(tag_list(tag), count) for tag, _, count in self._catalogue.tags() if lists.has_list(tag)]
        for name, count in names:
            yield from (list_page(name, number) for number in range(1, lists.older_leaves(count) + 1))
            yield list_page(name)

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
        if data is None or (suffix_of(path) == ".svg" and _ACTIVE.search(data)):
            self.problems.append(f"{path}: not copied: {'it may run scripts' if data else 'it cannot be read'}")
            return
        self._staged.write_if_new(file_of(path), data)
        self._standing.add(file_of(path), key, path)


def _below(folder: Path) -> Iterator[str]:
    """The paths of the files below a folder, but hidden ones."""
    for path, found in other_folders(folder, {}):
        yield from (f"{path}/{name}" if path else name for name in found.files if is_seen(name))
