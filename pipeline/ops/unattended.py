"""Running a command unattended: signals, the workspace lock, pings to a monitor, `last-run.json`, and the log file.

A log file that cannot be written stops no run.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.engine import stop_and_clock
from pipeline.engine.stop_and_clock import Stop, handle_signals
from pipeline.errors import ExitCode, ResearchError, UsageError, WorkspaceLocked
from pipeline.ops.console_output import LOG_FILE, PRINTED, Console, add_mask, end, end_at_once, masked
from pipeline.system import files
from pipeline.text.cleaning import one_line
from pipeline.text.redaction import Redaction
from pipeline.wiring.store_adapters import lock_of

if TYPE_CHECKING:
    from pipeline.ops.pings_and_digests import MonitorPing


_log = logging.getLogger("pipeline.ops.unattended")
_LOCK_TICK_S = 0.2


@dataclass
class UnattendedRun:
    """One running command. ``summary_line`` sums it up; a monitor gets that and ``details``.

    ``broken_off`` is called with exit code and reason before the process is ended while the command still works.
    """

    console: Console
    program: str
    stop: Stop
    summary_line: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    broken_off: Callable[[int, str], object] | None = None

    @contextmanager
    def accounts_for(self, broken_off: Callable[[int, str], object]) -> Iterator[None]:
        """Have ``broken_off`` called if the process is ended while the context is open."""
        self.broken_off = broken_off
        try:
            yield
        finally:
            self.broken_off = None

    @contextmanager
    def lock(self, wait: timedelta | None = None) -> Iterator[None]:
        """Hold the workspace's lock. If another run holds it, wait up to ``wait``.

        Raises:
            WorkspaceLocked: another run still holds it.
            LogUnwritable: the lock file cannot be written.
        """
        with ExitStack() as held:
            give_up_at = time.monotonic() + (wait.total_seconds() if wait else 0.0)
            announced = False
            while True:
                try:
                    held.enter_context(lock_of(self.console.folder, self.program))
                    break
                except WorkspaceLocked as error:
                    if time.monotonic() >= give_up_at:
                        raise
                    if not announced:
                        self.console.say(f"waiting up to {wait}: {error.message}")
                        announced = True
                time.sleep(_LOCK_TICK_S)
                if self.stop.asked:  # no call is running
                    self.summary_line = self.stop.reason
                    end(self.stop.exit_code)
            _log.info("%s starts: version %s, process %d", self.program, __version__, os.getpid())
            yield

    async def announce_stop(self) -> None:
        """Print that the run stops, once somebody asks for it."""
        await self.stop.wait()
        _log.warning("%s: no new call is started; current calls have %g s", self.stop.reason, self.stop.grace_s, extra=PRINTED)
        once_more = "; a second signal ends it at once" if self.stop.exit_code > stop_and_clock.SIGNALLED else ""
        self.console.say(f"{self.stop.reason}; current calls have {self.stop.grace_s:g} s{once_more}", fg="yellow")


@contextmanager
def unattended_run(console: Console, program: str, ping_url_file: Path | None = None) -> Iterator[UnattendedRun]:
    """Handle signals, write the log file, and ping a monitor at start and end while the context is open.

    A run that had nothing to do leaves no line in the log file.
    """
    run = UnattendedRun(console, program, Stop(stop_and_clock.GRACE_S))
    logs = log_to_file(console.folder) if (console.folder / "queries.yaml").exists() else nullcontext()

    def at_once(code: int, message: str) -> None:
        with suppress(OSError):
            if run.broken_off:
                run.broken_off(code, message or run.stop.reason)
        end_at_once(code, message)

    with logs, handle_signals(run.stop, at_once):
        ping: MonitorPing | None = None
        if ping_url_file is not None:
            from pipeline.ops.pings_and_digests import (  # it asks by HTTP, which takes long to import
                MonitorPing,
                read_address,
                secrets_in,
            )

            try:
                url = read_address(ping_url_file)
            except UsageError as error:
                _log.warning("%s", error.message)  # reported, but a run without pings is better than none
            else:
                add_mask(Redaction(secrets_in(url)).text)
                ping = MonitorPing(url)
                ping.send_start()
        code, why = int(ExitCode.DONE), ""
        try:
            yield run
        except BaseException as error:
            code, why = getattr(error, "exit_code", ExitCode.FAILED), one_line(getattr(error, "message", ""), 500)
            if isinstance(ends := getattr(error, "code", None), int):  # the program is ending, with that code
                code = ends
            elif not isinstance(error, ResearchError):
                code, why = ExitCode.FAILED, f"unexpected {type(error).__name__}"
                _log.error("%s", why, exc_info=error, extra=PRINTED)
            else:
                _log.error("%s: %s", type(error).__name__, error.message, exc_info=error, extra=PRINTED)
            raise
        finally:
            word = run.summary_line or why
            if word:
                _log.info("%s ended: %s; exit code %d", run.program, word, code, extra=PRINTED)
            if ping is not None:
                # A monitor takes every code but 0 for a failure, and a question without an answer is none.
                about = {"summary": masked(word) or "nothing to do", "exit_code": code, **run.details}
                ping.send_end(0 if code == ExitCode.NOT_FOUND else code, about)


LARGEST = 1_000_000  # bytes; up to three older files of that size are kept
OLDER = 3


class _Lines(logging.Formatter):
    """Lines with the time in UTC. Keys are masked, in tracebacks too."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


class _LogFile(RotatingFileHandler):
    """A file that is created at the first record, and readable by its owner only."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        return os.fdopen(files.open_log(path), "a", encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Ignore a failed write: a disk that cannot take the log file cannot take the event log either, which reports it."""


@contextmanager
def log_to_file(folder: Path, largest: int = LARGEST) -> Iterator[None]:
    """Write log records from ``INFO`` upwards to the workspace's log file while the context is open."""
    handler = _LogFile(os.path.realpath(folder / LOG_FILE), maxBytes=largest, backupCount=OLDER, delay=True)
    handler.setFormatter(_Lines("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO))
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()


def remember_run(folder: Path, account: Mapping[str, Any]) -> None:
    """Write the outcome of the last run to ``events/local/last-run.json`` for monitors, atomically.

    Raises:
        OSError: the disk refuses.
    """
    local = folder / "events" / "local"
    files.replace(local / "last-run.json", f"{json.dumps(account, ensure_ascii=False, indent=2)}\n".encode(), local / "tmp")


def last_run(folder: Path) -> dict[str, Any]:
    """Return what ``remember_run`` put there, empty if that cannot be read."""
    try:
        found = json.loads(files.read_bytes(folder / "events" / "local" / "last-run.json"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def save_last_run(console: Console, account: dict[str, Any]) -> bool:
    """Write ``last-run.json``, which monitors read; return whether the file holds this outcome now."""
    try:
        remember_run(console.folder, account)
    except OSError as error:
        console.say(f"events/local/last-run.json was not written: {error.strerror}", always=True, fg="yellow")
        _log.error("last-run.json was not written: %s", error, extra=PRINTED)
        return False
    return True
