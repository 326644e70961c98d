"""Long tables: stores the order of their notes between builds, so that a build only has to place changed notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pipeline.site.cache.catalogue import Catalogue
from pipeline.site.cache.note_record import Face
from pipeline.site.markdown import bases
from pipeline.text.normalise import digest_of

LONG = 500  # notes among which a table's are; the order of fewer is found each time
Read = Callable[[str], bytes | None]


def table_in(slot: Sequence[str], read: Read) -> tuple[str, str] | None:
    """Return the base text and the view's name of a slot with a table; None for another slot."""
    if slot[0] == "base":
        return slot[1], ""
    if slot[0].endswith(".base"):
        return (read(slot[0]) or b"").decode("utf-8", "replace"), slot[1]
    return None


def mark_of(table: tuple[str, str]) -> str:
    """Return the id of a table in the catalogue."""
    return digest_of("\0".join(table).encode("utf-8", "replace"))


def candidates(catalogue: Catalogue, view: bases.View) -> list[Face]:
    """Return the notes that a view may show, on any page."""
    return catalogue.tagged(view.tags) if view.tags else catalogue.every_note()


def row_of(catalogue: Catalogue, found: Face, here: str = "") -> bases.Row:
    """Return what a table in the note ``here`` can show of a note."""
    rest = catalogue.rest(found.path)
    own = {"title": found.title, "kind": found.kind, "created": found.created, "status": found.status}
    known = dict(rest.properties) | {name: [value] for name, value in own.items() if value}
    leads = bool(here) and catalogue.leads(found.path, here)
    return bases.Row(found.path, frozenset(tag.lower() for tag in rest.tags), known, leads)


def follow(catalogue: Catalogue, changes: Iterable[str]) -> None:
    """Update the stored orders after changes of notes; the catalogue has the changes already."""
    paths = [path for path in changes if path.lower().endswith(".md")]
    for gone in [path for path in paths if catalogue.face(path) is None]:
        catalogue.orders.drop(gone)
    for mark, table in catalogue.orders.all().items():
        view = bases.view_of(*table)
        faces = filter(None, map(catalogue.face, paths))
        catalogue.orders.rank(mark, paths, _ranked(catalogue, view, faces))


def keep(catalogue: Catalogue, pages: Iterable[str], read: Read) -> None:
    """Store the orders of the long tables on these notes' pages in place of their earlier ones."""
    for path in pages:
        tables = [table for slot in catalogue.rest(path).slots if (table := table_in(slot, read))]
        kept = catalogue.orders.all()
        catalogue.orders.drop(path, {mark_of(table) for table in tables})
        for table in tables:
            if mark_of(table) not in kept:
                _keep(catalogue, path, table)


def _keep(catalogue: Catalogue, path: str, table: tuple[str, str]) -> None:
    try:
        view = bases.view_of(*table)
    except bases.BaseUnsupported:
        return
    faces = candidates(catalogue, view) if view.anywhere else []
    if len(faces) >= LONG:
        catalogue.orders.begin(path, mark_of(table), *table)
        catalogue.orders.rank(mark_of(table), (), _ranked(catalogue, view, faces))


def _ranked(catalogue: Catalogue, view: bases.View, faces: Iterable[Face]) -> list[tuple[bytes, str]]:
    rows = (row_of(catalogue, face) for face in faces)
    return [(bases.place_of(view, row), row.path) for row in rows if view.test(row)]
