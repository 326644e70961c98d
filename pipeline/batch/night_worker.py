"""A night that machines share: its batch is begun by one, researched by all, and closed by whoever ends the last session.

A worker decides nothing about a session. It takes over the session's stream, so that whoever wrote it before is refused from then
on, opens the session, and runs the loop until its agenda is empty or somebody asks to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pipeline.batch.batch_runner import FIRST_PAUSE_S, LONGEST_PAUSE_S, PASSED, Batch
from pipeline.batch.due_queries import Decision, split_at_limit
from pipeline.batch.night_result import batch_ended, ended_by_error, ended_event, result_of, spent_since
from pipeline.batch.session_lifecycle import accept_handoff, complete_handoff
from pipeline.config.services import LOCAL
from pipeline.domain.budget import Caps, SharedPart
from pipeline.domain.events import night_events as n
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import StreamLog
from pipeline.engine.stop_and_clock import RunContext, Stop, ending_at
from pipeline.errors import LogError, LogUnwritable, ResearchError, StepError, UsageError, VersionConflict
from pipeline.ports import EventStore
from pipeline.ports.night_jobs import BUILD, CLOSE, JobEngine, Night, NightJob, Nights, Share, entry_of
from pipeline.research import StepContext
from pipeline.text.times import timestamp

MOST_FRUITLESS = 5  # workers that a session may cost without recording anything
MOST_REFUSALS = 6  # tries, in a minute, of a session that no connected worker is set up for: others may come
MOST_WAITS = 36  # tries, in half an hour, while others are connected that may be set up for it


async def open_night(
    batch: Batch, decisions: Sequence[Decision], limit: int | None, nights: Nights, night: Night, documents: str = ""
) -> str:
    """Begin the ``night``'s batch: a job for each due query. Return the batch's id.

    ``documents`` is the fingerprint of those that sessions search.

    Raises:
        LogError: log or database cannot be written.
    """
    log, jobs, failures_left = batch.begin(decisions, limit), list[NightJob](), night.max_failures
    for decision in split_at_limit(decisions, limit)[0]:
        query = decision.query
        try:
            session = await batch.session_of(decision)
        except LogUnwritable:
            raise
        except ResearchError as error:
            state = SessionState(id=decision.session if decision.action == "resume" else "")
            log.record(ended_by_error(query.id, query.text, state, error))
            failures_left -= 1
        else:
            entry = entry_of(documents if LOCAL in session.state.config.search else "", decision.machine)
            jobs.append(NightJob(session.id, query.id, query.text, entry))
            batch.store.release(session.id)
    batch.store.release(log.id)
    await asyncio.to_thread(nights.open, replace(night, batch=log.id, max_failures=failures_left), jobs)
    return log.id


def close_batch(store: EventStore, nights: Nights, batch: str, context: RunContext) -> None:
    """Record what became of the queries of the unfinished night, and the end of its batch, unless that is done already.

    Raises:
        LogError: a log cannot be read or written.
    """
    store.take_over(batch)
    try:
        night, events = nights.unfinished(), list(decode_all(record.data for record in store.load(batch)))
        if night is None or any(isinstance(event, n.BatchEnded) for event in events):
            return
        cause, reason = night.halt if night.halt[0] else ("cap", PASSED)
        jobs, new = nights.jobs(batch), list[n.QueryEnded | n.QuerySkipped]()
        for job in jobs:
            why = f"{reason}: {reasons_of(job.refused)}" if job.refused else reason
            skipped = n.QuerySkipped(query_id=job.query_id, query=job.query, reason=why, cause=cause)
            new.append(n.QueryEnded.model_validate(job.result) if job.result else skipped)
        cost = spent_since(store, [job.session for job in jobs], events[0].at)
        end = batch_ended(result_of([*events, *new]), cost, events[0].at, timestamp(context.now()))
        StreamLog(store, context, batch, events[-1].version).record(*new, end)
    finally:
        store.release(batch)


@dataclass
class NightWorker:
    """Does the jobs of a night, that is: its sessions, its closing, its building. ``context.deadline`` is its own end, if any.

    ``look`` returns the entry points of the sessions that it takes, and is called every ``look_s`` seconds; ``prepare`` returns
    the step context of such a session, which may spend that part of the night's budget. ``build`` builds vault and site of a
    batch; without it others do. ``say`` prints a line; True: also where only problems are printed.
    """

    store: EventStore
    nights: Nights
    context: RunContext
    prepare: Callable[[SessionState, SharedPart | None], StepContext] | None = None
    build: Callable[[str], object] | None = None
    look: Callable[[], Collection[str]] = tuple
    look_s: float = 10.0
    say: Callable[[str, bool], None] = lambda _line, _problem: None
    entries: Collection[str] = ()

    async def work(self, engine: JobEngine) -> None:
        """Do jobs until somebody asks to stop."""
        giving, stopping = asyncio.create_task(engine.run(self.takes, self.do)), asyncio.create_task(self.context.stop.wait())
        told = ""
        try:
            async with ending_at(self.context.deadline, self.context.now, self.context.stop):
                while not (giving.done() or stopping.done()):
                    try:
                        self.entries = await asyncio.to_thread(self.look)
                        await asyncio.to_thread(self.nights.advance)
                        told = ""
                    except LogError as error:
                        if told != error.message:
                            self.say(f"{error.message}; it is tried again", True)
                        told = error.message
                    await asyncio.wait((giving, stopping), timeout=self.look_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            engine.stop()
            await giving

    def takes(self) -> Collection[str]:
        """Return the entry points whose jobs it does now."""
        return (*((BUILD,) if self.build else ()), CLOSE, *self.entries)

    async def do(self, entry: str, subject: str, attempts: int) -> float | None:
        """Close or build a batch, or research a session; return in how many seconds the job comes again, None if it is over."""
        try:
            if entry == CLOSE:
                await asyncio.to_thread(close_batch, self.store, self.nights, subject, self.context)
                await asyncio.to_thread(self.nights.close, subject)
            elif entry == BUILD and self.build:
                await asyncio.to_thread(self.build, subject)
                await asyncio.to_thread(self.nights.close, subject, built=True)
            else:
                return await self._research(subject, attempts)
        except VersionConflict as error:
            self.say(f"{subject}  taken over, {error.message}", True)
        except LogError as error:
            self.say(f"{subject}: {error.message}; it is tried again", True)
            return min(2.0**attempts, 60.0)
        return None

    async def _research(self, name: str, attempts: int) -> float | None:
        """Research a session; return as ``do``."""
        try:
            await asyncio.to_thread(self.store.take_over, name)
            share = await asyncio.to_thread(self.nights.take, name)
            if share is None:
                return None
            result = await self._run(share, attempts)
            if not isinstance(result, n.QueryEnded):
                self.say(f"{name}  put back", False)
                return result
            await asyncio.to_thread(share.end, result.model_dump())
            self.say(f"{name}  {', '.join(filter(None, ('ended', result.reason)))}", False)
            return None
        finally:
            await asyncio.to_thread(self.store.release, name)

    async def _run(self, share: Share, attempts: int) -> n.QueryEnded | float:
        """Run a session's loop, in a run of its own; return its result, or in how many seconds it may be tried again."""
        state, job, night, now = SessionState(id=share.job.session), share.job, share.night, self.context.now
        end = None if night.ends_in_s is None else now() + timedelta(seconds=night.ends_in_s)
        stop, writing = Stop(self.context.stop.grace_s), timedelta(seconds=night.writing_s)
        context = replace(self.context, run_id=self.context.new_id(), stop=stop, deadline=end, writing=writing)

        def ended(status: str = "", reason: str = "", cause: str = "") -> n.QueryEnded:
            return ended_event(job.query_id, job.query, state, status, reason, cause)

        if share.fruitless >= MOST_FRUITLESS:
            return ended("failed", f"{MOST_FRUITLESS} workers in a row were lost on it, or put it back, and recorded nothing")
        assert self.prepare is not None  # noqa: S101 - else it takes no session
        try:
            session = await asyncio.to_thread(ResearchSession.open, self.store, job.session)
            state = session.state
            step_context = self.prepare(state, share if night.caps != Caps() else None)
            accept_handoff(session, self.store, context)
            async with ending_at(end, now, stop, self.context.stop):
                await run_session(session, self.store, step_context, context)
            complete_handoff(session, self.store, context)
        except UsageError as error:  # this machine is not set up for it; another may be
            refused = await asyncio.to_thread(share.refuse, self.context.agent.agent, error.message)
            self.say(f"{state.id}  refused, this machine is not set up for it: {error.message}", attempts == 0)
            others = set(await asyncio.to_thread(self.nights.workers)) - set(refused)
            if attempts < (MOST_WAITS if others else MOST_REFUSALS):
                return min(2.0**attempts, 60.0)
            return ended("interrupted", f"no worker can take it: {reasons_of(refused)}", "cap")
        except (VersionConflict, LogUnwritable):
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one session must not end the others
            outage = error.outage if isinstance(error, StepError) else None
            if outage and outage.was_up:
                pause_s = max(FIRST_PAUSE_S * 2.0**attempts, outage.after_s)
                # the fifth pause would be longer than any may be
                if pause_s <= min(LONGEST_PAUSE_S, context.gathering_left_s()):
                    return pause_s
            result = ended_by_error(job.query_id, job.query, state, error)
        else:
            result = ended() if state.ended or state.waiting else ended("interrupted", share.refusal or PASSED, "cap")
        cause, reason = ("refused", result.reason) if result.cause == "refused" else ("cap", share.refusal)
        if reason:
            await asyncio.to_thread(self.nights.halt, night.batch, cause, reason)
        return 0.0 if result.cause == "cap" and self.context.stop.asked and not share.refusal else result


def reasons_of(refused: Mapping[str, str]) -> str:
    """Return in words which machines are not set up for a session, and why."""
    return "; ".join(f"{machine}: {why}" for machine, why in sorted(refused.items()))
