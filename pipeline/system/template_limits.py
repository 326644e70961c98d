"""The limits of templates: time, memory and size, so that one without end does not stop a build."""

from __future__ import annotations

import operator
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.system.files import open_regular

TEMPLATE_S = 10.0  # of the processor's time, for one note or page; they take some milliseconds
TEMPLATE_BYTES = 512_000_000  # of memory, beyond what the process holds
LARGEST = 32_000_000  # characters of a note or page
LONGEST = 1_000_000  # steps of a range
_VARIABLES = ("_block_vars", "_loop_vars")  # what Jinja gives beside the arguments, for functions that want a context
_BITS = 4_096  # of a whole number


class TooMuch(Exception):
    """A template takes more time, memory or room than a note or page can need."""


class Bounded(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, whose templates cannot calculate for ever either: see ``bounded`` for the rest.

    No signal interrupts the multiplication of very large numbers, so there are none; nor a sum over a very long range.
    """

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.globals["range"] = _range

    def call_binop(self, _context: object, sign: str, left: Any, right: Any) -> Any:
        """Multiply, or raise to a power."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * right if sign == "**" else left.bit_length() + right.bit_length()
            if bits > _BITS:
                raise TooMuch("it works out too large a number")
        return (operator.pow if sign == "**" else operator.mul)(left, right)

    def call(self, context: Any, called: Any, *arguments: Any, **named: Any) -> Any:
        """Call what a template calls."""
        if isinstance(called, Macro):  # nearly always; Jinja would ask it three times whether it wants a context
            for name in _VARIABLES:
                named.pop(name, None)
            return called(context.eval_ctx, *arguments, **named)
        return super().call(context, called, *arguments, **named)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Allow what is not private; of the program's own values, nearly all that templates get, no more has to be asked."""
        own = type(obj).__module__.startswith("pipeline.") and not attr.startswith("_")
        return own or super().is_safe_attribute(obj, attr, value)


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
    if timed:
        _end_in_time()
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
        resource.setrlimit(resource.RLIMIT_AS, limits)


@cache
def _end_in_time() -> None:
    """Have the timer end what it interrupts. Once for all notes: to set a handler takes as long as to render a short one."""
    signal.signal(signal.SIGPROF, _end_of_time)


def _end_of_time(*_signal: object) -> None:
    raise TooMuch(f"it does not come to an end within {TEMPLATE_S:g} s")


def _memory_limit(soft: int, hard: int) -> int:
    """What may be held in all, ``soft`` where the system does not tell what is."""
    descriptor = _own_memory()
    if descriptor is None:
        return soft
    held = int(os.pread(descriptor, 64, 0).split()[0]) * resource.getpagesize()
    return min(limit for limit in (held + TEMPLATE_BYTES, soft, hard) if limit != resource.RLIM_INFINITY)


@cache
def _own_memory() -> int | None:
    """The file in which the system tells what this process holds; to open it for each note would take longer than the rest."""
    try:
        return open_regular("/proc/self/statm")
    except OSError:
        return None


if hasattr(os, "register_at_fork"):  # a fork would go on to read what its parent holds
    os.register_at_fork(after_in_child=_own_memory.cache_clear)


def _of_a_size(text: str) -> str:
    if len(text) > LARGEST:
        raise TooMuch(f"it makes more than {LARGEST // 1_000_000} million characters")
    return text
