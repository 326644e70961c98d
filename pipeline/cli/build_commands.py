"""The commands that build the vault and the web site, serve it, and say which notes there are.

What only one of them needs is imported in it: `build` with nothing to do starts and ends in a third of a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from pipeline.cli import arguments_and_builds
from pipeline.config.workspace_settings import load_workspace, store_address
from pipeline.errors import ResearchError, SessionUnknown, UsageError
from pipeline.ops.console_output import Console, end
from pipeline.text.humanize import counted
from pipeline.vault import Mode
from pipeline.vault.build_cache import KnownNote, notes_in
from pipeline.wiring.store_adapters import store_of

_PORT = 8420
# What the value of a build says of its reports.
_OF_VAULT = ("written", "removed", "unchanged", "set_aside", "moved", "hidden", "problems")
_OF_SITE = ("pages", "written", "removed", "problems")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Make every file again, with the same bytes.")
@click.option("--check", is_flag=True, help="Only print what would change in the vault; exit code 1 if anything would.")
@click.option("--no-site", is_flag=True, help="Do not build the web site.")
@click.pass_obj
def build(console: Console, everything: bool, check: bool, no_site: bool) -> None:
    """Build vault and site from events and templates. Only files that differ are written."""
    report = arguments_and_builds.bring_vault_up_to_date(console, "check" if check else "all" if everything else "new")
    written, removed = ("to write", "to remove") if check else ("written", "removed")
    lines = [f"{counted(len(report.written), 'note')} {written}, {len(report.removed)} {removed}, {report.unchanged} unchanged"]
    lines += [line for line, _always in arguments_and_builds.decision_lines(report)]
    value: dict[str, Any] = {name: getattr(report, name) for name in _OF_VAULT}
    if not check and not no_site:
        made = arguments_and_builds.bring_site_up_to_date(console, report, everything=everything)
        lines.append(
            f"site: {counted(made.pages, 'note')}; {counted(len(made.written), 'file')} written, {len(made.removed)} removed"
        )
        value["site"] = {name: getattr(made, name) for name in _OF_SITE}
    console.data(lines, value)
    left_out = value.get("site", {}).get("problems")
    end(1 if report.problems or left_out or (check and (report.written or report.removed)) else 0)


@click.command()
@click.option("--poll", is_flag=True, help="For file systems that report no changes.")
@click.pass_obj
def watch(console: Console, poll: bool) -> None:
    """Build vault and site now, and again whenever a template is saved or an event is recorded. Ctrl-C ends it."""
    arguments_and_builds.require_workspace(console.folder)
    _build_on_changes(console, poll, lambda: None, lambda _problem: None)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 picks a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Another address of this machine.")
@click.option("--poll", is_flag=True, help="For file systems that report no changes.")
@click.pass_obj
def serve(console: Console, port: int, host: str, poll: bool) -> None:
    """Serve the site; pages reload when templates or events change, and passages can be called useful or wrong. Ctrl-C ends it.

    Only this machine can read it; with --host, whoever has the printed address, which holds a token. It is not encrypted: use it
    in a network that you trust.
    """
    from pipeline.site.serve import Server
    from pipeline.wiring.run_context_and_note_ratings import rate

    arguments_and_builds.require_workspace(console.folder)
    server = Server(console.folder / "site", port, host, partial(rate, console.folder))
    server.start()
    console.data([f"the site is at {server.address}"], {"address": server.address})
    try:
        _build_on_changes(console, poll, server.news.tell, server.show)
    finally:
        server.stop()


def _build_on_changes(console: Console, poll: bool, then: Callable[[], None], failed: Callable[[str], None]) -> None:
    """Build once, then after each change, until interrupted. A failed build is reported and tried again at the next change.

    ``then`` is called after a build that wrote something, ``failed`` after each with its problem, or "". An event that any
    machine records in a database counts as a change too.
    """
    from pipeline.ops.change_watching import Feed, FileWatcher, run_on_changes

    folder = console.folder
    (folder / "events" / "local").mkdir(parents=True, exist_ok=True)  # a folder must exist to be watched
    watched = FileWatcher([folder / "templates", folder / "events"], besides=[folder / "events" / "local"], polls=poll)
    if watched.polls and not poll:
        console.say("the system cannot watch so many folders; they are polled instead", fg="yellow")
    feed = Feed(store_of(folder)) if store_address(folder) else None
    of_the_site = f"{os.path.realpath(folder / 'templates' / 'site')}/"

    def build_again(changed: frozenset[str] = frozenset(), mode: Mode = "first") -> None:
        only_site = bool(changed) and all(path.startswith(of_the_site) for path in changed)
        try:
            report = None if only_site else arguments_and_builds.bring_vault_up_to_date(console, mode)
            arguments_and_builds.print_decisions(console, report)
            notes = len(report.written) if report else 0
            made = arguments_and_builds.bring_site_up_to_date(console, report)
        except ResearchError as error:
            problem = f"{error.message}\n  → {error.hint or 'nothing else was changed'}"
            console.say(problem, fg="red")
            failed(problem)
            return
        failed("")
        if notes or made.written or made.removed:
            files = counted(len(made.written), "file")
            console.say(f"{counted(notes, 'note')} and {files} of the site written, {len(made.removed)} removed")
            then()
        if report and report.waits:
            build_again(changed, "new")

    try:
        build_again()
        console.say("watching templates and events; Ctrl-C ends it", dim=True)
        run_on_changes(watched, feed, build_again)
    except KeyboardInterrupt:
        console.say("no longer watching", dim=True)
    finally:
        watched.close()


@click.command()
@click.argument("names", nargs=-1, metavar="[NOTE]...")
@click.option("--undo", is_flag=True, help="Make NOTE again, which was hidden or deleted in the vault.")
@click.option("--all", "everything", is_flag=True, help="With --undo: all hidden notes.")
@click.pass_obj
def hide(console: Console, names: tuple[str, ...], undo: bool, everything: bool) -> None:
    """Hide NOTE: a path in the vault, a note's id, or a session or an import, which means all its notes.

    It is removed from vault and site, with its lines in lists, feed and search, as when you delete it in the vault. Text that you
    wrote in it moves to vault/attic. The research stays in the log. Without NOTE, the hidden notes are listed.
    """
    from pipeline.domain.events.upkeep_events import NoteHidden, NoteShown
    from pipeline.wiring.run_context_and_note_ratings import record_decisions

    arguments_and_builds.require_workspace(console.folder)
    if everything and (names or not undo):
        raise click.UsageError("--all is for --undo, without a NOTE")
    known = notes_in(console.folder / "events" / "local")
    if not names and not (undo and everything):
        hidden = sorted(note.canonical for note in known if not note.path)
        console.data([f"vault/{path}" for path in hidden] or ["no note is hidden"], {"hidden": hidden})
        return
    word = "shown" if undo else "hidden"
    notes = [note for note in (known if everything else _named(console, names)) if bool(note.path) != undo]
    if notes:
        record_decisions(console.folder, [NoteShown(note=one.id) if undo else NoteHidden(note=one.id) for one in notes])
    code = arguments_and_builds.bring_up_to_date(console, load_workspace(console.folder))
    now = {note.id: note.path for note in notes_in(console.folder / "events" / "local")}
    paths = [(now.get(note.id, "") if undo else note.path) or note.canonical for note in notes]
    console.data([f"{word}: vault/{path}" for path in paths] or [f"nothing to do: {word} already"], {word: paths})
    end(code)


def _named(console: Console, names: Sequence[str]) -> list[KnownNote]:
    """The notes that names on the command line mean.

    Raises:
        UsageError: one means no note.
    """
    arguments_and_builds.bring_vault_up_to_date(console)  # what was moved or deleted since the last build is known then
    known, found, store = notes_in(console.folder / "events" / "local"), dict[str, KnownNote](), store_of(console.folder)
    for name in names:
        path = name.removeprefix("./").removeprefix("vault/").removesuffix(".md")
        meant = [
            one for one in known if name == one.id or path in (one.path.removesuffix(".md"), one.canonical.removesuffix(".md"))
        ]
        if not meant:
            try:
                imported = arguments_and_builds.import_named(store, name)
                owner = (
                    f"import:{imported}"
                    if imported
                    else f"session:{arguments_and_builds.session_named(console.folder, store, name)}"
                )
            except SessionUnknown as error:
                hint = "name a note by its path in the vault, such as reports/2026/name.md, or name a session"
                raise UsageError(f"there is no note {name!r}, and {error.message}", hint=hint) from error
            meant = [one for one in known if one.owner == owner]
        found |= {note.id: note for note in meant}
    return list(found.values())
