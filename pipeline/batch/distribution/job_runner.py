"""Has a batch's sessions researched by workers: makes a job of each, follows the log of all of them, and waits for the jobs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from pipeline.domain.distribution.jobs import Job, JobResult, JobState, Night, SeenWorker, jobs_ahead, why_nobody
from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.records import Record
from pipeline.domain.session import ResearchSession
from pipeline.domain.values import ResearchConfig
from pipeline.engine.run_context import Listener, RunContext
from pipeline.errors import LogError, QueueUnavailable, StoreUnreachable
from pipeline.ports import EventStore, Subscription
from pipeline.ports.distribution import Dispatcher
from pipeline.text.normalise import one_line

_log = logging.getLogger("pipeline.batch.distribution")
T = TypeVar("T")

LOOK_S = 1.0  # between two looks at the queue
JOBS_AHEAD = 8  # at least, as long as no worker is connected
PATIENCE_S = 600.0  # how long a run waits for a worker that can take what is left
DATABASE = "database"  # what a line is about, beside the reasons for which jobs wait
QUIET_S = 5.0  # a worker may just be starting
MOST_FRUITLESS = 5  # workers that a session may cost without recording anything


@dataclass
class _Open:
    """A job that is not over: its session as it is known here, and how far it was when a worker last took it."""

    session: ResearchSession
    over: asyncio.Future[JobResult]
    taken: int = 0
    version_then: int = 0
    fruitless: int = 0


@dataclass
class JobRunner:
    """The ``RemoteRunner`` of a batch. ``night`` says how long it lasts from now, and its caps; ``feed`` yields all events.

    ``documents`` returns the fingerprint of the documents that a session with that config searches, or "". ``listener`` gets
    every event of the batch's sessions, wherever it was recorded. ``say`` prints a line.
    """

    store: EventStore
    dispatcher: Dispatcher
    context: RunContext
    feed: Subscription
    night: Callable[[], Night]
    documents: Callable[[ResearchConfig], str]
    listener: Listener = lambda _event, _state: None
    say: Callable[[str], None] = lambda _line: None
    look_s: float = LOOK_S
    patience_s: float = PATIENCE_S
    quiet_s: float = QUIET_S
    spent_out: str = ""
    _open: dict[str, _Open] = field(default_factory=dict)
    _workers: Sequence[SeenWorker] = ()
    _said: dict[str, str] = field(default_factory=dict)
    _idle_s: float = 0.0
    _stopped: bool = False
    _no_more: str = ""

    def most_at_once(self) -> int:
        """Return how many jobs may be open: enough for all workers that are connected."""
        return jobs_ahead(self._workers, JOBS_AHEAD)

    async def run(self, session: ResearchSession, machine: str) -> str:
        """Make a job of a session; return when it is over, with its state as it is in the store; why it was stopped, or "".

        Raises:
            ResearchError: why the session did not end, as it was raised where it was researched.
        """
        opened = self._open[session.id] = _Open(session, asyncio.get_running_loop().create_future())
        try:
            job = Job(session.id, self.documents(session.state.config), machine)
            await self._until_reachable(lambda: self.dispatcher.enqueue(self.night(), [job]))
            result = await opened.over
            self._fold(opened, await self._until_reachable(lambda: self.store.load(session.id, after=session.state.version)))
        finally:
            del self._open[session.id]
        if error := result.as_error():
            raise error
        if result.spent:
            self.spent_out = self.spent_out or result.message
        return result.message

    def stop_waiting(self, reason: str) -> None:
        """Let the jobs that no worker has taken yet end soon."""
        self._no_more = reason

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Follow queue and log while the context is open; at its end no job of the batch is left."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            with suppress(QueueUnavailable):
                await asyncio.to_thread(self.dispatcher.close, self.night().batch)

    async def _watch(self) -> None:
        while True:
            try:
                await self._look()
            except (QueueUnavailable, StoreUnreachable) as error:
                self._say_once(DATABASE, f"{error.message}; the run waits for it")
            except LogError as error:
                _log.warning("%s", error.message)
            except Exception:  # noqa: BLE001 - the next look may succeed
                _log.exception("the queue could not be followed")
            else:
                self._forget_said(DATABASE, "the database can be reached again")
            await asyncio.sleep(self.look_s)

    async def _look(self) -> None:
        batch = self.night().batch
        jobs = await asyncio.to_thread(self.dispatcher.jobs, batch)
        self._workers = await asyncio.to_thread(self.dispatcher.workers)
        await self._follow_log()
        for job in jobs:
            if opened := self._open.get(job.job.session):
                self._take(job, opened)
        if self._no_more:
            await asyncio.to_thread(self.dispatcher.stop, batch, self._no_more, waiting_only=True)
        await self._stop_if_asked(batch)
        self._report_stuck([job for job in jobs if job.job.session in self._open])

    async def _follow_log(self) -> None:
        while records := await asyncio.to_thread(self.feed.read):
            for record in records:
                if opened := self._open.get(record.session_id):
                    self._fold(opened, [record])

    def _fold(self, opened: _Open, records: Sequence[Record]) -> None:
        """Fold the events that workers recorded, each once and in order, and pass each on."""
        session = opened.session
        for record in records:
            if record.version == session.state.version + 1:  # a later one is loaded when the job is over
                session.replay([record.data])
                self.listener(decode(record.data), session.state)

    def _take(self, job: JobState, opened: _Open) -> None:
        """Take note of how a job is: over, or taken by another worker."""
        if opened.over.done():
            return
        if job.result is not None:
            opened.over.set_result(job.result)
        elif job.taken > opened.taken:
            self._note_take(job, opened)

    def _note_take(self, job: JobState, opened: _Open) -> None:
        """Give a session up that costs one worker after the other and never gets any further."""
        version = opened.session.state.version
        opened.fruitless = opened.fruitless + 1 if opened.taken and version <= opened.version_then + 1 else 0
        opened.taken, opened.version_then = job.taken, version
        if opened.fruitless >= MOST_FRUITLESS:
            why = f"{MOST_FRUITLESS} workers in a row were lost on it, or put it back, without recording anything"
            opened.over.set_result(JobResult("ResearchError", why))

    async def _stop_if_asked(self, batch: str) -> None:
        """Stop the jobs once the run is asked to; those that are still open after the grace are taken away from their workers."""
        if not self.context.stop.asked:
            return
        if not self._stopped:
            self._stopped = True
            asyncio.get_running_loop().call_later(self._grace_s(), self._take_away)
        await asyncio.to_thread(self.dispatcher.stop, batch, self.context.stop.reason)

    def _grace_s(self) -> float:
        """Return how long workers have to hear of a stop and to end: a third of the longest lease, and the grace of a run."""
        return self.context.stop.grace_s + max((seen.worker.lease_s / 3 for seen in self._workers), default=0.0) + self.look_s

    def _take_away(self) -> None:
        for opened in self._open.values():
            if not opened.over.done():
                opened.over.set_result(JobResult(message=self.context.stop.reason, stopped=True))

    def _report_stuck(self, jobs: Sequence[JobState]) -> None:
        """Say which jobs nobody can take; give them up when nothing else has gone on for as long as the run is patient."""
        stuck = {job.job.session: why for job in jobs if (why := why_nobody(job, self._workers))}
        still = all(job.status == "done" or job.job.session in stuck for job in jobs)
        self._idle_s = self._idle_s + self.look_s if stuck and still else 0.0
        for why in set(stuck.values()) - set(self._said) if self._idle_s >= min(self.quiet_s, self.patience_s) else ():
            names = [name for name in stuck if stuck[name] == why]
            self._say_once(why, f"{first_and_more(names)} cannot be taken: {why}")
        self._said = {about: line for about, line in self._said.items() if about in {DATABASE, *stuck.values()}}
        if self._idle_s >= self.patience_s:
            self._give_up(stuck)

    def _give_up(self, stuck: Mapping[str, str]) -> None:
        if all(seen.lost for seen in self._workers):
            self.context.stop.ask(f"no worker is connected since {self._idle_s:.0f} s", 3)
        for session, why in stuck.items():
            if not self._open[session].over.done():
                self._open[session].over.set_result(JobResult(message=f"no worker can take it: {why}", stopped=True))

    def _say_once(self, about: str, line: str) -> None:
        if about not in self._said:
            self._said[about] = line
            self.say(one_line(line, 500))

    def _forget_said(self, about: str, line: str) -> None:
        if self._said.pop(about, ""):
            self.say(line)

    async def _until_reachable(self, work: Callable[[], T]) -> T:
        """Do it in a thread, again and again while the database cannot be reached; the run's stop ends that."""
        while True:
            try:
                return await asyncio.to_thread(work)
            except (QueueUnavailable, StoreUnreachable) as error:
                if self.context.stop.asked:
                    raise
                self._say_once(DATABASE, f"{error.message}; the run waits for it")
                await asyncio.sleep(self.look_s)


def first_and_more(names: Sequence[str]) -> str:
    """Return the first name, and how many more there are."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
