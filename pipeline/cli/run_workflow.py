"""One night as the command line has it done: decide, rehearse or work, bring the vault up to date, remember, tell."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.batch.run_overrides import RunOverrides, refuse_unknown
from pipeline.batch.scheduling import LEFT, LOG_TROUBLE, UP_TO_DATE, Decision, Selection, archived, decide, parts
from pipeline.cli.command_parts import bring_up_to_date, glance, say_missed
from pipeline.config.service_selection import LOCAL
from pipeline.errors import NOT_FOUND, LogDamaged, LogError, NoWorkspace, SystemRefused, WorkspaceLocked
from pipeline.ops.console_output import LOG_FILE, TOLD, Console, mask_with
from pipeline.text.times import timestamp

if TYPE_CHECKING:
    from pipeline.batch.batch_log import BatchLog
    from pipeline.batch.totals import NightResult
    from pipeline.cli.command_parts import Missed
    from pipeline.config.queries.model import Query
    from pipeline.config.service_selection import Documents, SearchChoice
    from pipeline.config.settings import Keys, Workspace
    from pipeline.domain.events.batch_events import VaultFailed
    from pipeline.domain.events.session_events import EventBase
    from pipeline.domain.values import ResearchConfig
    from pipeline.engine.run_context import Listener, RunContext
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.ports import EventStore
    from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.run_workflow")


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks of a night. ``only_again``: nothing but what failed or was cancelled."""

    selection: Selection = field(default_factory=Selection)
    bounds: RunOverrides = field(default_factory=RunOverrides)
    only_again: bool = False
    lock_wait: timedelta | None = None


class Decisions(NamedTuple):
    """What is to be done about each query, and the ids, sorted, of those that the log knows and the file holds no more."""

    decisions: tuple[Decision, ...]
    archived: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What a night works with: the workspace within the night's bounds, its keys, its log, and what its documents are."""

    console: Console
    workspace: Workspace
    keys: Keys
    store: EventStore
    documents: Callable[[], Documents] = lambda: ""

    def search_of(self, query: Query) -> SearchChoice:
        """Return who searches in a new session on a query, and why. Raises: as ``config_of``."""
        from pipeline.config.settings import search_for

        return search_for(query, self.workspace.queue.settings, self.keys, self.documents())

    def config_of(self, query: Query) -> ResearchConfig:
        """Return the limits that a new session on a query runs under.

        Raises:
            UsageError: it names a model or a provider that is not set up.
        """
        from pipeline.config.settings import config_for

        return config_for(query, self.workspace.queue.settings, self.keys, self.documents())

    def outlook(self, request: Request, *, look_only: bool = False) -> Decisions:
        """Return what is to be done about each query that the request is about; ``look_only`` as in ``glance``."""
        known = glance(self.console, self.store, look_only=look_only)
        decisions = decide(self.workspace.queue, known, datetime.now(UTC), request.selection)
        if request.only_again:
            decisions = tuple(d for d in decisions if d.action == "retry" or not d.due)
        gone = {summary.query_id for summary in archived(self.workspace.queue, known) if summary.query_id}
        return Decisions(decisions, tuple(sorted(gone)))


