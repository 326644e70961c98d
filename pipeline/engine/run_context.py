"""The context of a run: clock, id generator, deadline, stop, and the listener to its events."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline.domain.events.session_events import EventBase, RunStarted
from pipeline.domain.state import SessionState
from pipeline.engine.signals import Stop

Listener = Callable[[EventBase, SessionState], None]


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context of a run: its agent, clock, id generator, limits and event listener.

    ``agent`` opens every segment that this run writes. ``deadline`` ends the run; the gathering ends ``writing`` before it.
    ``stop`` may ask for its end at any time. ``concurrency`` bounds the steps under way in one session, without the pages being
    read; ``gate`` those of the whole night. ``redact`` takes keys out of what is written.
    """

    run_id: str
    agent: RunStarted
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    deadline: datetime | None = None
    writing: timedelta = timedelta()
    stop: Stop = field(default_factory=Stop)
    concurrency: int = 8
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1_000_000))
    snapshot_every: int = 20
    listener: Listener = lambda _event, _state: None
    redact: Callable[[bytes], bytes] = lambda data: data

    def gathering_left_s(self) -> float:
        """Return the seconds until the gathering must end; infinite without a deadline."""
        return float("inf") if self.deadline is None else (self.deadline - self.writing - self.now()).total_seconds()

    def grace_s(self) -> float:
        """Return the seconds that what is under way has now; at the end of the gathering half of the time for writing at most."""
        half = self.writing.total_seconds() / 2
        return self.stop.grace_s if self.stop.asked or not half else min(self.stop.grace_s, half)
