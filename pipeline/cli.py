"""The commands. Only they print or exit; everything heavy is imported by the command that needs it."""

from __future__ import annotations

import gc
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline import __version__
from pipeline.console import Console, errors_told

if TYPE_CHECKING:
    from pipeline.batch import Decision, NightResult
    from pipeline.doctor import Finding
    from pipeline.events import EventBase
    from pipeline.ports import EventStore
    from pipeline.settings import Keys, Workspace
    from pipeline.state import SessionState
    from pipeline.wiring import Desks

# Events and states hold no circles; to look for some as often as Python does takes a third of the time of reading a log.
COLLECTION = (50_000, 20, 100)

EXIT_CODES = """\b
Exit codes: 0 done, or nothing to do; 1 some query failed; 2 usage, settings or queries.yaml;
3 stopped by a cap, work remains; 4 a provider refuses us; 10 no workspace here;
11 locked by another run; 20 the log is damaged; 130, 143 interrupted."""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("-C", "folder", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="The workspace.  [default: .]")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something fails.")
@click.option("-v", "--verbose", is_flag=True, help="Say more: each step as it ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON value on stdout, failures included, and nothing else.")
@click.option("--no-color", is_flag=True, envvar="NO_COLOR", help="Print without colours.")
@click.version_option(__version__, prog_name="research")
@click.pass_context
def cli(ctx: click.Context, folder: Path, quiet: bool, verbose: bool, as_json: bool, no_color: bool) -> None:
    """Research the questions in queries.yaml; keep every answer in an event log; write the notes of an Obsidian vault."""
    ctx.obj = Console(folder, quiet, verbose, as_json, color=not no_color and sys.stderr.isatty())
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@cli.command()
@click.argument("directory", type=click.Path(path_type=Path), required=False)
@click.pass_obj
def init(console: Console, directory: Path | None) -> None:
    """Lay out a fresh workspace: a sample queue, sample documents, templates, a vault. Overwrites nothing."""
    from pipeline import starter

    folder = directory or console.folder
    laid = starter.lay_out(folder)
    kept = f"; {len(laid.kept)} were there already and stay as they are" if laid.kept else ""
    console.data(
        [f"{len(laid.created)} files laid out in {folder}{kept}", f"next: research -C {folder} run"],
        {"created": laid.created, "kept": laid.kept},
    )


@cli.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.pass_obj
def run(console: Console, ids: tuple[str, ...]) -> None:
    """Research all queries that are due, or those with the IDs given; then bring the vault up to date."""
    from pipeline import batch, wiring
    from pipeline.settings import load_workspace

    workspace = load_workspace(console.folder)
    _refuse_unknown(workspace, ids)
    store = wiring.store_of(console.folder)
    context = batch.within(wiring.context_of(workspace, _listener(console)), workspace.queue.settings.limits)
    decisions = _decisions(console, workspace, store, ids)
    if not any(decision.due for decision in decisions):
        _nothing_to_do(console, decisions)
        return
    with wiring.lock_of(console.folder):
        decisions = _decisions(console, workspace, store, ids)
        night = batch.Night(store, workspace.queue, _desks(console, workspace, store), context)
        result = _await(night.work(decisions))
    _tell_night(console, result)
    _build(console)
    sys.exit(20 if result.exit_code < 2 and any(decision.action == "damaged" for decision in decisions) else result.exit_code)


def _desks(console: Console, workspace: Workspace, store: EventStore) -> Desks:
    """Open the doors to the outside; name every document that cannot be read, once, before the work begins."""
    from pipeline import wiring
    from pipeline.presenting import counted

    desks = wiring.Desks(workspace, store)
    report = desks.prepare()
    for problem in report.problems:
        console.say(f"skipped {workspace.queue.settings.corpus}/{problem.path}: {problem.reason}", fg="yellow")
    console.say(f"{counted(report.files, 'document')} to search, {counted(report.passages, 'passage')}", dim=True)
    return desks


def _decisions(console: Console, workspace: Workspace, store: EventStore, ids: tuple[str, ...]) -> tuple[Decision, ...]:
    from datetime import UTC, datetime

    from pipeline import batch
    from pipeline.overview import read_all

    known = read_all(store)
    for error in known.damaged.values():
        console.say(f"damaged: {error.message}", fg="red")
    return batch.decide(workspace.queue, known, datetime.now(UTC), ids)


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
    from pipeline.batch import LEFT

    waiting = [d for d in decisions if d.action in LEFT]
    lines = ["nothing to do", *(f"  {d.query.id}: {d.action}: {d.reason}" for d in waiting)]
    lines += ["  research run ID tries a failed one anew"] if any(d.action == "failed" for d in waiting) else []
    if console.as_json or not console.quiet:
        console.data(lines, {"nothing_to_do": True, "left": [d.query.id for d in waiting]})
    _build(console)
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


