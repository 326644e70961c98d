"""Jinja templates that the user may edit, with their versions, in a sandbox with limits of time, memory and size.

An error names the template, the line, and what to do. A template without end does not stop a build.
"""

from __future__ import annotations

import hashlib
import operator
import os
import re
import resource
import signal
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import jinja2
from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError
from jinja2.loaders import split_template_path
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pipeline.errors import TemplateInvalid
from pipeline.system.files import open_regular, read_bytes

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


# Where a template draws on another, and the plain way of naming it.
_DRAWING = re.compile(rb"{%[-+]?\s*(?:import|include|extends|from)\b(.*?)%}", re.DOTALL)
_NAMED = re.compile(rb"""\s*(?:"([^"]*)"|'([^']*)')(?:\s+(?!if\b)[\w\s,]*)?[-+]?\s*""")
_UNKNOWN_NAME = re.compile(r"'(\w+)' is undefined\Z")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Advice:
    """What a message about a faulty template adds: the page that lists what templates are given, and what was left as it was."""

    readme: str
    outcome: str

    @property
    def correct(self) -> str:
        """What to do about a fault."""
        return f"correct it ({self.readme} lists what each template is given), then run `research build`; {self.outcome}"

    @property
    def restore(self) -> str:
        """What to do about a missing template."""
        return f"put it back: `research templates update` copies what is missing; {self.outcome}"


