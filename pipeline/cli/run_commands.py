"""The commands that work through the queue, ``run`` and ``retry``: decide what is due, work, build, print the outcome."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pipeline.batch.scheduling import ANNOUNCED, LOG_TROUBLE, UP_TO_DATE, Decision, RunOverrides, Selection, deadline_of, parts
from pipeline.cli import run_environment
from pipeline.cli.command_parts import (
    Amount,
    Length,
    QueryId,
    bring_up_to_date,
    join_branches,
    report_build_problems,
    report_left_out,
    try_builds,
)
from pipeline.cli.note_questions import answer_note_questions, open_note_questions
from pipeline.cli.run_environment import (
    Decisions,
    Request,
    RunEnvironment,
    context_of,
    environment_of,
    prepare,
    report_embedding,
    sessions_at_once,
)
from pipeline.config.service_selection import LOCAL
from pipeline.config.settings import environment, store_address
from pipeline.errors import NOT_FOUND, LogDamaged, LogError, NoWorkspace, SystemRefused, WorkspaceLocked
from pipeline.ops.console_output import PRINTED, Console, begin, end
from pipeline.ops.unattended import unattended_run
from pipeline.text.normalise import counted, first_few
from pipeline.wiring import workspace_adapters

if TYPE_CHECKING:
    from pipeline.batch.totals import BatchResult
    from pipeline.cli.command_parts import BuildProblem
    from pipeline.domain.events.stream_events import VaultFailed
    from pipeline.engine.recorder import StreamLog
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.ports import EventStore


F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--tag", "tags", multiple=True, metavar="TAG", help="Also all queries with this tag; may be given several times."
    ),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Research at most N queries."),
    click.option("--deadline", metavar="TIME", help='End the run at this time: 06:30, "06:30 Europe/Berlin", 2026-11-22T06:30.'),
    click.option("--max-cost", type=Amount(), metavar="USD", help="This run may spend so much, whatever the night has spent."),
    click.option("--max-failures", type=click.IntRange(min=1), metavar="N", help="Start no further query after N failures."),
    click.option(
        "--distribute", is_flag=True, help="Let workers research the queries (research work, on any machine); needs PostgreSQL."
    ),
    click.option(
        "--worker-wait",
        type=Length(),
        default="10m",
        show_default=True,
        metavar="TIME",
        help="With --distribute: end the run if no worker can take what is left for this long.",
    ),
    click.option(
        "--dry-run", is_flag=True, help="Print what the run would do and what it may cost; write nothing, contact no service."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing unless something fails."),
    click.option("-v", "--verbose", is_flag=True, help="Print more: each step as it ends."),
    click.option("--json", "as_json", is_flag=True, help="Print the outcome as one JSON value on stdout, and nothing else."),
    click.option("--lock-wait", type=Length(), metavar="TIME", help="Wait up to this long for another run to end: 30s, 10m."),
    click.option(
        "--ping-url-file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="Ping the monitor whose address is in FILE when the run starts and ends.",
    ),
)


def _with_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@click.option("--retry-failed", is_flag=True, help="Also retry queries that failed in an earlier run.")
@click.option("--again", is_flag=True, help="Also research queries that are done, with the given IDs or tags, due or not.")
@_with_options
@click.pass_obj
def run(console: Console, /, ids: tuple[str, ...], retry_failed: bool, again: bool, **options: Any) -> None:
    """Research all due queries, or those with the given IDs or tags; then update the vault and the web site."""
    if again and not ids and not options["tags"]:
        raise click.UsageError("--again researches and pays for what is done already: name the queries, or give a --tag")
    _run_queue(console, "research run", ids, retry_failed=retry_failed, again=again, only_retries=False, **options)


@click.command()
@click.argument("ids", nargs=-1, type=QueryId(), metavar="[ID]...")
@_with_options
@click.pass_obj
def retry(console: Console, /, ids: tuple[str, ...], **options: Any) -> None:
    """Retry all failed and not-found queries, or those with the given IDs, also cancelled ones. No call is paid for twice."""
    everything = not ids and not options["tags"]
    _run_queue(console, "research retry", ids, retry_failed=everything or bool(options["tags"]), only_retries=True, **options)


def _run_queue(
    console: Console,
    program: str,
    ids: tuple[str, ...],
    *,
    tags: tuple[str, ...],
    retry_failed: bool,
    only_retries: bool,
    limit: int | None,
    deadline: str | None,
    max_cost: float | None,
    max_failures: int | None,
    distribute: bool,
    worker_wait: timedelta,
    dry_run: bool,
    quiet: bool,
    verbose: bool,
    as_json: bool,
    lock_wait: timedelta | None,
    ping_url_file: Path | None,
    again: bool = False,
) -> None:
    console = replace(
        console, quiet=console.quiet or quiet, verbose=console.verbose or verbose, as_json=console.as_json or as_json
    )
    begin(quiet=console.quiet, verbose=console.verbose)
    bounds = RunOverrides(moment(deadline), max_cost, max_failures)
    request = run_environment.Request(
        Selection(ids, tags, retry_failed, limit, retry_failed and only_retries, again),
        bounds,
        only_retries,
        lock_wait,
        worker_wait if distribute else None,
    )
    if dry_run:
        print_dry_run(console, request)
        return
    with unattended_run(console, program, ping_url_file) as run:
        end(work(run, request))


def moment(deadline: str | None) -> datetime | None:
    """Return the next moment that an option such as ``06:30`` means; None without one.

    Raises:
        UsageError: it is no time.
    """
    return None if deadline is None else deadline_of(deadline, datetime.now(UTC))


_log = logging.getLogger("pipeline.cli.run_commands")


def print_dry_run(console: Console, request: Request) -> None:
    """Print what the run would do; write nothing, contact no service.

    Raises:
        ResearchError: what would keep the run from starting.
    """
    import asyncio

    from pipeline.batch.dry_run import plan_lines

    env = environment_of(console, request)
    report_left_out(console, env.workspace)
    decisions = env.decisions_for(request, read_only=True).decisions
    plan = asyncio.run(_plan(env, request, decisions))
    words: dict[str, str] = {decision.action: decision.word for decision in decisions}
    console.data(plan_lines(plan, words), plan)


async def _plan(env: RunEnvironment, request: Request, decisions: Sequence[Decision]) -> dict[str, Any]:
    from pipeline.batch.dry_run import DryRun
    from pipeline.batch.session_pool import ends_at
    from pipeline.domain.session import ResearchSession
    from pipeline.wiring.session_adapters import AdapterFactory

    now, limits = datetime.now(UTC), env.workspace.queue.settings.limits
    factory = AdapterFactory(env.workspace, env.store, env.keys)
    try:
        rehearsal = DryRun(
            decisions=decisions,
            limit=request.selection.limit,
            limits=limits,
            until=ends_at(limits, now, request.bounds.until),
            sessions_at_once=sessions_at_once(env.workspace),
            now=now,
            config_of=env.config_of,
            search_of=env.search_of,
            opened=lambda name: ResearchSession.open(env.store, name).state,
            may_cost=factory.may_cost,
        )
        plan = rehearsal.plan()
    finally:
        await factory.aclose()
    if any(entry["search"] == [LOCAL] for entry in plan["due"]):
        workspace_adapters.corpus_files(env.workspace)
    return plan


def work(run: UnattendedRun, request: Request) -> int:
    """Research what is due; return the process's exit code. An error is also saved as the outcome of the last run.

    Raises:
        ResearchError: what keeps the run from starting, or a disk that cannot be written.
    """
    try:
        return _work(run, request)
    except (NoWorkspace, WorkspaceLocked):  # another run, or another folder: the saved outcome is not ours to replace
        raise
    except Exception as error:
        _save_last_run(run.console, {"exit_code": getattr(error, "exit_code", 1), "error": str(error) or type(error).__name__})
        raise


def _work(run: UnattendedRun, request: Request) -> int:
    env = environment_of(run.console, request)
    report_left_out(run.console, env.workspace)
    unfinished = _night_is_unfinished(env, distribute=request.distribute is not None)
    decided = env.decisions_for(request)
    if not (unfinished or _any_due(decided) or decided.branched) and decided.archived == _archived_before(env.store):
        if lines := open_note_questions(env):
            with run.lock(request.lock_wait):
                answer_note_questions(env, lines)
        return _nothing_to_do(run, env, decided.decisions, request.selection.ids)
    with run.lock(request.lock_wait):
        decided = env.decisions_for(request, again=True)
        join_branches(env.console, env.store, decided.branched)
        if not (unfinished or _any_due(decided)):
            answer_note_questions(env, open_note_questions(env))
            if decided.archived != _archived_before(env.store):
                _record_archived(env, decided.archived)
            return _nothing_to_do(run, env, decided.decisions, request.selection.ids)
        end, env = _end_of(env, request), env.in_its_night(request)
        if request.distribute is not None:
            from pipeline.cli.machines import distribute

            account = run.run_async(
                distribute(run, env, decided, request, lambda batch: finish_batch(env.in_its_night(Request()), batch, end))
            )
            if not account:  # somebody asked to stop, and the night goes on
                return run.stop.exit_code
        else:
            result = run.run_async(_run_batch(run, env, decided, request))
            if not result.batch:
                return _nothing_to_do(run, env, decided.decisions, request.selection.ids)
            from pipeline.domain.values import total

            spent = total((*([env.spent] if env.spent else []), *(one.cost for one in result.ended)))
            account = finish_batch(replace(env, spent=spent), result.batch, end, asks_model=not result.stopped)
    run.summary_line, run.details = _counts_line(account), {"batch": account["batch"]}
    _print_outcome(env.console, account)
    _post_digest(env)
    return int(account["exit_code"])


def _post_digest(env: RunEnvironment) -> None:
    """Post the night's digest where the settings say. What cannot be read or delivered is printed once and fails nothing."""
    settings = env.workspace.queue.settings
    if not (settings.notify.ntfy or settings.notify.webhook):
        return
    from pipeline.cli.reading_commands import place_of
    from pipeline.config.network import services_route
    from pipeline.ops.alerts import post_digest
    from pipeline.vault.digest import digest_of, heading_of, nights_in, text_of

    nights, unread = nights_in(env.store)
    found = digest_of(env.store, nights[-1], unread)
    text = "\n".join(text_of(found, place_of(env.console, settings.site_url)))
    for problem in post_digest(settings.notify, heading_of(found), text, services_route(settings, env.keys)):
        env.console.say(problem, always=True, fg="yellow")


