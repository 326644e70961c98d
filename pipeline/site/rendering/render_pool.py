"""Makers side by side: for many notes a process on each processor, for few the work is done here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pipeline.site.cache.note_record import Record
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import AllPlaces, Places
from pipeline.site.rendering.render_task import Job, Maker, RenderResult, Task
from pipeline.system.worker_pool import Pool, Work, processors

WORTH_IT = 400  # notes; fewer are done before a second process has started
_MOST = 4
_BATCH = 200
_AHEAD = 3  # batches that a maker has been given and not yet answered


class Crew:
    """The makers of one build; close it when done. A maker keeps what it read: each note has one of its own.

    ``places`` finds a few of the vault's files, ``paths`` returns all, for many.
    """

    def __init__(self, job: Job, places: Places, paths: Callable[[], tuple[str, ...]]) -> None:
        self._job, self._paths = job, paths
        self._here = Maker(job, places)
        self._makers = [Pool(0, self._here, _maker, None)]
        self._making: list[Work[list[RenderResult]]] = []

    def _call(self, notes: int) -> None:
        """Let other processes help if there are that many notes to do."""
        count = processors(_MOST)
        if count > 1 and notes >= WORTH_IT and len(self._makers) == 1:
            given = self._job, self._paths(), count
            self._makers = [Pool(1, self._here, _maker, given) for _ in range(count)]

    def close(self) -> None:
        """End the processes."""
        for maker in self._makers:
            maker.close()

    def read(self, paths: Sequence[str]) -> Iterator[list[tuple[Record, str]]]:
        """Yield what was read, in batches in no order; each maker keeps what it will need again."""
        self._call(len(paths))
        given: deque[Work[list[tuple[Record, str]]]] = deque()
        for start in range(0, len(paths), _BATCH):
            batch = paths[start : start + _BATCH]
            given += [maker.submit(Maker.read, self._share(batch, number)) for number, maker in enumerate(self._makers)]
            while len(given) > _AHEAD * len(self._makers):
                yield given.popleft().result()
        while given:
            yield given.popleft().result()

    def begin(self, site: Site, tasks: Sequence[Task]) -> None:
        """Let pages be made."""
        self._call(len(tasks))
        for number, maker in enumerate(self._makers):
            share = [task for task in tasks if self._owner(task.path) == number]
            self._making.append(maker.submit(_make, (site, share)))

    def made(self) -> Iterator[RenderResult]:
        """Yield the pages that were made.

        Raises:
            TemplateInvalid: a template is faulty.
            ResearchError: the disk refuses.
        """
        answers = [self._tried(work) for work in self._making]
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            yield from answer

    def _tried(self, work: Work[list[RenderResult]]) -> Any:
        try:
            return work.result()
        except Exception as error:  # noqa: BLE001 - told when all have answered
            return error

    def _owner(self, path: str) -> int:
        return sum(path.encode()) % len(self._makers)

    def _share(self, paths: Sequence[str], number: int) -> list[str]:
        return [path for path in paths if self._owner(path) == number]


def _maker(given: tuple[Job, tuple[str, ...], int]) -> Maker:
    job, paths, makers = given
    return Maker(job, AllPlaces(paths), makers)


def _make(maker: Maker, about: tuple[Site, Sequence[Task]]) -> list[RenderResult]:
    return maker.make(*about)