@cli.command()
@click.argument("session")
@click.pass_obj
def resume(console: Console, session: str) -> None:
    """Go on with SESSION where it stopped; a failed or cancelled one is reopened. SESSION: its id, or its query's id."""
    from pipeline import batch, wiring
    from pipeline.run import run_session
    from pipeline.settings import load_workspace

    workspace = load_workspace(console.folder)
    store = wiring.store_of(console.folder)
    name = _find(store, session)
    context = batch.within(wiring.context_of(workspace, _listener(console)), workspace.queue.settings.limits)
    with wiring.lock_of(console.folder):
        desks = _desks(console, workspace, store)
        opened = batch.reopened(store, name, context)
        state = _await(run_session(opened, store, desks(), context))
    _show(console, state, None)
    _build(console)
    sys.exit(0 if state.status == "complete" else 1)


@cli.command("list")
@click.pass_obj
def list_(console: Console) -> None:
    """List the queries of the queue and what became of them, then sessions whose query is gone."""
    from pipeline import wiring
    from pipeline.overview import read_all
    from pipeline.presenting import listed
    from pipeline.settings import load_workspace
    from pipeline.text import one_line

    workspace = load_workspace(console.folder)
    store = wiring.store_of(console.folder)
    decisions = _decisions(console, workspace, store, ())
    known = {d.query.id for d in decisions}
    states = read_all(store).states
    gone = [state for state in states if state.query_id not in known]
    decisions = tuple(sorted(decisions, key=lambda decision: decision.query.line))
    lines = [f"{_word(d):<10} {d.query.id:<40}  {one_line(d.query.text, 70)}\n           {d.reason}" for d in decisions]
    lines += [f"{'archived':<10} {s.query_id:<40}  {one_line(s.query, 70)}\n           {s.status}: {s.id}" for s in gone]
    value = {
        "queries": [
            {"id": d.query.id, "query": d.query.text, "action": d.action, "reason": d.reason, "session": d.session}
            for d in decisions
        ],
        "sessions": [listed(state) for state in states],
    }
    console.data(lines or ['the queue is empty: research add "your question"'], value)


def _word(decision: Decision) -> str:
    return {"new": "due", "resume": "interrupted"}.get(decision.action, decision.action)


def _find(store: EventStore, name: str) -> str:
    """Return the session that a name means: a session's id, a query's id (its latest session), or how one of them begins."""
    from pipeline.errors import SessionUnknown
    from pipeline.overview import read_all

    ids = list(store.session_ids())
    if name in ids:
        return name
    latest = read_all(store).latest()
    found = {state.id for query, state in latest.items() if query.startswith(name)}
    found = {latest[name].id} if name in latest else found or {known for known in ids if name in known}
    if len(found) == 1:
        return found.pop()
    meant = f"could be any of: {', '.join(sorted(found)[:5])}" if found else "research list shows what there is"
    raise SessionUnknown(f"no session is called {name!r}" if not found else f"{name!r} is not enough", hint=meant)


@cli.command()
@click.argument("session")
@click.option("--at", "version", type=click.IntRange(min=1), metavar="VERSION", help="As it was after that event.")
@click.pass_obj
def show(console: Console, session: str, version: int | None) -> None:
    """Show SESSION: what it is doing, what just happened, the last error, progress, cost. Works while a run goes on."""
    from pipeline import wiring
    from pipeline.events import decode
    from pipeline.session import ResearchSession, state_at

    _require_workspace(console.folder)
    store = wiring.store_of(console.folder)
    name = _find(store, session)
    state = state_at(store, name, version) if version else ResearchSession.open(store, name).state
    last = [record for record in store.load(name, after=max(0, state.version - 1)) if record.version == state.version]
    _show(console, state, decode(last[0].data) if last else None)


def _show(console: Console, state: SessionState, last: EventBase | None) -> None:
    from pipeline.presenting import show_lines, shown

    console.data(list(show_lines(state, last)), shown(state))


@cli.command()
@click.argument("session")
@click.pass_obj
def log(console: Console, session: str) -> None:
    """Print all events of SESSION, one a line; with --json as they are stored."""
    from pipeline import wiring
    from pipeline.events import decode_all
    from pipeline.presenting import log_line

    _require_workspace(console.folder)
    store = wiring.store_of(console.folder)
    records = store.load(_find(store, session))
    lines = [log_line(event) for event in decode_all(record.data for record in records)]
    console.data(lines, [json.loads(record.data) for record in records])


@cli.command()
@click.pass_obj
def build(console: Console) -> None:
    """Bring all notes of the vault up to date with the events and the templates; write only what differs."""
    _require_workspace(console.folder)
    report = _build(console)
    lines = [f"{len(report.written)} notes written, {len(report.removed)} removed, {len(report.unchanged)} as they were"]
    lines += [f"set aside: {path}" for path in report.set_aside]
    value = {
        "written": report.written,
        "removed": report.removed,
        "unchanged": len(report.unchanged),
        "set_aside": report.set_aside,
        "problems": [str(problem) for problem in report.problems],
    }
    console.data(lines, value)
    sys.exit(1 if report.problems else 0)


