"""The commands that make notes and pages: ``build``, ``watch`` and ``serve``. Only commands print or exit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import bring_site_up_to_date, bring_vault_up_to_date, require_workspace
from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from pathlib import Path

_PORT = 8420


@click.command()
@click.option("--all", "everything", is_flag=True, help="Make everything anew, whatever was made before; the bytes are the same.")
@click.option(
    "--check", is_flag=True, help="Say what would be done to the vault, and do nothing; exit code 1 if it is not up to date."
)
@click.option("--no-site", is_flag=True, help="Leave the web site as it is.")
@click.pass_obj
def build(console: Console, everything: bool, check: bool, no_site: bool) -> None:
    """Bring the vault up to date with the events and the templates, and the web site with the vault; write only what differs."""
    require_workspace(console.folder)
    report = bring_vault_up_to_date(console, "check" if check else "all" if everything else "new")
    lines = _vault_lines(report, "to write" if check else "written", "to remove" if check else "removed")
    value: dict[str, Any] = {
        "written": report.written,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "set_aside": report.set_aside,
        "problems": [str(problem) for problem in report.problems],
    }
    if not check and not no_site:
        made = bring_site_up_to_date(console, everything=everything, steps=report.steps)
        lines.append(
            f"site: {counted(made.pages, 'note')}; {counted(len(made.written), 'file')} written, {len(made.removed)} removed"
        )
        value["site"] = {"pages": made.pages, "written": made.written, "removed": made.removed, "problems": made.problems}
    console.data(lines, value)
    left_out = value.get("site", {}).get("problems")
    end(1 if report.problems or left_out or (check and (report.written or report.removed)) else 0)


def _vault_lines(report: Any, written: str, removed: str) -> list[str]:
    lines = [
        f"{counted(len(report.written), 'note')} {written}, {len(report.removed)} {removed}, {report.unchanged} as they were"
    ]
    return lines + [f"set aside: {path}" for path in report.set_aside]


@click.command()
@click.option("--poll", is_flag=True, help="Look for changes again and again, where the system does not tell of them.")
@click.pass_obj
def watch(console: Console, poll: bool) -> None:
    """Bring vault and site up to date, and again whenever a template is saved or an event is recorded. Ctrl-C ends it."""
    require_workspace(console.folder)
    _work_on_changes(console, poll, lambda: None)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 takes any that is free.")
@click.option("--poll", is_flag=True, help="Look for changes again and again, where the system does not tell of them.")
@click.pass_obj
def serve(console: Console, port: int, poll: bool) -> None:
    """Show the site at an address of this machine only; pages load anew when templates or events change. Ctrl-C ends it."""
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    server = workspace_adapters.server_of(console.folder, port)
    server.start()
    console.data([f"the site is at {server.address}"], {"address": server.address})
    try:
        _work_on_changes(console, poll, server.news.tell)
    finally:
        server.stop()


def _work_on_changes(console: Console, poll: bool, then: Callable[[], None]) -> None:
    """Build once, then after each change, until interrupted. What fails is told, and waits for the next change."""
    from pipeline.ops.file_watcher import FileWatcher, each_time

    folder = console.folder
    (folder / "events" / "local").mkdir(parents=True, exist_ok=True)  # what is not there cannot be watched
    watched = FileWatcher([folder / "templates", folder / "events"], besides=[folder / "events" / "local"], polls=poll)
    if watched.polls and not poll:
        console.say("the system cannot tell of so many folders; they are looked at again and again instead", fg="yellow")
    try:
        _build_and_tell(console, True, then)
        console.say("watching templates and events; Ctrl-C ends it", dim=True)
        each_time(watched, lambda changed: _build_and_tell(console, not _only_the_site(folder, changed), then))
    except KeyboardInterrupt:
        console.say("no longer watching", dim=True)
    finally:
        watched.close()


def _only_the_site(folder: Path, changed: frozenset[str]) -> bool:
    """Tell whether nothing changed but how the site looks."""
    return all(path.startswith(f"{os.path.realpath(folder / 'templates' / 'site')}/") for path in changed)


def _build_and_tell(console: Console, vault: bool, then: Callable[[], None]) -> None:
    from pipeline.errors import ResearchError

    try:
        report = bring_vault_up_to_date(console) if vault else None
        notes = len(report.written) if report else 0
        made = bring_site_up_to_date(console, steps=report.steps if report else None)
    except ResearchError as error:
        console.say(f"{error.message}\n  → {error.hint or 'all else is as it was'}", fg="red")
        return
    if notes or made.written or made.removed:
        console.say(
            f"{counted(notes, 'note')} and {counted(len(made.written), 'file')} of the site written, {len(made.removed)} removed"
        )
        then()
