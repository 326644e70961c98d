"""Orders made here and, when there are many, in further processes, one on each further processor.

This process works too: it makes what the others, who have been given enough to be at, have not. A busy machine, on which they
come to little, then costs no time; and of the memory that a process takes there is one less.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from pipeline.system.worker_pool import Pool, Work, processors
from pipeline.vault.rendering.render_task import Order, RenderResult, made_of
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.vault_model import VaultModel

WORTH_IT = 50  # batches; fewer are done before another process has started
_MOST = 3  # processes in all; each holds some 100 MB
_AHEAD = 2  # batches that a process has been given and not yet answered


class Crew:
    """The makers of one build. Close it when done."""

    def __init__(self, library: VaultModel, renderer: Renderer) -> None:
        self._here = library, renderer
        self._others = processors(_MOST) - 1
        self._pool = Pool(self._others, self._here, _place, (library, renderer.folder))
        self._called = False

    def close(self) -> None:
        """End the processes; what they are at is dropped."""
        self._pool.close()

    def made(self, orders: Iterable[Order], number: int, batch: int) -> Iterator[RenderResult]:
        """Yield what was made of each of ``number`` orders, in any order; ``batch`` are handed over at once.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            Unreadable: a session cannot be read to its end.
        """
        self._called = self._called or number >= WORTH_IT * batch
        given: deque[Work[list[RenderResult]]] = deque()
        left = iter(orders)
        while some := list(islice(left, batch)):
            if self._called and self._pool.helps and len(given) < _AHEAD * self._others:
                given.append(self._pool.submit(_made, some))
                continue
            yield from (made_of(order, *self._here) for order in some)
            while given and given[0].done:
                yield from given.popleft().result()
        while given:
            yield from given.popleft().result()


def _place(given: tuple[VaultModel, Path]) -> tuple[VaultModel, Renderer]:
    return given[0], Renderer(given[1])


def _made(place: tuple[VaultModel, Renderer], orders: Sequence[Order]) -> list[RenderResult]:
    return [made_of(order, *place) for order in orders]
