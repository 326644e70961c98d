"""Which pages must be rendered again after a change of the vault: one too many costs a little time, one too few is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face


@dataclass(frozen=True, slots=True)
class FileState:
    """The catalogue's data of a file at one moment; ``face`` is None if there is no file. ``shown`` is all that tables can show.

    ``spelt`` are its tags as written in the note.
    """

    face: Face | None
    shown: str
    spelt: frozenset[str]
    targets: frozenset[str]
    beside: frozenset[str]

    @property
    def tags(self) -> frozenset[str]:
        """Its tags in lower case."""
        return frozenset(tag.lower() for tag in self.spelt)


def file_state(catalogue: Catalogue, path: str) -> FileState:
    """Return the catalogue's data of a file."""
    face = catalogue.face(path)
    if face is None:
        return FileState(None, "", frozenset(), frozenset(), frozenset())
    rest = catalogue.rest(path)
    targets = frozenset(target.path for target in catalogue.targets(path))
    beside = frozenset(other.path for other in catalogue.beside(face) if other)
    return FileState(face, repr((rest.properties, rest.tags)), frozenset(rest.tags), targets, beside)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file of the vault. ``terms``: what is searched of it before and after, "" for none."""

    before: FileState
    after: FileState
    terms: tuple[str, str] = ("", "")

    @property
    def shows(self) -> bool:
        """Tell whether other pages, lists and tables may show it differently."""
        return (self.before.face, self.before.shown) != (self.after.face, self.after.shown)

    @property
    def tags(self) -> frozenset[str]:
        """The tags that it has or had."""
        return self.before.tags | self.after.tags


def pages_showing(catalogue: Catalogue, changes: Mapping[str, Change]) -> set[str]:
    """Return the notes whose pages may differ after these changes, by path; the catalogue is after them."""
    pages = set(changes)
    for path, change in changes.items():
        old, new = change.before, change.after
        pages |= (old.targets ^ new.targets) | catalogue.showers(path)
        if change.shows:
            pages |= old.targets | new.targets | old.beside | new.beside | {face.path for face in catalogue.linkers(path)}
    shown = [change for change in changes.values() if change.shows]
    return pages | (catalogue.watchers({tag for change in shown for tag in change.tags}) if shown else set())
