"""``render_order``: renders the notes of one session, or the note of one source.

The result depends only on the order, on the paths and links in ``model``, and on the templates, so any process may render it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.domain.state import workers_in_order
from pipeline.errors import LogError
from pipeline.vault import load
from pipeline.vault.cache.catalogue import StoredReading, readings_from, stored_readings
from pipeline.vault.notes.report_note import report_note
from pipeline.vault.notes.session_note import session_note
from pipeline.vault.notes.source_note import Around, Changed, source_note
from pipeline.vault.notes.worker_note import worker_note
from pipeline.vault.output.note import Note
from pipeline.vault.rendering import generated_file
from pipeline.vault.rendering.generated_file import GeneratedFile
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import Asked, LoadedSession, Source, VaultModel


class SessionUnreadable(Exception):
    """A session with a readable outline whose other events cannot be read. ``name`` is its id, ``error`` the reason."""

    def __init__(self, name: str, error: LogError) -> None:
        super().__init__(name, error)
        self.name, self.error = name, error


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """A session, its events as JSON, and the kinds of its notes to render. ``learn``: its card and readings are wanted too.

    ``asked`` is what was asked about it since.
    """

    name: str
    events: Sequence[bytes]
    wanted: frozenset[str]
    learn: bool
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """The address of a source, its readings as the catalogue stores them, the changes between them, and what is around quotes."""

    url: str
    readings: tuple[bytes, ...]
    changes: tuple[Changed, ...]
    around: Around


Order = SessionOrder | SourceOrder


@dataclass(frozen=True, slots=True)
class RenderResult:
    """An order's files; for an order with ``learn`` also the session's card, and its readings as the catalogue stores them."""

    files: tuple[GeneratedFile, ...]
    card: Card | None = None
    readings: tuple[StoredReading, ...] = ()


def render_order(order: Order, model: VaultModel, renderer: Renderer) -> RenderResult:
    """Return the rendered files of one order.

    Raises:
        TemplateInvalid: a template is missing or faulty.
        SessionUnreadable: a session cannot be read to its end.
    """
    return _source(order, model, renderer) if isinstance(order, SourceOrder) else _session(order, model, renderer)


def _source(order: SourceOrder, model: VaultModel, renderer: Renderer) -> RenderResult:
    source = Source(order.url, model.sources[order.url], readings_from(order.readings))
    if not any(reading.shown for reading in source.readings):
        return RenderResult(())  # no result leads to it; the workers' notes name it, with what they found there
    return RenderResult((rendered(renderer, f"source:{order.url}", source_note(model, source, order.changes, order.around)),))


def _session(order: SessionOrder, model: VaultModel, renderer: Renderer) -> RenderResult:
    try:
        loaded = load.whole(order.name, order.events).loaded(model.by_id[order.name])
    except LogError as error:
        raise SessionUnreadable(order.name, error) from error
    loaded = replace(loaded, asked=order.asked)
    owner = f"session:{order.name}"
    files = tuple(rendered(renderer, owner, note) for note in _notes(model, loaded, order.wanted))
    if not order.learn:
        return RenderResult(files)
    return RenderResult(files, loaded.card, stored_readings(loaded.readings))


def rendered(renderer: Renderer, owner: str, note: Note) -> GeneratedFile:
    """Return a note, ready to be written.

    Raises:
        TemplateInvalid: the note's template is missing or faulty.
    """
    return generated_file.of_note(owner, note, renderer.render(note))


def _notes(model: VaultModel, loaded: LoadedSession, wanted: frozenset[str]) -> Iterator[Note]:
    """The notes of one session that are of the ``wanted`` kinds: its own, its report's, its workers'."""
    report = loaded.state.report
    if "session" in wanted:
        yield session_note(model, loaded)
    if "report" in wanted and report:
        yield report_note(model, loaded, report)
    elif "report" in wanted and loaded.state.status == "not-found":
        yield report_note(model, loaded)
    if "worker" in wanted:
        own = (worker for worker in workers_in_order(loaded.state) if worker.id not in loaded.folded)
        yield from (worker_note(model, loaded, worker) for worker in own)
