"""``RenderPool``: reads and renders sessions and sources in this process and, if there are many, in worker processes too.

The worker processes start while the log is still read, and read a part of it. This process does every batch that they have no
room for. So a busy machine, on which they get little done, costs no extra time, and one process less takes memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.ports import EventStore, Reopenable
from pipeline.system.worker_pool import Pool, processors, taken
from pipeline.vault.load import ReadSession, read_session
from pipeline.vault.rendering.render_task import Order, RenderResult, render_order
from pipeline.vault.rendering.templates import Renderer
from pipeline.vault.vault_model import VaultModel

WORTH_IT = 50  # batches; fewer are done before another process has started
READING_WORTH_IT = 100  # batches; fewer are read by then
SESSIONS, SOURCES = 8, 64  # in a batch: about the same amount of work
_MOST = 3  # processes in all; each holds some 100 MB
_AHEAD = 2  # batches in the queue of one process


@dataclass
class _Place:
    """What a process works with: templates, the log (None: it cannot be opened there), and links, which it reads from a file."""

    renderer: Renderer
    store: EventStore | None
    model: VaultModel = field(default_factory=lambda: VaultModel({}, {}, {}, {}, {}))
    file: str = ""

    def linked(self, file: str) -> VaultModel:
        """Return the links in a file."""
        if self.file != file:
            self.model, self.file = taken(file), file
        return self.model


class RenderPool:
    """The worker processes of one build. Close it when done."""

    def __init__(self, renderer: Renderer, store: EventStore) -> None:
        self._here = _Place(renderer, store)
        opener = store.reopener() if isinstance(store, Reopenable) else None
        self._reads = opener is not None
        self._pool = Pool(processors(_MOST) - 1, self._here, _set_up, (renderer.folder, renderer.compiled, opener))
        self._started = False

    def close(self) -> None:
        """End the processes; unfinished batches are dropped."""
        self._pool.close()

    def read(self, names: Sequence[str]) -> Iterator[ReadSession]:
        """Yield the outline and the events of each of the sessions, in any order."""
        self._start(len(names), SESSIONS)
        is_shared = self._reads and len(names) >= READING_WORTH_IT * SESSIONS
        yield from self._pool.shared(_read, names, SESSIONS, _AHEAD if is_shared and self._started else 0)

    def link(self, model: VaultModel) -> None:
        """Render from the links in ``model`` from now on."""
        self._here.model, self._here.file = model, ""

    def render(self, orders: Iterable[Order], number: int, batch: int) -> Iterator[RenderResult]:
        """Yield the result of each of ``number`` orders, in any order; a process is given ``batch`` orders at a time.

        Raises:
            TemplateInvalid: a template is missing or faulty.
            SessionUnreadable: a session cannot be read to its end.
        """
        self._start(number, batch)
        if self._started and not self._here.file:
            self._here.file = self._pool.handed(self._here.model)
        yield from self._pool.shared(_Render(self._here.file), orders, batch, _AHEAD if self._started else 0)

    def _start(self, number: int, batch: int) -> None:
        """Start the processes if there is enough to do, and they have not been started yet."""
        if not self._started and number >= WORTH_IT * batch:
            self._started = True
            self._pool.submit(_wake, None)


def _set_up(given: tuple[Path, Path | None, Callable[[], EventStore] | None]) -> _Place:
    templates, compiled, opener = given
    return _Place(Renderer(templates, compiled), opener() if opener else None)


def _wake(_place: _Place, _about: None) -> None:
    """Do nothing: the process has started."""


def _read(place: _Place, names: Sequence[str]) -> list[ReadSession]:
    if place.store is None:
        raise ValueError("the log cannot be opened by this process")
    return [read_session(place.store, name) for name in names]


@dataclass(frozen=True)
class _Render:
    """Renders orders from the links in a file."""

    file: str

    def __call__(self, place: _Place, orders: Sequence[Order]) -> list[RenderResult]:
        model = place.linked(self.file)
        return [render_order(order, model, place.renderer) for order in orders]
