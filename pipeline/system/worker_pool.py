"""A pool of worker processes: start, shared data, batches of work, shutdown."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pipeline.system.files import read_bytes

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.context import SpawnContext

P = TypeVar("P")
Q = TypeVar("Q")
T = TypeVar("T")

# Events and states hold no circles; Python's frequent search for them takes a third of the time of reading a log.
COLLECTION = (50_000, 20, 100)
_log = logging.getLogger("pipeline.system.worker_pool")


class Pool(Generic[P]):
    """``number`` processes that work, started when the first work comes. Close it when done.

    Work is a function of a place to work at and of what the work is about. ``here`` is this process's place; each other process
    makes its own by ``furnish(given)``. When one of them dies (memory, usually) or cannot be started, this process does the rest.
    """

    def __init__(self, number: int, here: P, furnish: Callable[[Any], P], given: object) -> None:
        self._number, self._here = number, here
        self._furnish, self._given = furnish, given
        self._pool: ProcessPoolExecutor | None = None
        self._closers: list[Callable[[], object]] = []

    @property
    def helps(self) -> bool:
        """Return whether there are, or will be, other processes."""
        return self._number > 0

    def submit(self, work: Callable[[P, Q], T], about: Q) -> Work[T]:
        """Hand work over; with no other process it is done when its result is asked for."""
        future = None
        if self._number:
            try:
                with _without_main():
                    future = (self._pool or self._started()).submit(_serve, work, about)
            except (OSError, RuntimeError) as error:
                self.go_on_alone(error)
        return Work(self.go_on_alone, future, partial(work, self._here, about))

    def shared(self, work: Callable[[P, Sequence[Q]], list[T]], about: Iterable[Q], batch: int, ahead: int) -> Iterator[T]:
        """Yield what comes of ``work``, done on batches of ``about``, in any order.

        Each other process has up to ``ahead`` batches at a time. This one does all that they have no room for, one by one.
        """
        given: deque[Work[list[T]]] = deque()
        left = iter(about)
        while some := list(islice(left, batch)):
            if self._number and len(given) < ahead * self._number:
                given.append(self.submit(work, some))
                continue
            for one in some:
                yield from work(self._here, [one])
            while given and given[0].done:
                yield from given.popleft().result()
        while given:
            yield from given.popleft().result()

    def _started(self) -> ProcessPoolExecutor:
        """The processes. What they must know may be much, so they read it from a file: a pipe that none reads blocks for ever."""
        from concurrent.futures import ProcessPoolExecutor

        file = self.handed((self._furnish, self._given))
        self._pool = pool = ProcessPoolExecutor(self._number, spawning(), _begin, (file,))
        return pool

    def handed(self, value: object) -> str:
        """Return the name of a file that holds ``value`` for ``taken`` in the other processes; ``close`` removes it."""
        file = NamedTemporaryFile(prefix="research-")  # noqa: SIM115 - it is closed when they have ended
        self._closers.append(file.close)
        pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
        file.flush()
        return file.name

    def go_on_alone(self, why: Exception) -> None:
        """Do all further work in this process."""
        if self._number:
            _log.warning("a worker process ended or could not be started (%s); the work goes on without it", why)
        self._number = 0

    def close(self, *, wait: bool = True) -> None:
        """End the processes; what they are at is dropped, or waited for if it has begun and we are to ``wait``."""
        if self._pool:
            self._pool.shutdown(wait=wait, cancel_futures=True)
        for close in self._closers:
            close()


class Work(Generic[T]):
    """Work that was handed over. If nobody does it, it is done ``here``."""

    def __init__(
        self, go_on_alone: Callable[[Exception], None], future: Future[_Answer[T]] | None, here: Callable[[], T]
    ) -> None:
        self.future, self._here, self._go_on_alone = future, here, go_on_alone

    @property
    def done(self) -> bool:
        """Return whether no other process works on it."""
        return self.future is None or self.future.done()

    def result(self) -> T:
        """Return what came of it; wait for that. Raises: what the work raises."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            return _taken(self.future.result()) if self.future else self._here()
        except BrokenProcessPool as error:
            self._go_on_alone(error)
            return self._here()

    async def awaited(self) -> T:
        """Return what came of it, other tasks going on meanwhile. Raises: what the work raises."""
        from asyncio import wrap_future
        from concurrent.futures.process import BrokenProcessPool

        try:
            return _taken(await wrap_future(self.future)) if self.future else self._here()
        except BrokenProcessPool as error:
            self._go_on_alone(error)
            return self._here()


class _Answer(NamedTuple, Generic[T]):
    """What came of work in another process, and what was logged there."""

    value: T
    logged: list[logging.LogRecord]


def _taken(answer: _Answer[T]) -> T:
    """Return what came of the work, and log here what was logged there: only this process has handlers."""
    for record in answer.logged:
        logging.getLogger(record.name).handle(record)
    return answer.value


class _Collector(logging.Handler):
    """Keeps what is logged, as it can be pickled."""

    def emit(self, record: logging.LogRecord) -> None:
        record.msg, record.args = record.getMessage(), None
        if record.exc_info:
            record.exc_text, record.exc_info = logging.Formatter().formatException(record.exc_info), None
        _logged.append(record)


_logged: list[logging.LogRecord] = []
_place: Any = None  # of a process that does nothing but work for another


def _begin(file: str) -> None:
    global _place
    furnish, given = taken(file)
    logging.getLogger().addHandler(_Collector())
    _place = furnish(given)
    begin()


def taken(file: str) -> Any:
    """Return the value in a file of ``Pool.handed``."""
    return pickle.loads(read_bytes(file))  # noqa: S301 - written by the process that asks


def _serve(work: Callable[[Any, Q], T], about: Q) -> _Answer[T]:
    _logged.clear()
    return _Answer(work(_place, about), _logged)


def processors(most: int) -> int:
    """Return how many processors this process may use, ``most`` at most; not every system says."""
    return min(most, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@contextmanager
def _without_main() -> Iterator[None]:
    """Start processes without the module that was run: they are asked for nothing that is in it, and it may import much."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def spawning() -> SpawnContext:
    """Return the context that spawns processes: a fork would copy the locks that threads hold at that moment."""
    import multiprocessing

    return multiprocessing.get_context("spawn")


def begin() -> None:
    """Begin a process that helps: an interrupt is for the one that asks; when that one is gone, however it went, so is this one.

    A request to end it is obeyed: a pool of which another process died asks for that, and waits.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    gc.freeze()
    gc.set_threshold(*COLLECTION)
    threading.Thread(target=_outlive_nobody, daemon=True).start()


def _outlive_nobody() -> None:
    import multiprocessing

    asking = multiprocessing.parent_process()
    if asking is not None:
        asking.join()
    os._exit(0)
