"""Which pages may look different when some notes changed. Too many cost a little time; too few would be a fault."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.site.catalogue import Catalogue
from pipeline.site.notes import Face


@dataclass(frozen=True, slots=True)
class Seen:
    """What was known of a file at one moment: no ``face``, no file. ``shown`` stands for all that a table can show of it."""

    face: Face | None
    shown: str
    tags: frozenset[str]
    targets: frozenset[str]
    beside: frozenset[str]


def seen(catalogue: Catalogue, path: str) -> Seen:
    """Return what is known of a file now."""
    face = catalogue.face(path)
    if face is None:
        return Seen(None, "", frozenset(), frozenset(), frozenset())
    rest = catalogue.rest(path)
    targets = frozenset(target.path for target in catalogue.targets(path))
    beside = frozenset(other.path for other in catalogue.beside(face) if other)
    return Seen(face, repr((rest.properties, rest.tags)), frozenset(tag.lower() for tag in rest.tags), targets, beside)


@dataclass(frozen=True, slots=True)
class Effects:
    """Notes whose pages may differ, and the kinds and tags whose lists may."""

    pages: frozenset[str]
    kinds: frozenset[str]
    tags: frozenset[str]


def effects(catalogue: Catalogue, before: dict[str, Seen], after: dict[str, Seen]) -> Effects:
    """Return what the step from ``before`` to ``after`` may change; both know the same paths, and the catalogue is after it."""
    pages: set[str] = set(before)
    kinds: set[str] = set()
    tags: set[str] = set()
    for path, old in before.items():
        new = after[path]
        pages |= (old.targets ^ new.targets) | catalogue.showers(path)
        if (old.face, old.shown) != (new.face, new.shown):
            pages |= old.targets | new.targets | old.beside | new.beside | _linking(catalogue, path)
            kinds |= {face.kind for face in (old.face, new.face) if face}
            tags |= old.tags | new.tags
    pages |= catalogue.watchers(tags) if kinds else set()
    return Effects(frozenset(pages), frozenset(kinds), frozenset(tags))


def _linking(catalogue: Catalogue, path: str) -> set[str]:
    """The notes that link to a file, and those that show a canvas which does."""
    faces = catalogue.linkers(path)
    canvases = [face.path for face in faces if face.kind == "canvas"]
    return {face.path for face in faces}.union(*map(catalogue.showers, canvases))