def _build(console: Console) -> Any:
    from pipeline import wiring

    report = wiring.build(console.folder)
    for problem in report.problems:
        console.say(f"not written: {problem}", fg="yellow")
    return report


@cli.command()
@click.option("--repair", is_flag=True, help="Set damaged files aside and keep the longest sound part.")
@click.pass_obj
def verify(console: Console, repair: bool) -> None:
    """Check the whole log: every record's hash, the chain, every stored page, and that each quote stands in its page."""
    from pipeline import wiring

    _require_workspace(console.folder)
    findings = wiring.verify_log(console.folder, repair=repair)
    harmless = [finding for finding in findings if finding.kind == "torn"]
    quotes, citations, unsupported = _check_evidence(console)
    lines = [str(finding) for finding in findings]
    lines += [f"{entry.session}: {entry.where}: {entry.why}" for entry in unsupported]
    bad = len(findings) - len(harmless) + len(unsupported)
    verdict = "sound" if not bad else f"{bad} faults" + ("; what could be repaired was" if repair else "; try --repair")
    lines.append(f"{quotes} quotes and {citations} citations checked against stored pages: {verdict}")
    value = {"findings": [str(f) for f in findings], "quotes": quotes, "citations": citations, "unsupported": len(unsupported)}
    console.data(lines, value)
    sys.exit(20 if bad else 0)


def _check_evidence(console: Console) -> tuple[int, int, list[Any]]:
    """Hold every readable session against its pages; a session that cannot be read is named by the log's own findings."""
    from pipeline import evidence, wiring
    from pipeline.errors import LogError
    from pipeline.session import state_at

    store = wiring.store_of(console.folder)
    quotes, citations = 0, 0
    unsupported: list[Any] = []
    for name in store.session_ids():
        try:
            checked = evidence.check(state_at(store, name, sys.maxsize), store)
        except LogError:
            continue
        quotes, citations = quotes + checked.quotes, citations + checked.citations
        unsupported += checked.unsupported
    return quotes, citations, unsupported


@cli.command()
@click.option("--online", is_flag=True, help="Also ask each service that is set up once; a search may cost what a search costs.")
@click.pass_obj
def doctor(console: Console, online: bool) -> None:
    """Look at settings, keys, files, clock, log and templates: what is set up and why, and what to do where it cannot work."""
    from datetime import UTC, datetime

    from pipeline import doctor
    from pipeline.settings import keys_of, load_workspace

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    findings = doctor.examine(workspace, keys, datetime.now(UTC))
    findings += _await(_probed(workspace, keys)) if online else []
    code = doctor.exit_code(findings)
    lines = [f"{finding.level:<5}  {finding.about}: {finding.text}{_todo(finding)}" for finding in findings]
    value = [{"about": finding.about, "level": finding.level, "text": finding.text, "todo": finding.todo} for finding in findings]
    console.data(lines, {"findings": value, "exit_code": code})
    sys.exit(code)


def _todo(finding: Finding) -> str:
    return f"\n       → {finding.todo}" if finding.todo else ""


async def _probed(workspace: Workspace, keys: Keys) -> list[Finding]:
    from pipeline.doctor.online import probe
    from pipeline.wiring import http_of

    http = http_of(workspace.queue.settings, keys)
    try:
        return [finding async for finding in probe(workspace, keys, http)]
    finally:
        await http.aclose()


@cli.command()
@click.argument("question")
@click.option("--id", "query_id", help="A short name of [a-z0-9-]; else it is made from the question.")
@click.option("--tag", "tags", multiple=True, help="A topic; may be given several times.")
@click.option("--priority", type=int, help="Higher comes first.")
@click.option("--mode", type=click.Choice(["fast", "deep"]), help="fast: one perspective, one round.")
@click.pass_obj
def add(
    console: Console, question: str, query_id: str | None, tags: tuple[str, ...], priority: int | None, mode: str | None
) -> None:
    """Append QUESTION to queries.yaml; all that stands there stays as it is."""
    from pipeline.settings import QUEUE_FILE, add_query

    given = {
        name: value for name, value in {"id": query_id, "tags": list(tags), "priority": priority, "mode": mode}.items() if value
    }
    query = add_query(console.folder / QUEUE_FILE, question, **given)
    console.data([f"added as {query.id}"], {"id": query.id, "query": query.text})


def _require_workspace(folder: Path) -> None:
    from pipeline.errors import NoWorkspace
    from pipeline.settings import QUEUE_FILE

    if not (folder / QUEUE_FILE).exists():
        raise NoWorkspace(
            f"{folder.resolve()} has no {QUEUE_FILE}", hint="research init makes a workspace; -C names another folder"
        )


def main() -> None:
    """Run the command line: the entry point of the console command ``research``."""
    gc.set_threshold(*COLLECTION)
    with errors_told():
        cli(prog_name="research", standalone_mode=False)
