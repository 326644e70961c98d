"""A night that machines share: its batch is begun by one, researched by all, and closed by whoever ends the last session.

A worker decides nothing about a session. It takes over the session's stream, so that whoever wrote it before is refused from then
on, opens the session, and runs the loop until its agenda is empty or somebody asks to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from pipeline.batch.due_queries import Decision, cause_of, split_at_limit
from pipeline.batch.night_account import BatchResult, batch_ended, ended_event, spent_since
from pipeline.batch.session_lifecycle import accept_handoff, complete_handoff
from pipeline.batch.session_pool import FIRST_PAUSE_S, LONGEST_PAUSE_S, PASSED, Batch
from pipeline.domain.budget import Caps, SharedPart
from pipeline.domain.events import night_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session_rules import ResearchSession
from pipeline.domain.state import SessionState, cost_of
from pipeline.domain.values import Cost, ResearchConfig
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import StreamLog
from pipeline.engine.run_context import RunContext, Stop, ending_at
from pipeline.errors import (
    BudgetSpent,
    LogError,
    LogUnwritable,
    ProviderRefused,
    ResearchError,
    StepError,
    StoreUnreachable,
    UsageError,
    VersionConflict,
)
from pipeline.ports import EventStore
from pipeline.ports.distribution import BUILD, CLOSE, JobEngine, Night, Nights, Share, Taken
from pipeline.research import StepContext
from pipeline.text.normalise import one_line
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.batch.night_workers")

ADVANCE_S = 10.0  # between two looks at what a night waits for and the queue lacks
MOST_FRUITLESS = 5  # workers that a session may cost without recording anything
MOST_REFUSALS = 6  # tries, some of them by machines that are not connected yet, of a session that none is set up for
MOST_OUTAGES = 4
ENDED, GIVEN_BACK, TAKEN_OVER, REFUSED = "ended", "put back", "taken over", "refused"
Prepared = Callable[[SessionState, SharedPart | None], StepContext]


async def open_night(
    batch: Batch,
    decisions: Sequence[Decision],
    limit: int | None,
    nights: Nights,
    night: Callable[[str], Night],
    entry: Callable[[ResearchConfig, str], str],
) -> str:
    """Begin the night's batch: a job for each due query. Return the batch's id.

    ``night`` returns the night's row for a batch, ``entry`` the entry point of a session with that config for that machine.

    Raises:
        LogError: log or database cannot be written.
    """
    log = batch.begin(decisions, limit)
    batch.store.release(log.id)
    jobs: dict[str, str] = {}
    results: list[dict[str, Any]] = []
    for decision in split_at_limit(decisions, limit)[0]:
        try:
            session = await batch.session_of(decision)
        except LogUnwritable:
            raise
        except ResearchError as error:
            cause = cause_of(error) if isinstance(error, LogError) else ""
            name, state = decision.query.id, SessionState(id=decision.session if decision.action == "resume" else "")
            results.append(ended_event(name, decision.query.text, state, "failed", one_line(str(error), 500), cause).model_dump())
        else:
            jobs[session.id] = entry(session.state.config, decision.machine)
            batch.store.release(session.id)
    await asyncio.to_thread(nights.open, night(log.id), jobs, results)
    return log.id


def close_batch(store: EventStore, batch: str, results: Sequence[Any], context: RunContext) -> None:
    """Record the results of a batch and its end, unless that is done already.

    Raises:
        LogError: its log cannot be read or written.
    """
    store.take_over(batch)
    try:
        events = list(decode_all(record.data for record in store.load(batch)))
        if not events or any(isinstance(event, n.BatchEnded) for event in events):
            return
        ended = tuple(n.QueryEnded.model_validate(one) for one in results if one["type"] == "query.ended")
        left = tuple(n.QuerySkipped.model_validate(one) for one in results if one["type"] == "query.skipped")
        skipped = (*(event for event in events if isinstance(event, n.QuerySkipped)), *left)
        cost = spent_since(store, [event.session for event in ended if event.session], events[0].at)
        end = batch_ended(BatchResult(batch, ended, skipped), cost, events[0].at, timestamp(context.now()))
        StreamLog(store, context, batch, events[-1].version).record(*ended, *left, end)
    finally:
        store.release(batch)


class SessionShare:
    """The shared part of one session's budget, for one turn. ``refusal`` is why the last refused call was refused, or ""."""

    def __init__(self, nights: Nights, share: Share) -> None:
        self._nights, self._share = nights, share
        self._settling: set[asyncio.Task[None]] = set()
        self.refusal = ""

    async def reserve(self, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call.

        Raises:
            BudgetSpent: it would exceed a cap of the night.
            StoreUnreachable: the database does not answer, so nothing may be spent.
            VersionConflict: another worker has taken the session over.
        """
        try:
            await asyncio.to_thread(self._nights.reserve, self._share, worst, calls)
        except BudgetSpent as error:
            self.refusal = error.message
            raise

    def settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost. It is done in the background; the log corrects it in any case."""

        async def settle() -> None:
            try:
                await asyncio.to_thread(self._nights.settle, self._share, worst, calls, actual)
            except LogError as error:
                _log.info("a call of %s could not be settled: %s", self._share.session, error.message)

        task = asyncio.get_running_loop().create_task(settle())
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def settled(self) -> None:
        """Wait until all that was asked for is done."""
        if self._settling:
            await asyncio.wait(self._settling)


@dataclass
class NightWorker:
    """The port ``Worker``; ``context.deadline`` is its own end, if it has one.

    ``prepare`` returns the step context of a session that may spend that part of the night's budget; without it no session is
    researched. ``build`` builds vault and site of a batch; without it others do. ``entries`` are the entry points of the sessions
    that it takes now. ``say`` prints a line; True: also where only problems are printed. ``ended`` counts sessions by what became
    of them.
    """

    store: EventStore
    nights: Nights
    context: RunContext
    machine: str = ""
    prepare: Prepared | None = None
    build: Callable[[str], Awaitable[None]] | None = None
    entries: Callable[[], Collection[str]] = tuple
    say: Callable[[str, bool], None] = lambda _line, _problem: None
    ended: dict[str, int] = field(default_factory=dict)
    _running: dict[str, Stop] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)

    async def work(self, engine: JobEngine) -> None:
        """Do jobs until somebody asks to stop."""

        async def pass_on_stop() -> None:
            await self.context.stop.wait()
            engine.stop()
            for stop in self._running.values():
                stop.ask(self.context.stop.reason, self.context.stop.exit_code)

        async def advance() -> None:
            while True:
                try:
                    await asyncio.to_thread(self.nights.advance)
                except LogError as error:
                    _log.info("the night could not be looked at: %s", error.message)
                await asyncio.sleep(ADVANCE_S)

        aside = [asyncio.create_task(pass_on_stop()), asyncio.create_task(advance())]
        try:
            async with ending_at(self.context.deadline, self.context.now, self.context.stop):
                await engine.run(self)
        finally:
            for task in aside:
                task.cancel()

    def takes(self) -> Collection[str]:
        """Return the entry points whose jobs it does now."""
        return (*((BUILD,) if self.build else ()), CLOSE, *(self.entries() if self.prepare else ()))

    def lost(self, subject: str) -> None:
        """Stop a session that another worker has now; what would still be answered could not be stored."""
        if stop := self._running.get(subject):
            self._lost.add(subject)
            stop.grace_s = 0.0
            stop.ask("another worker has taken it over", 3)

    async def do(self, entry: str, subject: str, attempts: int) -> float | None:
        """Close or build a batch, or research a session."""
        try:
            if entry == CLOSE:
                results = await asyncio.to_thread(self.nights.results, subject)
                await asyncio.to_thread(close_batch, self.store, subject, results, self.context)
                await asyncio.to_thread(self.nights.close, subject)
            elif entry == BUILD and self.build:
                await self.build(subject)
                await asyncio.to_thread(self.nights.close, subject, built=True)
            else:
                return await self._research(subject, attempts)
        except LogError as error:
            self.say(f"{subject}: {error.message}; it is tried again", True)
            return min(2.0**attempts, 60.0)
        return None

    async def _research(self, name: str, attempts: int) -> float | None:
        """Research a session; return in how many seconds its job comes again, None if it is over."""
        stop = self._running[name] = Stop(self.context.stop.grace_s)
        if self.context.stop.asked:
            stop.ask(self.context.stop.reason, self.context.stop.exit_code)
        try:
            await asyncio.to_thread(self.store.take_over, name)
            damage: LogError | None = None
            try:
                session = await asyncio.to_thread(ResearchSession.open, self.store, name)
            except StoreUnreachable:
                raise
            except LogError as error:
                session, damage = ResearchSession(name), error
            state = session.state
            taken = await asyncio.to_thread(self.nights.take, name, cost_of(state), state.version)
            if taken is None:  # it has ended
                return None
            part = SessionShare(self.nights, taken.share)
            result: n.QueryEnded | n.QuerySkipped | None
            if damage is not None:
                result, again_s = _failed(state, damage), None
            else:
                result, again_s = await self._run(session, taken, part, stop, attempts)
            await part.settled()
            if name in self._lost:
                self._count(name, TAKEN_OVER, "another worker has taken it over; it is stopped here")
            elif await asyncio.to_thread(self.nights.leave, taken.share, cost_of(state), result.model_dump() if result else None):
                self._count(name, GIVEN_BACK if result is None else ENDED, result.reason if result else "")
            else:
                self._count(name, TAKEN_OVER, "no longer this worker's")
            return again_s
        except VersionConflict as error:
            self._count(name, TAKEN_OVER, error.message)
            return None
        finally:
            del self._running[name]
            self._lost.discard(name)
            await asyncio.to_thread(self.store.release, name)

    async def _run(
        self, session: ResearchSession, taken: Taken, part: SessionShare, stop: Stop, attempts: int
    ) -> tuple[n.QueryEnded | n.QuerySkipped | None, float | None]:
        """Run a session's loop; return the job's result, or in how many seconds it comes again."""
        state, night, context = session.state, taken.night, self._context_of(taken.night, stop)

        def ended(status: str = "", reason: str = "", cause: str = "") -> tuple[n.QueryEnded, None]:
            return ended_event(state.query_id, state.query, state, status, reason, cause), None

        cause, why = night.halt
        if not cause and night.ends_in_s is not None and night.ends_in_s <= night.writing_s:
            cause, why = "cap", PASSED
        if cause:
            return n.QuerySkipped(query_id=state.query_id, query=state.query, reason=why, cause=cause), None
        if taken.fruitless >= MOST_FRUITLESS:
            why = f"{MOST_FRUITLESS} workers in a row were lost on it, or put it back, without recording anything"
            return ended("failed", why)
        if self.prepare is None:
            return None, 0.0
        try:
            step_context = self.prepare(state, part if night.caps != Caps() else None)
            accept_handoff(session, self.store, context)
            async with ending_at(context.deadline, context.now, stop):
                await run_session(session, self.store, step_context, context)
            complete_handoff(session, self.store, context)
        except UsageError as error:  # this machine is not set up for it; another may be
            refused = await asyncio.to_thread(self.nights.refuse, taken.share, self.machine, error.message)
            self._count(state.id, REFUSED, f"this machine is not set up for it: {error.message}")
            if attempts < MOST_REFUSALS:
                return None, 2.0**attempts
            why = "; ".join(f"{machine}: {reason}" for machine, reason in sorted(refused.items()))
            return ended("interrupted", f"no worker can take it: {why}", "cap")
        except StoreUnreachable as error:
            _log.warning("%s: %s", state.id, error.message)
            return None, 1.0
        except ProviderRefused as error:
            why = one_line(str(error), 500)
            await asyncio.to_thread(self.nights.halt, night.batch, "refused", why)
            return ended("interrupted", why, "refused")
        except (VersionConflict, LogUnwritable):
            raise
        except ResearchError as error:
            outage = error.outage if isinstance(error, StepError) else None
            if outage is None:
                return _failed(state, error), None
            pause_s = max(FIRST_PAUSE_S * 2.0**attempts, outage.after_s)
            if outage.was_up and attempts < MOST_OUTAGES and pause_s <= LONGEST_PAUSE_S and pause_s < context.gathering_left_s():
                return None, pause_s
            return ended("interrupted", f"a service is down: {one_line(error.message, 500)}", "outage")
        except Exception as error:  # noqa: BLE001 - a bug in one session must not end the others
            _log.exception("%s ended unexpectedly", state.id)
            return ended("failed", f"unexpected {type(error).__name__}: {one_line(str(error), 500)}")
        if part.refusal:
            await asyncio.to_thread(self.nights.halt, night.batch, "cap", part.refusal)
        if state.ended or state.waiting:
            return ended()
        if not part.refusal and (self.context.stop.asked or self.context.gathering_left_s() <= 0):
            return None, 0.0
        return ended("interrupted", part.refusal or PASSED, "cap")

    def _context_of(self, night: Night, stop: Stop) -> RunContext:
        """Return the context of one job: a run of its own, which ends with the night or with this worker."""
        context = replace(self.context, run_id=self.context.new_id(), stop=stop)
        if night.ends_in_s is None:
            return context
        end = self.context.now() + timedelta(seconds=night.ends_in_s)
        if self.context.deadline is not None and self.context.deadline <= end:
            return context
        return replace(context, deadline=end, writing=timedelta(seconds=night.writing_s))

    def _count(self, session: str, became: str, why: str) -> None:
        self.ended[became] = self.ended.get(became, 0) + 1
        self.say(f"{session}  {': '.join(filter(None, (became, why)))}", became in (TAKEN_OVER, REFUSED))


def _failed(state: SessionState, error: ResearchError) -> n.QueryEnded:
    cause = cause_of(error) if isinstance(error, LogError) else ""
    return ended_event(state.query_id, state.query, state, "failed", one_line(str(error), 500), cause)
