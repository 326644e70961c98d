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
from pipeline.batch.scheduling import LEFT, Decision, Selection, archived, decide
from pipeline.cli.messages import bring_vault_up_to_date, glance
from pipeline.config.service_selection import LOCAL
from pipeline.errors import NOT_FOUND, LogError, ResearchError
from pipeline.ops.terminal import TOLD, Console, mask_with

if TYPE_CHECKING:
    from pipeline.batch.totals import NightResult
    from pipeline.config.queries.model import Query
    from pipeline.config.service_selection import Documents, SearchChoice
    from pipeline.config.settings import Keys, Workspace
    from pipeline.domain.events.batch_events import VaultFailed
    from pipeline.domain.events.session_events import EventBase
    from pipeline.domain.values import ResearchConfig
    from pipeline.engine.loop import Listener, RunContext
    from pipeline.ops.unattended import UnattendedRun
    from pipeline.ports import EventStore
    from pipeline.wiring.session_adapters import AdapterFactory

_log = logging.getLogger("pipeline.cli.run_workflow")
_MOST_SKIPPED = 5  # files that are named one by one


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
        UsageError: an id or a tag is unknown; the ``.env`` cannot be read.
    """
    from pipeline.config.settings import keys_of, load_workspace
    from pipeline.wiring import workspace_adapters

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
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
    """Do a night's work; return the process's exit code.

    Raises:
        ResearchError: what ends the night before it begins, or a disk that refuses.
    """
    place = place_of(shift.console, request)
    decisions = place.outlook(request).decisions
    if not any(decision.due for decision in decisions):
        return _nothing_to_do(place.console, decisions, request.selection.ids)
    with shift.locked(request.lock_wait):
        outlook = place.outlook(request)
        try:
            result = shift.awaited(_worked(shift, place, outlook, request))
        except ResearchError as error:
            _remember(place.console, {"exit_code": error.exit_code, "error": error.message})
            raise
        if not result.batch:
            return _nothing_to_do(place.console, outlook.decisions, request.selection.ids)
        account = _closed(place, result)
    shift.last_word, shift.about = _counts(account), {"batch": account["batch"]}
    _tell(place.console, account)
    return int(account["exit_code"])


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
    from pipeline.cli.presentation import counted

    report = desks.prepare(needed=(LOCAL,) in searches)
    if report is None:
        if any(LOCAL in names for names in searches):
            console.say(
                f"your documents in {', '.join(workspace.queue.settings.corpus)} cannot be searched: research doctor says why",
                fg="yellow",
            )
        return
    skipped = [f"skipped {workspace.document_name(problem.path)}: {problem.reason}" for problem in report.problems]
    for line in skipped[:_MOST_SKIPPED]:
        console.say(line, fg="yellow")
    if more := skipped[_MOST_SKIPPED:]:
        console.say(f"… and {counted(len(more), 'more file')}; events/local/research.log names them", fg="yellow")
        _log.info("%s", "; ".join(more))
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)


def _closed(place: RunEnvironment, result: NightResult) -> dict[str, Any]:
    """Bring the vault up to date; return the account of the night, which is remembered too. A vault that fails is part of it."""
    from pipeline.batch.totals import account
    from pipeline.domain.events.json_codec import decode_all

    events = list(decode_all(record.data for record in place.store.load(result.batch)))
    if failed := _vault_failure(place.console):
        _record_after(place, result.batch, events[-1].version, failed)
        events.append(failed)
    value = account(events)
    _remember(place.console, value)
    return value


def _vault_failure(console: Console) -> VaultFailed | None:
    """Bring the vault up to date; return what kept it from that, told already, or None."""
    from pipeline.domain.events.batch_events import VaultFailed

    try:
        bring_vault_up_to_date(console)
    except ResearchError as error:
        console.say(f"the vault is not up to date: {error.message}\n  → {error.hint or 'research build'}", fg="red")
        return VaultFailed(reason=error.message, exit_code=error.exit_code)
    except Exception as error:  # noqa: BLE001 - whatever it is, the night's work is done and its account is owed
        _log.error("the vault could not be built", exc_info=error, extra=TOLD)
        console.say(f"the vault is not up to date: {error}\n  → research build", fg="red")
        return VaultFailed(reason=f"{type(error).__name__}: {error}", exit_code=1)
    return None


def _record_after(place: RunEnvironment, session_pool: str, version: int, event: EventBase) -> None:
    """Add to a night's stream what came after its end; a disk that refuses has been told of already."""
    from pipeline.batch.batch_log import BatchLog
    from pipeline.wiring import workspace_adapters

    context = workspace_adapters.context_of(place.workspace, lambda _event, _state: None)
    with suppress(LogError):
        BatchLog(place.store, context, session_pool, version).record(context.agent, event)
    place.store.release(session_pool)


def _remember(console: Console, account: dict[str, Any]) -> None:
    """Write ``last-run.json``; a disk that refuses has been told of already, or will be."""
    from pipeline.wiring import workspace_adapters

    try:
        workspace_adapters.remember_run(console.folder, account)
    except OSError as error:
        console.say(f"events/local/last-run.json was not written: {error.strerror}", fg="yellow")


def _nothing_to_do(console: Console, decisions: Sequence[Decision], named: Sequence[str]) -> int:
    """Nothing is due. A vault that a stopped run left behind is still brought up to date."""
    left = [d for d in decisions if d.action in LEFT or d.query.id in named]
    lines = ["nothing to do", *(f"  {d.query.id}: {d.word}: {d.reason}" for d in left)]
    again = {"failed": "the failed ones", "not-found": "those not found"}
    found = [words for action, words in again.items() if any(d.action == action for d in left)]
    lines += [f"  research retry tries {' and '.join(found)} again"] if found else []
    if console.as_json or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in left]})
    bring_vault_up_to_date(console)
    return 20 if any(d.action == "damaged" for d in left) else 0


def _counts(account: dict[str, Any]) -> str:
    from pipeline.cli.presentation import counted

    parts = [counted(account["done"], "report")]
    parts += [f"{account['not_found']} not found"] if account["not_found"] else []
    parts += [f"{account['failed']} failed"]
    parts += [f"{account['open']} open"] if account["open"] else []
    return ", ".join([*parts, f"{account['left_out']} skipped"])


def _tell(console: Console, account: dict[str, Any]) -> None:
    from pipeline.batch.totals import UP_TO_DATE

    lines = [f"{e['status'].replace('-', ' '):<11} {e['query_id']}: {e['reason'] or _effort(e)}" for e in account["ended"]]
    lines += [f"{'skipped':<11} {e['query_id']}: {e['reason']}" for e in account["skipped"]]
    lines += [f"{'vault':<11} not up to date: {account['vault']}"] if account["vault"] != UP_TO_DATE else []
    lines.append(f"{_counts(account)}; exit code {account['exit_code']}")
    if console.as_json or account["exit_code"] not in (0, NOT_FOUND) or not console.quiet:
        with suppress(OSError):  # a terminal that hung up changes nothing about how the night ended
            console.data(lines, account)


def _effort(entry: dict[str, Any]) -> str:
    from pipeline.cli.presentation import duration, price
    from pipeline.domain.values import Cost

    cost = Cost(usd=entry["cost_usd"], total_tokens=entry["tokens"])
    return f"{duration(entry['duration_s'])}, {price(cost)}; research show {entry['session']}"
