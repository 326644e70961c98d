"""The commands that do research: ``run`` and ``resume``. Only commands print or exit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from pipeline.console import Console, mask_with
from pipeline.telling import bring_vault_up_to_date, decisions_of, session_named, show_session

if TYPE_CHECKING:
    from pipeline.batch import Night
    from pipeline.deciding import Decision
    from pipeline.doors import Desks
    from pipeline.events import EventBase
    from pipeline.ports import EventStore
    from pipeline.reckoning import NightResult
    from pipeline.run import RunContext
    from pipeline.session import ResearchSession
    from pipeline.settings import Keys, Workspace
    from pipeline.state import SessionState


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.pass_obj
def run(console: Console, ids: tuple[str, ...]) -> None:
    """Research all queries that are due, or those with the IDs given; then bring the vault up to date."""
    from pipeline import wiring
    from pipeline.deciding import Selection
    from pipeline.settings import keys_of, load_workspace

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    _refuse_unknown(workspace, ids)
    store = wiring.store_of(console.folder)
    decisions = decisions_of(console, workspace, store, Selection(ids))
    if not any(decision.due for decision in decisions):
        _nothing_to_do(console, decisions)
        return
    with wiring.lock_of(console.folder):
        decisions = decisions_of(console, workspace, store, Selection(ids))
        result = _await(_night(console, workspace, keys, store, decisions))
    _tell_night(console, result)
    bring_vault_up_to_date(console)
    sys.exit(20 if result.exit_code < 2 and any(decision.action == "damaged" for decision in decisions) else result.exit_code)


async def _night(
    console: Console, workspace: Workspace, keys: Keys, store: EventStore, decisions: Sequence[Decision]
) -> NightResult:
    """Check what every due query needs before the first of them begins; then work."""
    from pipeline.batch import SESSIONS_AT_ONCE, Night
    from pipeline.doors import Desks
    from pipeline.settings import config_for

    def config_of(query: Any) -> Any:
        return config_for(query, workspace.queue.settings, keys)

    searches = {name for decision in decisions if decision.due for name in config_of(decision.query).search}
    desks = Desks(workspace, store, keys)
    try:
        _prepare(console, workspace, desks, needed="local" in searches)
        at_once = max(SESSIONS_AT_ONCE, workspace.queue.settings.limits.concurrency // 2)
        context = _context(console, workspace, keys)
        night: Night = Night(store, workspace.queue, desks, config_of, context, at_once, desks.spent_out)
        return await night.work(decisions)
    finally:
        await desks.aclose()


def _context(console: Console, workspace: Workspace, keys: Keys) -> RunContext:
    """The run's context; from here on no key is written or printed."""
    from pipeline import batch, wiring
    from pipeline.secret import Redaction
    from pipeline.services import secrets_of

    settings = workspace.queue.settings
    redaction = Redaction(secrets_of(settings, keys))
    mask_with(redaction.text)
    return batch.within(wiring.context_of(workspace, _listener(console), redaction.data), settings.limits)


def _prepare(console: Console, workspace: Workspace, desks: Desks, *, needed: bool) -> None:
    """Name every document that cannot be read, once, before the work begins."""
    from pipeline.presenting import counted

    report = desks.prepare(needed=needed)
    if report is None:
        return
    for problem in report.problems:
        console.say(f"skipped {workspace.queue.settings.corpus}/{problem.path}: {problem.reason}", fg="yellow")
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)


def _refuse_unknown(workspace: Workspace, ids: tuple[str, ...]) -> None:
    from difflib import get_close_matches

    from pipeline.errors import UsageError

    known = [query.id for query in workspace.queue.queries]
    for name in ids:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "research list shows the ids"
            raise UsageError(f"queries.yaml has no query with the id {name!r}", hint=hint)


def _nothing_to_do(console: Console, decisions: tuple[Decision, ...]) -> None:
    """Nothing is due. A vault that a stopped run left behind is still brought up to date."""
    from pipeline.deciding import LEFT

    waiting = [d for d in decisions if d.action in LEFT]
    lines = ["nothing to do", *(f"  {d.query.id}: {d.action}: {d.reason}" for d in waiting)]
    lines += ["  research run ID tries a failed one anew"] if any(d.action == "failed" for d in waiting) else []
    if console.as_json or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in waiting]})
    bring_vault_up_to_date(console)
    sys.exit(20 if any(d.action == "damaged" for d in waiting) else 0)


def _await(work: Any) -> Any:
    import asyncio

    return asyncio.run(work)


def _listener(console: Console) -> Callable[[EventBase, SessionState], None]:
    from pipeline.presenting import happened
    from pipeline.text import one_line

    loud = {"research.started", "plan.created", "plan.extended", "contradictions.found", "outline.created"}
    ends = {"research.completed", "research.failed", "step.failed", "budget.exhausted", "worker.failed"}

    def listen(event: EventBase, state: SessionState) -> None:
        if console.verbose or event.type in loud | ends:
            failed = event.type.endswith(".failed")
            text = f"{event.at[11:19]}  {one_line(state.query_id, 40):<40}  {event.type:<20}  {happened(event)}"
            console.say(text.rstrip(), fg="red" if failed else None, dim=event.type not in ends)

    return listen


def _tell_night(console: Console, result: NightResult) -> None:
    from pipeline.presenting import counted, duration, price

    lines = [
        f"{entry.status:<9} {entry.query_id}: "
        + (entry.reason or f"{duration(entry.duration_s)}, {price(entry.cost)}; research show {entry.session}")
        for entry in result.ended
    ]
    lines += [f"skipped   {entry.query_id}: {entry.reason}" for entry in result.skipped]
    done = sum(entry.status == "complete" for entry in result.ended)
    counts = f"{counted(done, 'report')}, {len(result.ended) - done} failed, {len(result.skipped)} skipped"
    lines.append(f"{counts}; exit code {result.exit_code}")
    value = {
        "batch": result.batch,
        "ended": [entry.model_dump(include={"query_id", "session", "status", "reason"}) for entry in result.ended],
        "skipped": [entry.model_dump(include={"query_id", "reason"}) for entry in result.skipped],
        "exit_code": result.exit_code,
    }
    if console.as_json or result.exit_code or not console.quiet:
        console.data(lines, value)


@click.command()
@click.argument("session")
@click.pass_obj
def resume(console: Console, session: str) -> None:
    """Go on with SESSION where it stopped; a failed or cancelled one is reopened. SESSION: its id, or its query's id."""
    from pipeline import acts, wiring
    from pipeline.settings import keys_of, load_workspace

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    store = wiring.store_of(console.folder)
    name = session_named(console.folder, store, session)
    with wiring.lock_of(console.folder):
        context = _context(console, workspace, keys)
        opened = acts.reopened(store, name, context)
        state = _await(_resumed(console, workspace, keys, store, opened, context))
    show_session(console, state, None)
    bring_vault_up_to_date(console)
    sys.exit(0 if state.status == "complete" else 1)


async def _resumed(
    console: Console, workspace: Workspace, keys: Keys, store: EventStore, session: ResearchSession, context: RunContext
) -> SessionState:
    from pipeline.doors import Desks
    from pipeline.run import run_session

    desks = Desks(workspace, store, keys)
    try:
        _prepare(console, workspace, desks, needed="local" in session.state.config.search)
        return await run_session(session, store, desks(session.state), context)
    finally:
        await desks.aclose()
