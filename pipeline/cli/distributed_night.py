"""A night on several machines: ``research run --distribute`` begins it and shows it, ``research work`` does its jobs.

Whoever shows a night may end at any time: what is left is in the database, and goes on. It also closes and builds the night, if
no worker does before.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Collection
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pipeline.batch.batch_runner import PASSED
from pipeline.batch.due_queries import split_at_limit
from pipeline.batch.night_worker import NightWorker, open_night
from pipeline.cli.batch_end import finish_batch
from pipeline.cli.run_inputs import Decisions, Request, RunEnvironment, environment_of
from pipeline.cli.run_setup_and_progress import Lines, batch_of, context_of, in_its_night, prepare, run_async, sessions_at_once
from pipeline.domain.budget import Budget
from pipeline.domain.events.json_codec import decode
from pipeline.domain.research_values import Cost
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import ExitCode
from pipeline.ops.change_watching import Feed
from pipeline.ops.console_output import PRINTED
from pipeline.ops.unattended import UnattendedRun
from pipeline.ports.night_jobs import RESEARCH, WORKER, Night, entry_of
from pipeline.text.humanize import counted
from pipeline.text.times import night_of
from pipeline.wiring import postgres_adapters
from pipeline.wiring.postgres_adapters import PostgresNights
from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.night")
LOOK_S = 1.0  # between two looks at the night
QUIET_S = 5.0  # a worker may just be starting


async def distribute(run: UnattendedRun, env: RunEnvironment, decided: Decisions, request: Request) -> dict[str, Any]:
    """Begin the night's batch, or go on with one that is not over; show it until it is built, and return its account.

    The account is empty if somebody asked to stop before that.

    Raises:
        CorpusUnusable: a session has only documents to search, and there are none here.
        LogError: the database cannot be used.
    """
    workspace, settings, limit = env.workspace, env.workspace.queue.settings, request.selection.limit
    nights = postgres_adapters.nights_of(workspace.folder)
    context = context_of(env, Lines(env.console).listen, run, request.until)
    day = night_of(context.now(), settings.timezone).isoformat()
    view = partial(_show, env, nights, context, request.distribute or timedelta())
    while before := await asyncio.to_thread(nights.unfinished):
        env.console.say(f"the night's {before.batch} is not over yet", dim=True)
        if before.day == day:
            return await view(before.batch)
        await asyncio.to_thread(nights.halt, before.batch, "cap", PASSED)
        if not await view(before.batch):
            return {}
    searches = {env.config_of(decision.query).search for decision in split_at_limit(decided.decisions, limit)[0]}
    async with aclosing(AdapterFactory(workspace, env.store, env.keys)) as factory:
        documents, skipped = prepare(env.console, workspace, factory, searches)
    ends_in_s = None if context.deadline is None else max(0.0, (context.deadline - context.now()).total_seconds())
    caps, max_failures = settings.limits.caps.left_after(env.spent or Cost()), settings.limits.max_failures
    night = Night(day, "", ends_in_s, context.writing.total_seconds(), caps, max_failures)
    batch = batch_of(env, decided, context)
    batch.skipped_documents = tuple(skipped)
    return await view(await open_night(batch, decided.decisions, limit, nights, night, documents))


async def _show(env: RunEnvironment, nights: PostgresNights, context: RunContext, wait: timedelta, batch: str) -> dict[str, Any]:
    """Show a batch until it is built; return its account, or an empty one if somebody asked to stop.

    It closes and builds it, if no worker does. It may end at any time; nothing waits for it. When nobody takes what is left for
    so long as ``wait``, nothing more is started.
    """
    account: dict[str, Any] = {}
    lines, feed, said = Lines(env.console, machines=True), await asyncio.to_thread(Feed, env.store, ["session"]), set[str]()
    idle_s, wait_s = 0.0, wait.total_seconds()

    def say_once(line: str) -> None:
        if line not in said:
            said.add(line)
            env.console.say(line, always=True, fg="yellow")

    def look() -> Collection[str]:
        nonlocal idle_s
        if (night := nights.unfinished()) is None or night.batch != batch:
            engine.stop()
            return ()
        jobs, queue = nights.jobs(batch), nights.queue()
        questions = {job.session: job.query_id for job in jobs}
        while records := feed.read():
            for record in records:
                lines.show(decode(record.data), questions.get(record.session_id, record.session_id))
        for machine, why in {pair for job in jobs if job.result is None for pair in job.refused.items()}:
            say_once(f"{machine} is not set up for every session: {why}")
        waiting = {entry: count for entry, (count, _) in queue.items() if entry.startswith(RESEARCH) and count}
        idle_s = idle_s + LOOK_S if waiting and not any(running for _, running in queue.values()) else 0.0
        if idle_s >= min(QUIET_S, wait_s):
            who = f"connected workers: {', '.join(nights.workers()) or 'none'}"
            for entry, count in waiting.items():
                say_once(f"nobody takes {counted(count, 'session')} ({entry}); {who}")
            if idle_s >= wait_s:
                nights.halt(batch, "cap", f"nobody took it; {who}")
        return ()

    def build(batch: str) -> None:
        account.update(finish_batch(in_its_night(env), batch, context.deadline))

    worker = NightWorker(env.store, nights, replace(context, deadline=None), build=build, look=look, look_s=LOOK_S)
    worker.say = lambda line, is_problem: say_once(line) if is_problem else None
    engine = postgres_adapters.engine_of(env.workspace.folder, f"research run {env.machine}")
    await worker.work(engine)
    if context.stop.asked and not account:
        env.console.say("the night goes on without this view: research run --distribute shows it again", fg="yellow")
    elif not account:  # a worker has built its own vault
        await asyncio.to_thread(build, batch)
    return account


def work_on_jobs(
    run: UnattendedRun, until: datetime | None, *, sessions: int | None, lease: timedelta, builds: bool, schedule: str
) -> int:
    """Take jobs and do them; return the process's exit code.

    ``sessions``: how many at once, None for as many as a run works on. ``builds``: vault and site of a closed
    batch, too. At the times of ``schedule``, a cron expression in UTC, one of the workers that have it begins the night.

    Raises:
        UsageError: the workspace's log is not in PostgreSQL, or the schedule is none.
        LogError: the database cannot be used.
    """
    if schedule:
        postgres_adapters.check_schedule(schedule)
    env = environment_of(run.console)
    folder, machine = env.workspace.folder, env.machine

    def say(line: str, is_problem: bool) -> None:
        env.console.say(line, always=is_problem, fg="yellow" if is_problem else None)
        _log.log(logging.WARNING if is_problem else logging.INFO, "%s", line, extra=PRINTED)

    async def begin(_schedule: object) -> None:
        say("the night begins", False)
        command = [sys.executable, "-m", "pipeline", "-C", str(folder), "run", "--distribute", "-q"]
        night = await asyncio.create_subprocess_exec(*command)
        while night.returncode is None:
            if run.stop.asked:
                night.terminate()  # it only shows the night
            await asyncio.sleep(LOOK_S)

    async def work() -> None:
        nights, at_once = postgres_adapters.nights_of(folder), sessions or sessions_at_once(env.workspace)
        context = replace(context_of(env, Lines(env.console).listen, run, until), deadline=until)
        async with aclosing(AdapterFactory(env.workspace, env.store, env.keys, pace=nights)) as factory:

            def look() -> Collection[str]:
                found = factory.prepare(needed=False)
                entries = {entry_of(one, name) for one in ("", found.fingerprint if found else "") for name in ("", machine)}
                if entries != worker.entries:  # also at first
                    prepare(env.console, env.workspace, factory, ())
                return entries

            worker = NightWorker(env.store, nights, context, look=look, say=say)
            worker.prepare = lambda state, part: factory(state, Budget(name="night", shared=part))
            worker.build = (lambda batch: finish_batch(in_its_night(env), batch)) if builds else None
            engine = postgres_adapters.engine_of(folder, f"{WORKER}{machine}", at_once, lease.total_seconds())
            engine.scheduled = (schedule, begin) if schedule else None
            env.console.say(f"{machine} takes up to {at_once} sessions at once", dim=True)
            await worker.work(engine)

    run_async(run, work())
    ended_by = run.stop.exit_code
    code = ExitCode.DONE if ended_by == ExitCode.UNFINISHED else ended_by  # the end of its own time is no failure
    if run.console.as_json:
        run.console.data([], {"exit_code": code})
    return code