def place_of(console: Console, request: Request) -> RunEnvironment:
    """Return what the night works with.

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
    """Return how many sessions a night works on side by side."""
    from pipeline.batch.session_pool import SESSIONS_AT_ONCE

    return max(SESSIONS_AT_ONCE, workspace.queue.settings.limits.concurrency // 2)


def rehearse(console: Console, request: Request) -> None:
    """Print what the night would do; write nothing, ask nobody.

    Raises:
        ResearchError: what would end the night before it begins.
    """
    import asyncio

    from pipeline.batch.dry_run import plan_lines

    place = place_of(console, request)
    decisions = place.outlook(request, look_only=True).decisions
    plan = asyncio.run(_planned(place, request, decisions))
    words: dict[str, str] = {decision.action: decision.word for decision in decisions}
    console.data(plan_lines(plan, words), plan)


async def _planned(place: RunEnvironment, request: Request, decisions: Sequence[Decision]) -> dict[str, Any]:
    from pipeline.batch.dry_run import DryRun
    from pipeline.batch.session_pool import ends_at
    from pipeline.domain.session import ResearchSession
    from pipeline.wiring import workspace_adapters
    from pipeline.wiring.session_adapters import AdapterFactory

    now, limits = datetime.now(UTC), place.workspace.queue.settings.limits
    desks = AdapterFactory(place.workspace, place.store, place.keys)
    try:
        rehearsal = DryRun(
            decisions=decisions,
            limit=request.selection.limit,
            limits=limits,
            until=ends_at(limits, now, request.bounds.until),
            sessions_at_once=sessions_at_once(place.workspace),
            now=now,
            config_of=place.config_of,
            search_of=place.search_of,
            opened=lambda name: ResearchSession.open(place.store, name).state,
            may_cost=desks.may_cost,
        )
        plan = rehearsal.plan()
    finally:
        await desks.aclose()
    if any(entry["search"] == [LOCAL] for entry in plan["due"]):
        workspace_adapters.corpus_files(place.workspace)
    return plan


def work(shift: UnattendedRun, request: Request) -> int:
    """Do a night's work; return the process's exit code. What ends it before its time is remembered as the last run's end.

    Raises:
        ResearchError: what ends the night before it begins, or a disk that refuses.
    """
    try:
        return _work(shift, request)
    except (NoWorkspace, WorkspaceLocked):  # it was no run here
        raise
    except Exception as error:
        _remember(shift.console, {"exit_code": getattr(error, "exit_code", 1), "error": str(error) or type(error).__name__})
        raise


def _work(shift: UnattendedRun, request: Request) -> int:
    place = place_of(shift.console, request)
    outlook = place.outlook(request)
    if not _any_due(outlook) and outlook.archived == _archived_before(place.store):
        return _nothing_to_do(shift, place, outlook.decisions, request.selection.ids)
    with shift.locked(request.lock_wait):
        outlook = place.outlook(request)
        if not _any_due(outlook):
            _record_archived(place, outlook.archived)
            return _nothing_to_do(shift, place, outlook.decisions, request.selection.ids)
        result = shift.awaited(_worked(shift, place, outlook, request))
        if not result.batch:
            return _nothing_to_do(shift, place, outlook.decisions, request.selection.ids)
        account = _closed(place, result)
    shift.last_word, shift.about = _counts(account), {"batch": account["batch"]}
    _tell(place.console, account)
    return int(account["exit_code"])


def _any_due(outlook: Decisions) -> bool:
    return any(decision.due for decision in outlook.decisions)


def _archived_before(store: EventStore) -> tuple[str, ...]:
    """Return the queries that the latest batch knew to be gone from the file."""
    import json

    latest = max((name for name in store.marks() if name.startswith("batch-")), default="")
    records = store.load(latest) if latest else iter(())  # read without the events' models: nothing may be due
    return next((tuple(json.loads(record.data).get("archived", ())) for record in records if record.type == "batch.started"), ())


def _record_archived(place: RunEnvironment, archived: Sequence[str]) -> None:
    """Record a batch that did nothing but find queries gone from the file, or back in it.

    Raises:
        LogError: the log cannot be written.
    """
    from pipeline.batch.batch_log import BatchLog, new_batch_id
    from pipeline.domain.events.batch_events import BatchEnded, BatchStarted
    from pipeline.wiring import workspace_adapters

    context = workspace_adapters.context_of(place.workspace, lambda _event, _state: None)
    log = BatchLog(place.store, context, new_batch_id(timestamp(context.now())))
    try:
        start = BatchStarted(due=(), queue_digest=place.workspace.queue.digest, archived=tuple(archived))
        log.record(start, BatchEnded(done=0, failed=0, skipped=0, exit_code=0))
    finally:
        place.store.release(log.id)


async def _worked(shift: UnattendedRun, place: RunEnvironment, outlook: Decisions, request: Request) -> NightResult:
    """Check what every due query needs before the first of them begins; then work."""
    from pipeline.batch.session_pool import Night
    from pipeline.cli.progress import progress_on
    from pipeline.config.settings import environment
    from pipeline.wiring.session_adapters import AdapterFactory

    console, workspace = place.console, place.workspace
    due = [decision for decision in outlook.decisions if decision.due][: request.selection.limit]
    searches = {place.config_of(decision.query).search for decision in due}
    desks = AdapterFactory(workspace, place.store, place.keys, sessions=len(due))
    try:
        prepare(console, workspace, desks, searches)
        with progress_on(console, len(due), environment().get("TERM", "")) as progress:
            context = context_of(place, progress.listen, shift, request.bounds.until)
            at_once, gone = sessions_at_once(workspace), outlook.archived
            night = Night(place.store, workspace.queue, desks, place.config_of, context, at_once, desks.spent_out, gone)
            return await night.work(outlook.decisions, request.selection.limit)
    finally:
        await desks.aclose()


def context_of(place: RunEnvironment, listener: Listener, shift: UnattendedRun, until: datetime | None = None) -> RunContext:
    """Return the run's context within the night's limits; from here on no key is written or printed."""
    from pipeline.batch import session_pool
    from pipeline.config.service_selection import secrets_of
    from pipeline.text.redaction import Redaction
    from pipeline.wiring import workspace_adapters

    settings = place.workspace.queue.settings
    redaction = Redaction(secrets_of(settings, place.keys))
    mask_with(redaction.text)
    context = shift.bound(workspace_adapters.context_of(place.workspace, listener, redaction.data))
    return session_pool.within(context, settings.limits, until)


def prepare(console: Console, workspace: Workspace, desks: AdapterFactory, searches: Collection[tuple[str, ...]]) -> None:
    """Name every document that cannot be read, once, before the work begins; ``searches`` are who searches in each session.

    Raises:
        CorpusUnusable, SearchFailed: the documents cannot be searched, and a session has nothing else.
    """
    from pipeline.text.normalise import counted, first_few

    report = desks.prepare(needed=(LOCAL,) in searches)
    if report is None:
        if any(LOCAL in names for names in searches):
            console.say(
                f"your documents in {', '.join(workspace.queue.settings.corpus)} cannot be searched: research doctor says why",
                fg="yellow",
            )
        return
    skipped = [f"skipped {workspace.document_name(problem.path)}: {problem.reason}" for problem in report.problems]
    for line in first_few(skipped, f" files; {LOG_FILE} names them all"):
        console.say(line, fg="yellow")
    if skipped:
        _log.warning("%s of documents: %s", counted(len(skipped), "file"), "; ".join(skipped), extra=TOLD)
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)


def _closed(place: RunEnvironment, result: NightResult) -> dict[str, Any]:
    """Bring vault and site up to date; return the account of the night, which is remembered too, and says what was not made."""
    from pipeline.batch.totals import account
    from pipeline.domain.events.json_codec import decode_all
    from pipeline.wiring import workspace_adapters

    events = list(decode_all(record.data for record in place.store.load(result.batch)))
    if not events:
        raise LogDamaged(f"the log of {result.batch} is gone", hint="bring events/ back from a backup")
    value = account([*events, *_not_made(place, result.batch, events[-1].version)])
    report = workspace_adapters.report_of(place.console.folder)
    value["ended"] = [{**entry, "report": report(entry["session"])} for entry in value["ended"]]
    if not _remember(place.console, value):
        value["exit_code"] = value["exit_code"] or 1
    return value


def _not_made(place: RunEnvironment, batch: str, version: int) -> list[VaultFailed]:
    """Bring vault and site up to date; record in the night's stream, print and return what was not made.

    Both are tried again at once, for what kept them may have passed; and once more after it was recorded, for the night's note.
    """
    from pipeline.batch.batch_log import BatchLog
    from pipeline.wiring import workspace_adapters

    url = place.workspace.queue.settings.site_url
    missed = bring_up_to_date(place.console, url) and bring_up_to_date(place.console, url)
    if not missed:
        return []
    log = BatchLog(place.store, workspace_adapters.context_of(place.workspace, lambda _event, _state: None), batch, version)
    failed = _recorded(log, missed, log.context.agent)
    later = [one for one in bring_up_to_date(place.console, url) if one not in missed]
    failed += _recorded(log, later) if later else []
    place.store.release(batch)
    say_missed(place.console, missed + later)
    return failed


def _recorded(log: BatchLog, missed: Sequence[Missed], *first: EventBase) -> list[VaultFailed]:
    """Add to a night's stream what came after its end; a disk that refuses has been told of already."""
    from pipeline.domain.events.batch_events import VaultFailed

    failed = [VaultFailed(reason=one.reason, exit_code=one.exit_code, part=one.part) for one in missed]
    with suppress(LogError):
        log.record(*first, *failed)
    return failed


