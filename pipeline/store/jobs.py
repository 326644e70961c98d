"""The port ``JobEngine`` over pgqueuer: its queue in the database of the log, its claims, heartbeats and retries.

pgqueuer runs in a thread with an event loop of its own, so that a long computation of a session does not look like death. It
knows its jobs by number alone, so here what ends a job or puts it back is bound to those that still belong to this process: one
that was frozen past its lease ends nothing that another has now.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
from pgqueuer.adapters.inmemory import InMemoryDriver, InMemoryQueries
from pgqueuer.core.executors import EntrypointExecutor, EntrypointExecutorParameters
from pgqueuer.core.qm import QueueManager
from pgqueuer.core.sm import SchedulerManager
from pgqueuer.domain.errors import RetryRequested
from pgqueuer.domain.models import Job, Schedule
from pgqueuer.domain.types import QueueEntrypoint
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries
from psycopg.rows import dict_row

from pipeline.errors import StoreUnreachable, UsageError
from pipeline.ports.night_jobs import Do, Takes
from pipeline.store.postgres_database import Connection, Database

LOOK_S = 1.0  # between two looks at an empty queue
PAUSE_S = 2.0  # between two tries to reach the database
NIGHT = "night"  # the entry point of the schedule


def check_schedule(times: str) -> None:
    """Refuse times that are no cron expression, before anything is started or connected to.

    Raises:
        UsageError: they are none.
    """
    try:
        SchedulerManager(InMemoryQueries(InMemoryDriver())).schedule(NIGHT, times)
    except ValueError as error:
        raise UsageError(f"{times!r} is no schedule", hint='write five fields as in cron: "15 2 * * *"') from error


class PgQueuerEngine:
    """Gives at most ``at_once`` jobs at a time, from the queue in ``database``.

    A job belongs to another who takes it when nothing was heard of this process for ``lease_s`` seconds. What is
    ``scheduled``, at the times of a cron expression in UTC, is called by one of the processes that have it, in the thread of the
    jobs.
    """

    def __init__(self, database: Database, *, at_once: int = 4, lease_s: float = 30.0) -> None:
        self._database, self._at_once, self._lease = database, at_once, timedelta(seconds=lease_s)
        self.scheduled: tuple[str, Callable[[Schedule], Awaitable[None]]] | None = None
        self._stopping = threading.Event()

    async def run(self, takes: Takes, do: Do) -> None:
        """Give jobs to a worker until ``stop``. Those under way end first."""
        await asyncio.to_thread(asyncio.run, self._give(takes, do, asyncio.get_running_loop()))

    def stop(self) -> None:
        """Give no more jobs. May be called at any time, from any thread."""
        self._stopping.set()

    async def _give(self, takes: Takes, do: Do, main: asyncio.AbstractEventLoop) -> None:
        async def do_there(job: Job) -> None:
            doing = do(str(job.entrypoint), (job.payload or b"").decode(), job.attempts)
            again_s = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(doing, main))
            if again_s is not None:
                raise RetryRequested(timedelta(seconds=again_s))

        async def end() -> None:
            await asyncio.to_thread(self._stopping.wait)
            jobs.manager.shutdown.set()
            nights.shutdown.set()

        executor = EntrypointExecutor(EntrypointExecutorParameters(concurrency_limit=0, func=do_there))
        jobs = _OwnJobs(_Driver(self._database, self._stopping), executor, self._at_once, takes)
        nights = SchedulerManager(jobs)
        if self.scheduled:
            times, begin = self.scheduled
            nights.schedule(NIGHT, times)(begin)
        giving = jobs.manager.run(timedelta(seconds=LOOK_S), self._at_once, heartbeat_timeout=self._lease)
        try:
            await asyncio.gather(end(), giving, *([nights.run()] if self.scheduled else []))
        finally:
            self._stopping.set()
            self._database.close()


class _OwnJobs(Queries):
    """pgqueuer's statements, for this process's jobs alone: ``at_once`` at most, of the entry points that it takes."""

    def __init__(self, driver: _Driver, executor: EntrypointExecutor, at_once: int, takes: Takes) -> None:
        super().__init__(driver)
        self._executor, self._at_once, self._takes = executor, at_once, takes
        self.manager = QueueManager(self)

    async def dequeue(self, *_: Any, **asked: Any) -> list[Job]:
        registry = self.manager.entrypoint_registry  # it changes with the worker's documents
        registry.clear()
        registry.update({QueueEntrypoint(name): self._executor for name in self._takes()})
        asked["entrypoints"] = dict.fromkeys(registry, EntrypointExecutionParameter(concurrency_limit=0))
        asked["global_concurrency_limit"] = self._at_once  # pgqueuer's own is two at least
        return await super().dequeue(**asked)

    async def _own(self, ids: list[Any]) -> list[Any]:
        query = "select id from pgqueuer where id = any($1::bigint[]) and queue_manager_id = $2"
        return [row["id"] for row in await self.driver.fetch(query, ids, self.manager.queue_manager_id)]

    async def log_jobs(self, job_status: list[Any]) -> None:
        own = await self._own([job.id for job, _, _ in job_status])
        await super().log_jobs([one for one in job_status if one[0].id in own])

    async def retry_job(self, job: Job, delay: timedelta, traceback_record: Any) -> None:  # noqa: ARG002
        if await self._own([job.id]):  # a job that comes again is no failure: no traceback is kept
            await super().retry_job(job, delay, None)


class _Driver(InMemoryDriver):
    """pgqueuer's port to the database, over one connection that is made again whenever it is lost.

    What pgqueuer would be told by the server stays in this process: a listener would be lost with its connection without a word.
    """

    def __init__(self, database: Database, stopping: threading.Event) -> None:
        super().__init__()
        self._database, self._stopping = database, stopping

    async def fetch(self, query: str, *args: object) -> list[dict[str, object]]:
        def work(connection: Connection) -> list[dict[str, object]]:
            cursor = psycopg.RawCursor(connection, row_factory=dict_row)
            cursor.execute(query.encode(), args or None)
            return cursor.fetchall() if cursor.description else []

        while True:
            try:
                return await asyncio.to_thread(self._database.run, work)
            except StoreUnreachable:
                if self._stopping.is_set():
                    raise
                await asyncio.sleep(PAUSE_S)

    async def execute(self, query: str, *args: object) -> str:
        await self.fetch(query, *args)
        return ""
