"""When a run stops: by a signal or at its deadline, with grace for what is open; and its clock and limits until then."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pipeline.errors import ExitCode

if TYPE_CHECKING:  # slow to import, and this module is there before it is known whether there is work
    import asyncio

    from pipeline.domain.events.session_events import EventBase, RunStarted
    from pipeline.domain.session_state import SessionState

Listener = Callable[["EventBase", "SessionState"], None]
GRACE_S = 10.0
CLOSING_S = 4.0  # for the last records and the notes, once the grace period is over
SIGNALLED = 128  # exit codes above it are 128 and a signal's number
WRITING = timedelta(minutes=5)
SIGNALS: dict[int, int] = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}
_LONGEST_SLEEP_S = 30.0
_ECHO_S = 0.2  # `timeout` sends its signal to the process and then to the process's group: that is one signal, not two


class Stop:
    """Whether to stop. Once ``asked``, nothing new may begin, and what is under way has ``grace_s`` seconds left.

    ``reason`` says in words who asked, ``exit_code`` what the process is to end with. A signal handler may call ``ask``.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.grace_s = grace_s
        self.reason = ""
        self.exit_code = 0
        self._wake: set[Callable[[], object]] = set()

    @property
    def asked(self) -> bool:
        """Return whether a stop was requested."""
        return bool(self.reason)

    def ask(self, reason: str, exit_code: int) -> None:
        """Ask to stop. Whoever asks later counts only with a higher exit code: a signal outweighs the clock."""
        if self.asked and exit_code <= self.exit_code:
            return
        self.reason, self.exit_code = reason, exit_code
        for wake in tuple(self._wake):
            wake()

    async def wait(self) -> None:
        """Return once somebody has asked."""
        import asyncio  # see above

        event, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(event.set)

        self._wake.add(wake)
        try:
            if not self.asked:
                await event.wait()
        finally:
            self._wake.discard(wake)


class SteadyClock:
    """A clock that never goes back.

    If the system clock is set back, it continues from its last time; if set forward, or after a sleep, it follows.

    ``wall`` is the clock it follows, ``passing`` one that only passes, in seconds.
    """

    def __init__(
        self, wall: Callable[[], datetime] = lambda: datetime.now(UTC), passing: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._passing = wall, passing
        self._shown, self._shown_at = wall(), passing()

    def __call__(self) -> datetime:
        """Return the moment, in UTC."""
        passed = self._passing()
        gone_on = self._shown + timedelta(seconds=max(0.0, passed - self._shown_at))
        self._shown, self._shown_at = max(gone_on, self._wall()), passed
        return self._shown


def reserved_for_writing(now: datetime, end: datetime | None) -> timedelta:
    """Return how long before ``end`` the gathering must be over, so that the reports are written by then."""
    return timedelta() if end is None else min(WRITING, max(timedelta(), end - now) / 4)


@asynccontextmanager
async def ending_at(
    end: datetime | None, now: Callable[[], datetime], stop: Stop, other: Stop | None = None
) -> AsyncIterator[None]:
    """Ask to stop when ``end`` has come, or ``other`` is asked. The clock is read every half minute, as the machine may sleep."""
    import asyncio

    async def watch(end: datetime) -> None:
        while (left := (end - now()).total_seconds()) > 0:
            await asyncio.sleep(min(left, _LONGEST_SLEEP_S))
        stop.ask("the deadline has passed", ExitCode.UNFINISHED)

    async def follow(other: Stop) -> None:
        await other.wait()
        stop.ask(other.reason, other.exit_code)

    watching = [asyncio.create_task(watch(end))] if end is not None else []
    watching += [asyncio.create_task(follow(other))] if other else []
    try:
        yield
    finally:
        for task in watching:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@contextmanager
def handle_signals(
    stop: Stop, at_once: Callable[[int, str], object], passing: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Let the first SIGINT, SIGTERM or SIGHUP ask to stop; at the next, call ``at_once`` with the exit code and no message.

    It is called with a message if the run has not ended ``CLOSING_S`` after the grace period, whatever it waits for. A timer of
    the system calls it, because a signal handler must not start a thread. A signal that is ignored (``nohup``, a job in the
    background) stays so. Only for the main thread.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    alarm = signal.getsignal(signal.SIGALRM)
    first_at: list[float] = []

    def hear(number: int, _frame: object) -> None:
        if not first_at:
            first_at.append(passing())
            stop.ask(f"stopped by {signal.Signals(number).name}", SIGNALS[number])
            signal.setitimer(signal.ITIMER_REAL, stop.grace_s + CLOSING_S)
        elif passing() - first_at[0] > _ECHO_S:
            at_once(stop.exit_code, "")

    def give_up(_number: int, _frame: object) -> None:
        at_once(stop.exit_code, f"the run was broken off {stop.grace_s + CLOSING_S:g} s after the signal; the next one goes on")

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, hear)
    signal.signal(signal.SIGALRM, give_up)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in {**before, signal.SIGALRM: alarm}.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of a run: its agent, clock, id generator, limits and event listener.

    ``agent`` opens every segment that this run writes. ``deadline`` ends the run; the gathering ends ``writing`` before it.
    ``stop`` may ask for its end at any time. ``concurrency`` bounds the steps under way in one session, without the pages being
    read; ``gate``, if there is one, those of the whole night. ``redact`` takes keys out of what is written.
    """

    run_id: str
    agent: RunStarted
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    deadline: datetime | None = None
    writing: timedelta = timedelta()
    stop: Stop = field(default_factory=Stop)
    concurrency: int = 8
    gate: asyncio.Semaphore | None = None
    listener: Listener = lambda _event, _state: None
    redact: Callable[[bytes], bytes] = lambda data: data

    def gathering_left_s(self) -> float:
        """Return the seconds until the gathering must end; infinite without a deadline."""
        return float("inf") if self.deadline is None else (self.deadline - self.writing - self.now()).total_seconds()

    def grace_s(self) -> float:
        """Return the seconds that what is under way has now; at the end of the gathering half of the time for writing at most."""
        half = self.writing.total_seconds() / 2
        return self.stop.grace_s if self.stop.asked or not half else min(self.stop.grace_s, half)
