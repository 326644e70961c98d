"""The workflow of ``research work``: take jobs and research them, until somebody asks to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipeline.ops.console_output import PRINTED

if TYPE_CHECKING:
    from pipeline.batch.distribution.session_worker import SessionWorker
    from pipeline.cli.run_environment import RunEnvironment
    from pipeline.domain.budget import SharedPart
    from pipeline.domain.distribution.jobs import WorkerProcess
    from pipeline.domain.state import SessionState
    from pipeline.engine.run_context import RunContext
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.research import StepContext
    from pipeline.wiring.queue_adapters import DocumentsFingerprint
    from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.night")
RESCAN_S = 10.0  # between two looks at the documents


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """What the options of a worker ask for. ``sessions``: how many at once, None for as many as a run works on."""

    until: datetime | None = None
    once: bool = False
    sessions: int | None = None
    lease: timedelta = timedelta(seconds=30)


def work_on_jobs(run: UnattendedRun, request: WorkRequest) -> int:
    """Take jobs and research them; return the process's exit code.

    Raises:
        UsageError: the workspace's log is not in PostgreSQL.
        LogError: the database cannot be used.
    """
    from pipeline.cli.run_environment import Request, environment_of
    from pipeline.wiring import queue_adapters

    env = environment_of(run.console, Request())
    queue_adapters.queue_of(env.workspace.folder)
    ended = run.run_async(_work(run, env, request))
    done = [f"{count} {word}" for word, count in sorted(ended.items())]
    run.summary_line = f"sessions: {', '.join(done)}" if done else "no session was taken"
    if run.console.as_json or not run.console.quiet:
        run.console.data(
            [run.summary_line], {"sessions": ended, "exit_code": run.stop.exit_code if run.stop.exit_code > 3 else 0}
        )
    return run.stop.exit_code if run.stop.exit_code > 3 else 0  # the end of its own time is no failure


async def _work(run: UnattendedRun, env: RunEnvironment, request: WorkRequest) -> dict[str, int]:
    from pipeline.cli.run_environment import prepare
    from pipeline.wiring.queue_adapters import DocumentsFingerprint
    from pipeline.wiring.session_adapters import AdapterFactory

    process, documents = _process(env, request), DocumentsFingerprint(env.workspace)
    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        await asyncio.to_thread(documents.refresh)
        prepare(env.console, env.workspace, factory, ())
        worker = _worker(run, env, request, factory, lambda: replace(process, documents=documents.value))
        env.console.say(f"{process.machine} takes up to {process.sessions} sessions at once", dim=True)
        async with _following_documents(documents, factory):
            await worker.work(once=request.once)
        return worker.ended
    finally:
        await factory.aclose()


def _process(env: RunEnvironment, request: WorkRequest) -> WorkerProcess:
    from pipeline.cli.run_commands import sessions_at_once
    from pipeline.domain.distribution.jobs import WorkerProcess
    from pipeline.wiring.queue_adapters import new_worker_id

    sessions = request.sessions or sessions_at_once(env.workspace)
    return WorkerProcess(new_worker_id(), env.machine, sessions, request.lease.total_seconds())


def _worker(
    run: UnattendedRun, env: RunEnvironment, request: WorkRequest, factory: AdapterFactory, process: Callable[[], WorkerProcess]
) -> SessionWorker:
    from pipeline.batch.distribution.session_worker import SessionWorker
    from pipeline.domain.budget import Budget
    from pipeline.wiring import queue_adapters

    def step_context(state: SessionState, part: SharedPart | None) -> StepContext:
        return factory(state, Budget(name="night", shared=part))

    dispatcher, budget = queue_adapters.queue_of(env.workspace.folder)
    console = env.console

    def say(line: str, problem: bool) -> None:
        console.say(line, always=problem, **({"fg": "yellow"} if problem else {}))
        _log.log(logging.WARNING if problem else logging.INFO, "%s", line, extra=PRINTED)

    return SessionWorker(env.store, dispatcher, process, step_context, _context(run, env, request), say, budget=budget)


def _context(run: UnattendedRun, env: RunEnvironment, request: WorkRequest) -> RunContext:
    """Return the context of a worker: the end of a night, and what it may spend, come with each job."""
    from pipeline.batch.session_pool import with_limits
    from pipeline.cli.progress import Lines
    from pipeline.cli.run_environment import context_of

    limits = replace(env.workspace.queue.settings.limits, deadline=None, timeout=None)
    return with_limits(context_of(env, Lines(env.console).listen, run), limits, request.until)


@asynccontextmanager
async def _following_documents(documents: DocumentsFingerprint, factory: AdapterFactory) -> AsyncIterator[None]:
    """Keep fingerprint and index up to date while the context is open."""

    async def follow() -> None:
        while True:
            await asyncio.sleep(RESCAN_S)
            if await asyncio.to_thread(documents.refresh):
                await asyncio.to_thread(factory.prepare, needed=False)

    following = asyncio.create_task(follow())
    try:
        yield
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following
