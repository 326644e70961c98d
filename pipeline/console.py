"""How the command line speaks: data on stdout, messages on stderr, and every error as one clear message with its exit code."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

_masks: list[Callable[[str], str]] = []


def mask_with(mask: Callable[[str], str]) -> None:
    """From here on pass all that is printed or logged through ``mask``, which takes keys out of it."""
    _masks[:] = [mask]
    for handler in logging.getLogger().handlers:
        handler.addFilter(_mask_record)


def _masked(text: str) -> str:
    return _masks[0](text) if _masks else text


def _mask_record(record: logging.LogRecord) -> bool:
    record.msg, record.args = _masked(record.getMessage()), None
    return True


@dataclass(frozen=True, slots=True)
class Console:
    """Where we are and how we speak: data on stdout, messages on stderr."""

    folder: Path
    quiet: bool
    verbose: bool
    as_json: bool
    color: bool

    def say(self, text: str, **style: Any) -> None:
        """Print a message on stderr, unless we are to be quiet."""
        if not self.quiet:
            click.secho(_masked(text), err=True, color=self.color or None, **(style if self.color else {}))

    def data(self, lines: list[str], value: Any) -> None:
        """Print a result on stdout: for a person, or as one JSON value."""
        click.echo(_masked(json.dumps(value, ensure_ascii=False, indent=2) if self.as_json else "\n".join(lines)))


@contextmanager
def errors_told() -> Iterator[None]:
    """Turn every error into one clear message and the right exit code. A fault of ours is logged, not shown as a traceback."""
    from pipeline.errors import ResearchError

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
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        logging.getLogger("pipeline").info("unexpected", exc_info=error)
        hint = "this is a fault of the program; what was recorded is safe; -v shows where it happened"
        _fail(f"unexpected {type(error).__name__}: {error}", hint, 1, "Unexpected")


def json_wanted() -> bool:
    """Tell whether ``--json`` stands among the arguments, however far their parsing got."""
    return "--json" in sys.argv[1:]


def _fail(message: str, hint: str, code: int, kind: str) -> NoReturn:
    if json_wanted():
        error = {"kind": kind, "message": message, "hint": hint}
        click.echo(_masked(json.dumps({"error": error, "exit_code": code}, ensure_ascii=False)))
    else:
        click.echo(_masked(f"research: {message}"), err=True)
        if hint:
            click.echo(_masked(f"  → {hint}"), err=True)
    sys.exit(code)
