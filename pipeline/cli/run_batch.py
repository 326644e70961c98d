"""A night's work: what ``run`` does where something is due."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from pipeline.batch.batch_runner import ends_at
from pipeline.batch.night_result import BatchResult
from pipeline.cli.batch_end import answer_what_notes_ask, finish_batch
from pipeline.cli.presentation import counts_line, happened, outcome_lines, troubles_of
from pipeline.cli.run_inputs import Decisions, Request, RunEnvironment, is_recorded
from pipeline.cli.run_setup_and_progress import Lines, batch_of, context_of, in_its_night, prepare, report_embedding, run_async
from pipeline.config.services import LOCAL, route_of
from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.night_events import BatchEnded, BatchStarted
from pipeline.domain.events.session_events import BranchMerged
from pipeline.engine.recorder import new_stream
from pipeline.errors import ExitCode
from pipeline.ops.console_output import PRINTED, Console
from pipeline.ops.unattended import UnattendedRun, remember_run
from pipeline.ports import EventStore
from pipeline.text.times import local_zone
from pipeline.wiring import run_context_and_note_ratings, vault_and_site
from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.run_batch")


def join_branches(console: Console, store: EventStore, branched: Iterable[str]) -> dict[str, list[BranchMerged]]:
    """Store how the branches of these streams are joined; print and return what came of it, by stream.

    Raises:
        LogError: a stream cannot be continued or written.
    """
    done = {}
    for name in sorted(branched):
        events = [decode(record.data) for record in store.join(name)]
        done[name] = [event for event in events if isinstance(event, BranchMerged)]
        for event in done[name]:
            console.say(f"joined the branches of {name}: {happened(event)}")
            _log.info("joined the branches of %s: %s", name, happened(event))
    return done


def work_through(run: UnattendedRun, env: RunEnvironment, request: Request, *, unfinished: bool) -> int | None:
    """Research what is due, with the workspace's lock; return the process's exit code, None if there was nothing to do.

    ``unfinished``: a night that is distributed is not over.

    Raises:
        ResearchError: what keeps the run from starting, or a disk that cannot be written.
    """

    def keep(code: int, why: str) -> None:
        remember_run(env.console.folder, {"exit_code": code, "error": why})

    with run.lock(request.lock_wait), run.accounts_for(keep):
        decided = env.decisions_for(request, again=True)
        join_branches(env.console, env.store, decided.branched)
        env, end = in_its_night(env, request), ends_at(env.workspace.queue.settings.limits, datetime.now(UTC), request.until)
        if not (unfinished or any(decision.due for decision in decided.decisions)):
            answer_what_notes_ask(env, end)
            if not is_recorded(env, request, decided):
                # A batch without work: which queries are no longer in the file, what cannot be read, what is due next.
                queue, last = env.workspace.queue, max(env.store.ids("batch"), default="")
                zone = queue.settings.timezone or local_zone(datetime.now(UTC))
                about: dict[str, Any] = {"archived": decided.archived, "timezone": zone, "unread": queue.left_out}
                waiting = sorted((one for one in decided.decisions if one.next_at), key=lambda one: one.next_at)
                if waiting:
                    at = waiting[0].next_at
                    on_that_day = {one.query.id: one.query.text for one in waiting if one.next_at[:10] == at[:10]}
                    about |= {"queries": on_that_day, "next_at": at}
                start = BatchStarted(due=(), after=last, **about)
                log = new_stream(env.store, run_context_and_note_ratings.context_of(env.workspace), "batch")
                try:
                    log.record(start, BatchEnded(done=0, failed=0, skipped=0, exit_code=ExitCode.DONE))
                finally:
                    env.store.release(log.id)
            return None
        try:  # what was ticked since the last build holds for this night already
            vault_and_site.build(env.console.folder, "ratings")
        except Exception as error:  # noqa: BLE001 - the night is researched all the same, and its build says it again
            env.console.say(f"what was ticked since the last build is not heeded: {error}", always=True, fg="yellow")
            _log.error("what was ticked since the last build is not heeded", exc_info=error, extra=PRINTED)
        if request.distribute is not None:
            from pipeline.cli.distributed_night import distribute  # needs the extra `postgres`

            account = run_async(run, distribute(run, env, decided, request))
            if not account:  # somebody asked to stop, and the night goes on
                return run.stop.exit_code
        else:
            result = run_async(run, _run_batch(run, env, decided, request))
            if not result.batch:
                return None
            account = finish_batch(env, result.batch, end, asks_model=not result.stopped)
    run.summary_line, run.details = counts_line(account), {"batch": account["batch"]}
    console, settings = env.console, env.workspace.queue.settings
    quiet = console.quiet and not console.as_json  # then only what failed or was stopped, and nothing if nothing was
    if not quiet or account["exit_code"] not in (ExitCode.DONE, ExitCode.NOT_FOUND):
        try:
            console.data(outcome_lines(troubles_of(account) if quiet else account, console.path), account)
        except OSError as error:  # a closed terminal does not change the outcome of the run
            console.say(str(error), fg="yellow")
    if settings.notify.ntfy or settings.notify.webhook:
        from pipeline.cli.reading_commands import place_of
        from pipeline.ops.pings_and_digests import post_digest
        from pipeline.vault.notes.nights_and_home import digest_of, text_of
        from pipeline.vault.read_model import nights_in

        nights, unread = nights_in(env.store)
        found = digest_of(env.store, nights, unread)
        text = "\n".join(text_of(found, place_of(console, settings.site_url)))
        for problem in post_digest(settings.notify, found.heading, text, route_of(settings, env.keys)):
            console.say(problem, always=True, fg="yellow")  # what is not delivered fails nothing
    return int(account["exit_code"])


async def _run_batch(run: UnattendedRun, env: RunEnvironment, decided: Decisions, request: Request) -> BatchResult:
    """Check what every due query needs before the first one starts; then research them."""
    console, workspace = env.console, env.workspace
    due = [decision for decision in decided.decisions if decision.due][: request.selection.limit]
    searches = {env.config_of(decision.query).search for decision in due}
    async with aclosing(AdapterFactory(workspace, env.store, env.keys, night=env.night)) as factory:
        _, skipped = prepare(console, workspace, factory, searches)
        context = context_of(env, Lines(console).listen, run, request.until)
        batch = batch_of(env, decided, context, factory)
        batch.skipped_documents = tuple(skipped)
        batch.spent_out = factory.spent_out
        if any(LOCAL in names for names in searches):
            batch.embed = lambda: report_embedding(console, factory.embed_documents())
        return await batch.work(decided.decisions, request.selection.limit)
