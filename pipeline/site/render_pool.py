"""Makers side by side: for many notes a process on each processor, for few the work is done here."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from pipeline.errors import ResearchError
from pipeline.site.cache.note_record import Record
from pipeline.site.pages.page_values import Site
from pipeline.site.paths import AllPlaces, Places
from pipeline.site.render_task import Job, Maker, RenderResult, Task
from pipeline.system.worker_pool import COLLECTION, processors, spawning

WORTH_IT = 400  # notes; fewer are done before a second process has started
_MOST = 4
_BATCH = 200
_AHEAD = 2  # batches that a maker has been given and not yet answered


class Crew:
    """The makers of one build; close it when done.

    ``places`` finds a few of the vault's files, ``paths`` returns all, for many.
    """

    def __init__(self, job: Job, places: Places, paths: Callable[[], tuple[str, ...]]) -> None:
        self._job = job
        self._paths = paths
        self._here = Maker(job, places)
        self._others: list[Connection] = []
        self._processes: list[Any] = []
        self._begun: tuple[Site, Sequence[Task]] | None = None

    def _call(self, notes: int) -> None:
        """Let other processes help if there are that many notes to do."""
        count = processors(_MOST) if notes >= WORTH_IT and not self._others else 1
        if count == 1:
            return
        context = spawning()
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self._job, count), daemon=True)
            process.start()
            theirs.close()
            self._others.append(ours)
            self._processes.append(process)
        paths = self._paths()
        for connection in self._others:
            _send(connection, paths)

    def close(self) -> None:
        """End the processes."""
        for connection in self._others:
            connection.close()
        for process in self._processes:
            process.join()

    def read(self, paths: Sequence[str]) -> Iterator[list[tuple[Record, str]]]:
        """Yield what was read, in batches in no order; each maker keeps what it will need again."""
        self._call(len(paths))
        batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]
        if not self._others:
            yield from map(self._here.read, batches)
            return
        shares = [deque(self._share(batch, number) for batch in batches) for number in range(len(self._others))]
        for connection, share in zip(self._others, shares, strict=True):
            for _ in range(min(_AHEAD, len(share))):
                _send(connection, ("read", share.popleft()))
        left = len(batches) * len(self._others)
        while left:
            for ready in wait(self._others):
                number = self._others.index(ready)  # type: ignore[arg-type]
                yield self._answer(self._others[number])
                left -= 1
                if shares[number]:
                    _send(self._others[number], ("read", shares[number].popleft()))

    def begin(self, site: Site, tasks: Sequence[Task]) -> None:
        """Let pages be made."""
        self._call(len(tasks))
        if not self._others:
            self._begun = site, tasks
        for number, connection in enumerate(self._others):
            _send(connection, ("make", site, [task for task in tasks if self._owner(task.path) == number]))

    def made(self) -> Iterator[RenderResult]:
        """Yield the pages that were made.

        Raises:
            TemplateInvalid: a template is faulty.
            ResearchError: the disk refuses, or a maker has gone.
        """
        if self._begun:
            yield from self._here.make(*self._begun)
        answers = [self._tried(connection) for connection in self._others]
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            yield from answer

    def _tried(self, connection: Connection) -> Any:
        try:
            return self._answer(connection)
        except Exception as error:  # noqa: BLE001 - told when all have answered
            return error

    def _owner(self, path: str) -> int:
        return sum(path.encode()) % len(self._others)

    def _share(self, paths: Sequence[str], number: int) -> list[str]:
        return [path for path in paths if self._owner(path) == number]

    def _answer(self, connection: Connection) -> Any:
        try:
            answer = connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise _gone() from error
        if isinstance(answer, BaseException):
            raise answer
        return answer


def _send(connection: Connection, what: object) -> None:
    try:
        connection.send(what)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise _gone() from error


def _gone() -> ResearchError:
    return ResearchError("a process that makes pages has ended", hint="was memory short? run `research build` again")


def _serve(connection: Connection, job: Job, makers: int) -> None:
    """One maker as a process: answer each request, until there are no more."""
    gc.set_threshold(*COLLECTION)
    with suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        maker = Maker(job, AllPlaces(connection.recv()), makers)
        while True:
            request, *given = connection.recv()
            try:
                answer: Any = maker.read(*given) if request == "read" else maker.make(*given)
            except Exception as error:  # noqa: BLE001 - told to the one who asked
                answer = error
            connection.send(answer)
