"""One order, and the files that are made of it: a session's own, its report's, its workers' and drawings, or a source's note.

All that is made is a function of the order, of where everything stands (``library``), and of the templates; so it does not matter
which process makes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from pipeline.domain.state import workers_in_order
from pipeline.errors import LogError
from pipeline.vault import load
from pipeline.vault.cache.catalogue import StoredReading, kept, readings_from
from pipeline.vault.charts.canvas import canvas_of
from pipeline.vault.charts.session_charts import charts_of
from pipeline.vault.notes.report_note import report_note
from pipeline.vault.notes.session_note import session_note
from pipeline.vault.notes.source_note import Changed, source_note
from pipeline.vault.notes.worker_note import worker_note
from pipeline.vault.output.note import Note, Plain
from pipeline.vault.rendering import generated_file
from pipeline.vault.rendering.generated_file import GeneratedFile
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.session_card import Card, readings_of
from pipeline.vault.vault_model import LoadedSession, Source, VaultModel

FIGURE = "figure"


class Unreadable(Exception):
    """A session whose outline could be read, but not the rest. ``name`` is its id, ``error`` says why."""

    def __init__(self, name: str, error: LogError) -> None:
        super().__init__(name, error)
        self.name, self.error = name, error


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """A session, its events as JSON, and which kinds of its files are wanted. ``learn``: so is what other notes need of it."""

    name: str
    events: Sequence[bytes]
    wanted: frozenset[str]
    learn: bool


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The address of a source, its readings as the catalogue keeps them, and what changed between them."""

    url: str
    readings: tuple[bytes, ...]
    changes: tuple[Changed, ...]


Order = SessionOrder | SourceOrder


@dataclass(frozen=True, slots=True)
class RenderResult:
    """An order's files; of a session that was to be learnt also its whole card, and its readings as the catalogue keeps them."""

    files: tuple[GeneratedFile, ...]
    card: Card | None = None
    readings: tuple[StoredReading, ...] = ()


def made_of(order: Order, library: VaultModel, renderer: Renderer) -> RenderResult:
    """Return what is made of one order.

    Raises:
        TemplateInvalid: a template is missing or faulty.
        Unreadable: a session cannot be read to its end.
    """
    return _source(order, library, renderer) if isinstance(order, SourceOrder) else _session(order, library, renderer)


def _source(order: SourceOrder, library: VaultModel, renderer: Renderer) -> RenderResult:
    source = Source(order.url, library.sources[order.url], readings_from(order.readings))
    return RenderResult((rendered(renderer, f"source:{order.url}", source_note(library, source, order.changes)),))


def _session(order: SessionOrder, library: VaultModel, renderer: Renderer) -> RenderResult:
    try:
        loaded = load.whole(order.name, order.events).loaded(library.by_id[order.name])
    except LogError as error:
        raise Unreadable(order.name, error) from error
    owner = f"session:{order.name}"
    files = tuple(rendered(renderer, owner, content) for content in _contents(library, loaded, order.wanted))
    if not order.learn:
        return RenderResult(files)
    return RenderResult(files, loaded.card, kept(readings_of(loaded.state, loaded.card.reported_at, loaded.standings)))


def rendered(renderer: Renderer, owner: str, content: Note | Plain) -> GeneratedFile:
    """Return a note or another file ready to be put in place.

    Raises:
        TemplateInvalid: the note's template is missing or faulty.
    """
    if isinstance(content, Plain):
        return generated_file.of_plain(owner, FIGURE, content)
    return generated_file.of_note(owner, content, renderer.render(content))


def _contents(library: VaultModel, loaded: LoadedSession, wanted: frozenset[str]) -> Iterator[Note | Plain]:
    """The files of one session that are of the ``wanted`` kinds: its own, its report's, its workers', its drawings."""
    report = loaded.state.report
    if "session" in wanted:
        yield session_note(library, loaded)
    if "report" in wanted and report:
        yield report_note(library, loaded, report)
    elif "report" in wanted and loaded.state.status == "not-found":
        yield report_note(library, loaded)
    if "worker" in wanted:
        yield from (worker_note(library, loaded, worker) for worker in workers_in_order(loaded.state))
    if FIGURE in wanted:
        yield from chain([canvas_of(loaded)], charts_of(loaded))
