"""How the command line speaks: data on stdout, messages on stderr, and every error as one clear message with its exit code."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

LOG_FILE = "events/local/research.log"
TOLD = {"told": True}  # as ``extra`` of a log record: it goes to the log file, and was printed in other words

_masks: list[Callable[[str], str]] = []
_SHOW_CURSOR = "\x1b[?25h"


def mask_with(mask: Callable[[str], str]) -> None:
    """From here on pass all that is printed or logged through ``mask`` too, which takes keys out of it."""
    _masks.append(mask)


def masked(text: str) -> str:
    """Return ``text`` without any key that is known by now."""
    for mask in _masks:
        text = mask(text)
    return text


@dataclass(frozen=True, slots=True)
class Console:
    """Where we are and how we speak: data on stdout, messages on stderr. ``terminal``: somebody may be looking at stderr."""

    folder: Path
    quiet: bool
    verbose: bool
    as_json: bool
    color: bool
    terminal: bool = False

    def say(self, text: str, *, always: bool = False, **style: Any) -> None:
        """Print a message on stderr; if we are to be quiet, only what is ``always`` said: that something was not made.

        A stderr that has gone away stops nobody's work.
        """
        if always or not self.quiet:
            with suppress(OSError, ValueError):
                click.secho(masked(text), err=True, color=self.color, **(style if self.color else {}))

    def path(self, inside: str) -> str:
        """Return a path inside the workspace as it is reached from here; "" stays as it is."""
        return str(self.folder / inside) if inside else ""

    def data(self, lines: list[str], value: Any) -> None:
        """Print a result on stdout: for a person, or as one JSON value."""
        put(masked(json.dumps(value, ensure_ascii=False, indent=2) if self.as_json else "\n".join(lines)))


def put(text: str) -> None:
    """Print on stdout.

    Raises:
        BrokenPipeError: nobody reads it any more.
        SystemRefused: it cannot be written, on a full disk for example.
    """
    from pipeline.errors import SystemRefused

    try:
        click.echo(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        hint = "write the output to a place with free space; what was recorded is safe"
        raise SystemRefused(f"standard output cannot be written: {error.strerror}", hint=hint) from error


class Forgiving:
    """Stderr, for whoever draws on it: when the terminal has hung up, what is drawn goes nowhere and nothing fails."""

    def __init__(self) -> None:
        self._stream: Any = sys.stderr

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Messages(logging.Handler):
    """Log records as messages on whatever stderr is at that moment. A traceback is for the log file, or for ``-v``."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):
            if getattr(record, "told", False):
                return
            click.echo(masked(f"{record.levelname} {record.name}: {record.getMessage()}"), err=True)
            if record.exc_info and self.level <= logging.INFO:
                click.echo(masked(logging.Formatter().formatException(record.exc_info)), err=True)


def begin(*, quiet: bool, verbose: bool) -> None:
    """Set up what is printed: characters that the terminal lacks are written as escapes, warnings go to stderr."""
    _masks.clear()
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
    """End the program with an exit code."""
    sys.exit(code)


def end_at_once(code: int) -> NoReturn:
    """End the process now, whatever it is doing. What was acknowledged is on the disk."""
    if sys.stderr.isatty():
        with suppress(OSError):
            os.write(2, _SHOW_CURSOR.encode())
    os._exit(code)


@contextmanager
def errors_told() -> Iterator[None]:
    """Turn every error into one clear message and the right exit code. A fault of ours is logged, not shown as a traceback."""
    from pipeline.errors import ResearchError, SystemRefused

    try:
        yield
    except ResearchError as error:
        _fail(error.message, error.hint, error.exit_code, type(error).__name__)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        if not json_wanted():
            error.show()
            sys.exit(2)
        _fail(error.format_message(), "", 2, "UsageError")
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted", "all that was answered is recorded; research run goes on from there", 130, "Interrupted")
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        logging.getLogger("pipeline").info("refused by the system", exc_info=error)
        hint = "free space or allow it there, then try again; what was recorded is safe; -v shows where it happened"
        what = f"{error.filename or 'the system refuses'}: {error.strerror or error}"
        _fail(what, hint, SystemRefused.exit_code, SystemRefused.__name__)
    except Exception as error:
        logging.getLogger("pipeline").info("unexpected", exc_info=error)
        hint = f"this is a fault of the program; what was recorded is safe; -v shows where it happened, of a run also {LOG_FILE}"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, 1, "Unexpected")


def let_go() -> None:
    """Write out what Python still holds; where nobody takes it, drop it, for else it would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # gone, closed, or never there
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def json_wanted() -> bool:
    """Tell whether ``--json`` stands among the arguments, however far their parsing got."""
    return "--json" in sys.argv[1:]


def _fail(message: str, hint: str, code: int, kind: str) -> NoReturn:
    error = {"kind": kind, "message": message, "hint": hint}
    said = json_wanted() and _said(json.dumps({"error": error, "exit_code": code}, ensure_ascii=False), err=False)
    if not said:  # not wanted, or stdout is what fails
        _said("\n".join([f"research: {message}", *([f"  → {hint}"] if hint else [])]), err=True)
    sys.exit(code)


def _said(text: str, *, err: bool) -> bool:
    with suppress(OSError, ValueError):
        click.echo(masked(text), err=err)
        return True
    return False
