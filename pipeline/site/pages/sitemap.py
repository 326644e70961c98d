"""``SiteMaps``: the site map as one file, or beyond its limit one for each segment of the notes, one for lists, and an index.

A file may hold 50,000 addresses (sitemaps.org). The file of a segment is written again when a note of it was
added, removed or changed its day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.files import Staged
from pipeline.site.pages.feeds import MAP, Address, map_of_maps, site_map
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import HOME, page_of
from pipeline.site.rendering.render_task import key_of
from pipeline.site.search_index.segments import EVERYTHING, Extent, Pending
from pipeline.text.normalise import digest_of

LIMIT = 50_000  # addresses in a file
_PREFIX, _SUFFIX = MAP.removesuffix(".xml") + "-", ".xml"
_LISTS, _FIRST = "lists", "first"


class SiteMaps:
    """Writes the files of the site map."""

    def __init__(self, site: Site, catalogue: Catalogue, staged: Staged, built: BuiltFiles, pending: Pending) -> None:
        self._site = site
        self._catalogue = catalogue
        self._staged = staged
        self._built = built
        self._pending = pending
        self._key = key_of(site.url)

    def write(self, notes: int, lists: Iterable[str]) -> set[str]:
        """Write what changed; ``notes`` is their number, ``lists`` are site paths. Return the site paths of all files."""
        home = self._catalogue.face(HOME)
        others = [(page_of(HOME), home.date if home else ""), *((path, "") for path in sorted(set(lists)))]
        if notes + len(others) <= LIMIT:
            return self._one(others)
        return self._several(others)

    def _one(self, others: Sequence[Address]) -> set[str]:
        key = key_of(self._key, others)
        if self._pending.map or self._built.get(MAP) != key:
            self._put(MAP, key, site_map(self._site, [*others, *self._addresses(EVERYTHING)]))
        return {MAP}

    def _several(self, others: Sequence[Address]) -> set[str]:
        present: dict[str, list[str]] = {}
        for path in self._catalogue.page_paths(_PREFIX):
            present.setdefault(path.removeprefix(_PREFIX).partition(".")[0], []).append(path)
        paths = self._cut(_LISTS, others)
        for name, extent in self._pending.segments.extents.items():
            part = name or _FIRST
            known = present.get(part, [])
            sound = known and name not in self._pending.map and all(self._built.get(path) == self._key for path in known)
            paths += known if sound else self._cut(part, sorted(self._addresses(extent)))
        data = map_of_maps(self._site, sorted(paths))
        self._put(MAP, digest_of(data), data)
        return {MAP, *paths}

    def _cut(self, part: str, addresses: Sequence[Address]) -> list[str]:
        """Write the files of a part, each with at most ``LIMIT`` addresses; return their site paths."""
        paths = []
        for start in range(0, len(addresses), LIMIT):
            paths.append(f"{_PREFIX}{part}{f'.{start // LIMIT + 1}' if start else ''}{_SUFFIX}")
            self._put(paths[-1], self._key, site_map(self._site, addresses[start : start + LIMIT]))
        return paths

    def _addresses(self, extent: Extent) -> Iterator[Address]:
        """Yield the pages of the notes except the home page, which is always listed."""
        return ((page_of(path), created[:10]) for created, path in self._catalogue.places(*extent) if path != HOME)

    def _put(self, path: str, key: str, data: bytes) -> None:
        self._staged.write_if_new(path, data)
        self._built.add(path, key)
