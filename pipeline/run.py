"""The loop of one session: agenda → perform → record, until the agenda is empty.

Steps run side by side without barriers; their outcomes are recorded one batch at a time, in one place. Resuming is the same
loop over a log that is not empty. What was in flight when a process died is asked again, nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.agenda import agenda
from pipeline.errors import LogError, ProviderRefused, ResearchError, StepError
from pipeline.events import BudgetExhausted, EventBase, RunStarted, StepFailed, timestamp
from pipeline.ports import EventStore
from pipeline.research import Desk, Outcome, perform, perform_pure
from pipeline.session import ResearchSession, record_of
from pipeline.state import SessionState, seconds_between, working_seconds
from pipeline.steps import Step
from pipeline.text import one_line

_log = logging.getLogger("pipeline.run")

Listener = Callable[[EventBase, SessionState], None]


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _random_id() -> str:
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run takes from outside: who writes, the clock, ids, the night's bounds, and who wants to hear of events.

    ``agent`` opens every segment that this run writes. ``deadline`` ends the gathering, not the writing. ``concurrency``
    bounds the steps under way in one session; ``gate`` those of the whole night.
    """

    run_id: str
    agent: RunStarted
    now: Callable[[], datetime] = _utc_now
    new_id: Callable[[], str] = _random_id
    deadline: datetime | None = None
    concurrency: int = 8
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1_000_000))
    snapshot_every: int = 20
    listener: Listener = lambda _event, _state: None


class Recorder:
    """The one place that records: objects first, then the events that name them, durable before anything builds on them.

    Objects are kept in threads, side by side: waiting for the disk one after another would take longer than the events do.
    """

    def __init__(self, session: ResearchSession, store: EventStore, context: RunContext) -> None:
        self._session, self._store, self._context = session, store, context
        self._opened = bool(session.state.runs) and session.state.runs[-1].run_id == context.run_id
        self._stored = self._snapshot_at = session.state.version

    async def keep(self, outcome: Outcome) -> Outcome:
        """Store an outcome's objects and return it, ready to be recorded.

        Raises:
            LogError: they could not be stored.
        """
        for data in outcome.objects:
            await asyncio.to_thread(self._store.put, data)
        return outcome

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Store the outcomes' events in one append. Their objects have been kept.

        Raises:
            CommandRefused: an event does not fit the state.
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        drafts = [draft for outcome in outcomes for draft in outcome.drafts]
        if not drafts:
            return
        if not self._opened:
            drafts.insert(0, self._context.agent)
        events = [self._stamped(draft) for draft in drafts]
        self._stored = self._store.append(self._session.id, [record_of(event) for event in events], self._stored)
        self._opened = True
        for event in events:
            self._context.listener(event, self._session.state)
        if self._session.state.version >= self._snapshot_at + self._context.snapshot_every:
            self.snapshot()

    def _stamped(self, draft: EventBase) -> EventBase:
        context = self._context
        at = timestamp(context.now())
        return self._session.record(draft, run_id=context.run_id, event_id=context.new_id(), at=at)

    def snapshot(self) -> None:
        """Keep the state so that the next opening is quick; not one that holds events which could not be stored."""
        if self._snapshot_at < self._session.state.version == self._stored:
            self._store.save_snapshot(self._session.id, self._session.snapshot())
            self._snapshot_at = self._session.state.version


async def run_session(session: ResearchSession, store: EventStore, desk: Desk, context: RunContext) -> SessionState:
    """Work on a started session until its agenda is empty; return its state.

    Raises:
        ProviderRefused: key, quota or credit; what was answered by then is recorded.
        LogError: the log cannot be written or trusted.
    """
    recorder = Recorder(session, store, context)
    in_flight: dict[asyncio.Task[Outcome], Step] = {}
    fatal: Exception | None = None
    try:
        while True:
            if fatal is None:
                _start(session.state, recorder, desk, context, in_flight)
            if not in_flight:
                break
            done, _ = await asyncio.wait(in_flight, return_when=asyncio.FIRST_COMPLETED)
            fatal = _collect(session.state, recorder, {task: in_flight.pop(task) for task in done}) or fatal
    finally:
        await _abandon(in_flight)
        recorder.snapshot()
        store.release(session.id)
    if fatal is not None:
        raise fatal
    return session.state


