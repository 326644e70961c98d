"""What a run works with: the request of its options, the workspace with its keys and log, the decisions, the run's context."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pipeline.batch.scheduling import ANYWHERE, Decision, RunOverrides, Selection, archived, decide, refuse_unknown
from pipeline.cli.command_parts import read_sessions
from pipeline.config.service_selection import LOCAL
from pipeline.ops.console_output import LOG_FILE, PRINTED, Console, add_mask

if TYPE_CHECKING:
    from pipeline.config.keys import Keys
    from pipeline.config.service_selection import Documents, SearchChoice
    from pipeline.config.settings import Workspace
    from pipeline.config.values import Query
    from pipeline.domain.events.stream_events import PassagesEmbedded
    from pipeline.domain.session import ResearchSession
    from pipeline.domain.state import SessionState
    from pipeline.domain.values import Cost, ResearchConfig
    from pipeline.engine.run_context import Listener, RunContext
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.ports import EventStore
    from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.run_environment")


@dataclass(frozen=True, slots=True)
class Request:
    """What the options of a run ask for. ``only_again``: only queries that failed or were cancelled.

    ``distribute``: workers research the sessions; the run waits so long for one that can take what is left.
    """

    selection: Selection = field(default_factory=Selection)
    bounds: RunOverrides = field(default_factory=RunOverrides)
    only_again: bool = False
    lock_wait: timedelta | None = None
    distribute: timedelta | None = None


class Decisions(NamedTuple):
    """What to do about each query, and the sorted ids of queries that are in the log but no longer in the file.

    ``branched`` are the streams whose branches the run joins first.
    """

    decisions: tuple[Decision, ...]
    archived: tuple[str, ...]
    branched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What a run works with: the workspace with the run's limits, its keys, its event store, and the kind of its documents.

    ``spent`` is what earlier runs of the night cost (None: there is no cap), ``granted_usd`` what this one may spend beside
    the night's cap.
    """

    console: Console
    workspace: Workspace
    keys: Keys
    store: EventStore
    documents: Callable[[], Documents] = lambda: ""
    spent: Cost | None = None
    granted_usd: float = 0.0

    @property
    def machine(self) -> str:
        """The name of this computer in the log."""
        from pipeline.wiring import workspace_adapters

        return workspace_adapters.machine_of(self.workspace.queue.settings)

    def search_of(self, query: Query) -> SearchChoice:
        """Return the search providers of a new session on a query, and why these. Raises: as ``config_of``."""
        from pipeline.config.settings import search_for

        return search_for(query, self.workspace.queue.settings, self.keys, self.documents())

    def config_of(self, query: Query) -> ResearchConfig:
        """Return the limits that a new session on a query runs under.

        Raises:
            UsageError: it names a model or a provider that is not set up.
        """
        from pipeline.config.settings import config_for

        return config_for(query, self.workspace.queue.settings, self.keys, self.documents())

    def recording(self) -> RunContext:
        """Return the context in which a command records; all keys are taken out of what it writes."""
        from pipeline.config.service_selection import secrets_of
        from pipeline.text.redaction import Redaction
        from pipeline.wiring import workspace_adapters

        redaction = Redaction(secrets_of(self.workspace.queue.settings, self.keys))
        return workspace_adapters.context_of(self.workspace, lambda _event, _state: None, redaction.data)

    def in_its_night(self, request: Request) -> RunEnvironment:
        """Return the environment with what the night has cost so far; ``--max-cost`` grants a run that amount beside it."""
        from pipeline.batch.totals import spent_tonight

        settings, granted = self.workspace.queue.settings, request.bounds.cost_usd
        if (settings.limits.cost_usd, settings.limits.tokens, settings.limits.calls) == (None, None, None):
            return self
        known = read_sessions(self.console, self.store, again=True).sessions
        spent = spent_tonight(self.store, known, datetime.now(UTC), settings.timezone)
        if granted is None:
            return replace(self, spent=spent)
        return replace(self, spent=spent.model_copy(update={"usd": 0.0}), granted_usd=granted)

    def decisions_for(self, request: Request, *, read_only: bool = False, again: bool = False) -> Decisions:
        """Return what to do about each query of the request; ``read_only`` and ``again`` as in ``read_sessions``."""
        known = read_sessions(self.console, self.store, read_only=read_only, again=again)
        machine = self.machine if request.distribute is None else ANYWHERE
        decisions = decide(self.workspace.queue, known, datetime.now(UTC), request.selection, machine)
        if request.only_again:
            decisions = tuple(d for d in decisions if d.action == "retry" or not d.due)
        gone = {summary.query_id for summary in archived(self.workspace.queue, known) if summary.query_id}
        return Decisions(decisions, tuple(sorted(gone)), known.branched)


