"""The vault made from the events: read all, view all, render all, and only then write what differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.ports import EventStore
from pipeline.projection import library as shelves
from pipeline.projection.home_note import home_note
from pipeline.projection.library import Contents, Library, Study
from pipeline.projection.night_note import night_note
from pipeline.projection.notes import Note
from pipeline.projection.output import BuildReport, Output
from pipeline.projection.report_note import report_note
from pipeline.projection.session_note import session_note
from pipeline.projection.source_note import source_note
from pipeline.projection.templates import Renderer
from pipeline.projection.worker_note import worker_note
from pipeline.state import workers_in_order


def build_vault(store: EventStore, *, templates: Path, vault: Path, state_dir: Path) -> BuildReport:
    """Make ``vault`` hold the notes of all that ``store`` holds; return what was written, removed and set aside.

    ``templates`` holds ``<kind>.md.j2`` for each kind of note; the manifest is kept in ``state_dir``.
    The same events and templates always give the same bytes; a second build writes nothing. A session whose log is damaged is
    named in the report's problems, its notes stay as they are, and no note is removed in that build.

    Raises:
        TemplateInvalid: a template is missing or faulty; no note was changed.
        ResearchError: the disk refuses.
    """
    found = shelves.read(store)
    renderer = Renderer(templates)
    rendered = [renderer.render(note) for note in notes(found)]
    problems = found.library.problems
    report = Output(vault, state_dir).place(rendered, remove_stale=not problems)
    return replace(report, problems=(*problems, *report.problems))


def notes(found: Contents) -> Iterator[Note]:
    """Yield every note of the vault as a value."""
    library = found.library
    yield home_note(library)
    for night in library.nights:
        yield night_note(library, night)
    for study in found.studies:
        yield from own_notes(library, study)
    for source in found.sources:
        yield source_note(library, source)


def own_notes(library: Library, study: Study) -> Iterator[Note]:
    """Yield the notes of one session: its own, its report's, its workers'."""
    yield session_note(library, study)
    if study.state.report:
        yield report_note(library, study, study.state.report)
    for worker in workers_in_order(study.state):
        yield worker_note(library, study, worker)
