"""What changed in the vault since the last build, read into the catalogue; and what that leaves to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.site.affected import effects, seen
from pipeline.site.catalogue import Catalogue, Known
from pipeline.site.files import Stat
from pipeline.site.notes import Record

_MASS = 0.2  # of the files: when more are read than that, it is cheaper to look at all pages than to ask which
_FEW = 50

Read = Callable[[Sequence[str]], Iterable[list[tuple[Record, str]]]]


@dataclass(frozen=True, slots=True)
class Todo:
    """Notes whose pages may differ; kinds and tags whose lists may (``every_list``: all); terms before and after, by note."""

    pages: frozenset[str]
    kinds: frozenset[str]
    tags: frozenset[str]
    terms: Mapping[str, tuple[str, str]]
    every_list: bool

    @property
    def lists(self) -> bool:
        """Tell whether any list may differ."""
        return bool(self.kinds or self.tags or self.every_list)


class Survey:
    """The state of the vault against what is known of it. ``found`` maps each file to its size and time of change."""

    def __init__(self, catalogue: Catalogue, found: dict[str, Stat], everything: bool) -> None:
        self._catalogue = catalogue
        self._found = found
        self._known: dict[str, Known] = catalogue.known()
        self._everything = everything
        self.notes = frozenset(path for path in found if path.endswith(".md"))
        self._gone = self._known.keys() - found.keys()
        self._forced = self._leading_elsewhere()
        self.to_read = sorted(self._forced | {path for path in found if everything or self._differs(path)})

    def _differs(self, path: str) -> bool:
        known = self._known.get(path)
        return known is None or (known.size, known.mtime) != self._found[path]

    def _leading_elsewhere(self) -> set[str]:
        """Notes with a link that means something else now, because files came or went."""
        moved = self._gone | (self._found.keys() - self._known.keys())
        if not self._known or not moved:
            return set()
        linking = {face.path for path in self._gone for face in self._catalogue.linkers(path)}
        return (self._catalogue.naming(moved) | linking) & self._found.keys()

    def taken(self, read: Read) -> Todo:
        """Read what changed into the catalogue; return what there is to do."""
        if len(self.to_read) > max(_FEW, _MASS * len(self._found)):
            return self._all_taken(read)
        entries = [entry for batch in read(self.to_read) for entry in batch if self._is_news(entry[0])]
        paths = sorted({record.face.path for record, _ in entries} | self._gone)
        before = {path: seen(self._catalogue, path) for path in paths}
        terms = self._catalogue.terms(paths)
        self._put(entries)
        done = effects(self._catalogue, before, {path: seen(self._catalogue, path) for path in paths})
        new_terms = {record.face.path: words for record, words in entries}
        words = {path: (terms.get(path, ""), new_terms.get(path, "")) for path in paths if path.endswith(".md")}
        return Todo(done.pages & self.notes, done.kinds, done.tags, words, every_list=False)

    def _all_taken(self, read: Read) -> Todo:
        fresh = not self._known
        old = self._catalogue.terms(self._known)
        new: dict[str, str] = {}
        self._catalogue.drop(self._gone)
        self._catalogue.enter(self._found)
        for batch in read(self.to_read):
            self._catalogue.put([(record, *self._found[record.face.path], words) for record, words in batch], fresh=fresh)
            new |= {record.face.path: words for record, words in batch}
        terms = {path: (old.get(path, ""), new.get(path, "")) for path in new.keys() | self._gone if path.endswith(".md")}
        return Todo(self.notes, frozenset(), frozenset(), terms, every_list=True)

    def _is_news(self, record: Record) -> bool:
        """Tell whether a file that was read says something new; remember when it was written if not."""
        path = record.face.path
        known = self._known.get(path)
        if known is None or known.digest != record.digest or path in self._forced:
            return True
        self._catalogue.touch(path, *self._found[path])
        return False

    def _put(self, entries: Sequence[tuple[Record, str]]) -> None:
        self._catalogue.drop(self._gone)
        self._catalogue.enter(record.face.path for record, _ in entries)
        self._catalogue.put([(record, *self._found[record.face.path], words) for record, words in entries])
