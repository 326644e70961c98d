"""Orders made here and, when there are many, in further processes, one on each further processor.

This process works too: it makes what the others, who have been given enough to be at, have not. A busy machine, on which they
come to little, then costs no time; and of the memory that a process takes there is one less.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path

from pipeline.errors import ResearchError
from pipeline.projection.library import Library
from pipeline.projection.templates import Renderer
from pipeline.projection.workshop import Made, Order, made_of

WORTH_IT = 50  # batches; fewer are done before another process has started
_MOST = 4
_AHEAD = 2  # batches that a process has been given and not yet answered


class Crew:
    """The makers of one build. Close it when done."""

    def __init__(self, library: Library, renderer: Renderer) -> None:
        self._library, self._renderer = library, renderer
        self._others = min(_MOST, os.cpu_count() or 1) - 1
        self._pool: ProcessPoolExecutor | None = None

    def close(self) -> None:
        """End the processes; what they are at is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def made(self, orders: Iterable[Order], number: int, batch: int) -> Iterator[Made]:
        """Yield what was made of each of ``number`` orders, in any order; ``batch`` are handed over at once.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            Unreadable: a session cannot be read to its end.
            ResearchError: a process that was at work has ended.
        """
        if self._pool is None and self._others and number >= WORTH_IT * batch:
            self._pool = self._started()
        if self._pool is None:
            yield from (made_of(order, self._library, self._renderer) for order in orders)
            return
        try:
            yield from self._shared(self._pool, _batches(orders, batch))
        except BrokenProcessPool as error:
            raise ResearchError(
                "a process that makes notes has ended", hint="was memory short? run `research build` again"
            ) from error

    def _started(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # a fork would copy whatever threads hold at that moment
        return ProcessPoolExecutor(self._others, context, _begin, (self._library, self._renderer.folder))

    def _shared(self, pool: ProcessPoolExecutor, batches: Iterator[list[Order]]) -> Iterator[Made]:
        given: deque[Future[list[Made]]] = deque()
        for batch in batches:
            if len(given) < _AHEAD * self._others:
                given.append(pool.submit(_serve, batch))
                continue
            yield from (made_of(order, self._library, self._renderer) for order in batch)
            while given and given[0].done():
                yield from given.popleft().result()
        while given:
            yield from given.popleft().result()


def _batches(orders: Iterable[Order], size: int) -> Iterator[list[Order]]:
    left = iter(orders)
    while batch := list(islice(left, size)):
        yield batch


_place: tuple[Library, Renderer] | None = None  # of a process that does nothing but make


def _begin(library: Library, templates: Path) -> None:
    global _place
    _place = library, Renderer(templates)
    gc.freeze()  # nothing of it goes before the process does
    gc.set_threshold(50_000, 20, 100)


def _serve(orders: Sequence[Order]) -> list[Made]:
    if _place is None:
        raise RuntimeError("the process was not begun")
    return [made_of(order, *_place) for order in orders]
