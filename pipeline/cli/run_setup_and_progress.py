"""What each command that researches needs: the run's context, the documents' index, and progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from pipeline.batch.batch_runner import SESSIONS_AT_ONCE, Batch, with_limits
from pipeline.batch.memory_consolidation import Recaller
from pipeline.batch.night_result import spent_tonight
from pipeline.cli.arguments_and_builds import read_sessions
from pipeline.cli.presentation import happened
from pipeline.cli.run_inputs import Decisions, Request, RunEnvironment
from pipeline.config.services import LOCAL, secrets_of
from pipeline.config.workspace_settings import Workspace
from pipeline.domain.budget import Budget, Caps
from pipeline.domain.events.night_events import PassagesEmbedded
from pipeline.domain.events.session_events import NO_EVIDENCE, EventBase, ResearchFailed, RunStarted
from pipeline.domain.research_values import Cost
from pipeline.domain.session_state import SessionState
from pipeline.engine.stop_and_clock import Listener, RunContext, SteadyClock
from pipeline.ops.console_output import LOG_FILE, PRINTED, Console, add_mask
from pipeline.ops.unattended import UnattendedRun
from pipeline.research import StepContext
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted, first_few
from pipeline.text.redaction import Redaction
from pipeline.wiring import run_context_and_note_ratings
from pipeline.wiring.session_adapters import AdapterFactory

T = TypeVar("T")
NO_OPTIONS = Request()
_TICK_S = 0.5
_log = logging.getLogger("pipeline.cli.run_setup_and_progress")


def run_async(run: UnattendedRun, work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in a new event loop that handles signals."""

    async def wake_regularly() -> None:  # else a signal that comes just before the loop waits is handled only at its next event
        while True:
            await asyncio.sleep(_TICK_S)

    async def with_signals() -> T:
        others = [asyncio.create_task(wake_regularly()), asyncio.create_task(run.announce_stop())]
        try:
            return await work
        finally:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    return asyncio.run(with_signals())


def sessions_at_once(workspace: Workspace) -> int:
    """Return how many sessions a run works on at the same time."""
    return max(SESSIONS_AT_ONCE, workspace.queue.settings.limits.concurrency // 2)


def in_its_night(env: RunEnvironment, request: Request = NO_OPTIONS) -> RunEnvironment:
    """Return the environment with what the night has cost so far, and with what is left of its cap as the budget of all work.

    ``--max-cost`` grants a run that amount beside it.
    """
    settings, granted = env.workspace.queue.settings, request.cost_usd
    if settings.limits.caps == Caps():
        return env
    known = read_sessions(env.console, env.store, again=True).sessions
    spent = spent_tonight(env.store, known, datetime.now(UTC), settings.timezone)
    if granted is not None:
        spent = spent.model_copy(update={"usd": 0.0})
    night = Budget(settings.limits.caps, name="night" if granted is None else "run", spent=spent)
    return replace(env, spent=spent, granted_usd=granted or 0.0, night=night)


def batch_of(
    env: RunEnvironment,
    decided: Decisions,
    context: RunContext,
    step_context_of: Callable[[SessionState], StepContext] | None = None,
) -> Batch:
    """Return a run's batch; without ``step_context_of`` others research its sessions."""
    queue, at_once = env.workspace.queue, sessions_at_once(env.workspace)
    batch = Batch(env.store, queue, step_context_of, env.config_of, context, at_once, archived=decided.archived)
    batch.spent, batch.granted_usd = env.spent or Cost(), env.granted_usd
    if queue.settings.memory != "off":
        batch.recall = Recaller(env.store)
    return batch


def context_of(env: RunEnvironment, listener: Listener, run: UnattendedRun, until: datetime | None = None) -> RunContext:
    """Return the run's context with its limits; from here on all keys are removed from what is written or printed."""
    settings = env.workspace.queue.settings
    add_mask(Redaction(secrets_of(settings, env.keys)).text)
    context = run_context_and_note_ratings.context_of(env.workspace, env.keys, listener)
    return with_limits(replace(context, stop=run.stop, now=SteadyClock()), settings.limits, until)


def prepare(
    console: Console, workspace: Workspace, factory: AdapterFactory, searches: Collection[tuple[str, ...]]
) -> tuple[str, list[str]]:
    """Index the documents; print and return those that cannot be read, behind their fingerprint, "" if there are none.

    ``searches``: the search providers of each session.

    Raises:
        CorpusUnusable, SearchFailed: the documents cannot be searched, and a session has no other search.
    """
    report = factory.prepare(needed=(LOCAL,) in searches)
    if report is None:
        if any(LOCAL in names for names in searches):
            console.say(
                f"your documents in {', '.join(workspace.queue.settings.corpus)} cannot be searched: see research doctor",
                fg="yellow",
            )
        return "", []
    skipped = [f"skipped {workspace.document_name(problem.path)}: {problem.reason}" for problem in report.problems]
    skipped += [f"{workspace.document_name(one.path)}: {one.reason}" for one in report.thin]
    lines = list(first_few(skipped, f" files; {LOG_FILE} lists them all"))
    for line in lines:
        console.say(line, fg="yellow")
    if skipped:
        _log.warning("%s of documents: %s", counted(len(skipped), "file"), "; ".join(skipped), extra=PRINTED)
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)
    return report.fingerprint, lines


async def report_embedding(console: Console, events: AsyncGenerator[PassagesEmbedded]) -> AsyncGenerator[PassagesEmbedded]:
    """Pass on what becomes of the documents' embeddings, and print it: at the start, at the end, and why it failed."""
    done = 0
    async with aclosing(events):
        async for event in events:
            if event.failed:
                console.say(f"documents are searched by words alone, not by meaning: {event.failed}", always=True, fg="yellow")
            elif not done and event.left:
                console.say(f"{event.model} gives vectors to {counted(event.passages + event.left, 'passage')}", dim=True)
            done += event.passages
            if done and not event.left and not event.failed:
                console.say(f"{counted(done, 'more passage')} can be found by meaning ({event.model})", dim=True)
            yield event


BEGINNINGS = {"research.started", "settings.changed", "plan.created", "plan.extended", "contradictions.found", "report.written"}
ENDS = {"research.completed", "research.failed", "research.cancelled", "step.failed", "budget.exhausted", "worker.failed"}


@dataclass
class Lines:
    """A line for each start, end and failure; with ``-v`` for each event; with ``machines`` for each run of a session."""

    console: Console
    machines: bool = False

    def listen(self, event: EventBase, state: SessionState) -> None:
        """Show an event of a session."""
        self.show(event, state.query_id)

    def show(self, event: EventBase, name: str) -> None:
        """Print the event under that name, if it matters; write it to the log file too, but for single steps."""
        # A question that the sources do not answer is no failure.
        is_unanswered = isinstance(event, ResearchFailed) and event.cause == NO_EVIDENCE
        is_failure = event.type.endswith(".failed") and not is_unanswered
        line = f"{one_line(name, 40):<40}  {event.type:<20}  {happened(event)}".rstrip()
        if event.type in BEGINNINGS | ENDS:
            _log.log(logging.WARNING if is_failure else logging.INFO, "%s", line, extra=PRINTED)
        takes = self.machines and isinstance(event, RunStarted)
        if self.console.verbose or takes or event.type in BEGINNINGS | ENDS:
            colour = "yellow" if is_unanswered or event.type == "budget.exhausted" else "red" if is_failure else None
            self.console.say(f"{event.at[:19]}Z  {line}", fg=colour, dim=event.type not in ENDS)
