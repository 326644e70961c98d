"""The loop of one session: agenda → perform → record, until the agenda is empty.

Steps run side by side without barriers; their outcomes are recorded one batch at a time, in one place. Resuming is the same
loop over a log that is not empty. What was in flight when a process died is asked again, nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from pipeline.domain.agenda import agenda
from pipeline.domain.budget import announce
from pipeline.domain.events.json_codec import encode
from pipeline.domain.events.session_events import Answered, BudgetExhausted, CallSent, EventBase, RunStarted, StepFailed
from pipeline.domain.session import ResearchSession, record_of
from pipeline.domain.state import SessionState, seconds_between, working_seconds
from pipeline.domain.steps import Read, Step
from pipeline.domain.values import Cost
from pipeline.engine.stopping import Stop
from pipeline.errors import BudgetSpent, LogError, LogUnwritable, ProviderRefused, ResearchError, StepError
from pipeline.ports import EventStore
from pipeline.research import Outcome, StepContext, perform, perform_pure
from pipeline.text.normalise import digest_of, one_line
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.engine.loop")

Listener = Callable[[EventBase, SessionState], None]
LONGEST_WAIT_S = 30.0  # a machine that sleeps stops the clock that waits are measured by, not the one of the deadline


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _random_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run takes from outside: who writes, the clock, ids, the night's bounds, and who wants to hear of events.

    ``agent`` opens every segment that this run writes. ``deadline`` ends the night; the gathering ends ``writing`` before it.
    ``stop`` may ask for its end at any time. ``concurrency`` bounds the steps under way in one session, without the pages being
    read; ``gate`` those of the whole night. ``redact`` takes keys out of what is written.
    """

    run_id: str
    agent: RunStarted
    now: Callable[[], datetime] = _utc_now
    new_id: Callable[[], str] = _random_id
    deadline: datetime | None = None
    writing: timedelta = timedelta()
    stop: Stop = field(default_factory=Stop)
    concurrency: int = 8
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1_000_000))
    snapshot_every: int = 20
    listener: Listener = lambda _event, _state: None
    redact: Callable[[bytes], bytes] = lambda data: data

    def gathering_left_s(self) -> float:
        """Return the seconds until the night's gathering must end; infinite without a deadline."""
        return float("inf") if self.deadline is None else (self.deadline - self.writing - self.now()).total_seconds()

    def grace_s(self) -> float:
        """Return the seconds that what is under way has now; at the end of the gathering half of the time for writing at most."""
        half = self.writing.total_seconds() / 2
        return self.stop.grace_s if self.stop.asked or not half else min(self.stop.grace_s, half)


@dataclass(slots=True)
class _Waiting:
    """What is folded and not stored yet."""

    events: list[EventBase] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)


