"""Which pages may look different when some notes changed. Too many cost a little time; too few would be a fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face


@dataclass(frozen=True, slots=True)
class Seen:
    """What was known of a file at one moment: no ``face``, no file. ``shown`` stands for all that a table can show of it.

    ``spelt`` are its tags as it writes them.
    """

    face: Face | None
    shown: str
    spelt: frozenset[str]
    targets: frozenset[str]
    beside: frozenset[str]

    @property
    def tags(self) -> frozenset[str]:
        """Its tags in small letters."""
        return frozenset(tag.lower() for tag in self.spelt)


def seen(catalogue: Catalogue, path: str) -> Seen:
    """Return what is known of a file now."""
    face = catalogue.face(path)
    if face is None:
        return Seen(None, "", frozenset(), frozenset(), frozenset())
    rest = catalogue.rest(path)
    targets = frozenset(target.path for target in catalogue.targets(path))
    beside = frozenset(other.path for other in catalogue.beside(face) if other)
    return Seen(face, repr((rest.properties, rest.tags)), frozenset(rest.tags), targets, beside)


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a file of the vault. ``terms``: its search terms before and after, "" where it has none."""

    before: Seen
    after: Seen
    terms: tuple[str, str] = ("", "")

    @property
    def shows(self) -> bool:
        """Tell whether other pages, lists and tables may show it otherwise than before."""
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
            pages |= old.targets | new.targets | old.beside | new.beside | _linking(catalogue, path)
    shown = [change for change in changes.values() if change.shows]
    return pages | (catalogue.watchers({tag for change in shown for tag in change.tags}) if shown else set())


def _linking(catalogue: Catalogue, path: str) -> set[str]:
    """The notes that link to a file, and those that show a canvas which does."""
    faces = catalogue.linkers(path)
    canvases = [face.path for face in faces if face.kind == "canvas"]
    return {face.path for face in faces}.union(*map(catalogue.showers, canvases))