def _night_is_unfinished(env: RunEnvironment, *, distribute: bool) -> bool:
    """Return whether a distributed run finds a night that is not over.

    Raises:
        WorkspaceLocked: workers research the sessions that this run would research itself.
        UsageError: there is no database to share.
    """
    if not distribute and not store_address(env.workspace.folder):
        return False
    from pipeline.wiring import queue_adapters

    nights = queue_adapters.nights_of(env.workspace.folder)
    try:
        night = nights.unfinished()
        if night and not distribute and any(running for _, running in nights.queue().values()):
            hint = "research run --distribute shows it; or wait until it is over"
            raise WorkspaceLocked(f"workers research the night to {night.day}", hint=hint)
        return distribute and night is not None
    finally:
        nights.disconnect()


def _end_of(env: RunEnvironment, request: Request) -> datetime | None:
    """Return when the run that starts now ends, with all that belongs to it; None without a limit."""
    from pipeline.batch.session_pool import ends_at

    return ends_at(env.workspace.queue.settings.limits, datetime.now(UTC), request.bounds.until)


def _any_due(decided: Decisions) -> bool:
    return any(decision.due for decision in decided.decisions)


def _archived_before(store: EventStore) -> tuple[str, ...]:
    """Return the ids of the queries that the latest batch recorded as removed from the file."""
    names = [name for name in store.marks() if name.startswith("batch-")]
    second = max((name.rpartition("-")[0] for name in names), default="")  # ids end in a random part: several may share a second
    records = [record for name in names if name.startswith(second) for record in store.load(name)]
    started = [record for record in records if record.type == "batch.started"]  # read without the events' models
    return tuple(json.loads(max(started, key=lambda record: record.at).data).get("archived", ())) if started else ()


