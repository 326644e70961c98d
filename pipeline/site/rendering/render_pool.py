"""``RenderPool``: reads notes and renders pages, in this process or, for many notes, in one worker process for each processor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline.site.cache.note_record import Record
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import AllPlaces, Places
from pipeline.site.rendering.render_task import Job, PageRenderer, RenderResult, Task
from pipeline.system.worker_pool import Pool, Work, processors

WORTH_IT = 400  # notes; fewer are done before a second process has started
_MOST = 4
_BATCH = 200
_AHEAD = 3  # batches in the queue of one renderer


class RenderPool:
    """The renderers of one build; close it when done. Each note belongs to one renderer, which keeps what it read of it.

    ``places`` finds a few of the vault's files; ``paths`` returns all of them, for worker processes.
    """

    def __init__(self, job: Job, places: Places, paths: Callable[[], tuple[str, ...]]) -> None:
        self._job, self._paths = job, paths
        self._local = PageRenderer(job, places)
        self._renderers = [Pool(0, self._local, _renderer, None)]
        self._work: list[Work[list[RenderResult]]] = []

    def _start_workers(self, notes: int) -> None:
        """Start worker processes if there are enough notes."""
        count = processors(_MOST)
        if count > 1 and notes >= WORTH_IT and len(self._renderers) == 1:
            given = self._job, self._paths(), count
            self._renderers = [Pool(1, self._local, _renderer, given) for _ in range(count)]

    def close(self) -> None:
        """End the processes."""
        for renderer in self._renderers:
            renderer.close()

    def read(self, paths: Sequence[str]) -> Iterator[list[tuple[Record, str]]]:
        """Yield the records and search terms of notes, in unordered batches; each renderer keeps what its pages need."""
        self._start_workers(len(paths))
        given: deque[Work[list[tuple[Record, str]]]] = deque()
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            given += [
                renderer.submit(PageRenderer.read, self._share(batch, number)) for number, renderer in enumerate(self._renderers)
            ]
            while len(given) > _AHEAD * len(self._renderers):
                yield given.popleft().result()
        while given:
            yield given.popleft().result()

    def begin(self, site: Site, tasks: Sequence[Task]) -> None:
        """Start to render pages."""
        self._start_workers(len(tasks))
        for number, renderer in enumerate(self._renderers):
            share = [task for task in tasks if self._owner(task.path) == number]
            self._work.append(renderer.submit(_render, (site, share)))

    def results(self) -> Iterator[RenderResult]:
        """Yield the rendered pages.

        Raises:
            TemplateInvalid: a template is faulty.
            SystemRefused: the disk cannot be written.
        """
        answers = [self._result_or_error(work) for work in self._work]
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            yield from answer

    def _result_or_error(self, work: Work[list[RenderResult]]) -> Any:
        try:
            return work.result()
        except Exception as error:  # noqa: BLE001 - raised when all have finished
            return error

    def _owner(self, path: str) -> int:
        return sum(path.encode()) % len(self._renderers)

    def _share(self, paths: Sequence[str], number: int) -> list[str]:
        return [path for path in paths if self._owner(path) == number]


def _renderer(given: tuple[Job, tuple[str, ...], int]) -> PageRenderer:
    job, paths, count = given
    return PageRenderer(job, AllPlaces(paths), count)


def _render(renderer: PageRenderer, about: tuple[Site, Sequence[Task]]) -> list[RenderResult]:
    return renderer.render(*about)
