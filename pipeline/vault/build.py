"""``build_vault``: brings the notes of the vault up to date with the event log, or finds that they are.

A catalogue (``events/local/projection.sqlite``) records what the log contained at the last build and which files were written. A
build that ignores it writes the same bytes. ``changed_notes`` renders and writes; it is imported only if there is work.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.domain import fold_id
from pipeline.errors import SystemRefused
from pipeline.ports import EventStore
from pipeline.system.program_id import program_id
from pipeline.system.safe_tree import Tree
from pipeline.vault.cache.database import (
    DECISIONS,
    FILE,
    PRUNED,
    SETTLED,
    CatalogueFile,
    pruned_pages,
    remove_damaged,
    templates_fingerprint,
)
from pipeline.vault.cache.stream_mark import IMPORTS, TALKS, stream_mark
from pipeline.vault.output import property_types
from pipeline.vault.output.writer import BuildReport

if TYPE_CHECKING:
    from pipeline.domain.events.event_base import EventBase

    Record = Callable[[Sequence[EventBase]], None]
    from pipeline.vault.paths import Workers

Mode = Literal["new", "all", "check"]


def build_vault(
    store: EventStore,
    *,
    templates: Path,
    vault: Path,
    state_dir: Path,
    mode: Mode = "new",
    compiled: Path | None = None,
    workers: Workers = "notes",
    record: Record | None = None,
) -> BuildReport:
    """Bring the notes in ``vault`` up to date with the log in ``store``; return what was written, removed and set aside.

    ``templates`` contains ``<kind>.md.j2`` for each kind of note; ``state_dir`` keeps the catalogue between builds, and
    ``compiled`` the compiled templates (see ``TemplateFolder``). Mode ``new`` renders only notes with new content; ``all``
    renders every note; ``check`` renders every note and reports what would change, but writes nothing. ``workers`` have
    ``notes``, or are ``folded`` into their session's. The same events and templates always give the same bytes, so a second
    build writes nothing. If the log of a session is damaged or missing, the report lists it as a problem, its notes stay as they
    are, and this build removes no file. The notes of a session that was written off are removed.

    A note that a person moved is kept up to date where it is now, one that a person removed is no longer made. ``record`` stores
    these decisions in the log before any file is written; without it they last until the next build.

    Raises:
        TemplateInvalid: a template is missing or faulty; no note was changed.
        SystemRefused: the disk cannot be written, or another build is running.
    """
    try:
        return _build(store, templates, vault, state_dir, mode, compiled, workers, record)
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        raise SystemRefused(f"{state_dir / FILE} cannot be written: {error}", hint=_FREE) from error
    except sqlite3.DatabaseError:  # damaged: everything in it can be computed again
        remove_damaged(state_dir)
        return _build(store, templates, vault, state_dir, mode, compiled, workers, record)


_FREE = "free some space or allow writing there; you may also delete the file, then all notes are built again"


def _build(
    store: EventStore,
    templates: Path,
    vault: Path,
    state_dir: Path,
    mode: Mode,
    compiled: Path | None,
    workers: Workers,
    record: Record | None,
) -> BuildReport:
    layout = layout_id(workers)
    with closing(CatalogueFile(state_dir, layout, in_memory=mode == "check")) as file:
        marks = store.marks()  # only now that this build has the lock: no other build may know more streams than this one
        decided = "\n".join(f"{name} {mark}" for name, mark in store.marks(["vault"]).items())
        same = stream_mark(store, "talk") == file.recall(TALKS)
        same &= stream_mark(store, "import") == file.recall(IMPORTS)
        same &= file.recall(PRUNED) == pruned_pages(store)
        if mode == "new" and same and (report := _unchanged_report(file, marks, decided, templates, vault)):
            return report
        from pipeline.vault.build_stages import Build  # all that makes notes
        from pipeline.vault.cache.catalogue import Catalogue
        from pipeline.vault.rendering.templates import Renderer

        catalogue = Catalogue(state_dir, layout, shared=file)
        return Build(store, Renderer(templates, compiled), vault, catalogue, mode, marks, workers, record).run()


def _unchanged_report(
    file: CatalogueFile, marks: Mapping[str, str], decided: str, templates: Path, vault: Path
) -> BuildReport | None:
    """The report of a build with nothing to do; None if a stream, a template or a file of the vault has changed.

    ``decided`` are the marks of the streams of decisions. A file that is new in a folder may be a note that somebody put back.
    """
    settled = file.recall(SETTLED) if file.is_current else ""
    if not settled or marks != {**file.session_marks(), **file.batch_marks()} or settled != templates_fingerprint(templates):
        return None
    with closing(Tree(vault)) as tree:
        drift = file.files.drift(tree)
        if decided != file.recall(DECISIONS) or drift.folders:
            return None
        if not property_types.are_complete(tree):
            return None
        steps = drift.record({})
        file.commit()
        return BuildReport(unchanged=file.files.count(), steps=steps, marks=marks)


def layout_id(workers: Workers = "notes") -> str:
    """Return a name for the sources of the program, and the setting, that decide which notes there are and what they say.

    A change of it invalidates the catalogue.
    """
    return f"{program_id('vault')}-{fold_id()}-{workers}"