def _record_archived(env: RunEnvironment, archived: Sequence[str]) -> None:
    """Record a batch without work: only that queries were removed from the file, or added to it again.

    Raises:
        LogError: the log cannot be written.
    """
    from pipeline.domain.events.stream_events import BatchEnded, BatchStarted
    from pipeline.engine.recorder import new_stream

    context = workspace_adapters.context_of(env.workspace, lambda _event, _state: None)
    log = new_stream(env.store, context, "batch")
    try:
        start = BatchStarted(due=(), queue_digest=env.workspace.queue.digest, archived=tuple(archived))
        log.record(start, BatchEnded(done=0, failed=0, skipped=0, exit_code=0))
    finally:
        env.store.release(log.id)


async def _run_batch(run: UnattendedRun, env: RunEnvironment, decided: Decisions, request: Request) -> BatchResult:
    """Check what every due query needs before the first one starts; then research them."""
    from pipeline.batch.memory import Recaller
    from pipeline.batch.session_pool import Batch
    from pipeline.cli.progress import progress_on
    from pipeline.domain.values import Cost
    from pipeline.wiring.session_adapters import AdapterFactory

    console, workspace = env.console, env.workspace
    due = [decision for decision in decided.decisions if decision.due][: request.selection.limit]
    searches = {env.config_of(decision.query).search for decision in due}
    factory = AdapterFactory(workspace, env.store, env.keys, spent=env.spent or Cost())
    try:
        prepare(console, workspace, factory, searches)
        with progress_on(console, len(due), environment().get("TERM", "")) as progress:
            context = context_of(env, progress.listen, run, request.bounds.until)
            at_once, gone = sessions_at_once(workspace), decided.archived
            batch = Batch(env.store, workspace.queue, factory, env.config_of, context, at_once, factory.spent_out, gone)
            batch.spent, batch.granted_usd = env.spent or Cost(), env.granted_usd
            if any(LOCAL in names for names in searches):
                batch.embed = lambda: report_embedding(console, factory.embed_documents())
            if workspace.queue.settings.memory != "off":
                batch.recall = Recaller(env.store)
            return await batch.work(decided.decisions, request.selection.limit)
    finally:
        await factory.aclose()


