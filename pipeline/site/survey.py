"""What changed in the vault since the last build, read into the catalogue; and what that leaves to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.site.affected import Change, pages_showing, seen
from pipeline.site.catalogue import Catalogue, Known
from pipeline.site.files import Stat
from pipeline.site.notes import Record

_MASS = 0.2  # of the files: when more are read than that, it is cheaper to look at all pages than to ask which
_FEW = 50

Read = Callable[[Sequence[str]], Iterable[list[tuple[Record, str]]]]


@dataclass(frozen=True, slots=True)
class Todo:
    """Notes whose pages may differ; what changed, by path. ``everything``: so much that all lists and the whole index may differ.

    ``every_list``: all lists may, for whatever reason.
    """

    pages: frozenset[str]
    changes: Mapping[str, Change]
    everything: bool = False
    every_list: bool = False

    @property
    def lists(self) -> bool:
        """Tell whether any list may differ."""
        return self.everything or self.every_list or any(change.shows for change in self.changes.values())


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
        old, new = self._catalogue.terms(paths), {record.face.path: words for record, words in entries}
        self._put(entries)
        changes = {
            path: Change(before[path], seen(self._catalogue, path), (old.get(path, ""), new.get(path, ""))) for path in paths
        }
        return Todo(frozenset(pages_showing(self._catalogue, changes) & self.notes), changes)

    def _all_taken(self, read: Read) -> Todo:
        fresh = not self._known
        self._catalogue.drop(self._gone)
        self._catalogue.enter(self._found)
        for batch in read(self.to_read):
            self._catalogue.put([(record, *self._found[record.face.path], words) for record, words in batch], fresh=fresh)
        return Todo(self.notes, {}, everything=True)

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
