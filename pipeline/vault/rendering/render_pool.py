"""``RenderPool``: renders sessions and sources in this process and, if there are many, in worker processes too.

This process renders every batch that the worker processes have no room for. So a busy machine, on which the workers get little
done, costs no extra time, and one process less takes memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from pipeline.system.worker_pool import Pool, Work, processors
from pipeline.vault.rendering.render_task import Order, RenderResult, render_order
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.vault_model import VaultModel

WORTH_IT = 50  # batches; fewer are rendered before another process has started
_MOST = 3  # processes in all; each holds some 100 MB
_AHEAD = 2  # batches in the queue of one process


class RenderPool:
    """The worker processes of one build. Close it when done."""

    def __init__(self, model: VaultModel, renderer: Renderer) -> None:
        self._setup = model, renderer
        self._others = processors(_MOST) - 1
        self._pool = Pool(self._others, self._setup, _set_up, (model, renderer.folder, renderer.compiled))
        self._started = False

    def close(self) -> None:
        """End the processes; unfinished batches are dropped."""
        self._pool.close()

    def render(self, orders: Iterable[Order], number: int, batch: int) -> Iterator[RenderResult]:
        """Yield the result of each of ``number`` orders, in any order; a process is given ``batch`` orders at a time.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            SessionUnreadable: a session cannot be read to its end.
        """
        self._started = self._started or number >= WORTH_IT * batch
        given: deque[Work[list[RenderResult]]] = deque()
        left = iter(orders)
        while some := list(islice(left, batch)):
            if self._started and self._pool.helps and len(given) < _AHEAD * self._others:
                given.append(self._pool.submit(_render, some))
                continue
            yield from (render_order(order, *self._setup) for order in some)
            while given and given[0].done:
                yield from given.popleft().result()
        while given:
            yield from given.popleft().result()


def _set_up(given: tuple[VaultModel, Path, Path | None]) -> tuple[VaultModel, Renderer]:
    model, templates, compiled = given
    return model, Renderer(templates, compiled)


def _render(setup: tuple[VaultModel, Renderer], orders: Sequence[Order]) -> list[RenderResult]:
    return [render_order(order, *setup) for order in orders]
