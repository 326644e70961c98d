"""The commands that set up a workspace: ``init``, ``doctor``, ``add`` and ``templates``."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

import click

from pipeline.cli.arguments_and_builds import require_workspace
from pipeline.cli.main import refuse_unprintable
from pipeline.config import workspace_starter
from pipeline.config.queue_file import add_query
from pipeline.config.workspace_settings import QUEUE_FILE, keys_of, load_workspace
from pipeline.config.workspace_starter import update_templates
from pipeline.errors import most_urgent
from pipeline.ops.console_output import Console
from pipeline.ops.cron_and_systemd import keys_out_of_reach, program_of, schedule_lines, schedule_of
from pipeline.ops.doctor import CheckResult, answers_with_a_model, examine, local_findings, probe
from pipeline.text.humanize import counted
from pipeline.wiring.session_adapters import http_of


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), required=False)
@click.pass_obj
def init(console: Console, directory: Path | None) -> None:
    """Create a workspace with sample questions and documents, templates and a vault. Overwrites nothing."""
    folder = directory or console.folder
    refuse_unprintable(folder)
    created, left = workspace_starter.lay_out(folder)
    workspace_starter.record_shipped(folder)
    kept = f"; {counted(len(left), 'existing file')} left unchanged" if left else ""
    found = local_findings()
    console.data(
        [
            f"{counted(len(created), 'file')} created in {folder}{kept}",
            *(f"{finding.text}{_todo(finding)}" for finding in found),
            f"next: research -C {folder} run",
        ],
        {"created": created, "kept": left, "model_servers": [finding.text for finding in found]},
    )


@click.command()
@click.option(
    "--online",
    is_flag=True,
    help="Also send one request to each service; a paid search provider charges for one search.",
)
@click.option("--schedule", is_flag=True, help="Only print lines for crontab and systemd that run it every night.")
@click.pass_obj
def doctor(console: Console, online: bool, schedule: bool) -> None:
    """Check settings, keys, documents, log and clock, and print how to fix each problem."""
    workspace, keys = load_workspace(console.folder), keys_of(console.folder)
    settings = workspace.queue.settings
    if schedule:
        found = schedule_of(program_of(sys.argv[0], sys.executable), Path(os.path.realpath(workspace.folder)))
        unseen, deadline = keys_out_of_reach(keys), settings.limits.deadline
        lines = schedule_lines(found, f"{deadline:%H:%M}" if deadline else "", unseen)
        console.data(lines, {**asdict(found), "keys_out_of_reach": unseen})
        return
    findings = examine(workspace, keys)
    findings += [] if answers_with_a_model(workspace, keys) else local_findings()

    async def probed() -> list[CheckResult]:
        async with aclosing(http_of(settings, keys)) as http:
            return [finding async for finding in probe(workspace, keys, http)]

    findings += asyncio.run(probed()) if online else []
    code = most_urgent({finding.exit_code for finding in findings})
    problems = sum(finding.level == "problem" for finding in findings)
    lines = [f"{finding.level:<7}  {finding.about}: {finding.text}{_todo(finding)}" for finding in findings]
    lines.append(f"{counted(problems, 'problem')} to fix" if problems else "ready: research run")
    value = [{"about": finding.about, "level": finding.level, "text": finding.text, "todo": finding.todo} for finding in findings]
    console.data(lines, {"findings": value, "exit_code": code})
    sys.exit(code)


def _todo(finding: CheckResult) -> str:
    return f"\n         → {finding.todo}" if finding.todo else ""


@click.command()
@click.argument("question")
@click.option("--id", "query_id", help="A short name of [a-z0-9-].  [default: made from the question]")
@click.option("--tag", "tags", multiple=True, help="A topic (repeatable).")
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
@click.option("--replace", is_flag=True, help="Also replace those that you edited; yours are copied to templates/replaced.")
@click.pass_obj
def update(console: Console, replace: bool) -> None:
    """Copy new and changed templates of the program into templates/, after an upgrade.

    A template that you edited stays as it is and is listed.
    """
    require_workspace(console.folder)
    done = update_templates(console.folder, replace=replace)
    lines = [f"new: templates/{name}" for name in done.added]
    lines += [f"updated: templates/{name}" for name in done.updated]
    lines += [f"replaced: templates/{name} (yours is templates/{copy})" for name, copy in done.replaced.items()]
    lines += [f"removed, no longer used: templates/{name}" for name in done.removed]
    lines += [f"edited, left as it is: templates/{name}" for name in done.edited]
    changed = counted(len(done.added) + len(done.updated) + len(done.replaced) + len(done.removed), "template")
    after = "" if changed.startswith("0") else "; next: research build"
    lines.append(f"{changed} changed{after}")
    if done.edited:
        lines.append("research templates update --replace takes the program's; yours are kept in templates/replaced")
    console.data(lines, asdict(done))
