"""What ends a batch: answers to what was asked in notes, consolidation, vault and site."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from pipeline.batch.memory_consolidation import Consolidated
from pipeline.batch.memory_consolidation import consolidate as consolidate_sessions
from pipeline.batch.night_result import account
from pipeline.cli.arguments_and_builds import read_sessions, report_build_problems, try_builds
from pipeline.cli.presentation import price
from pipeline.cli.run_inputs import RunEnvironment
from pipeline.config.services import reasoner_for
from pipeline.domain.budget import Budget, Caps
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.night_events import VaultFailed
from pipeline.domain.research_values import EXTRACTIVE
from pipeline.engine.recorder import StreamLog
from pipeline.errors import LogDamaged, LogError, UsageError
from pipeline.ops.console_output import PRINTED, Console
from pipeline.ops.unattended import save_last_run
from pipeline.vault.output.user_text import asked_lines
from pipeline.wiring import vault_and_site
from pipeline.wiring.run_context_and_note_ratings import context_of
from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.batch_end")


def answer_what_notes_ask(env: RunEnvironment, end: datetime | None) -> None:
    """Answer what was asked in notes, until ``end`` at the latest, within what ``env`` has left of the night."""
    if asked_lines(env.workspace.folder / "vault"):
        from pipeline.cli.ask_command import answer_note_questions, open_note_questions

        answer_note_questions(env, open_note_questions(env), end)


def finish_batch(env: RunEnvironment, batch: str, end: datetime | None = None, *, asks_model: bool = True) -> dict[str, Any]:
    """Answer what was asked in notes, consolidate, build vault and site; return what ``last-run.json`` holds: the outcome.

    Whoever stops a run does not wait for a model, so no note's question is answered then. ``end`` is the run's.
    """
    if asks_model:
        answer_what_notes_ask(env, end)
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
            StreamLog(env.store, context_of(env.workspace), batch, events[-1].version).record(*failed)
        env.store.release(batch)
        events += failed
        report_build_problems(env.console, try_builds(env.console, env.workspace) or problems)
    value = account(events)
    report = vault_and_site.report_of(env.console.folder)
    value["ended"] = [{**entry, "report": report(entry["session"])} for entry in value["ended"]]
    if not save_last_run(env.console, value):
        value["exit_code"] = value["exit_code"] or 1
    return value


def consolidate_after_run(env: RunEnvironment, deadline: datetime | None = None, *, asks_model: bool = True) -> None:
    """Consolidate what ended, unless the settings say no. A failure is printed and logged, and raised never.

    With ``memory: model`` the model of the settings is asked, until the ``deadline`` of the run at the latest, unless
    ``asks_model`` is false.
    """
    if env.workspace.queue.settings.memory == "off":
        return
    try:
        print_failures(env.console, consolidate_now(env, deadline, asks_model=asks_model))
    except Exception as error:  # noqa: BLE001 - the research is done, whatever becomes of its memory
        hint = "no session is lost; research consolidate tries it again"
        env.console.say(f"the sessions were not consolidated: {error}\n  → {hint}", always=True, fg="yellow")
        _log.error("the sessions were not consolidated", exc_info=error, extra=PRINTED)


def consolidate_now(env: RunEnvironment, deadline: datetime | None = None, *, asks_model: bool = True) -> Consolidated:
    """Consolidate the ended sessions that changed since they were consolidated last. Values as above.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    context = replace(context_of(env.workspace), deadline=deadline)
    sessions, settings = read_sessions(env.console, env.store, again=True).sessions, env.workspace.queue.settings
    model, problems = EXTRACTIVE, []
    if asks_model and settings.memory == "model":
        try:
            model = reasoner_for(env.workspace.queue.settings, env.keys).name
        except UsageError as error:
            problems = [f"no model was asked for memory: {error.message}"]

    async def work() -> Consolidated:
        if model == EXTRACTIVE:
            return await consolidate_sessions(env.store, context, sessions)
        async with aclosing(AdapterFactory(env.workspace, env.store, env.keys, night=env.night)) as factory:
            reasoner = factory.model_for(model, Budget(Caps(settings.query_limits.cost_usd), name="consolidation"))
            return await consolidate_sessions(env.store, context, sessions, reasoner)

    done = asyncio.run(work())
    return replace(done, problems=(*problems, *done.problems))


def print_failures(console: Console, done: Consolidated) -> None:
    """Print which sessions could not be consolidated, what a model failed to do, and what it cost."""
    for problem in done.problems:
        console.say(f"{problem}\n  → what the rules found is kept", always=True, fg="yellow")
        _log.warning("%s", problem, extra=PRINTED)
    if done.cost.calls or done.cost.usd:
        console.say(f"memory: {price(done.cost, done.cost.total_tokens)}", dim=True)
    for name, reason in done.failed.items():
        console.say(f"{name} was not consolidated: {reason}\n  → research verify", always=True, fg="yellow")
