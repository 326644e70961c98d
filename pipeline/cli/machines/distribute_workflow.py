"""The workflow of ``research run --distribute``: make jobs of what is due, and follow all machines until the jobs are over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.batch.distribution.job_runner import JobRunner
    from pipeline.batch.totals import BatchResult
    from pipeline.cli.progress import Progress
    from pipeline.cli.run_environment import Decisions, Request, RunEnvironment
    from pipeline.domain.distribution.jobs import Night
    from pipeline.domain.state import SessionState
    from pipeline.domain.values import ResearchConfig
    from pipeline.engine.run_context import RunContext
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.research import StepContext


def require_queue(env: RunEnvironment) -> None:
    """Refuse a distributed run where there is no database that workers could share.

    Raises:
        UsageError: the log is in files, or psycopg is not installed.
    """
    from pipeline.wiring import queue_adapters

    queue_adapters.queue_of(env.workspace.folder)


async def run_distributed_batch(run: UnattendedRun, env: RunEnvironment, decided: Decisions, request: Request) -> BatchResult:
    """Make jobs of what is due and return the outcome once they are over. This process researches nothing itself.

    Raises:
        CorpusUnusable: a session has only documents to search, and there are none here.
        QueueUnavailable, LogError: the database cannot be used.
    """
    from pipeline.batch.memory import Recaller
    from pipeline.batch.session_pool import Batch
    from pipeline.cli.progress import progress_on
    from pipeline.cli.run_environment import context_of
    from pipeline.config.settings import environment
    from pipeline.domain.values import Cost
    from pipeline.wiring import queue_adapters

    env = replace(env, store=queue_adapters.patient_store_of(env.workspace.folder))
    console, queue = env.console, env.workspace.queue
    due = [decision for decision in decided.decisions if decision.due][: request.selection.limit]
    documents = _documents_of(env, {env.config_of(decision.query).search for decision in due})
    with progress_on(console, len(due), environment().get("TERM", ""), machines=True) as progress:
        context = context_of(env, progress.listen, run, request.bounds.until)
        runner = _runner(env, request, context, documents, progress)
        try:
            batch = Batch(env.store, queue, _no_desk, env.config_of, context, spent_out=lambda: runner.spent_out)
            batch.spent, batch.granted_usd = env.spent or Cost(), env.granted_usd
            batch.archived, batch.remote = decided.archived, runner
            if queue.settings.memory != "off":
                batch.recall = Recaller(env.store)
            async with runner.following():
                return await batch.work(decided.decisions, request.selection.limit)
        finally:
            runner.feed.close()


def _runner(
    env: RunEnvironment,
    request: Request,
    context: RunContext,
    documents: Callable[[ResearchConfig], str],
    progress: Progress,
) -> JobRunner:
    from pipeline.batch.distribution.job_runner import JobRunner
    from pipeline.wiring import queue_adapters

    dispatcher, _budget = queue_adapters.queue_of(env.workspace.folder)
    dispatcher.close()  # what a run left that was killed: this one holds the database's lock, so no other lives
    return JobRunner(
        env.store,
        dispatcher,
        context,
        env.store.subscribe(["session"]),
        lambda: _night(env, context),
        documents,
        progress.listen,
        lambda line: env.console.say(line, always=True, fg="yellow"),
        patience_s=request.distribute.total_seconds() if request.distribute else 0.0,
    )


def _night(env: RunEnvironment, context: RunContext) -> Night:
    from pipeline.domain.distribution.jobs import Night
    from pipeline.domain.values import Cost

    limits = env.workspace.queue.settings.limits
    left_s = None if context.deadline is None else max(0.0, (context.deadline - context.now()).total_seconds())
    spent = env.spent or Cost()
    usd = None if limits.cost_usd is None else max(0.0, limits.cost_usd - spent.usd)
    tokens = None if limits.tokens is None else max(0, limits.tokens - spent.total_tokens)
    calls = None if limits.calls is None else max(0, limits.calls - spent.calls)
    return Night(f"night-{context.run_id}", left_s, context.writing.total_seconds(), usd, tokens, calls)


def _documents_of(env: RunEnvironment, searches: set[tuple[str, ...]]) -> Callable[[ResearchConfig], str]:
    """Return a function from a session's config to the fingerprint of the documents that it searches, "" for none."""
    from pipeline.config.service_selection import LOCAL
    from pipeline.wiring import queue_adapters, workspace_adapters

    fingerprint = queue_adapters.DocumentsFingerprint(env.workspace)
    if any(LOCAL in names for names in searches):
        fingerprint.refresh()
    if (LOCAL,) in searches and not fingerprint.value:
        workspace_adapters.corpus_files(env.workspace)
    return lambda config: fingerprint.value if LOCAL in config.search else ""


def _no_desk(state: SessionState) -> StepContext:
    raise AssertionError(f"{state.id} is researched by a worker")