class Recorder:
    """The one place that records: objects first, then the events that name them, durable before anything builds on them.

    Waiting for the disk is done in threads, and what comes up meanwhile goes out together in the next append.
    """

    def __init__(self, session: ResearchSession, store: EventStore, context: RunContext) -> None:
        self._session, self._store, self._context = session, store, context
        self._opened = bool(session.state.runs) and session.state.runs[-1].run_id == context.run_id
        self._stored = self._snapshot_at = session.state.version
        self._waiting = _Waiting()
        self._turn = asyncio.Lock()
        self._failure: LogError | None = None

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Store the outcomes in one append, while nothing else is under way.

        Raises:
            CommandRefused: an event does not fit the state.
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        self.take(outcomes)
        if taken := self._taken():
            self._written(taken.events, self._append(taken))

    def take(self, outcomes: Iterable[Outcome]) -> None:
        """Fold the outcomes' events into the state; the next ``flush`` stores them and their objects.

        Raises:
            CommandRefused: an event does not fit the state.
        """
        outcomes = tuple(outcomes)
        drafts = [draft for outcome in outcomes for draft in outcome.drafts]
        if drafts and not self._opened:
            drafts.insert(0, self._context.agent)
            self._opened = True
        self._waiting.objects += [data for outcome in outcomes for data in outcome.objects]
        self._waiting.events += [self._stamped(draft) for draft in drafts]

    async def flush(self) -> None:
        """Return when all that was taken so far is stored.

        Raises:
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        async with self._turn:
            if self._failure is not None:
                raise self._failure
            if not (taken := self._taken()):
                return
            try:
                version = await asyncio.to_thread(self._append, taken)
            except BaseException as error:
                broken = LogUnwritable(f"{self._session.id}: an event before this one was not stored")
                self._failure = error if isinstance(error, LogError) else broken
                raise
            self._written(taken.events, version)

    def _taken(self) -> _Waiting | None:
        taken, self._waiting = self._waiting, _Waiting()
        return taken if taken.events else None

    def _append(self, taken: _Waiting) -> int:
        for data in taken.objects:
            self._store.put(data)
        return self._store.append(self._session.id, [record_of(event) for event in taken.events], self._stored)

    def _written(self, events: Sequence[EventBase], version: int) -> None:
        self._stored = version
        for event in events:
            self._context.listener(event, self._session.state)
        if self._session.state.version >= self._snapshot_at + self._context.snapshot_every:
            self.snapshot()

    def _stamped(self, draft: EventBase) -> EventBase:
        context = self._context
        at = timestamp(context.now())
        draft = _redacted(draft, context.redact)
        return self._session.record(draft, run_id=context.run_id, event_id=context.new_id(), at=at)

    def snapshot(self) -> None:
        """Keep the state so that the next opening is quick; not one that holds events which could not be stored."""
        if self._snapshot_at < self._session.state.version == self._stored:
            self._store.save_snapshot(self._session.id, self._session.snapshot())
            self._snapshot_at = self._session.state.version


def _redacted(draft: EventBase, redact: Callable[[bytes], bytes]) -> EventBase:
    """The draft without any key that slipped into it, in the state as well as in the log."""
    data = encode(draft)
    clean = redact(data)
    return draft if clean == data else type(draft).model_validate_json(clean)


async def run_session(
    session: ResearchSession, store: EventStore, step_context: StepContext, context: RunContext
) -> SessionState:
    """Work on a started session until its agenda is empty, or until the context asks to stop; return its state.

    Raises:
        ProviderRefused: key, quota or credit; what was answered by then is recorded.
        LogError: the log cannot be written or trusted.
    """
    recorder = Recorder(session, store, context)
    flight = _Flight(asyncio.create_task(context.stop.wait()))
    try:
        while True:
            more = flight.fatal is None and _advance(session.state, recorder, context, flight)
            await recorder.flush()
            if more:
                _start(session.state, recorder, step_context, context, flight)
            if not flight.tasks:
                break
            _collect(session.state, recorder, flight, await _ended(session.state, context, flight))
    finally:
        flight.stopping.cancel()
        await _abandon(flight)
        recorder.snapshot()
        store.release(session.id)
    if flight.fatal is not None:
        raise flight.fatal
    return session.state


@dataclass(slots=True)
class _Flight:
    """What is under way; an error after which nothing new may start; a cap that a step's next call would have passed.

    ``stopping`` ends when somebody asks to stop; ``until`` is the loop's time at which what is still under way is abandoned.
    ``took`` are the seconds that each step took.
    """

    stopping: asyncio.Task[None]
    tasks: dict[asyncio.Task[Outcome], Step] = field(default_factory=dict)
    fatal: Exception | None = None
    spent: BudgetSpent | None = None
    until: float | None = None
    took: dict[Step, float] = field(default_factory=dict)


def _advance(state: SessionState, recorder: Recorder, context: RunContext, flight: _Flight) -> bool:
    """Take all that needs no outside answer; also a cap that is reached, once nothing is under way. Tell if more may start."""
    while pure := [step for step in agenda(state) if step.pure]:
        recorder.take([perform_pure(step, state) for step in pure])
    cap = _reached_cap(state, context, flight.spent)
    if cap is None or context.stop.asked:
        return not context.stop.asked
    of_the_night = cap.cap == "deadline" or (flight.spent is not None and flight.spent.ledger == "night")
    if flight.tasks or (of_the_night and not state.facts):  # without a fact there is nothing to write: tomorrow, then
        return False
    recorder.take([Outcome((cap,))])
    return _advance(state, recorder, context, flight)


async def _ended(state: SessionState, context: RunContext, flight: _Flight) -> Iterable[asyncio.Task[Outcome]]:
    """Wait until a step ends, a cap of time is reached or somebody asks to stop; return the steps that ended."""
    now = asyncio.get_running_loop().time()
    left = _time_left_s(state, context)
    if not (context.stop.asked or left <= 0):
        flight.until = None  # the gathering whose time was up has ended by itself, and writing has time of its own
    elif flight.until is None:
        flight.until = now + context.grace_s()
    if flight.until is None:
        waited_for = {*flight.tasks, flight.stopping}
        await asyncio.wait(waited_for, timeout=min(left, LONGEST_WAIT_S), return_when=asyncio.FIRST_COMPLETED)
    elif now < flight.until:
        await asyncio.wait(flight.tasks, timeout=flight.until - now, return_when=asyncio.FIRST_COMPLETED)
    else:
        await _abandon(flight)
    return [task for task in flight.tasks if task.done()]


def _start(state: SessionState, recorder: Recorder, step_context: StepContext, context: RunContext, flight: _Flight) -> None:
    """Start what the agenda offers and the limits allow."""
    busy = set(flight.tasks.values())
    free = context.concurrency - sum(not isinstance(step, Read) for step in busy)
    new = [step for step in agenda(state) if step not in busy]
    asking = [step for step in new if not isinstance(step, Read)]
    for step in [*(step for step in new if isinstance(step, Read)), *asking[: max(0, free)]]:
        work = _worked(step, state, recorder, step_context, context, flight)
        flight.tasks[asyncio.create_task(work, name=step.key)] = step


async def _worked(
    step: Step, state: SessionState, recorder: Recorder, step_context: StepContext, context: RunContext, flight: _Flight
) -> Outcome:
    """Perform a step.

    Reading waits for its turn at a host and bounds itself: it must not keep questions from being asked meanwhile.
    """
    async with nullcontext() if isinstance(step, Read) else context.gate:
        if context.stop.asked or _time_left_s(state, context) <= 0:  # it waited for its turn, and has not begun
            return Outcome(())
        announce.set(partial(_announced, recorder, step))
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            outcome = await perform(step, state, step_context)
        finally:
            flight.took[step] = round(clock() - began, 3)
    return Outcome(tuple(_ending(draft, step, flight.took[step]) for draft in outcome.drafts), outcome.objects)


async def _announced(recorder: Recorder, step: Step, worst: Cost) -> None:
    recorder.take([Outcome((CallSent(step=step.key, worst=worst),))])
    await recorder.flush()


def _ending(draft: EventBase, step: Step, seconds: float) -> EventBase:
    return draft.model_copy(update={"step": step.key, "seconds": seconds}) if isinstance(draft, Answered) else draft


def _collect(state: SessionState, recorder: Recorder, flight: _Flight, done: Iterable[asyncio.Task[Outcome]]) -> None:
    """Record what ended, in a fixed order. An answer that was paid for is recorded before any error is acted on."""
    outcomes: list[Outcome] = []
    for step, task in sorted(((flight.tasks.pop(task), task) for task in done), key=lambda entry: entry[0].key):
        error = task.exception()
        if error is None:
            outcomes.append(task.result())
        elif not isinstance(error, Exception):
            raise error
        elif isinstance(error, BudgetSpent) and not state.synthesis and not state.exhausted:
            flight.spent = error
            outcomes += [_failed(state, step, error, flight.took.get(step))] if error.cost else []
        elif isinstance(error, LogError):
            flight.fatal = error
        else:
            flight.fatal = error if isinstance(error, ProviderRefused) else flight.fatal
            outcomes.append(_failed(state, step, error, flight.took.get(step)))
    recorder.take(outcomes)


def _failed(state: SessionState, step: Step, error: Exception, seconds: float | None) -> Outcome:
    """A step's error as an event, with what it cost all the same.

    An error that is none of ours is a fault of the program: logged whole, never retried.
    """
    attempt = 1 + (state.failures[step.key].attempts if step.key in state.failures else 0)
    if not isinstance(error, ResearchError):
        _log.error("%s failed unexpectedly", step.key, exc_info=error)
    retryable = isinstance(error, StepError) and error.retryable and attempt < state.config.attempts
    exchange = error.exchange if isinstance(error, StepError) else b""
    spent_early = isinstance(error, BudgetSpent) and not (state.exhausted or state.synthesis)
    event = StepFailed(
        step=step.key,
        error=type(error).__name__,
        message=one_line(str(error), 2_000) or type(error).__name__,
        recoverable=retryable or spent_early or isinstance(error, ProviderRefused),
        attempt=attempt,
        cost=(error.cost if isinstance(error, StepError) else None) or Cost(),
        exchange=digest_of(exchange) if exchange else "",
        seconds=seconds,
    )
    return Outcome((event,), (exchange,) if exchange else ())


def _reached_cap(state: SessionState, context: RunContext, spent: BudgetSpent | None) -> BudgetExhausted | None:
    """Return the cap that ends the gathering now, if one is reached."""
    config = state.config
    if state.ended or state.waiting or state.exhausted or state.synthesis:
        return None
    if spent is not None:
        return BudgetExhausted(cap=spent.cap, limit=spent.limit, spent=spent.spent)
    if config.budget_usd is not None and state.spent.usd >= config.budget_usd:
        return BudgetExhausted(cap="usd", limit=f"{config.budget_usd:.2f}", spent=f"{state.spent.usd:.4f}")
    worked = _worked_s(state, context)
    if config.timeout_s is not None and worked >= config.timeout_s:
        return BudgetExhausted(cap="time", limit=f"{config.timeout_s:g} s", spent=f"{worked:.0f} s")
    if context.deadline is not None and context.gathering_left_s() <= 0:
        return BudgetExhausted(cap="deadline", limit=timestamp(context.deadline), spent=timestamp(context.now()))
    return None


def _worked_s(state: SessionState, context: RunContext) -> float:
    worked = working_seconds(state)
    if state.runs and state.runs[-1].run_id == context.run_id:
        worked += seconds_between(state.runs[-1].last_at, timestamp(context.now()))
    return worked


def _time_left_s(state: SessionState, context: RunContext) -> float:
    """Return the seconds until a cap of time ends the gathering; infinite when there is none, or no gathering any more."""
    if state.ended or state.exhausted or state.synthesis:
        return float("inf")
    timeout_s = state.config.timeout_s
    left = float("inf") if timeout_s is None else timeout_s - _worked_s(state, context)
    return min(left, context.gathering_left_s())


async def _abandon(flight: _Flight) -> None:
    """Cancel what is still under way. What ends all the same is kept; other answers will be asked for again."""
    for task in flight.tasks:
        task.cancel()
    await asyncio.gather(*flight.tasks, return_exceptions=True)
    flight.tasks = {task: step for task, step in flight.tasks.items() if not task.cancelled()}
