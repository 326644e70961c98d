"""A night that machines share: its batch is begun by one, researched by all, and closed by whoever ends the last session.

A worker decides nothing about a session. It takes over the session's stream, so that whoever wrote it before is refused from then
on, opens the session, and runs the loop until its agenda is empty or somebody asks to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pipeline.batch.due_queries import Decision, split_at_limit
from pipeline.batch.night_result import BatchResult, batch_ended, ended_event, failed_event, spent_since
from pipeline.batch.session_lifecycle import accept_handoff, complete_handoff
from pipeline.batch.session_pool import FIRST_PAUSE_S, LONGEST_PAUSE_S, PASSED, Batch, reason_of
from pipeline.config.services import LOCAL
from pipeline.domain.budget import Caps, SharedPart
from pipeline.domain.events import night_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState, cost_of
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import StreamLog
from pipeline.engine.stopping import RunContext, Stop, ending_at
from pipeline.errors import (
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
from pipeline.ports.distribution import BUILD, CLOSE, JobEngine, Night, Nights, Share, entry_of
from pipeline.research import StepContext
from pipeline.text.cleaning import one_line
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.batch.shared_night")

ADVANCE_S = 10.0  # between two looks at what a night waits for and the queue lacks
MOST_FRUITLESS = 5  # workers that a session may cost without recording anything
MOST_REFUSALS = 6  # tries, some of them by machines that are not connected yet, of a session that none is set up for
MOST_OUTAGES = 4
ENDED, GIVEN_BACK, TAKEN_OVER, REFUSED = "ended", "put back", "taken over", "refused"
Outcome = tuple[n.QueryEnded | None, float | None]  # of a job, or none and in how many seconds it comes again


async def open_night(
    batch: Batch, decisions: Sequence[Decision], limit: int | None, nights: Nights, night: Night, documents: str = ""
) -> str:
    """Begin the ``night``'s batch: a job for each due query. Return the batch's id.

    ``documents`` is the fingerprint of those that sessions search.

    Raises:
        LogError: log or database cannot be written.
    """
    log = batch.begin(decisions, limit)
    jobs: dict[str, str] = {}
    failed: list[n.QueryEnded] = []
    for decision in split_at_limit(decisions, limit)[0]:
        try:
            session = await batch.session_of(decision)
        except LogUnwritable:
            raise
        except ResearchError as error:
            state = SessionState(id=decision.session if decision.action == "resume" else "")
            failed.append(failed_event(decision.query.id, decision.query.text, state, error))
        else:
            jobs[session.id] = entry_of(documents if LOCAL in session.state.config.search else "", decision.machine)
            batch.store.release(session.id)
    log.record(*failed)
    batch.store.release(log.id)
    night = replace(night, batch=log.id, max_failures=night.max_failures - len(failed))
    await asyncio.to_thread(nights.open, night, jobs)
    return log.id


def close_batch(store: EventStore, nights: Nights, batch: str, context: RunContext) -> None:
    """Record what became of the queries of the unfinished night, and the end of its batch, unless that is done already.

    Raises:
        LogError: a log cannot be read or written.
    """
    store.take_over(batch)
    try:
        night, events = nights.unfinished(), list(decode_all(record.data for record in store.load(batch)))
        if not events or night is None or night.batch != batch or any(isinstance(event, n.BatchEnded) for event in events):
            return
        ended, skipped, jobs = list[n.QueryEnded](), list[n.QuerySkipped](), nights.jobs(batch)
        cause, reason = night.halt if night.halt[0] else ("cap", PASSED)
        for name, result, refused in jobs:
            if result and result["type"] == "query.ended":  # earlier versions also kept what was skipped
                ended.append(n.QueryEnded.model_validate(result))
            else:
                state, why = _opened(store, name)[0].state, f"{reason}: {reasons_of(refused)}" if refused else reason
                skipped.append(n.QuerySkipped(query_id=state.query_id, query=state.query, reason=why, cause=cause))
        new = (*ended, *skipped)
        ended += [event for event in events if isinstance(event, n.QueryEnded)]
        skipped += [event for event in events if isinstance(event, n.QuerySkipped)]
        cost = spent_since(store, [name for name, _, _ in jobs], events[0].at)
        end = batch_ended(BatchResult(batch, tuple(ended), tuple(skipped)), cost, events[0].at, timestamp(context.now()))
        StreamLog(store, context, batch, events[-1].version).record(*new, end)
    finally:
        store.release(batch)


def _opened(store: EventStore, name: str) -> tuple[ResearchSession, LogError | None]:
    """Return a session, as far as it can be read, and why not all of it."""
    try:
        return ResearchSession.open(store, name), None
    except StoreUnreachable:
        raise
    except LogError as error:
        return ResearchSession(name), error


@dataclass
class NightWorker:
    """The port ``Worker``; ``context.deadline`` is its own end, if it has one.

    ``entries`` are the entry points of the sessions that it takes now, none at first; ``prepare`` returns the step context of
    such a session, which may spend that part of the night's budget. ``build`` builds vault and site of a batch; without it others
    do. ``say`` prints a line; True: also where only problems are printed. ``ended`` counts sessions by what became of them.
    """

    store: EventStore
    nights: Nights
    context: RunContext
    machine: str = ""
    prepare: Callable[[SessionState, SharedPart | None], StepContext] | None = None
    build: Callable[[str], object] | None = None
    entries: Collection[str] = ()
    say: Callable[[str, bool], None] = lambda _line, _problem: None
    ended: dict[str, int] = field(default_factory=dict)
    _running: set[Stop] = field(default_factory=set)

    async def work(self, engine: JobEngine) -> None:
        """Do jobs until somebody asks to stop."""
        giving, stopping = asyncio.create_task(engine.run(self)), asyncio.create_task(self.context.stop.wait())
        async with ending_at(self.context.deadline, self.context.now, self.context.stop):
            while not (giving.done() or stopping.done()):
                try:
                    await asyncio.to_thread(self.nights.advance)
                except LogError as error:
                    _log.info("the night could not be looked at: %s", error.message)
                await asyncio.wait((giving, stopping), timeout=ADVANCE_S, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        engine.stop()
        self._pass_on_stop()
        await giving

    def _pass_on_stop(self) -> None:
        for stop in self._running if self.context.stop.asked else ():
            stop.ask(self.context.stop.reason, self.context.stop.exit_code)

    def takes(self) -> Collection[str]:
        """Return the entry points whose jobs it does now."""
        return (*((BUILD,) if self.build else ()), CLOSE, *self.entries)

    async def do(self, entry: str, subject: str, attempts: int) -> float | None:
        """Close or build a batch, or research a session."""
        try:
            if entry == CLOSE:
                await asyncio.to_thread(close_batch, self.store, self.nights, subject, self.context)
                await asyncio.to_thread(self.nights.close, subject)
            elif entry == BUILD and self.build:
                await asyncio.to_thread(self.build, subject)
                await asyncio.to_thread(self.nights.close, subject, built=True)
            else:
                return await self._research(subject, attempts)
        except LogError as error:
            self.say(f"{subject}: {error.message}; it is tried again", True)
            return min(2.0**attempts, 60.0)
        return None

    async def _research(self, name: str, attempts: int) -> float | None:
        """Research a session; return in how many seconds its job comes again, None if it is over."""
        stop = Stop(self.context.stop.grace_s)
        self._running.add(stop)
        self._pass_on_stop()
        try:
            await asyncio.to_thread(self.store.take_over, name)
            session, damage = await asyncio.to_thread(_opened, self.store, name)
            state = session.state
            share = await asyncio.to_thread(self.nights.take, name, cost_of(state), state.version)
            if share is None:
                return None
            result, again_s = await self._run(session, share, stop, attempts, damage)
            if not await asyncio.to_thread(share.leave, cost_of(state), result.model_dump() if result else None):
                raise VersionConflict("no longer this worker's")
            self._count(name, ENDED if result else GIVEN_BACK, result.reason if result else "")
            return again_s
        except VersionConflict as error:
            self._count(name, TAKEN_OVER, error.message)
            return None
        finally:
            self._running.discard(stop)
            await asyncio.to_thread(self.store.release, name)

    async def _run(self, session: ResearchSession, share: Share, stop: Stop, attempts: int, damage: LogError | None) -> Outcome:
        """Run a session's loop, in a run of its own that ends with the night or with this worker."""
        state, night, context = session.state, share.night, replace(self.context, run_id=self.context.new_id(), stop=stop)

        def ended(status: str = "", reason: str = "", cause: str = "") -> Outcome:
            return ended_event(state.query_id, state.query, state, status, reason, cause), None

        if night.ends_in_s is not None:
            end = context.now() + timedelta(seconds=night.ends_in_s)
            if context.deadline is None or end < context.deadline:
                context = replace(context, deadline=end, writing=timedelta(seconds=night.writing_s))
        if damage:
            return failed_event(state.query_id, state.query, state, damage), None
        if share.fruitless >= MOST_FRUITLESS:
            why = f"{MOST_FRUITLESS} workers in a row were lost on it, or put it back, without recording anything"
            return ended("failed", why)
        assert self.prepare is not None  # noqa: S101 - else it takes no session
        try:
            step_context = self.prepare(state, share if night.caps != Caps() else None)
            accept_handoff(session, self.store, context)
            async with ending_at(context.deadline, context.now, stop):
                await run_session(session, self.store, step_context, context)
            complete_handoff(session, self.store, context)
        except UsageError as error:  # this machine is not set up for it; another may be
            refused = await asyncio.to_thread(share.refuse, self.machine, error.message)
            self._count(state.id, REFUSED, f"this machine is not set up for it: {error.message}")
            if attempts < MOST_REFUSALS:
                return None, 2.0**attempts
            return ended("interrupted", f"no worker can take it: {reasons_of(refused)}", "cap")
        except StoreUnreachable as error:
            _log.warning("%s: %s", state.id, error.message)
            return None, 1.0
        except ProviderRefused as error:
            why = one_line(str(error), 500)
            await asyncio.to_thread(self.nights.halt, night.batch, "refused", why)
            return ended("interrupted", why, "refused")
        except (VersionConflict, LogUnwritable):
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one session must not end the others
            if not (isinstance(error, StepError) and error.outage):
                return failed_event(state.query_id, state.query, state, error), None
            pause_s = max(FIRST_PAUSE_S * 2.0**attempts, error.outage.after_s)
            can_wait = attempts < MOST_OUTAGES and pause_s <= min(LONGEST_PAUSE_S, context.gathering_left_s())
            return (None, pause_s) if error.outage.was_up and can_wait else ended("interrupted", reason_of(error), "outage")
        if share.refusal:
            await asyncio.to_thread(self.nights.halt, night.batch, "cap", share.refusal)
        if state.ended or state.waiting:
            return ended()
        if not share.refusal and (self.context.stop.asked or self.context.gathering_left_s() <= 0):
            return None, 0.0
        return ended("interrupted", share.refusal or PASSED, "cap")

    def _count(self, session: str, became: str, why: str) -> None:
        self.ended[became] = self.ended.get(became, 0) + 1
        self.say(f"{session}  {': '.join(filter(None, (became, why)))}", became in (TAKEN_OVER, REFUSED))


def reasons_of(refused: Mapping[str, str]) -> str:
    """Return in words which machines are not set up for a session, and why."""
    return "; ".join(f"{machine}: {why}" for machine, why in sorted(refused.items()))