def _remember(console: Console, account: dict[str, Any]) -> bool:
    """Write ``last-run.json``; tell whether it holds that now."""
    import json

    from pipeline.wiring import workspace_adapters

    try:
        workspace_adapters.remember_run(console.folder, account)
    except OSError as error:
        if workspace_adapters.last_run(console.folder) == json.loads(
            json.dumps(account)
        ):  # it is there, if perhaps not after a power cut
            return True
        console.say(f"events/local/last-run.json was not written: {error.strerror}", always=True, fg="yellow")
        _log.error("last-run.json was not written: %s", error, extra=TOLD)
        return False
    return True


def _nothing_to_do(shift: UnattendedRun, place: RunEnvironment, decisions: Sequence[Decision], named: Sequence[str]) -> int:
    """Nothing is due. A vault that a stopped run left behind is still brought up to date."""
    from pipeline.text.normalise import first_few

    console = place.console
    left = [d for d in decisions if d.action in LEFT or d.query.id in named]
    told = [f"  {d.query.id}: {d.word}: {d.reason}" for d in left]
    lines = ["nothing to do", *first_few(told, ": research list --why names them")]
    again = {"failed": "the failed ones", "not-found": "those not found"}
    found = [words for action, words in again.items() if any(d.action == action for d in left)]
    lines += [f"  research retry tries {' and '.join(found)} again"] if found else []
    causes = {d.cause for d in decisions if d.action == "damaged"}
    code = next((code for cause, code in LOG_TROUBLE.items() if cause in causes), 0)
    if console.as_json or code or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in left]})
    url = place.workspace.queue.settings.site_url
    missed = bring_up_to_date(console, url) and bring_up_to_date(console, url)
    code = code or say_missed(console, missed)
    shift.last_word = "nothing to do" if missed else ""
    return code if _keep_state(console, code, missed) else code or 1