def suggested(word: str, words: Iterable[str]) -> str:
    """Return ``; did you mean `facts`?`` for the one of ``words`` that was probably meant, "" if none is near."""
    near = get_close_matches(word[:40], sorted(words), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


class Unknown(StrictUndefined):
    """A name that does not exist. The message names what was probably meant, and no class of the program."""

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint or self._undefined_obj is jinja2.utils.missing or not isinstance(self._undefined_name, str):
            return _in_plain_words(super()._undefined_message)
        return (
            f"'{self._undefined_name}' is not among its values{suggested(self._undefined_name, _names_in(self._undefined_obj))}"
        )


def _names_in(value: Any) -> Iterable[str]:
    """What a template can take out of a value."""
    if isinstance(value, Mapping):
        return [name for name in value if isinstance(name, str)]
    return [name for name in dir(value) if not name.startswith("_")]


# The names of classes in Python's messages, and what a person calls such values.
_CLASSES = {
    "NoneType": "nothing",
    **dict.fromkeys(("str", "Inert", "Markup"), "a text"),
    **dict.fromkeys(("int", "float"), "a number"),
    **dict.fromkeys(("list", "tuple", "Block", "generator"), "a list"),
    "Link": "a link",
    "bool": "a yes or no",
}
_BUILT_IN = "|".join((*_CLASSES, "dict", "set"))
_CLASS = re.compile(
    rf"(?:object of type )?'(?:\w+\.)*({_BUILT_IN})'(?: object)?"  # wherever it stands: no name in a template is like that
    r"|'(?:\w+\.)*([A-Z]\w+)'? object'?"
    r"|(?:(?<=and )|(?<=of )|(?<=: )|(?<=type ))'([A-Z]\w+)'"
)
_OWN_NAMES = re.compile(r"\bpipeline(?:\.\w+)+|<[\w.]+ object at 0x[0-9a-f]+>")


def _in_plain_words(message: str) -> str:
    """Return a message of Python or Jinja without names of classes."""
    plain = _CLASS.sub(lambda found: _CLASSES.get(found[1] or "", "a value"), message)
    return _OWN_NAMES.sub("a value", plain)


class TemplateEnvironment(Bounded):
    """Jinja as all templates use it: in its sandbox, bounded, strict about unknown names, nothing computed when compiling."""

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {"undefined": Unknown, "trim_blocks": True, "lstrip_blocks": True}
        super().__init__(**{**defaults, "auto_reload": False, "optimized": False, **options})


class TemplateFolder:
    """The templates ``*.j2`` in ``folder``, read once, rendered in ``environment``.

    A template of ``later`` is read from there if the folder, which an earlier version may have made, has none of that name.
    """

    def __init__(
        self,
        folder: Path,
        environment: Environment,
        advice: Advice,
        later: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        self.folder, self._environment, self._advice, self._later = folder, environment, advice, later
        self._source = cache(self._read)
        environment.loader = FunctionLoader(self._load)
        self.version_of = cache(self._version_of)

    def _version_of(self, name: str) -> str:
        """Return a name for a template's text and those of all templates that it draws on; a missing one counts as empty.

        Raises:
            TemplateInvalid: one of them cannot be read.
        """
        parts = sorted((part, self._source(part)) for part in self._parts(name))
        texts = repr([(part, source or b"") for part, source in parts])
        return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()

    def check(self, name: str) -> None:
        """Compile a template and those that it draws on.

        Raises:
            TemplateInvalid: one of them is missing or cannot be parsed.
        """
        for part in self._parts(name):
            self._explained(part, "", partial(self._environment.get_template, part))

    def render(self, name: str, given: Mapping[str, Any], target: str, finish: Callable[[str], str] = str) -> str:
        """Return the text of the file ``target``, made from a template and passed through ``finish``.

        Raises:
            TemplateInvalid: the template is missing, cannot be parsed, uses an unknown name, fails on this text, or does not end.
        """

        def text() -> str:
            with bounded() as sized:
                return finish(sized(self._environment.get_template(name).render(given)))

        return self._explained(name, f" (while writing {target})", text, given)

    def _explained(self, name: str, when: str, act: Callable[[], T], given: Iterable[str] = ()) -> T:
        try:
            return act()
        except TemplateInvalid:
            raise
        except TemplateNotFound as error:
            raise TemplateInvalid(f"{self.folder / str(error.name)}: is missing{when}", hint=self._advice.restore) from error
        except TemplateSyntaxError as error:
            raise self._invalid(error.name or name, error.lineno, (error.message or "syntax error") + when) from error
        except Exception as error:
            what = _in_plain_words(str(error)) or "it fails without a message"
            raise self._invalid(*self._place_of(error, name), what + self._meant(str(error), given) + when) from error

    def _meant(self, message: str, given: Iterable[str]) -> str:
        """The name that was probably meant instead of an unknown one, or ""."""
        unknown = _UNKNOWN_NAME.match(message)
        return suggested(unknown[1], {*given, *self._environment.globals}) if unknown else ""

    def _place_of(self, error: BaseException, name: str) -> tuple[str, int]:
        """The place in a template that raised the error: the innermost, or that which calls itself."""
        frames = [(Path(frame.filename), frame.lineno or 0) for frame in reversed(traceback.extract_tb(error.__traceback__))]
        places = Counter((path.relative_to(self.folder), line) for path, line in frames if path.is_relative_to(self.folder))
        if not places:
            return name, 0
        path, line = places.most_common(1)[0][0]
        return str(path), line

    def _invalid(self, file: str, line: int, what: str) -> TemplateInvalid:
        where = str(self.folder / file) + (f", line {line}" if line else "")
        return TemplateInvalid(f"{where}: {what}", hint=self._advice.correct)

    def _load(self, name: str) -> tuple[str, str, None] | None:
        source = self._source(name)
        return None if source is None else (source.decode("utf-8"), str(self.folder / name), None)

    def _read(self, name: str) -> bytes | None:
        """The bytes of a template; None if there is none of that name."""
        try:
            return read_bytes(self.folder.joinpath(*split_template_path(name)))
        except (TemplateNotFound, FileNotFoundError, NotADirectoryError):
            return read_bytes(self._later[name]) if name in self._later else None
        except OSError as error:
            raise TemplateInvalid(f"{self.folder / name}: cannot be read: {error.strerror}", hint=self._advice.restore) from error

    def _parts(self, name: str) -> set[str]:
        """A template and all that it draws on, directly or not."""
        parts: set[str] = set()
        waiting = [name]
        while waiting:
            part = waiting.pop()
            if part not in parts:
                parts.add(part)
                waiting += self._drawn_on(self._source(part) or b"")
        return parts

    def _drawn_on(self, source: bytes) -> Iterable[str]:
        """The templates that one may draw on; all of them if it computes a name."""
        named = [_NAMED.fullmatch(drawing) for drawing in _DRAWING.findall(source)]
        if all(named):
            return [(found[1] or found[2] or b"").decode("utf-8", "replace") for found in named if found]
        return [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.j2")]
