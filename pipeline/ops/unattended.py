"""Running a command unattended: signals, the workspace lock, pings to a monitor, and the log file, whose failure stops no run."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.engine import signals
from pipeline.engine.signals import Stop, handle_signals
from pipeline.errors import NOT_FOUND, ResearchError, UsageError, WorkspaceLocked
from pipeline.ops.console_output import LOG_FILE, PRINTED, Console, add_mask, end, end_at_once, masked
from pipeline.system.files import open_log
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Redaction
from pipeline.wiring.store_adapters import lock_of

if TYPE_CHECKING:
    from pipeline.ops.alerts import MonitorPing


_log = logging.getLogger("pipeline.ops.unattended")
_LOCK_TICK_S = 0.2


@dataclass
class UnattendedRun:
    """One running command. ``summary_line`` sums it up; a monitor gets that and ``details``."""

    console: Console
    program: str
    stop: Stop
    summary_line: str = ""
    details: dict[str, Any] = field(default_factory=dict)

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
                self.pause(_LOCK_TICK_S)
            _log.info("%s starts: version %s, process %d", self.program, __version__, os.getpid())
            yield

    def pause(self, seconds: float) -> None:
        """Sleep; exit if a signal asks for it, as no call is running."""
        time.sleep(seconds)
        if self.stop.asked:
            self.summary_line = self.stop.reason
            end(self.stop.exit_code)

    async def announce_stop(self) -> None:
        """Print that the run stops, once somebody asks for it."""
        await self.stop.wait()
        _log.warning("%s: no new call is started; current calls have %g s", self.stop.reason, self.stop.grace_s, extra=PRINTED)
        once_more = "; a second signal ends it at once" if self.stop.exit_code > signals.INTERRUPTED else ""
        self.console.say(f"{self.stop.reason}; current calls have {self.stop.grace_s:g} s{once_more}", fg="yellow")


@contextmanager
def unattended_run(console: Console, program: str, ping_url_file: Path | None = None) -> Iterator[UnattendedRun]:
    """Handle signals, write the log file, and ping a monitor at start and end while the context is open."""
    run = UnattendedRun(console, program, Stop(signals.GRACE_S))
    logs = log_to_file(console.folder) if (console.folder / "queries.yaml").exists() else nullcontext()
    with logs, handle_signals(run.stop, end_at_once):
        ping = _ping_of(ping_url_file)
        if ping is not None:
            ping.send_start()
        code, why = 0, ""
        try:
            yield run
        except BaseException as error:
            code, why = _exit_code_and_reason(error)
            raise
        finally:
            _report_end(run, ping, code, why)


def _ping_of(path: Path | None) -> MonitorPing | None:
    if path is None:
        return None
    from pipeline.ops.alerts import MonitorPing, read_address, secrets_in  # it asks by HTTP, which takes long to import

    try:
        url = read_address(path)
    except UsageError as error:
        _log.warning("%s", error.message)  # reported, but a run without pings is better than none
        return None
    add_mask(Redaction(secrets_in(url)).text)
    return MonitorPing(url)


def _exit_code_and_reason(error: BaseException) -> tuple[int, str]:
    if isinstance(code := getattr(error, "code", None), int):  # the program is ending, with that code
        return code, ""
    if isinstance(error, ResearchError):
        _log.error("%s: %s", type(error).__name__, error.message, exc_info=error, extra=PRINTED)
        return error.exit_code, one_line(error.message, 500)
    _log.error("unexpected %s", type(error).__name__, exc_info=error, extra=PRINTED)
    return 1, f"unexpected {type(error).__name__}"


def _report_end(run: UnattendedRun, ping: MonitorPing | None, code: int, why: str) -> None:
    """Write the summary to the log file and send it to the monitor; a run that had nothing to do leaves no log line."""
    word = run.summary_line or why
    if word:
        _log.info("%s ended: %s; exit code %d", run.program, word, code, extra=PRINTED)
    if ping is not None:
        # A monitor takes every code but 0 for a failure, and a question without an answer is none.
        ping.send_end(
            0 if code == NOT_FOUND else code, {"summary": masked(word) or "nothing to do", "exit_code": code, **run.details}
        )


LARGEST = 1_000_000  # bytes; up to three older files of that size are kept
OLDER = 3


class _Lines(logging.Formatter):
    """Lines with the time in UTC. Keys are masked, in tracebacks too."""

    converter = staticmethod(time.gmtime)
    default_msec_format = "%s.%03dZ"

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - the library's name
        return super().formatTime(record, datefmt).replace(" ", "T", 1)


class _LogFile(RotatingFileHandler):
    """A file that is created at the first record, and readable by its owner only."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        return os.fdopen(open_log(path), "a", encoding="utf-8", errors="backslashreplace")

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