def _start(
    state: SessionState, recorder: Recorder, desk: Desk, context: RunContext, in_flight: dict[asyncio.Task[Outcome], Step]
) -> None:
    """Record all that needs no outside answer, then start what the agenda offers and the limits allow."""
    while pure := [step for step in agenda(state) if step.pure]:
        recorder.record([perform_pure(step, state) for step in pure])
    cap = _reached_cap(state, context)
    if cap is not None:
        if not in_flight:
            recorder.record([Outcome((cap,))])
            _start(state, recorder, desk, context, in_flight)
        return
    busy = set(in_flight.values())
    free = context.concurrency - len(busy)
    for step in [step for step in agenda(state) if step not in busy][: max(0, free)]:
        in_flight[asyncio.create_task(_worked(step, state, recorder, desk, context), name=step.key)] = step


async def _worked(step: Step, state: SessionState, recorder: Recorder, desk: Desk, context: RunContext) -> Outcome:
    async with context.gate:
        outcome = await perform(step, state, desk)
    return await recorder.keep(outcome)


def _collect(state: SessionState, recorder: Recorder, done: dict[asyncio.Task[Outcome], Step]) -> Exception | None:
    """Record what ended, in a fixed order; return an error after which nothing new may start, if there was one."""
    fatal: Exception | None = None
    outcomes: list[Outcome] = []
    for task, step in sorted(done.items(), key=lambda entry: entry[1].key):
        error = task.exception()
        if error is None:
            outcomes.append(task.result())
            continue
        if not isinstance(error, Exception):
            raise error
        if isinstance(error, LogError | ProviderRefused):
            fatal = error
        if not isinstance(error, LogError):
            outcomes.append(Outcome((_failure(state, step, error),)))
    recorder.record(outcomes)
    return fatal


def _failure(state: SessionState, step: Step, error: Exception) -> StepFailed:
    """A step's error as an event. An error that is none of ours is a fault of the program: logged whole, never retried."""
    attempt = 1 + (state.failures[step.key].attempts if step.key in state.failures else 0)
    if not isinstance(error, ResearchError):
        _log.error("%s failed unexpectedly", step.key, exc_info=error)
    retryable = isinstance(error, StepError) and error.retryable and attempt < state.config.attempts
    recoverable = retryable or isinstance(error, ProviderRefused)
    message = one_line(str(error), 2_000) or type(error).__name__
    return StepFailed(step=step.key, error=type(error).__name__, message=message, recoverable=recoverable, attempt=attempt)


def _reached_cap(state: SessionState, context: RunContext) -> BudgetExhausted | None:
    """Return the cap that ends the gathering now, if one is reached."""
    config = state.config
    if state.ended or state.exhausted or state.synthesis:
        return None
    now = context.now()
    if config.budget_usd is not None and state.spent.usd >= config.budget_usd:
        return BudgetExhausted(cap="usd", limit=f"{config.budget_usd:.2f}", spent=f"{state.spent.usd:.4f}")
    worked = working_seconds(state)
    if state.runs and state.runs[-1].run_id == context.run_id:
        worked += seconds_between(state.runs[-1].last_at, timestamp(now))
    if config.timeout_s is not None and worked >= config.timeout_s:
        return BudgetExhausted(cap="time", limit=f"{config.timeout_s:g} s", spent=f"{worked:.0f} s")
    if context.deadline is not None and now >= context.deadline:
        return BudgetExhausted(cap="deadline", limit=timestamp(context.deadline), spent=timestamp(now))
    return None


async def _abandon(in_flight: dict[asyncio.Task[Outcome], Step]) -> None:
    """Cancel what is still under way; its answers were not recorded and will be asked again."""
    for task in in_flight:
        task.cancel()
    await asyncio.gather(*in_flight, return_exceptions=True)
