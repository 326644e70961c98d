"""The commands that build the vault and the web site: ``build``, ``watch`` and ``serve``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.command_parts import (
    bring_site_up_to_date,
    bring_vault_up_to_date,
    decision_lines,
    print_decisions,
    require_workspace,
)
from pipeline.ops.console_output import Console, end
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.ops.file_watcher import FileWatcher

_PORT = 8420


@click.command()
@click.option("--all", "everything", is_flag=True, help="Rebuild every file, also unchanged ones; the bytes are the same.")
@click.option(
    "--check", is_flag=True, help="Print what would change in the vault and write nothing; exit code 1 if it is not up to date."
)
@click.option("--no-site", is_flag=True, help="Do not build the web site.")
@click.pass_obj
def build(console: Console, everything: bool, check: bool, no_site: bool) -> None:
    """Build the vault from the events and templates, and the web site from the vault. Only files that differ are written."""
    require_workspace(console.folder)
    report = bring_vault_up_to_date(console, "check" if check else "all" if everything else "new")
    lines = _vault_lines(report, "to write" if check else "written", "to remove" if check else "removed")
    value: dict[str, Any] = {
        "written": report.written,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "set_aside": report.set_aside,
        "moved": dict(report.moved),
        "hidden": report.hidden,
        "problems": [str(problem) for problem in report.problems],
    }
    if not check and not no_site:
        made = bring_site_up_to_date(console, everything=everything)
        lines.append(
            f"site: {counted(made.pages, 'note')}; {counted(len(made.written), 'file')} written, {len(made.removed)} removed"
        )
        value["site"] = {"pages": made.pages, "written": made.written, "removed": made.removed, "problems": made.problems}
    console.data(lines, value)
    left_out = value.get("site", {}).get("problems")
    end(1 if report.problems or left_out or (check and (report.written or report.removed)) else 0)


def _vault_lines(report: Any, written: str, removed: str) -> list[str]:
    lines = [f"{counted(len(report.written), 'note')} {written}, {len(report.removed)} {removed}, {report.unchanged} unchanged"]
    return lines + [line for line, _always in decision_lines(report)]


@click.command()
@click.option("--poll", is_flag=True, help="Poll for changes, for file systems that do not report them.")
@click.pass_obj
def watch(console: Console, poll: bool) -> None:
    """Build vault and site now, and again whenever a template is saved or an event is recorded. Ctrl-C ends it."""
    require_workspace(console.folder)
    _build_on_changes(console, poll, lambda: None, lambda _problem: None)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 picks a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address of this machine, for your own network.")
@click.option("--poll", is_flag=True, help="Poll for changes, for file systems that do not report them.")
@click.pass_obj
def serve(console: Console, port: int, host: str, poll: bool) -> None:
    """Serve the site; pages reload when templates or events change, and passages can be called useful or wrong. Ctrl-C ends it.

    Usually only this machine can read it. With --host whoever has the printed address, which holds a token, can too: it is not
    encrypted, so use it in a network that you trust.
    """
    from pipeline.wiring import workspace_adapters

    require_workspace(console.folder)
    server = workspace_adapters.server_of(console.folder, port, host)
    server.start()
    console.data([f"the site is at {server.address}"], {"address": server.address})
    try:
        _build_on_changes(console, poll, server.news.tell, server.show)
    finally:
        server.stop()


def _build_on_changes(console: Console, poll: bool, then: Callable[[], None], failed: Callable[[str], None]) -> None:
    """Build once, then after each change, until interrupted. A failed build is reported and tried again at the next change.

    ``then`` is called after a build that wrote something, ``failed`` after each with its problem, or "".
    """
    from pipeline.ops.file_watcher import FileWatcher, run_on_changes

    folder = console.folder
    (folder / "events" / "local").mkdir(parents=True, exist_ok=True)  # a folder must exist to be watched
    watched = FileWatcher([folder / "templates", folder / "events"], besides=[folder / "events" / "local"], polls=poll)
    if watched.polls and not poll:
        console.say("the system cannot watch so many folders; they are polled instead", fg="yellow")
    try:
        _build_and_report(console, True, then, failed)
        console.say("watching templates and events; Ctrl-C ends it", dim=True)
        with _events_of_the_database(folder, watched):
            run_on_changes(watched, lambda changed: _build_and_report(console, not _only_the_site(folder, changed), then, failed))
    except KeyboardInterrupt:
        console.say("no longer watching", dim=True)
    finally:
        watched.close()


@contextmanager
def _events_of_the_database(folder: Path, watched: FileWatcher) -> Iterator[None]:
    """While the context is open, an event that any machine records in a database counts as a change below ``events``."""
    from pipeline.config.settings import store_address
    from pipeline.ops.event_watcher import EventWatcher
    from pipeline.wiring import workspace_adapters

    if not store_address(folder):
        yield
        return
    feed = workspace_adapters.store_of(folder).subscribe()
    with EventWatcher(feed, lambda: watched.changes.add(str(folder / "events"))):
        yield


def _only_the_site(folder: Path, changed: frozenset[str]) -> bool:
    """Return whether only templates of the site changed."""
    return all(path.startswith(f"{os.path.realpath(folder / 'templates' / 'site')}/") for path in changed)


def _build_and_report(console: Console, vault: bool, then: Callable[[], None], failed: Callable[[str], None]) -> None:
    from pipeline.errors import ResearchError

    try:
        report = bring_vault_up_to_date(console) if vault else None
        print_decisions(console, report)
        notes = len(report.written) if report else 0
        made = bring_site_up_to_date(console)
    except ResearchError as error:
        problem = f"{error.message}\n  → {error.hint or 'nothing else was changed'}"
        console.say(problem, fg="red")
        failed(problem)
        return
    failed("")
    if notes or made.written or made.removed:
        console.say(
            f"{counted(notes, 'note')} and {counted(len(made.written), 'file')} of the site written, {len(made.removed)} removed"
        )
        then()