def finish_batch(env: RunEnvironment, batch: str, end: datetime | None = None, *, asks_model: bool = True) -> dict[str, Any]:
    """Answer what was asked in notes, consolidate, build vault and site; return what ``last-run.json`` holds: the outcome.

    Whoever stops a run does not wait for a model. ``end`` is the run's; ``env.spent`` what the night has cost.
    """
    from pipeline.batch.totals import account
    from pipeline.cli.memory_commands import consolidate_after_run
    from pipeline.domain.events.json_codec import decode_all

    answer_note_questions(env, open_note_questions(env))
    consolidate_after_run(env, env.spent, end, asks_model=asks_model)
    events = list(decode_all(record.data for record in env.store.load(batch)))
    if not events:
        raise LogDamaged(f"the log of {batch} is gone", hint="bring events/ back from a backup")
    value = account([*events, *_build_outputs(env, batch, events[-1].version)])
    report = workspace_adapters.report_of(env.console.folder)
    value["ended"] = [{**entry, "report": report(entry["session"])} for entry in value["ended"]]
    if not _save_last_run(env.console, value):
        value["exit_code"] = value["exit_code"] or 1
    return value


def _build_outputs(env: RunEnvironment, batch: str, version: int) -> list[VaultFailed]:
    """Build vault and site; print the problems, record them in the batch's stream and return them.

    After a failed build one more is made once its problems were recorded, as the note of the batch shows them.
    """
    from pipeline.engine.recorder import StreamLog

    problems = bring_up_to_date(env.console, env.workspace)
    if not problems:
        return []
    log = StreamLog(env.store, workspace_adapters.context_of(env.workspace, lambda _event, _state: None), batch, version)
    failed = _record_problems(log, problems)
    new_problems = [one for one in try_builds(env.workspace)[0] if one not in problems]
    failed += _record_problems(log, new_problems) if new_problems else []
    env.store.release(batch)
    report_build_problems(env.console, problems + new_problems)
    return failed


def _record_problems(log: StreamLog, problems: Sequence[BuildProblem]) -> list[VaultFailed]:
    """Add build problems to a batch's stream after its end. A disk that cannot be written was reported already."""
    from pipeline.domain.events.stream_events import VaultFailed

    failed = [VaultFailed(reason=one.reason, exit_code=one.exit_code, part=one.part) for one in problems]
    with suppress(LogError):
        log.record(*failed)
    return failed


def _save_last_run(console: Console, account: dict[str, Any]) -> bool:
    """Write ``last-run.json``; return whether the file holds this outcome now."""
    try:
        workspace_adapters.remember_run(console.folder, account)
    except OSError as error:
        if workspace_adapters.last_run(console.folder) == json.loads(
            json.dumps(account)
        ):  # written, but perhaps not safe against a power cut
            return True
        console.say(f"events/local/last-run.json was not written: {error.strerror}", always=True, fg="yellow")
        _log.error("last-run.json was not written: %s", error, extra=PRINTED)
        return False
    return True


def _nothing_to_do(run: UnattendedRun, env: RunEnvironment, decisions: Sequence[Decision], named: Sequence[str]) -> int:
    """Report that no query is due, and build the vault if a stopped run left it out of date; return the exit code."""
    console = env.console
    left = [d for d in decisions if d.action in ANNOUNCED or d.query.id in named]
    announced = [f"  {d.query.id}: {d.word}: {d.reason}" for d in left]
    lines = ["nothing to do", *first_few(announced, ": research list --why lists them")]
    again = {"failed": "the failed ones", "not-found": "those not found"}
    found = [words for action, words in again.items() if any(d.action == action for d in left)]
    lines += [f"  to try {' and '.join(found)} again: research retry"] if found else []
    done = [d.query.id for d in left if d.action == "done"]
    lines += [f"  to research what is done once more: research run {' '.join(done)} --again"] if done else []
    causes = {d.cause for d in decisions if d.action == "damaged"}
    code = next((code for cause, code in LOG_TROUBLE.items() if cause in causes), 0)
    if console.as_json or code or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in left]})
    problems = bring_up_to_date(console, env.workspace)
    code = code or report_build_problems(console, problems)
    run.summary_line = "nothing to do" if problems else ""
    return code if _update_last_run(console, code, problems) else code or 1


