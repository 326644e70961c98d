"""The vault made from the events: what shows something new is made, all of it rendered, and only then what differs is written.

The catalogue (``events/local/projection.sqlite``) remembers what the log said at the last build and what was made of it. A build
that ignores it makes the same bytes.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Literal

from pipeline.domain import fold_id
from pipeline.errors import ResearchError
from pipeline.ports import EventStore
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.database import FILE, CatalogueFile, lost
from pipeline.vault.cache.drift import SETTLED, VaultDrift, name_of_templates
from pipeline.vault.output import property_types
from pipeline.vault.output.writer import BuildReport

Mode = Literal["new", "all", "check"]


def build_vault(store: EventStore, *, templates: Path, vault: Path, state_dir: Path, mode: Mode = "new") -> BuildReport:
    """Make ``vault`` hold the notes of all that ``store`` holds; return what was written, removed and set aside.

    ``templates`` holds ``<kind>.md.j2`` for each kind of note; what is remembered between builds is kept in ``state_dir``. Mode
    ``new`` makes only what shows something new; ``all`` makes everything; ``check`` makes everything and tells what would be done
    to the vault, but does nothing. The same events and templates always give the same bytes; a second build writes nothing. A
    session whose log is damaged or missing is named in the report's problems, its notes stay as they are, and no file is removed
    then; the notes of one that is written off go.

    Raises:
        TemplateInvalid: a template is missing or faulty; no note was changed.
        ResearchError: the disk refuses, or another build is under way.
    """
    try:
        return _built(store, templates, vault, state_dir, mode)
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        raise ResearchError(f"{state_dir / FILE} cannot be written: {error}", hint=_FREE) from error
    except sqlite3.DatabaseError:  # damaged: what it held can be worked out again
        lost(state_dir)
        return _built(store, templates, vault, state_dir, mode)


_FREE = "free some space or allow writing there; the file may also be deleted: then all notes are made anew"


def _built(store: EventStore, templates: Path, vault: Path, state_dir: Path, mode: Mode) -> BuildReport:
    with closing(CatalogueFile(state_dir, layout_id(), passing=mode == "check")) as file:
        marks = store.marks()  # now that no other build is under way: none may know of streams that this one does not
        if mode == "new" and (report := _up_to_date(file, marks, templates, vault)):
            return report
        from pipeline.vault.build_stages import Build  # all that makes notes
        from pipeline.vault.cache.catalogue import Catalogue

        catalogue = Catalogue(state_dir, layout_id(), begun=file)
        return Build(store, templates, vault, catalogue, mode, marks).report()


def _up_to_date(file: CatalogueFile, marks: Mapping[str, str], templates: Path, vault: Path) -> BuildReport | None:
    """The report of a build that has nothing to do; None if there may be something."""
    settled = file.recall(SETTLED) if file.is_current else ""
    if not settled or marks != {**file.session_marks(), **file.batch_marks()} or settled != name_of_templates(templates):
        return None
    with closing(Tree(vault)) as tree:
        standing = VaultDrift(tree, file.files)
        if standing.unlike or not property_types.are_complete(tree):
            return None
        steps = standing.keep({})
        file.commit()
        return BuildReport(unchanged=file.files.number(), steps=steps, marks=marks)


@cache
def layout_id() -> str:
    """Return a name for this very program, as far as it decides what notes say: the digest of its sources."""
    here = Path(__file__).parent
    files = (*sorted(here.rglob("*.py")), *sorted((here.parent / "text").glob("*.py")))
    sources = b"".join(path.read_bytes() for path in files)
    return hashlib.sha256(sources + fold_id().encode()).hexdigest()[:16]
