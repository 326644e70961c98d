"""The commands on a workspace, its queue and its templates."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from pipeline.batch.scheduling import archived, decide, is_tagged
from pipeline.cli.build_commands import print_hidden
from pipeline.cli.command_parts import (
    SessionName,
    Since,
    import_named,
    read_sessions,
    report_left_out,
    require_workspace,
    session_named,
    show_session,
)
from pipeline.cli.import_commands import import_lines, imports_of, listed_import, print_import
from pipeline.cli.main import refuse_unprintable
from pipeline.cli.presentation import Listed, list_lines, listed
from pipeline.config import workspace_files
from pipeline.config.queue_file import add_query
from pipeline.config.settings import QUEUE_FILE, keys_of, load_workspace
from pipeline.config.workspace_files import update_templates
from pipeline.domain.events.json_codec import decode
from pipeline.domain.state import OUTCOME_WORDS
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console
from pipeline.text.normalise import counted
from pipeline.text.times import timestamp
from pipeline.wiring import workspace_adapters
from pipeline.wiring.workspace_adapters import http_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pipeline.config.keys import Keys
    from pipeline.config.settings import Workspace
    from pipeline.config.workspace_files import TemplateUpdate
    from pipeline.domain import Summary
    from pipeline.ops.doctor import Finding


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), required=False)
@click.pass_obj
def init(console: Console, directory: Path | None) -> None:
    """Create a workspace with a sample queue, sample documents, templates and a vault. Overwrites nothing."""
    from pipeline.ops.doctor_online import local_findings

    folder = directory or console.folder
    refuse_unprintable(folder)
    result = workspace_files.lay_out(folder)
    workspace_files.record_shipped(folder)
    kept = f"; {counted(len(result.kept), 'existing file')} left unchanged" if result.kept else ""
    found = local_findings()
    console.data(
        [
            f"{counted(len(result.created), 'file')} created in {folder}{kept}",
            *(f"{finding.text}{_todo(finding)}" for finding in found),
            f"next: research -C {folder} run",
        ],
        {"created": result.created, "kept": result.kept, "model_servers": [finding.text for finding in found]},
    )


STATUSES = (
    "due", "interrupted", "changed", "done", "waiting", "elsewhere", "not-found", "failed", "cancelled", "damaged", "same",
    "archived", "imported",
)  # fmt: skip


@click.command("list")
@click.option("--why", is_flag=True, help="Print the reason for the status of each query.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(STATUSES),
    help="Only queries with this status; due: all that the next run will research.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only queries with this tag; may be given several times.")
@click.option("--since", type=Since(), metavar="WHEN", help="Only sessions started since: 7d, 2026-11-21, 2026-11-21T06:30.")
@click.pass_obj
def list_(console: Console, why: bool, statuses: tuple[str, ...], tags: tuple[str, ...], since: datetime | None) -> None:
    """List the queries with their latest sessions and reports, then sessions whose query was removed, then imports."""
    workspace = load_workspace(console.folder)
    report_left_out(console, workspace)
    known = read_sessions(console, workspace_adapters.store_of(console.folder))
    machine = workspace_adapters.machine_of(workspace.queue.settings)
    report, first = workspace_adapters.report_of(console.folder), timestamp(since) if since else ""

    def is_wanted(its_tags: Iterable[str], latest: Summary | None, *words: str) -> bool:
        began = latest.started_at if latest else ""
        return (
            began >= first and (not tags or is_tagged(its_tags, tags)) and (not statuses or not set(words).isdisjoint(statuses))
        )

    of = {summary.id: summary for summary in known.sessions}
    decisions = [
        d
        for d in decide(workspace.queue, known, datetime.now(UTC), machine=machine)
        if is_wanted(d.query.tags, of.get(d.session), d.word.replace(" ", "-"), "due" if d.due else "")
    ]
    gone = [summary for summary in archived(workspace.queue, known) if is_wanted(summary.tags, summary, "archived")]
    shown = {d.session for d in decisions} | {summary.id for summary in gone}
    sessions = [one for one in known.sessions if is_wanted(one.tags, one, *statuses) and (one.id in shown or not statuses)]
    imported = imports_of(console, workspace_adapters.store_of(console.folder)) if not statuses or "imported" in statuses else []
    imports = [one for one in imported if one.last.at >= first and (not tags or is_tagged(one.last.tags, tags))]
    value = {
        "queries": [
            {"id": d.query.id, "query": d.query.text, "action": d.action, "reason": d.reason, "session": d.session}
            for d in decisions
        ],
        "archived": [summary.id for summary in gone],
        "sessions": [listed(summary, report(summary.id)) for summary in sessions],
        "imports": [listed_import(one) for one in imports],
    }
    entries = [
        Listed(
            OUTCOME_WORDS.get(of[d.session].outcome, d.word) if d.session in of and d.action == "done" else d.word,
            d.query.id,
            d.query.text,
            d.reason,
            of.get(d.session),
            console.path(report(d.session)),
        )
        for d in sorted(decisions, key=lambda decision: (decision.query.file, decision.query.line))
    ]
    why_gone = "its query was removed from queries.yaml; {}"
    entries += [
        Listed("archived", one.query_id, one.query, why_gone.format(one.status), one, console.path(report(one.id)))
        for one in gone
    ]
    lines = [*list_lines(entries, why=why), *import_lines(imports, everything="imported" in statuses)]
    console.data(lines or [_EMPTY_LIST[bool(workspace.queue.queries)]], value)


_EMPTY_LIST = ('the queue is empty: research add "your question"', "no query matches these options")


@click.command()
@click.argument("session", type=SessionName(), required=False)
@click.option("--hidden", is_flag=True, help="List the notes that were hidden or deleted in the vault instead of a session.")
@click.option(
    "--at", "version", type=click.IntRange(min=1), metavar="VERSION", help="The state after the event with this version."
)
@click.pass_obj
def show(console: Console, session: str | None, hidden: bool, version: int | None) -> None:
    """Show SESSION: its status, next steps, last event, last error, progress and cost. Works during a run."""
    from pipeline.domain.session import ResearchSession, state_at

    if hidden:
        print_hidden(console)
        return
    require_workspace(console.folder)
    if session is None:
        raise UsageError("no session is named", hint="research list shows all sessions; --hidden lists hidden notes")
    store = workspace_adapters.store_of(console.folder)
    if imported := import_named(store, session):
        print_import(console, store, imported)
        return
    name = session_named(console.folder, store, session)
    newest = ResearchSession.open(store, name).state
    if version and version > newest.version:
        raise UsageError(f"{name} has no version {version}", hint=f"it has the versions 1 to {newest.version}")
    state = state_at(store, name, version) if version else newest
    last = [record for record in store.load(name, after=max(0, state.version - 1)) if record.version == state.version]
    show_session(console, state, decode(last[0].data) if last else None)


@click.command()
@click.option(
    "--online",
    is_flag=True,
    help="Also send one request to each configured service; a paid search provider charges for one search.",
)
@click.option("--schedule", is_flag=True, help="Only print a crontab line and a systemd timer for a run every night.")
@click.pass_obj
def doctor(console: Console, online: bool, schedule: bool) -> None:
    """Check settings, keys, files, clock, log and templates, and print how to fix each problem."""
    import asyncio

    from pipeline.ops import doctor
    from pipeline.ops.doctor import answers_with_a_model
    from pipeline.ops.doctor_online import local_findings

    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    if schedule:
        _print_schedule(console, workspace, keys)
        return
    findings = doctor.examine(workspace, keys, datetime.now(UTC))
    findings += [] if answers_with_a_model(workspace, keys) else local_findings()
    findings += asyncio.run(_probe_services(workspace, keys)) if online else []
    code = doctor.exit_code(findings)
    lines = [f"{finding.level:<7}  {finding.about}: {finding.text}{_todo(finding)}" for finding in findings]
    value = [{"about": finding.about, "level": finding.level, "text": finding.text, "todo": finding.todo} for finding in findings]
    problems = sum(finding.level == "problem" for finding in findings)
    lines.append(f"{counted(problems, 'problem')} to fix" if problems else "ready: research run")
    console.data(lines, {"findings": value, "exit_code": code})
    sys.exit(code)


def _print_schedule(console: Console, workspace: Workspace, keys: Keys) -> None:
    from pipeline.ops.cron_and_systemd import keys_out_of_reach, program_of, schedule_lines, schedule_of

    schedule = schedule_of(program_of(sys.argv[0], sys.executable), Path(os.path.realpath(workspace.folder)))
    unseen = keys_out_of_reach(keys)
    deadline = workspace.queue.settings.limits.deadline
    lines = schedule_lines(schedule, f"{deadline:%H:%M}" if deadline else "", unseen)
    console.data(lines, {**asdict(schedule), "keys_out_of_reach": unseen})


def _todo(finding: Finding) -> str:
    return f"\n         → {finding.todo}" if finding.todo else ""


async def _probe_services(workspace: Workspace, keys: Keys) -> list[Finding]:
    from pipeline.ops.doctor_online import probe

    http = http_of(workspace.queue.settings, keys)
    try:
        return [finding async for finding in probe(workspace, keys, http)]
    finally:
        await http.aclose()


@click.command()
@click.argument("question")
@click.option("--id", "query_id", help="A short name of [a-z0-9-].  [default: made from the question]")
@click.option("--tag", "tags", multiple=True, help="A topic; may be given several times.")
@click.option("--priority", type=int, help="Queries with a higher number run first.")
@click.option("--mode", type=click.Choice(["fast", "deep"]), help="fast: one perspective, one round.")
@click.pass_obj
def add(
    console: Console, question: str, query_id: str | None, tags: tuple[str, ...], priority: int | None, mode: str | None
) -> None:
    """Append QUESTION to queries.yaml; the rest of the file is not changed."""
    given = {
        name: value for name, value in {"id": query_id, "tags": list(tags), "priority": priority, "mode": mode}.items() if value
    }
    query = add_query(console.folder / QUEUE_FILE, question, **given)
    console.data([f"added as {query.id}"], {"id": query.id, "query": query.text})


@click.group()
def templates() -> None:
    """Bring the templates of this workspace up to date with the program."""


@templates.command()
@click.option("--replace", is_flag=True, help="Replace templates that you edited too; yours are copied to templates/replaced.")
@click.option("--dry-run", "dry", is_flag=True, help="Print what would be done, and change nothing.")
@click.pass_obj
def update(console: Console, replace: bool, dry: bool) -> None:
    """Copy new and changed templates of the program into templates/, after an upgrade.

    A template that you edited stays as it is and is listed; so is one from before the program recorded what it copied.
    """
    require_workspace(console.folder)
    done = update_templates(console.folder, replace=replace, dry=dry)
    value = {
        "added": done.added,
        "updated": done.updated,
        "replaced": done.replaced,
        "edited": done.edited,
        "removed": done.removed,
    }
    console.data(list(_lines(done, dry=dry)), value)


def _lines(done: TemplateUpdate, *, dry: bool) -> Iterator[str]:
    yield from (f"new: templates/{name}" for name in done.added)
    yield from (f"updated: templates/{name}" for name in done.updated)
    yield from (f"replaced: templates/{name} (yours is templates/{copy})" for name, copy in done.replaced.items())
    yield from (f"removed, no longer used: templates/{name}" for name in done.removed)
    yield from (f"edited, left as it is: templates/{name}" for name in done.edited)
    changed = len(done.added) + len(done.updated) + len(done.replaced) + len(done.removed)
    if dry:
        yield f"{counted(changed, 'template')} would be changed; nothing was"
    else:
        yield f"{counted(changed, 'template')} changed" + ("; next: research build" if changed else "")
    if done.edited:
        yield "research templates update --replace takes the program's; yours are kept in templates/replaced"


SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_obj
def completion(console: Console, shell: str) -> None:
    """Print the completion script for SHELL. Put eval "$(research completion bash)" into its start-up file."""
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the three shells above are built into click
    script = found(click.get_current_context().find_root().command, {}, "research", "_RESEARCH_COMPLETE")
    source = script.source_template % script.source_vars()
    console.data([source.strip()], {"shell": shell, "script": source})
