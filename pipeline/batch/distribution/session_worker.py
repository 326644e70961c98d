"""A worker: takes jobs, researches each session by the ordinary loop, and gives signs of life meanwhile.

It decides nothing about a session. It takes over the session's stream, so that whoever wrote it before is refused from then on,
opens the session, and runs the loop until its agenda is empty or somebody asks to stop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from pipeline.batch.distribution.heartbeat import Heartbeat
from pipeline.batch.distribution.session_share import SessionShare
from pipeline.batch.session_actions import accept_handoff, complete_handoff
from pipeline.batch.session_pool import PASSED
from pipeline.domain.budget import SharedPart
from pipeline.domain.distribution.jobs import Claim, JobResult, WorkerProcess
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState, cost_of
from pipeline.engine.loop import run_session
from pipeline.engine.run_context import RunContext
from pipeline.engine.stopping import Stop, ending_at
from pipeline.errors import LogError, QueueUnavailable, ResearchError, StoreUnreachable, UsageError, VersionConflict
from pipeline.ports import EventStore
from pipeline.ports.distribution import Dispatcher, SharedBudget
from pipeline.research import StepContext

_log = logging.getLogger("pipeline.batch.distribution")

IDLE_S = 1.0  # between two looks at an empty queue
LONGEST_IDLE_S = 15.0  # while the queue cannot be reached
ENDED, GIVEN_BACK, TAKEN_OVER, REFUSED, LOST = "ended", "put back", "taken over", "refused", "lost"
Prepared = Callable[[SessionState, SharedPart | None], StepContext]


@dataclass
class _Running:
    """A job under way. ``lost``: another worker has it now. ``asked``: the run asked to stop it."""

    claim: Claim
    stop: Stop
    lost: bool = False
    asked: bool = False


@dataclass
class SessionWorker:
    """Takes jobs until it is asked to stop; ``context.deadline`` is its own end, if it has one.

    ``prepare`` returns the step context of a session that may spend that part of the night's budget; None: as much as it likes.
    ``process`` returns what the worker says of itself now. ``say`` prints a line; True: also where only problems
    are printed. ``ended`` counts jobs by what became of them.
    """

    store: EventStore
    dispatcher: Dispatcher
    process: Callable[[], WorkerProcess]
    prepare: Prepared
    context: RunContext
    say: Callable[[str, bool], None] = lambda _line, _problem: None
    ended: dict[str, int] = field(default_factory=dict)
    budget: SharedBudget | None = None
    idle_s: float = IDLE_S
    _jobs: dict[str, _Running] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _unreachable: bool = False

    async def work(self, *, once: bool = False) -> None:
        """Take jobs until somebody asks to stop; with ``once`` only until there is none that this worker can take."""
        loop = asyncio.get_running_loop()
        stop = self.context.stop
        stopping = asyncio.create_task(self._pass_on_stop())

        def heard(sessions: Sequence[str], orders: Mapping[str, str]) -> None:
            loop.call_soon_threadsafe(self._obey, sessions, orders)

        try:
            async with ending_at(self.context.deadline, self.context.now, stop):
                with Heartbeat(self.dispatcher, self.process, lambda: tuple(self._jobs), heard):
                    await self._take_jobs(once=once)
                    if self._tasks:
                        await asyncio.wait(self._tasks)
        finally:
            stopping.cancel()
            await self._leave()

    async def _take_jobs(self, *, once: bool) -> None:
        wait = self.idle_s
        while not self.context.stop.asked and self.context.gathering_left_s() > 0:
            claims = await self._claimed()
            for claim in claims or ():
                self._start(claim)
            if once and claims is not None and not claims and not self._tasks:
                return
            wait = self.idle_s if claims is not None else min(2 * wait, LONGEST_IDLE_S)
            if not claims:
                await self._wait(wait)

    async def _claimed(self) -> list[Claim] | None:
        """Return the jobs that were taken now; None if the queue cannot be reached, which is said once."""
        process = self.process()
        free = process.sessions - len(self._jobs)
        if free <= 0:
            return []
        try:
            claims = list(await asyncio.to_thread(self.dispatcher.claim, process, free, tuple(self._jobs)))
        except QueueUnavailable as error:
            if not self._unreachable:
                self.say(f"{error.message}; this worker tries again", True)
            self._unreachable = True
            return None
        if self._unreachable:
            self.say("the database can be reached again", True)
        self._unreachable = False
        return claims

    async def _wait(self, seconds: float) -> None:
        stopping = asyncio.create_task(self.context.stop.wait())
        await asyncio.wait({stopping, *self._tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    def _start(self, claim: Claim) -> None:
        self._jobs[claim.job.session] = _Running(claim, Stop(self.context.stop.grace_s))
        task = asyncio.create_task(self._work_on(self._jobs[claim.job.session]), name=claim.job.session)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _obey(self, sessions: Sequence[str], orders: Mapping[str, str]) -> None:
        """Of these sessions, stop those that the run wants stopped, and those that another worker has taken over."""
        for session, running in ((one, self._jobs[one]) for one in sessions if one in self._jobs):
            if session not in orders:
                running.lost = True
                running.stop.grace_s = 0.0  # what it would still answer could not be stored
                running.stop.ask("another worker has taken it over", 3)
            elif orders[session]:
                running.asked = True
                running.stop.ask(orders[session], 3)

    async def _pass_on_stop(self) -> None:
        await self.context.stop.wait()
        for running in self._jobs.values():
            running.stop.ask(self.context.stop.reason, self.context.stop.exit_code)

    async def _work_on(self, running: _Running) -> None:
        session = running.claim.job.session
        try:
            became, result, refused = await self._researched(running)
            if became in (ENDED, GIVEN_BACK, REFUSED) and not await self._release(session, result, refused):
                became = LOST
            self._count(session, became, refused or (result.message if result else ""))
        finally:
            del self._jobs[session]

    async def _researched(self, running: _Running) -> tuple[str, JobResult | None, str]:
        """Research a session; return what became of it, the job's result if it has one, and why it was refused."""
        try:
            return (*await self._run(running), "")
        except UsageError as error:  # this machine is not set up for it; another may be
            return REFUSED, None, error.message
        except VersionConflict as error:
            _log.warning("%s: %s", running.claim.job.session, error.message)
            return TAKEN_OVER, None, ""
        except (QueueUnavailable, StoreUnreachable) as error:
            _log.warning("%s: %s", running.claim.job.session, error.message)
            return GIVEN_BACK, None, ""
        except ResearchError as error:
            return ENDED, JobResult.of(error), ""
        except Exception as error:  # noqa: BLE001 - a bug in one session must not end the others
            _log.exception("%s ended unexpectedly", running.claim.job.session)
            return ENDED, JobResult.of(error), ""

    async def _run(self, running: _Running) -> tuple[str, JobResult | None]:
        name, context = running.claim.job.session, self._context_of(running)
        session, part = None, None
        try:
            await asyncio.to_thread(self.store.take_over, name)
            session = await asyncio.to_thread(ResearchSession.open, self.store, name)
            part = await self._shared_part(running.claim, session.state)
            step_context = self.prepare(session.state, part)
            accept_handoff(session, self.store, context)
            async with ending_at(context.deadline, context.now, context.stop):
                await run_session(session, self.store, step_context, context)
            complete_handoff(session, self.store, context)
        except LogError:
            running.lost = True  # what is known here may be ahead of the log; whoever takes the session over settles its share
            raise
        finally:
            if part is not None and session is not None and not running.lost:
                await part.close(cost_of(session.state))
            await asyncio.to_thread(self.store.release, name)
        return self._left(running, session.state, part.refusal if part else "")

    async def _shared_part(self, claim: Claim, state: SessionState) -> SessionShare | None:
        """Return what the session may spend of the night's budget; None if that has no cap."""
        if not claim.night.capped or self.budget is None:
            return None
        share = await asyncio.to_thread(self.budget.take_over, claim.night.batch, state.id, cost_of(state))
        return SessionShare(self.budget, share)

    def _left(self, running: _Running, state: SessionState, spent_out: str) -> tuple[str, JobResult | None]:
        """Return what became of a session whose loop has returned: it is over, or something stopped it."""
        if running.lost:
            return TAKEN_OVER, None
        if state.ended or state.waiting:
            return ENDED, JobResult()
        why = spent_out or (running.stop.reason if running.asked else "")
        if not why and (self.context.stop.asked or self.context.gathering_left_s() <= 0):
            return GIVEN_BACK, None
        return ENDED, JobResult(message=why or PASSED, stopped=True, spent=bool(spent_out))

    def _context_of(self, running: _Running) -> RunContext:
        """Return the context of one job: a run of its own, which ends with the night or with this worker."""
        night = running.claim.night
        context = replace(self.context, run_id=self.context.new_id(), stop=running.stop)
        if night.ends_in_s is None:
            return context
        end = self.context.now() + timedelta(seconds=night.ends_in_s)
        if self.context.deadline is not None and self.context.deadline <= end:
            return context
        return replace(context, deadline=end, writing=timedelta(seconds=night.writing_s))

    async def _release(self, session: str, result: JobResult | None, refused: str) -> bool:
        """Release a job, trying again while its lease lasts; later another worker finds from the events how far it is."""
        for attempt in range(4):
            try:
                return await asyncio.to_thread(self.dispatcher.release, self.process(), session, result, refused)
            except QueueUnavailable as error:
                _log.info("%s could not be released: %s", session, error.message)
                await asyncio.sleep(self.process().lease_s / 8 * (attempt < 3))
        return False

    def _count(self, session: str, became: str, why: str) -> None:
        self.ended[became] = self.ended.get(became, 0) + 1
        words = {
            TAKEN_OVER: "another worker has taken it over; it is stopped here",
            REFUSED: f"refused: {why}",
            LOST: "no longer this worker's",
        }
        self.say(f"{session}  {words.get(became) or ': '.join(filter(None, (became, why)))}", became in words)

    async def _leave(self) -> None:
        try:
            await asyncio.to_thread(self.dispatcher.leave, self.process())
        except QueueUnavailable as error:
            _log.info("the queue was not told that this worker ends: %s", error.message)
