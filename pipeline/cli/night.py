"""A night's work: what ``run`` does where something is due."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

from pipeline.batch.night_result import BatchResult, account
from pipeline.batch.session_pool import ends_at
from pipeline.cli.command_parts import report_build_problems, try_builds
from pipeline.cli.presentation import counts_line, happened, outcome_lines, troubles_of
from pipeline.cli.researching import (
    Lines,
    batch_of,
    consolidate_after_run,
    context_of,
    in_its_night,
    prepare,
    report_embedding,
    run_async,
)
from pipeline.cli.run_environment import Decisions, Request, RunEnvironment, is_recorded
from pipeline.config.services import LOCAL, route_of
from pipeline.domain.events.json_codec import decode, decode_all
from pipeline.domain.events.night_events import BatchEnded, BatchStarted, VaultFailed
from pipeline.domain.events.session_events import BranchMerged
from pipeline.engine.recorder import StreamLog, new_stream
from pipeline.errors import ExitCode, LogDamaged, LogError
from pipeline.ops.console_output import PRINTED, Console
from pipeline.ops.unattended import UnattendedRun, remember_run, save_last_run
from pipeline.ports import EventStore
from pipeline.text.times import local_zone
from pipeline.vault.output.user_text import asked_lines
from pipeline.wiring import log_writers, vault_and_site
from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.night")


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
        if not (unfinished or any(decision.due for decision in decided.decisions)):
            _answer_what_notes_ask(env, request)
            if not is_recorded(env, decided):
                # A batch without work: it records only which queries are no longer in the file, and what cannot be read.
                queue, last = env.workspace.queue, max(env.store.ids("batch"), default="")
                zone = queue.settings.timezone or local_zone(datetime.now(UTC))
                about = {"archived": decided.archived, "timezone": zone, "unread": queue.left_out}
                start = BatchStarted(due=(), after=last, **about)
                log = new_stream(env.store, log_writers.context_of(env.workspace), "batch")
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
        end = ends_at(env.workspace.queue.settings.limits, datetime.now(UTC), request.until)
        env = in_its_night(env, request)
        if request.distribute is not None:
            from pipeline.cli.shared_night import distribute  # needs the extra `postgres`

            def finish(batch: str) -> dict[str, Any]:
                return finish_batch(in_its_night(env), batch, end)

            account = run_async(run, distribute(run, env, decided, request, finish))
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
        from pipeline.ops.alerts import post_digest
        from pipeline.vault.notes.mornings import digest_of, heading_of, nights_in, text_of

        nights, unread = nights_in(env.store)
        found = digest_of(env.store, nights[-1], unread)
        text = "\n".join(text_of(found, place_of(console, settings.site_url)))
        for problem in post_digest(settings.notify, heading_of(found), text, route_of(settings, env.keys)):
            console.say(problem, always=True, fg="yellow")  # what is not delivered fails nothing
    return int(account["exit_code"])


def _answer_what_notes_ask(env: RunEnvironment, request: Request | None = None) -> None:
    """Answer what was asked in notes; with a ``request`` within what its night has left, else as ``env`` says."""
    if asked_lines(env.workspace.folder / "vault"):
        from pipeline.cli.ask_command import answer_note_questions, open_note_questions

        if asked := open_note_questions(env):
            answer_note_questions(in_its_night(env, request) if request else env, asked)


async def _run_batch(run: UnattendedRun, env: RunEnvironment, decided: Decisions, request: Request) -> BatchResult:
    """Check what every due query needs before the first one starts; then research them."""
    console, workspace = env.console, env.workspace
    due = [decision for decision in decided.decisions if decision.due][: request.selection.limit]
    searches = {env.config_of(decision.query).search for decision in due}
    async with aclosing(AdapterFactory(workspace, env.store, env.keys, night=env.night)) as factory:
        prepare(console, workspace, factory, searches)
        context = context_of(env, Lines(console).listen, run, request.until)
        batch = batch_of(env, decided, context, factory)
        batch.spent_out = factory.spent_out
        if any(LOCAL in names for names in searches):
            batch.embed = lambda: report_embedding(console, factory.embed_documents())
        return await batch.work(decided.decisions, request.selection.limit)


def finish_batch(env: RunEnvironment, batch: str, end: datetime | None = None, *, asks_model: bool = True) -> dict[str, Any]:
    """Answer what was asked in notes, consolidate, build vault and site; return what ``last-run.json`` holds: the outcome.

    Whoever stops a run does not wait for a model. ``end`` is the run's.
    """
    _answer_what_notes_ask(env)
    consolidate_after_run(env, end, asks_model=asks_model)
    events = list(decode_all(record.data for record in env.store.load(batch)))
    if not events:
        raise LogDamaged(f"the log of {batch} is gone", hint="bring events/ back from a backup")
    # A failed build is tried again at once, as its cause may have passed.
    problems = try_builds(env.console, env.workspace)
    if problems and (problems := try_builds(env.console, env.workspace)):
        # The batch's stream records them. Then one more build is made, as the note of the batch shows them.
        failed = [VaultFailed(reason=one.reason, exit_code=one.exit_code, part=one.part) for one in problems]
        with suppress(LogError):  # a disk that cannot be written was reported already
            StreamLog(env.store, log_writers.context_of(env.workspace), batch, events[-1].version).record(*failed)
        env.store.release(batch)
        events += failed
        report_build_problems(env.console, try_builds(env.console, env.workspace) or problems)
    value = account(events)
    report = vault_and_site.report_of(env.console.folder)
    value["ended"] = [{**entry, "report": report(entry["session"])} for entry in value["ended"]]
    if not save_last_run(env.console, value):
        value["exit_code"] = value["exit_code"] or 1
    return value
