"""``Index``: updates the search index, segment by segment, and writes only the files that changed."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.site.cache.built_files import BuiltFiles
from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.files import Staged, read
from pipeline.site.search_index import index_shards
from pipeline.site.search_index.segments import Pending
from pipeline.site.search_index.terms import unpacked
from pipeline.text.normalise import digest_of

FOLDER = "search"
_MANY = 300  # changed notes of a segment: with more, all its files are written


class Index:
    """Writes the files of the search index."""

    def __init__(self, catalogue: Catalogue, staged: Staged, built: BuiltFiles, pending: Pending) -> None:
        self._catalogue = catalogue
        self._staged = staged
        self._built = built
        self._pending = pending

    def write(self, notes: int) -> set[str]:
        """Write what changed; ``notes`` is their number. Return the site paths of all files of the index."""
        known = self._known()
        folders = {name: f"{name}/" if name else "" for name in self._pending.segments.extents}
        meta = self._put("meta", index_shards.meta(notes, folders.values()))
        return {meta}.union(*(self._segment(name, folder, known.get(folder, set())) for name, folder in folders.items()))

    def _known(self) -> dict[str, set[str]]:
        """The files of the last build, by the folder of their segment."""
        found: dict[str, set[str]] = {}
        for path in self._catalogue.page_paths(f"{FOLDER}/"):
            folder = path.removeprefix(f"{FOLDER}/").rpartition("/")
            if path != _path("meta"):
                found.setdefault(folder[0] + folder[1], set()).add(path)
        return found

    def _segment(self, name: str, folder: str, known: set[str]) -> set[str]:
        changes = self._pending.changes.get(name, [])
        sound = name not in self._pending.index and all(self._built.get(path) for path in known)
        if sound and len(changes) <= _MANY:
            try:
                return self._changed(folder, changes, known)
            except ValueError:
                pass  # a file is not as it was built
        written = self._catalogue.written(*self._pending.segments.extents[name])
        entries = ((face, unpacked(searched)) for face, searched in written)
        return {self._put(folder + file, held) for file, held in index_shards.whole(entries)}

    def _changed(self, folder: str, changes: Iterable[index_shards.Change], known: set[str]) -> set[str]:
        paths = set(known)
        files = list(index_shards.changed(changes, lambda file: self._held(_path(folder + file), known)))
        for file, held in files:
            if held:
                paths.add(self._put(folder + file, held))
            else:
                paths.discard(_path(folder + file))
        return paths

    def _held(self, path: str, known: set[str]) -> index_shards.Held:
        return index_shards.loaded(read(self._staged.site, path) or b"") if path in known else {}

    def _put(self, name: str, held: index_shards.Held) -> str:
        path, data = _path(name), index_shards.script(name, held)
        key = digest_of(data)
        if self._built.get(path) != key:
            self._staged.write_if_new(path, data)
            self._built.add(path, key)
        return path


def _path(name: str) -> str:
    return f"{FOLDER}/{name}.js"
