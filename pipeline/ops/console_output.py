"""Terminal output: data on stdout, messages on stderr, and every error as one message with its exit code."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from pipeline.errors import ExitCode, ResearchError, SystemRefused

LOG_FILE = "events/local/research.log"
PRINTED = {"printed": True}  # ``extra`` of a log record for the log file only, as other words were printed

_LONGEST_ARGUMENT = 100  # characters of one that a message repeats

_masks: list[Callable[[str], str]] = []
_damage: list[str] = []


def add_mask(mask: Callable[[str], str]) -> None:
    """Pass all later output and log records through ``mask``, which removes keys."""
    _masks.append(mask)


def note_damage(errors: Iterable[ResearchError]) -> None:
    """Remember that a part of the log is damaged: a command that goes on without it ends with 20 all the same."""
    _damage.extend(error.message for error in errors if error.exit_code == ExitCode.DAMAGED)


def masked(text: str) -> str:
    """Return ``text`` without the keys that are known so far."""
    for mask in _masks:
        text = mask(text)
    return text


@dataclass(frozen=True, slots=True)
class Console:
    """The workspace folder and how to print: data on stdout, messages on stderr. ``terminal``: stderr is a terminal."""

    folder: Path
    quiet: bool
    verbose: bool
    as_json: bool
    color: bool
    terminal: bool = False

    def say(self, text: str, *, always: bool = False, **style: Any) -> None:
        """Print a message on stderr; under ``quiet`` only with ``always``, for what could not be built or written.

        A closed stderr is ignored.
        """
        if always or not self.quiet:
            with suppress(OSError, ValueError):
                click.secho(masked(text), err=True, color=self.color, **(style if self.color else {}))

    def path(self, inside: str) -> str:
        """Return a path inside the workspace relative to the current folder; "" is returned unchanged."""
        return str(self.folder / inside) if inside else ""

    def data(self, lines: list[str], value: Any) -> None:
        """Print a result on stdout: for a person, or as one JSON value."""
        click.echo(masked(json.dumps(value, ensure_ascii=False, indent=2) if self.as_json else "\n".join(lines)))


class _Messages(logging.Handler):
    """Prints log records on the current stderr. Tracebacks are printed only under ``-v``; the log file has them too."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            if getattr(record, "printed", False):
                return
            click.echo(masked(f"{record.levelname} {record.name}: {record.getMessage()}"), err=True)
            if record.exc_info and self.level <= logging.INFO:
                click.echo(masked(logging.Formatter().formatException(record.exc_info)), err=True)


def begin(*, quiet: bool, verbose: bool) -> None:
    """Set up the output: print characters that the terminal lacks as escapes, and log records from warnings up on stderr."""
    _masks.clear()
    _damage.clear()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _Messages)]:
        root.removeHandler(handler)
    level = logging.INFO if verbose else logging.ERROR if quiet else logging.WARNING
    root.addHandler(_Messages(level))
    root.setLevel(min(level, logging.WARNING))
    for name in ("httpx", "httpcore"):  # they print whole addresses
        logging.getLogger(name).setLevel(logging.WARNING)


def end(code: int) -> NoReturn:
    """End the program with an exit code; with 20 if a part of the log was found damaged, whatever else, unless by a signal."""
    sys.exit(ExitCode.DAMAGED if _damage and code < ExitCode.INTERRUPTED else code)


def end_at_once(code: int, message: str = "") -> NoReturn:
    """End the process now, from within a signal handler, perhaps with a message. What was recorded is on the disk."""
    with suppress(OSError):
        os.write(2, (f"research: {message}\n" if message else "").encode())
    os._exit(code)


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn every error into one message and its exit code. The traceback of a bug is logged, not printed."""
    try:
        yield
        if _damage:
            end(ExitCode.DONE)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        if json_wanted():
            _fail(error.format_message(), "", ExitCode.USAGE, "UsageError")
        text = io.StringIO()
        error.show(text)
        _try_print(_shortened(text.getvalue().rstrip("\n")), err=True)
        sys.exit(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        hint = "all answers so far are recorded; research run continues from there"
        _fail("interrupted", hint, ExitCode.INTERRUPTED, "Interrupted")
    except BrokenPipeError:
        sys.exit(ExitCode.FAILED)
    except Exception as error:
        first: BaseException | None = error
        while first and not isinstance(first, ResearchError):  # one that came while it was handled does not hide it
            first = None if first.__suppress_context__ else first.__context__
        if isinstance(first, ResearchError):
            what = first.message if first is error else f"{first.message.rstrip('.')}; and then: {error}"
            _fail(what, first.hint, first.exit_code, type(first).__name__)
        logging.getLogger("pipeline").info("refused by the system or unexpected", exc_info=error)
        if isinstance(error, OSError):
            hint = "free disk space or change the permissions, then try again; what was recorded is safe; -v prints the traceback"
            what = f"{error.filename or 'system error'}: {error.strerror or error}"
            _fail(what, hint, ExitCode.SYSTEM, SystemRefused.__name__)
        hint = f"this is a bug in the program; what was recorded is safe; -v prints the traceback, {LOG_FILE} has that of a run"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, ExitCode.FAILED, "Unexpected")


def flush_output() -> None:
    """Flush stdout and stderr. Output to a closed stream is dropped, as it would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # gone, closed, or never there
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def json_wanted() -> bool:
    """Return whether ``--json`` is among the arguments; works also when they could not be parsed."""
    return "--json" in sys.argv[1:]


def _shortened(message: str) -> str:
    """A message without the whole of arguments that are very long."""
    for word in sys.argv[1:]:
        for said in {word, repr(word)[1:-1]} if len(word) > _LONGEST_ARGUMENT else ():
            message = message.replace(said, f"{said[:60]}…")
    return message


def _fail(message: str, hint: str, code: int, kind: str) -> NoReturn:
    message, hint = _shortened(message), _shortened(hint)
    error = {"kind": kind, "message": message, "hint": hint}
    printed = json_wanted() and _try_print(json.dumps({"error": error, "exit_code": code}, ensure_ascii=False), err=False)
    if not printed:  # not wanted, or stdout failed
        _try_print("\n".join([f"research: {message}", *([f"  → {hint}"] if hint else [])]), err=True)
    sys.exit(code)


def _try_print(text: str, *, err: bool) -> bool:
    with suppress(OSError, ValueError):
        click.echo(masked(text), err=err)
        return True
    return False
