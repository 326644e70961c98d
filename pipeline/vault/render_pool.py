"""Orders made here and, when there are many, in further processes, one on each further processor.

This process works too: it makes what the others, who have been given enough to be at, have not. A busy machine, on which they
come to little, then costs no time; and of the memory that a process takes there is one less.
"""

from __future__ import annotations

import logging
import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile

from pipeline.system.worker_pool import begin, processors, spawning
from pipeline.vault.output.templates import Renderer
from pipeline.vault.render_task import Order, RenderResult, made_of
from pipeline.vault.vault_model import VaultModel

WORTH_IT = 50  # batches; fewer are done before another process has started
_MOST = 3  # processes in all; each holds some 100 MB
_AHEAD = 2  # batches that a process has been given and not yet answered
_log = logging.getLogger("pipeline.vault")


class Crew:
    """The makers of one build. Close it when done. When another process dies (memory, usually), this one makes the rest."""

    def __init__(self, library: VaultModel, renderer: Renderer) -> None:
        self._library, self._renderer = library, renderer
        self._others = processors(_MOST) - 1
        self._pool: ProcessPoolExecutor | None = None
        self._open = ExitStack()

    def close(self) -> None:
        """End the processes; what they are at is dropped."""
        self._open.close()

    def made(self, orders: Iterable[Order], number: int, batch: int) -> Iterator[RenderResult]:
        """Yield what was made of each of ``number`` orders, in any order; ``batch`` are handed over at once.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            Unreadable: a session cannot be read to its end.
        """
        if self._pool is None and self._others and number >= WORTH_IT * batch:
            self._start()
        given: deque[tuple[list[Order], Future[list[RenderResult]]]] = deque()
        for some in _batches(orders, batch):
            if len(given) < _AHEAD * self._others and (future := self._give(some)):
                given.append((some, future))
                continue
            yield from map(self._make, some)
            while given and given[0][1].done():
                yield from self._answer(*given.popleft())
        while given:
            yield from self._answer(*given.popleft())

    def _start(self) -> None:
        try:
            self._pool = self._open.enter_context(_started(self._others, self._library, self._renderer.folder))
        except OSError as error:
            self._go_on_alone(error)

    def _give(self, orders: list[Order]) -> Future[list[RenderResult]] | None:
        """What another process will have made of them; None if there is no such process."""
        if self._pool is None:
            return None
        try:
            return self._pool.submit(_serve, orders)
        except (BrokenProcessPool, OSError) as error:
            self._go_on_alone(error)
            return None

    def _answer(self, orders: list[Order], future: Future[list[RenderResult]]) -> Iterable[RenderResult]:
        try:
            return future.result()
        except BrokenProcessPool as error:
            self._go_on_alone(error)
            return map(self._make, orders)

    def _make(self, order: Order) -> RenderResult:
        return made_of(order, self._library, self._renderer)

    def _go_on_alone(self, why: Exception) -> None:
        if self._others:
            _log.warning("a process that helps to make notes has ended (%s); the work goes on without it", why)
        self._pool, self._others = None, 0


@contextmanager
def _started(number: int, library: VaultModel, templates: Path) -> Iterator[ProcessPoolExecutor]:
    """Processes that make. What they must know is much, so they read it from a file: a pipe that none reads blocks for ever."""
    with NamedTemporaryFile(prefix="research-") as file:
        pickle.dump(library, file, pickle.HIGHEST_PROTOCOL)
        file.flush()
        pool = ProcessPoolExecutor(number, spawning(), _begin, (Path(file.name), templates))
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def _batches(orders: Iterable[Order], size: int) -> Iterator[list[Order]]:
    left = iter(orders)
    while batch := list(islice(left, size)):
        yield batch


_place: tuple[VaultModel, Renderer] | None = None  # of a process that does nothing but make


def _begin(library: Path, templates: Path) -> None:
    global _place
    _place = pickle.loads(library.read_bytes()), Renderer(templates)  # noqa: S301 - written by the process that asks
    begin()


def _serve(orders: Sequence[Order]) -> list[RenderResult]:
    if _place is None:
        raise RuntimeError("the process was not begun")
    return [made_of(order, *_place) for order in orders]
