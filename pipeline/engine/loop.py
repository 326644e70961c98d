"""The loop of one session: agenda → perform → record, until the agenda is empty or a cap of money or time is reached.

Steps run concurrently without barriers; their results are recorded one batch at a time, in one place. Resuming is the same
loop over a log that is not empty: only calls that were in flight when the process died are repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import nullcontext
from functools import partial

from pipeline.domain.agenda import agenda
from pipeline.domain.budget import SET_BY, announce
from pipeline.domain.events.session_events import Answered, BudgetExhausted, CallSent
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState, seconds_between, working_seconds
from pipeline.domain.steps import FetchPage, Step
from pipeline.engine.recorder import Recorder, failed
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import AnswerInvalid, BudgetSpent, LogError, ProviderRefused, ResearchError, StepError
from pipeline.ports import EventStore
from pipeline.research import StepContext, StepResult
from pipeline.research.performing import perform, perform_pure
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.engine.loop")
LONGEST_WAIT_S = 30.0  # a computer that sleeps stops the clock that waits are measured by, not the one of the deadline


def reached_cap(state: SessionState, context: RunContext, spent: BudgetSpent | None) -> BudgetExhausted | None:
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


def time_left_s(state: SessionState, context: RunContext) -> float:
    """Return the seconds until a cap of time ends the gathering; infinite when there is none, or no gathering any more."""
    if state.ended or state.exhausted or state.synthesis:
        return float("inf")
    timeout_s = state.config.timeout_s
    left = float("inf") if timeout_s is None else timeout_s - _worked_s(state, context)
    return min(left, context.gathering_left_s())


async def run_session(
    session: ResearchSession, store: EventStore, step_context: StepContext, context: RunContext
) -> SessionState:
    """Work on a started session until its agenda is empty, or until the context asks to stop; return its state.

    Raises:
        ProviderRefused: key, quota or credit; what was answered by then is recorded.
        BudgetSpent: a cap does not allow the first call, and the session stays open.
        StepError: with an ``outage``: a service is down, and the session stays open.
        LogError: the log cannot be written or trusted.
    """
    loop = _SessionLoop(session.state, Recorder(session, store, context), step_context, context)
    try:
        await loop.run()
    finally:
        await loop.close()
        store.release(session.id)
    if loop.fatal is not None:
        raise loop.fatal
    return session.state


class _SessionLoop:
    """One session's loop. ``_tasks`` are the steps under way; after ``fatal`` no other starts.

    ``_spent`` is a cap that a step's next call would have passed. ``_asked_to_stop`` ends when somebody asks to stop;
    ``_until`` is the event loop's time at which what is still under way is abandoned. ``_seconds``: how long each step took.
    """

    def __init__(self, state: SessionState, recorder: Recorder, step_context: StepContext, context: RunContext) -> None:
        self._state, self._recorder, self._step_context, self._context = state, recorder, step_context, context
        self._tasks: dict[asyncio.Task[StepResult], Step] = {}
        self._asked_to_stop = asyncio.create_task(context.stop.wait())
        self._spent: BudgetSpent | None = None
        self._until: float | None = None
        self._seconds: dict[Step, float] = {}
        self.fatal: Exception | None = None

    async def run(self) -> None:
        """Perform and record until nothing may start and nothing is under way."""
        while True:
            more = self.fatal is None and self._take_pure_steps()
            await self._recorder.flush()
            busy = set(self._tasks.values())
            free = self._context.concurrency - sum(not isinstance(step, FetchPage) for step in busy)
            new = [step for step in agenda(self._state) if step not in busy] if more else []
            asking = [step for step in new if not isinstance(step, FetchPage)]
            # Reading bounds itself: it waits for its turn at a host.
            reads = [step for step in new if isinstance(step, FetchPage)]
            for step in (*reads, *asking[: max(0, free)]):
                self._tasks[asyncio.create_task(self._perform(step), name=step.key)] = step
            if not self._tasks:
                return
            self._collect(await self._wait_for_steps())

    async def close(self) -> None:
        """Cancel what is under way."""
        self._asked_to_stop.cancel()
        await self._abandon_steps()

    def _take_pure_steps(self) -> bool:
        """Take steps that need no outside answer, and a reached cap once nothing is under way. Return if more may start."""
        while pure := [step for step in agenda(self._state) if step.pure]:
            for result in [perform_pure(step, self._state) for step in pure]:  # all of the state before them
                self._take(result)
        if self._context.stop.asked:
            return False
        cap = reached_cap(self._state, self._context, self._spent)
        if cap is None:
            return True
        # Without a fact there is nothing to write: tomorrow, then.
        if self._tasks or (cap.cap != "time" and not self._state.facts):
            spent = self._spent
            if spent is None and cap.cap == "usd":
                message = f"the query's budget of {cap.limit} USD ({SET_BY['query']}) is spent, and nothing was found yet"
                spent = BudgetSpent(message, ledger="query", cap=cap.cap, limit=cap.limit, spent=cap.spent)
            self.fatal = self.fatal if self._tasks else self.fatal or spent
            return False
        self._recorder.take(cap)
        return self._take_pure_steps()

    async def _perform(self, step: Step) -> StepResult:
        gate = None if isinstance(step, FetchPage) else self._context.gate
        async with gate or nullcontext():
            if self._context.stop.asked or time_left_s(self._state, self._context) <= 0:
                return StepResult(())  # it waited for its turn, and has not begun
            announce.set(partial(self._record_call, step))
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                result = await perform(step, self._state, self._step_context)
            finally:
                self._seconds[step] = round(clock() - began, 3)
        said = {"step": step.key, "seconds": self._seconds[step]}
        drafts = (draft.model_copy(update=said) if isinstance(draft, Answered) else draft for draft in result.drafts)
        return StepResult(tuple(drafts), result.objects)

    async def _record_call(self, step: Step, worst: Cost) -> None:
        self._recorder.take(CallSent(step=step.key, worst=worst))
        await self._recorder.flush()

    async def _wait_for_steps(self) -> Iterable[asyncio.Task[StepResult]]:
        """Wait until a step ends, a cap of time is reached or somebody asks to stop; return the steps that ended."""
        now = asyncio.get_running_loop().time()
        left = time_left_s(self._state, self._context)
        if not (self._context.stop.asked or left <= 0):
            self._until = None  # the gathering whose time was up has ended, and writing has time of its own
        elif self._until is None:
            self._until = now + self._context.grace_s()
        if self._until is None:
            waited_for = {*self._tasks, self._asked_to_stop}
            await asyncio.wait(waited_for, timeout=min(left, LONGEST_WAIT_S), return_when=asyncio.FIRST_COMPLETED)
        elif now < self._until:
            await asyncio.wait(self._tasks, timeout=self._until - now, return_when=asyncio.FIRST_COMPLETED)
        else:
            await self._abandon_steps()
        return [task for task in self._tasks if task.done()]

    def _collect(self, done: Iterable[asyncio.Task[StepResult]]) -> None:
        """Record what ended, in a fixed order. An answer that was paid for is recorded before any error is acted on."""
        results: list[tuple[Step, StepResult]] = []
        for step, task in sorted(((self._tasks.pop(task), task) for task in done), key=lambda entry: entry[0].key):
            error = task.exception()
            if error is None:
                results.append((step, task.result()))
            elif not isinstance(error, Exception):
                raise error
            elif isinstance(error, BudgetSpent) and not self._state.synthesis and not self._state.exhausted:
                self._spent = error
                results += [(step, self._failure(step, error))] if error.cost else []
            elif isinstance(error, LogError):
                self.fatal = error
            else:
                is_fatal = isinstance(error, ProviderRefused) or (isinstance(error, StepError) and error.outage)
                self.fatal = self.fatal or (error if is_fatal else None)
                results.append((step, self._failure(step, error)))
        for step, result in results:
            try:
                self._take(result)
            except AnswerInvalid as error:  # it must fail its own step, not the log
                error.cost = next((draft.cost for draft in result.drafts if isinstance(draft, Answered)), None)
                self._take(self._failure(step, error))

    def _take(self, result: StepResult) -> None:
        self._recorder.take(*result.drafts, objects=result.objects)

    async def _abandon_steps(self) -> None:
        """Cancel what is still under way. What ends all the same is kept; other answers will be asked for again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = {task: step for task, step in self._tasks.items() if not task.cancelled()}

    def _failure(self, step: Step, error: Exception) -> StepResult:
        """Return a step's error as an event, with what the step cost all the same.

        An outage is not counted as an attempt. What was paid for is not asked again in the same way: the reasoner itself asks
        once more, with a changed prompt. An error that is none of ours is a fault of the program: logged whole, never retried.
        """
        state, known = self._state, error if isinstance(error, StepError) else None
        attempt = 1 + (state.failures[step.key].attempts if step.key in state.failures else 0)
        if not isinstance(error, ResearchError):
            _log.error("%s failed unexpectedly", step.key, exc_info=error)
        was_paid_for = bool(known and known.cost and known.cost.total_tokens)
        retryable = known is not None and known.retryable and attempt < state.config.attempts and not was_paid_for
        spent_early = isinstance(error, BudgetSpent) and not (state.exhausted or state.synthesis)
        is_open = isinstance(error, ProviderRefused) or bool(known and known.outage)
        again = retryable or spent_early or is_open
        event = failed(step.key, error, recoverable=again, attempt=attempt, seconds=self._seconds.get(step))
        return StepResult((event,), (known.exchange,) if known and known.exchange else ())
