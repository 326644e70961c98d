"""The commands on a workspace, its queue and its templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import click
from click.shell_completion import get_completion_class

from pipeline.batch.scheduling import archived, decide, is_tagged
from pipeline.cli.command_parts import Since, import_named, read_sessions, report_left_out, require_workspace, session_named
from pipeline.cli.imported import import_lines, imports_of, listed_import, print_import
from pipeline.cli.presentation import Listed, list_lines, listed, show_lines, shown
from pipeline.config.queue_file import add_query
from pipeline.config.settings import QUEUE_FILE, load_workspace, machine_of
from pipeline.config.workspace_files import TemplateUpdate, update_templates
from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession, state_at
from pipeline.domain.state import OUTCOME_WORDS, SessionState
from pipeline.domain.summary import Summary
from pipeline.errors import UsageError
from pipeline.ops.console_output import Console
from pipeline.text.normalise import counted
from pipeline.text.times import timestamp
from pipeline.vault.kept import notes_in
from pipeline.wiring import workspace_adapters
from pipeline.wiring.store_adapters import store_of

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
    known = read_sessions(console, store_of(console.folder))
    machine = machine_of(workspace.queue.settings)
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
    imported = imports_of(console, store_of(console.folder)) if not statuses or "imported" in statuses else []
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


@click.command()
@click.argument("session", required=False)
@click.option("--hidden", is_flag=True, help="List the notes that were hidden or deleted in the vault instead of a session.")
@click.option(
    "--at", "version", type=click.IntRange(min=1), metavar="VERSION", help="The state after the event with this version."
)
@click.pass_obj
def show(console: Console, session: str | None, hidden: bool, version: int | None) -> None:
    """Show SESSION: its status, next steps, last event, last error, progress and cost. Works during a run."""
    if hidden:
        print_hidden(console)
        return
    require_workspace(console.folder)
    if session is None:
        raise UsageError("no session is named", hint="research list shows all sessions; --hidden lists hidden notes")
    store = store_of(console.folder)
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


def show_session(console: Console, state: SessionState, last: EventBase | None) -> None:
    """Print a session as ``research show`` does."""
    report = workspace_adapters.report_of(console.folder)(state.id)
    console.data(list(show_lines(state, last, console.path(report))), shown(state, report))


def print_hidden(console: Console) -> None:
    """Print the path that each hidden note would have."""
    require_workspace(console.folder)
    paths = sorted(note.canonical for note in notes_in(console.folder / "events" / "local") if not note.path)
    console.data([f"vault/{path}" for path in paths] or ["no note is hidden"], {"hidden": paths})