def environment_of(console: Console, request: Request) -> RunEnvironment:
    """Return what the run works with.

    Raises:
        NoWorkspace, QueueInvalid: there is no valid queue.
        LogDamaged: the whole log is missing.
        UsageError: an id or a tag is unknown; the ``.env`` cannot be read.
    """
    from pipeline.config.settings import keys_of, load_workspace
    from pipeline.wiring import workspace_adapters

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    workspace_adapters.refuse_missing_log(console.folder)
    refuse_unknown(workspace.queue, request.selection)
    queue = workspace.queue
    automatic = "auto" in (queue.settings.search, *(query.search for query in queue.queries))
    documents = cache(
        lambda: workspace_adapters.documents_in(workspace) if automatic else ""
    )  # all are read: only where there is work
    return RunEnvironment(console, request.bounds.on(workspace), keys, workspace_adapters.store_of(console.folder), documents)


def sessions_at_once(workspace: Workspace) -> int:
    """Return how many sessions a run works on at the same time."""
    from pipeline.batch.session_pool import SESSIONS_AT_ONCE

    return max(SESSIONS_AT_ONCE, workspace.queue.settings.limits.concurrency // 2)


def context_of(env: RunEnvironment, listener: Listener, run: UnattendedRun, until: datetime | None = None) -> RunContext:
    """Return the run's context with its limits; from here on all keys are removed from what is written or printed."""
    from pipeline.batch import session_pool
    from pipeline.config.service_selection import secrets_of
    from pipeline.text.redaction import Redaction
    from pipeline.wiring import workspace_adapters

    settings = env.workspace.queue.settings
    redaction = Redaction(secrets_of(settings, env.keys))
    add_mask(redaction.text)
    context = run.with_stop(workspace_adapters.context_of(env.workspace, listener, redaction.data))
    return session_pool.with_limits(context, settings.limits, until)


def prepare(console: Console, workspace: Workspace, factory: AdapterFactory, searches: Collection[tuple[str, ...]]) -> None:
    """Index the documents and print those that cannot be read. ``searches``: the search providers of each session.

    Raises:
        CorpusUnusable, SearchFailed: the documents cannot be searched, and a session has no other search.
    """
    from pipeline.text.normalise import counted, first_few

    report = factory.prepare(needed=(LOCAL,) in searches)
    if report is None:
        if any(LOCAL in names for names in searches):
            console.say(
                f"your documents in {', '.join(workspace.queue.settings.corpus)} cannot be searched: see research doctor",
                fg="yellow",
            )
        return
    skipped = [f"skipped {workspace.document_name(problem.path)}: {problem.reason}" for problem in report.problems]
    skipped += [f"{workspace.document_name(one.path)}: {one.reason}" for one in report.thin]
    for line in first_few(skipped, f" files; {LOG_FILE} lists them all"):
        console.say(line, fg="yellow")
    if skipped:
        _log.warning("%s of documents: %s", counted(len(skipped), "file"), "; ".join(skipped), extra=PRINTED)
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)


async def report_embedding(console: Console, events: AsyncGenerator[PassagesEmbedded]) -> AsyncGenerator[PassagesEmbedded]:
    """Pass on what becomes of the documents' embeddings, and print it: at the start, at the end, and why it failed."""
    from pipeline.text.normalise import counted

    done = 0
    async with aclosing(events):
        async for event in events:
            if event.failed:
                console.say(f"documents are searched by words alone, not by meaning: {event.failed}", always=True, fg="yellow")
            elif not done and event.left:
                console.say(f"{event.model} gives vectors to {counted(event.passages + event.left, 'passage')}", dim=True)
            tenth = 10 * done // max(1, done + event.passages + event.left)
            done += event.passages
            if event.left and 10 * done // (done + event.left) > tenth:
                console.say(f"{done:,} of {counted(done + event.left, 'passage')} have a vector", dim=True)
            if done and not event.left and not event.failed:
                console.say(f"{counted(done, 'passage')} can be found by meaning ({event.model})", dim=True)
            yield event


async def research_one(
    env: RunEnvironment, run: UnattendedRun, search: tuple[str, ...], opened: Callable[[RunContext], Awaitable[ResearchSession]]
) -> SessionState:
    """Research one session now and show its progress; ``opened`` returns it, given the run's context. Returns its state."""
    from pipeline.cli.progress import progress_on
    from pipeline.config.settings import environment
    from pipeline.engine.loop import run_session
    from pipeline.engine.stopping import ending_at
    from pipeline.wiring.session_adapters import AdapterFactory

    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        prepare(env.console, env.workspace, factory, {search})
        with progress_on(env.console, 1, environment().get("TERM", "")) as progress:
            context = context_of(env, progress.listen, run)
            session = await opened(context)
            async with ending_at(context.deadline, context.now, context.stop):
                return await run_session(session, env.store, factory(session.state), context)
    finally:
        await factory.aclose()
