"""What surrounds a command that works while nobody looks: signals, the lock, the log file, the ping, the last word."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline import __version__
from pipeline.engine import stopping
from pipeline.engine.stopping import SteadyClock, Stop, signals_heard
from pipeline.errors import NOT_FOUND, ResearchError, UsageError, WorkspaceLocked
from pipeline.ops.console_output import TOLD, Console, end, end_at_once, mask_with
from pipeline.ops.log_file import log_kept
from pipeline.text.normalise import one_line

if TYPE_CHECKING:
    from pipeline.engine.run_context import RunContext
    from pipeline.ops.monitor_ping import MonitorPing

T = TypeVar("T")

_log = logging.getLogger("pipeline.ops.unattended")
_TICK_S = 0.5
_LOCK_TICK_S = 0.2


@dataclass
class UnattendedRun:
    """One command at work. ``last_word`` is its summary in one line, ``about`` what else a monitor may be told."""

    console: Console
    program: str
    stop: Stop
    last_word: str = ""
    about: dict[str, Any] = field(default_factory=dict)

    def bound(self, context: RunContext) -> RunContext:
        """Return the context with this shift's stop, and a clock that never goes back."""
        return replace(context, stop=self.stop, now=SteadyClock())

    @contextmanager
    def locked(self, wait: timedelta | None = None) -> Iterator[None]:
        """Hold the workspace's lock; wait for it if another run holds it, up to ``wait``.

        Raises:
            WorkspaceLocked: another run works here, still.
            LogUnwritable: no lock can be made here.
        """
        from pipeline.wiring import workspace_adapters

        with ExitStack() as held:
            patience = time.monotonic() + (wait.total_seconds() if wait else 0.0)
            told = False
            while True:
                try:
                    held.enter_context(workspace_adapters.lock_of(self.console.folder, self.program))
                    break
                except WorkspaceLocked as error:
                    if time.monotonic() >= patience:
                        raise
                    if not told:
                        self.console.say(f"waiting, for {wait} at most: {error.message}")
                        told = True
                self.pause(_LOCK_TICK_S)
            _log.info("%s begins: version %s, process %d", self.program, __version__, os.getpid())
            yield

    def pause(self, seconds: float) -> None:
        """Sleep; end the program if a signal asks for it, for nothing is under way."""
        time.sleep(seconds)
        if self.stop.asked:
            self.last_word = self.stop.reason
            end(self.stop.exit_code)

    def awaited(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` in an event loop of its own, in which signals are heard."""
        import asyncio  # only once there is work: it is slow to import

        return asyncio.run(self._attended(work))

    async def _attended(self, work: Coroutine[Any, Any, T]) -> T:
        import asyncio

        others = [asyncio.create_task(_ticking()), asyncio.create_task(self._stop_told())]
        try:
            return await work
        finally:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    async def _stop_told(self) -> None:
        await self.stop.wait()
        _log.warning("%s: nothing new begins; %g s for what is under way", self.stop.reason, self.stop.grace_s, extra=TOLD)
        once_more = "; once more ends it at once" if self.stop.exit_code > stopping.INTERRUPTED else ""
        self.console.say(f"{self.stop.reason}: up to {self.stop.grace_s:g} s for what is under way{once_more}", fg="yellow")


async def _ticking() -> None:
    """Let Python look for signals: one that comes just before the loop begins to wait would wake it only when it wakes anyway."""
    import asyncio

    while True:
        await asyncio.sleep(_TICK_S)


@contextmanager
def on_shift(console: Console, program: str, ping_url_file: Path | None = None) -> Iterator[UnattendedRun]:
    """Do unattended work meanwhile: hear signals, keep the log file, and tell a monitor how it ends, however it ends."""
    shift = UnattendedRun(console, program, Stop(stopping.GRACE_S))
    logs = log_kept(console.folder) if (console.folder / "queries.yaml").exists() else nullcontext()
    with logs, signals_heard(shift.stop, end_at_once):
        ping = _ping_of(ping_url_file)
        if ping is not None:
            ping.started()
        code, why = 0, ""
        try:
            yield shift
        except BaseException as error:
            code, why = _ending(error)
            raise
        finally:
            _ended(shift, ping, code, why)


def _ping_of(path: Path | None) -> MonitorPing | None:
    if path is None:
        return None
    from pipeline.ops.monitor_ping import MonitorPing, address_in, secrets_in
    from pipeline.text.redaction import Redaction

    try:
        url = address_in(path)
    except UsageError as error:
        _log.warning("%s", error.message)  # it is told and no matter: a night without a ping is better than none
        return None
    mask_with(Redaction(secrets_in(url)).text)
    return MonitorPing(url)


def _ending(error: BaseException) -> tuple[int, str]:
    if isinstance(code := getattr(error, "code", None), int):  # the program is ending, with that code
        return code, ""
    if isinstance(error, ResearchError):
        _log.error("%s: %s", type(error).__name__, error.message, exc_info=error, extra=TOLD)
        return error.exit_code, one_line(error.message, 500)
    _log.error("unexpected %s", type(error).__name__, exc_info=error, extra=TOLD)
    return 1, f"unexpected {type(error).__name__}"


def _ended(shift: UnattendedRun, ping: MonitorPing | None, code: int, why: str) -> None:
    """Say the last word in the log file and to the monitor; where nothing happened, nothing is written."""
    word = shift.last_word or why
    if word:
        _log.info("%s ended: %s; exit code %d", shift.program, word, code, extra=TOLD)
    if ping is not None:
        from pipeline.ops.console_output import masked

        # A monitor takes all but 0 for a failure, and a question without an answer is none.
        ping.ended(
            0 if code == NOT_FOUND else code, {"summary": masked(word) or "nothing to do", "exit_code": code, **shift.about}
        )