def _update_last_run(console: Console, code: int, problems: Sequence[BuildProblem]) -> bool:
    """Keep ``last-run.json`` unless its vault and site entries are outdated or it holds an error; return whether it is right."""
    now = parts((one.part, one.reason) for one in problems)
    before = workspace_adapters.last_run(console.folder)
    if "error" not in before and all(before.get(part, UP_TO_DATE) == how for part, how in now.items()):
        return True
    return _save_last_run(console, {"exit_code": code, "nothing_to_do": True, **now})


def _counts_line(account: dict[str, Any]) -> str:
    words = {"answered": "answered", "passages": "with passages"}
    parts = [f"{account[kind]} {word}" for kind, word in words.items() if account[kind]]
    parts = parts or [counted(account["done"], "report")]
    parts += [f"{account['not_found']} not found"] if account["not_found"] else []
    parts += [f"{account['failed']} failed"]
    parts += [f"{account['open']} open"] if account["open"] else []
    return ", ".join([*parts, f"{account['left_out']} skipped"])


def _print_outcome(console: Console, account: dict[str, Any]) -> None:
    """Print what became of each query; under ``-q`` only what failed or was stopped, and nothing if nothing was."""
    quiet = console.quiet and not console.as_json
    if quiet and account["exit_code"] in (0, NOT_FOUND):
        return
    try:
        console.data(_outcome_lines(console, _troubles_of(account) if quiet else account), account)
    except (OSError, SystemRefused) as error:  # a closed terminal does not change the outcome of the run
        console.say(str(error), fg="yellow")


def _troubles_of(account: dict[str, Any]) -> dict[str, Any]:
    """The account with only those queries that failed or were interrupted; ``stops`` are the reasons why others were skipped."""
    ended = [entry for entry in account["ended"] if entry["status"] in ("failed", "interrupted")]
    stops = {entry["reason"]: "" for entry in account["skipped"] if entry["cause"] not in ("left", *LOG_TROUBLE)}
    skipped = [entry for entry in account["skipped"] if entry["cause"] in LOG_TROUBLE]
    return {**account, "ended": ended, "skipped": skipped, "stops": stops.keys() - {entry["reason"] for entry in ended}}


def _outcome_lines(console: Console, account: dict[str, Any]) -> list[str]:
    from pipeline.domain.state import OUTCOME_WORDS

    lines = []
    for entry in account["ended"]:
        word = OUTCOME_WORDS.get(entry["outcome"]) or entry["status"].replace("-", " ")
        lines.append(f"{word:<11} {entry['query_id']}: {entry['reason'] or _effort(entry)}")
        lines += [f"{'':<11} {console.path(entry['report'])}"] if entry["report"] else []
    lines += _skipped_lines(account["skipped"])
    lines += [f"{'stopped':<11} {reason}" for reason in sorted(account.get("stops", ()))]
    lines += [f"{part:<11} not up to date: {account[part]}" for part in ("vault", "site") if account[part] != UP_TO_DATE]
    return [*lines, f"{_counts_line(account)}; exit code {account['exit_code']}"]


def _effort(entry: dict[str, Any]) -> str:
    from pipeline.cli.presentation import duration, price
    from pipeline.domain.values import Cost

    unknown, likely = entry["not_accounted_usd"], entry["not_accounted_estimate_usd"]
    usd = entry["cost_usd"] + unknown
    cost = Cost(usd=usd, assumed_usd=unknown, expected_usd=likely, total_tokens=entry["tokens"])
    show = "" if entry["report"] else f"; research show {entry['session']}"
    return f"{duration(entry['duration_s'])}, {price(cost)}{show}"


def _skipped_lines(skipped: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each skipped query; of many with the same cause only the first few and a count."""
    lines = []
    for cause in dict.fromkeys(entry["cause"] for entry in skipped):
        mine = [entry for entry in skipped if entry["cause"] == cause]
        reasons = {entry["reason"] for entry in mine}
        why = reasons.pop() if len(reasons) == 1 else "research list --why lists them"
        lines += first_few([f"{'skipped':<11} {entry['query_id']}: {entry['reason']}" for entry in mine], f" are skipped: {why}")
    return lines
