"""The files of single sessions, made in this process or, when there are many, in one on each processor.

What a session's files are made from is a value: where everything stands (``library``), the templates, and the session's records.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from pipeline.errors import LogError, ResearchError
from pipeline.ports import Record
from pipeline.projection import fresh, opening
from pipeline.projection.canvas import canvas_of
from pipeline.projection.cards import Card, readings_of
from pipeline.projection.catalogue import Kept, kept
from pipeline.projection.charts import charts_of
from pipeline.projection.fresh import Fresh
from pipeline.projection.library import Library, Study
from pipeline.projection.notes import Note, Plain
from pipeline.projection.report_note import report_note
from pipeline.projection.session_note import session_note
from pipeline.projection.templates import Renderer
from pipeline.projection.worker_note import worker_note
from pipeline.state import workers_in_order

FIGURE = "figure"
WORTH_IT = 400  # sessions; fewer are done before another process has started
_MOST = 4
_ENDED = "was memory short? run `research build` again"
_BATCH = 8  # sessions that a process is given at once
_AHEAD = 2  # batches that it has been given and not yet answered


class Unreadable(Exception):
    """A session whose outline could be read, but not the rest. ``name`` is its id, ``error`` says why."""

    def __init__(self, name: str, error: LogError) -> None:
        super().__init__(name, error)
        self.name, self.error = name, error


@dataclass(frozen=True, slots=True)
class Order:
    """A session of which files of the ``wanted`` kinds are to be made. ``learn``: what other notes need of it is wanted too."""

    name: str
    records: Sequence[Record]
    wanted: frozenset[str]
    learn: bool


@dataclass(frozen=True, slots=True)
class Made:
    """A session's whole card and readings as the catalogue keeps them (None and empty if not wanted), and its files."""

    name: str
    card: Card | None
    readings: tuple[Kept, ...]
    files: tuple[Fresh, ...]


def made(orders: Iterator[Order], number: int, library: Library, renderer: Renderer) -> Iterator[Made]:
    """Yield what was made of each of ``number`` orders, in their order.

    Raises:
        TemplateInvalid: a template is missing or faulty.
        Unreadable: a session cannot be read to its end.
        ResearchError: a process that was at work has ended.
    """
    processes = min(_MOST, os.cpu_count() or 1)
    if number < WORTH_IT or processes == 1:
        yield from (made_of(order, library, renderer) for order in orders)
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy whatever threads hold at that moment
    with ProcessPoolExecutor(processes, context, _begin, (library, renderer.folder)) as pool:
        try:
            yield from _answers(pool, orders, _AHEAD * processes)
        except BrokenProcessPool as error:
            raise ResearchError(
                "a process that makes notes has ended", hint="was memory short? run `research build` again"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _answers(pool: ProcessPoolExecutor, orders: Iterator[Order], ahead: int) -> Iterator[Made]:
    given: deque[Future[list[Made]]] = deque()
    while batch := list(islice(orders, _BATCH)):
        given.append(pool.submit(_serve, batch))
        if len(given) > ahead:
            yield from given.popleft().result()
    while given:
        yield from given.popleft().result()


_place: tuple[Library, Renderer] | None = None  # of a process that does nothing but make


def _begin(library: Library, templates: Path) -> None:
    global _place
    _place = library, Renderer(templates)


def _serve(orders: list[Order]) -> list[Made]:
    if _place is None:
        raise RuntimeError("the process was not begun")
    return [made_of(order, *_place) for order in orders]


def made_of(order: Order, library: Library, renderer: Renderer) -> Made:
    """Return what is made of one session.

    Raises:
        TemplateInvalid: a template is missing or faulty.
        Unreadable: it cannot be read to its end.
    """
    try:
        study = opening.whole(order.name, order.records).study(library.by_id[order.name])
    except LogError as error:
        raise Unreadable(order.name, error) from error
    owner = f"session:{order.name}"
    files = tuple(rendered(renderer, owner, content) for content in _contents(library, study, order.wanted))
    if not order.learn:
        return Made(order.name, None, (), files)
    return Made(order.name, study.card, kept(readings_of(study.state, study.reported_at)), files)


def rendered(renderer: Renderer, owner: str, content: Note | Plain) -> Fresh:
    """Return a note or another file ready to be put in place.

    Raises:
        TemplateInvalid: the note's template is missing or faulty.
    """
    if isinstance(content, Plain):
        return fresh.of_plain(owner, FIGURE, content)
    return fresh.of_note(owner, content, renderer.render(content))


def _contents(library: Library, study: Study, wanted: frozenset[str]) -> Iterator[Note | Plain]:
    """The files of one session that are of the ``wanted`` kinds: its own, its report's, its workers', its drawings."""
    report = study.state.report
    if "session" in wanted:
        yield session_note(library, study)
    if "report" in wanted and report:
        yield report_note(library, study, report)
    if "worker" in wanted:
        yield from (worker_note(library, study, worker) for worker in workers_in_order(study.state))
    if FIGURE in wanted:
        yield from chain([canvas_of(study)], charts_of(study))