def _keep_state(console: Console, code: int, missed: Sequence[Missed]) -> bool:
    """Let the account of the last night be, unless vault and site are otherwise than it says, or it ended in an error."""
    from pipeline.wiring import workspace_adapters

    now = parts((one.part, one.reason) for one in missed)
    before = workspace_adapters.last_run(console.folder)
    if "error" not in before and all(before.get(part, UP_TO_DATE) == how for part, how in now.items()):
        return True
    return _remember(console, {"exit_code": code, "nothing_to_do": True, **now})


def _counts(account: dict[str, Any]) -> str:
    from pipeline.text.normalise import counted

    parts = [counted(account["done"], "report")]
    parts += [f"{account['not_found']} not found"] if account["not_found"] else []
    parts += [f"{account['failed']} failed"]
    parts += [f"{account['open']} open"] if account["open"] else []
    return ", ".join([*parts, f"{account['left_out']} skipped"])


def _tell(console: Console, account: dict[str, Any]) -> None:
    lines = []
    for entry in account["ended"]:
        lines.append(f"{entry['status'].replace('-', ' '):<11} {entry['query_id']}: {entry['reason'] or _effort(entry)}")
        lines += [f"{'':<11} {console.path(entry['report'])}"] if entry["report"] else []
    lines += _skipped_lines(account["skipped"])
    lines += [f"{part:<11} not up to date: {account[part]}" for part in ("vault", "site") if account[part] != UP_TO_DATE]
    lines.append(f"{_counts(account)}; exit code {account['exit_code']}")
    if console.as_json or account["exit_code"] not in (0, NOT_FOUND) or not console.quiet:
        try:
            console.data(lines, account)
        except (OSError, SystemRefused) as error:  # a terminal that hung up changes nothing about how the night ended
            console.say(str(error), fg="yellow")


def _effort(entry: dict[str, Any]) -> str:
    from pipeline.cli.presentation import duration, price
    from pipeline.domain.values import Cost

    cost = Cost(usd=entry["cost_usd"], total_tokens=entry["tokens"])
    show = "" if entry["report"] else f"; research show {entry['session']}"
    return f"{duration(entry['duration_s'])}, {price(cost)}{show}"


def _skipped_lines(skipped: Sequence[dict[str, Any]]) -> list[str]:
    """A line for each query that was skipped; of many for the same cause the first few, and how many more."""
    from pipeline.text.normalise import first_few

    lines = []
    for cause in dict.fromkeys(entry["cause"] for entry in skipped):
        mine = [entry for entry in skipped if entry["cause"] == cause]
        reasons = {entry["reason"] for entry in mine}
        why = reasons.pop() if len(reasons) == 1 else "research list --why names them"
        lines += first_few([f"{'skipped':<11} {entry['query_id']}: {entry['reason']}" for entry in mine], f" are skipped: {why}")
    return lines
