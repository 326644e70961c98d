"""A pool of worker processes: start, shared data, batches of work, shutdown. Also the resource limits of templates."""

from __future__ import annotations

import gc
import logging
import operator
import os
import pickle
import resource
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.context import SpawnContext

P = TypeVar("P")
Q = TypeVar("Q")
T = TypeVar("T")

# Events and states hold no circles; Python's frequent search for them takes a third of the time of reading a log.
COLLECTION = (50_000, 20, 100)
TEMPLATE_S = 10.0  # of the processor's time, for one note or page; they take some milliseconds
TEMPLATE_BYTES = 512_000_000  # of memory, beyond what the process holds
LARGEST = 32_000_000  # characters of a note or page
LONGEST = 1_000_000  # steps of a range
_BITS = 4_096  # of a whole number
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
                future = (self._pool or self._started()).submit(_serve, work, about)
            except (OSError, RuntimeError) as error:
                self.go_on_alone(error)
        return Work(self.go_on_alone, future, partial(work, self._here, about))

    def _started(self) -> ProcessPoolExecutor:
        """The processes. What they must know may be much, so they read it from a file: a pipe that none reads blocks for ever."""
        from concurrent.futures import ProcessPoolExecutor

        file = NamedTemporaryFile(prefix="research-")  # noqa: SIM115 - it is closed when they have ended
        self._closers.append(file.close)
        pickle.dump((self._furnish, self._given), file, pickle.HIGHEST_PROTOCOL)
        file.flush()
        self._pool = pool = ProcessPoolExecutor(self._number, spawning(), _begin, (file.name,))
        return pool

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

    def __init__(self, go_on_alone: Callable[[Exception], None], future: Future[T] | None, here: Callable[[], T]) -> None:
        self.future, self._here, self._go_on_alone = future, here, go_on_alone

    @property
    def done(self) -> bool:
        """Return whether no other process works on it."""
        return self.future is None or self.future.done()

    def result(self) -> T:
        """Return what came of it; wait for that. Raises: what the work raises."""
        from concurrent.futures.process import BrokenProcessPool

        try:
            return self.future.result() if self.future else self._here()
        except BrokenProcessPool as error:
            self._go_on_alone(error)
            return self._here()

    async def awaited(self) -> T:
        """Return what came of it, other tasks going on meanwhile. Raises: what the work raises."""
        from asyncio import wrap_future
        from concurrent.futures.process import BrokenProcessPool

        try:
            return await wrap_future(self.future) if self.future else self._here()
        except BrokenProcessPool as error:
            self._go_on_alone(error)
            return self._here()


_place: Any = None  # of a process that does nothing but work for another


def _begin(file: str) -> None:
    global _place
    furnish, given = pickle.loads(Path(file).read_bytes())  # noqa: S301 - written by the process that asks
    _place = furnish(given)
    begin()


def _serve(work: Callable[[Any, Q], T], about: Q) -> T:
    return work(_place, about)


def processors(most: int) -> int:
    """Return how many processors this process may use, ``most`` at most; not every system says."""
    return min(most, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


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


class TooMuch(Exception):
    """A template takes more time, memory or room than a note or page can need."""


class Bounded:
    """A Jinja environment, mixed into one of its own, whose templates cannot calculate for ever: see ``bounded`` for the rest.

    No signal interrupts the multiplication of very large numbers, so there are none; nor a sum over a very long range.
    """

    sandboxed = True  # so that Jinja asks ``call_binop``; attributes and calls are as free as ever
    intercepted_binops = frozenset({"*", "**"})
    intercepted_unops: frozenset[str] = frozenset()

    def call_binop(self, _context: object, sign: str, left: Any, right: Any) -> Any:
        """Multiply, or raise to a power."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if sign == "**" else left.bit_length() + right.bit_length()
            if bits > _BITS:
                raise TooMuch("it works out too large a number")
        return (operator.pow if sign == "**" else operator.mul)(left, right)

    @staticmethod
    def call(context: Any, called: Any, *arguments: Any, **named: Any) -> Any:
        """Call what a template calls."""
        return context.call(_range if called is range else called, *arguments, **named)

    @staticmethod
    def is_safe_attribute(*_about: object) -> bool:
        """Allow every attribute: templates are their user's own."""
        return True


def _range(*limits: int) -> range:
    found = range(*limits)
    if found[LONGEST:]:
        raise TooMuch(f"a range has more than {LONGEST:,} steps")
    return found


@contextmanager
def bounded() -> Iterator[Callable[[str], str]]:
    """Bound the time and memory of what a template does meanwhile; what it made is to be passed through what is given.

    Raises:
        TooMuch: it takes more than a note or page can need.
    """
    limits = resource.getrlimit(resource.RLIMIT_AS)
    timed = threading.current_thread() is threading.main_thread()  # no other can be interrupted
    before = signal.signal(signal.SIGPROF, _end_of_time) if timed else None
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_memory_limit(*limits), limits[1]))
        if timed:
            signal.setitimer(signal.ITIMER_PROF, TEMPLATE_S, 1.0)
        yield _of_a_size
    except MemoryError as error:
        raise TooMuch(f"it takes more than {TEMPLATE_BYTES // 1_000_000} MB of memory").with_traceback(
            error.__traceback__
        ) from None
    except RecursionError as error:
        raise TooMuch("it includes or calls itself without end").with_traceback(error.__traceback__) from None
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


def place_in(folder: Path, error: BaseException, otherwise: str) -> tuple[str, int]:
    """Return name and line of the file in ``folder`` that raised the error: the innermost, or that which calls itself.

    ``otherwise`` is the name if the error was raised in none of them; the line is 0 then.
    """
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).parent == folder]
    places = Counter((Path(frame.filename).name, frame.lineno or 0) for frame in reversed(frames))
    return places.most_common(1)[0][0] if places else (otherwise, 0)


def _end_of_time(*_signal: object) -> None:
    raise TooMuch(f"it does not come to an end within {TEMPLATE_S:g} s")


def _memory_limit(soft: int, hard: int) -> int:
    """What may be held in all, ``soft`` if the system does not say how much is used."""
    try:
        held = int(Path("/proc/self/statm").read_bytes().split()[0]) * resource.getpagesize()
    except OSError:
        return soft
    return min(limit for limit in (held + TEMPLATE_BYTES, soft, hard) if limit != resource.RLIM_INFINITY)


def _of_a_size(text: str) -> str:
    if len(text) > LARGEST:
        raise TooMuch(f"it makes more than {LARGEST // 1_000_000} million characters")
    return text
