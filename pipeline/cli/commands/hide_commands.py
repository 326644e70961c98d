"""The commands ``hide`` and ``unhide``: which notes are generated. Each records the decision in the log and builds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipeline.cli.command_parts import (
    bring_site_up_to_date,
    bring_vault_up_to_date,
    import_named,
    print_decisions,
    require_workspace,
    session_named,
)
from pipeline.ops.console_output import Console, end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.domain.events.session_events import EventBase
    from pipeline.vault.kept import KnownNote


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NOTE...")
@click.pass_obj
def hide(console: Console, names: tuple[str, ...]) -> None:
    """Hide NOTE: a path in the vault, the id of a note, or a session or an import, which means all its notes.

    A hidden note is removed from vault and site, and links to it become plain text. Deleting a note in the vault does the same.
    The research stays in the log; `research unhide` brings the note back. Text that you wrote in it moves to vault/attic.
    """
    from pipeline.domain.events.stream_events import NoteHidden

    notes = [note for note in _named(console, names) if note.path]
    _record(console, [NoteHidden(note=note.id) for note in notes])
    _print(console, "hidden", [note.path for note in notes])


@click.command()
@click.argument("names", nargs=-1, metavar="NOTE...")
@click.option("--all", "everything", is_flag=True, help="All hidden notes.")
@click.pass_obj
def unhide(console: Console, names: tuple[str, ...], everything: bool) -> None:
    """Generate NOTE again, which was hidden or deleted in the vault. `research show --hidden` lists these notes."""
    from pipeline.domain.events.stream_events import NoteShown
    from pipeline.errors import UsageError

    if not names and not everything:
        raise UsageError("no note is named", hint="research show --hidden lists the hidden notes; --all means all of them")
    notes = [note for note in (_known(console) if everything else _named(console, names)) if not note.path]
    _record(console, [NoteShown(note=note.id) for note in notes])
    now = {note.id: note.path for note in _known(console)}
    _print(console, "shown", [now.get(note.id, "") or note.canonical for note in notes])


def print_hidden(console: Console) -> None:
    """Print the path that each hidden note would have."""
    require_workspace(console.folder)
    paths = sorted(note.canonical for note in _known(console) if not note.path)
    console.data([f"vault/{path}" for path in paths] or ["no note is hidden"], {"hidden": paths})


def _known(console: Console) -> list[KnownNote]:
    from pipeline.wiring import workspace_adapters

    return workspace_adapters.notes_of(console.folder)


def _named(console: Console, names: Sequence[str]) -> list[KnownNote]:
    """The notes that names on the command line mean.

    Raises:
        UsageError: one means no note.
    """
    require_workspace(console.folder)
    bring_vault_up_to_date(console)  # what was moved or deleted since the last build is known then
    known, found = _known(console), {}
    for name in names:
        found.update({note.id: note for note in known if _is_meant(note, name)} or _notes_of_session(console, known, name))
    return list(found.values())


def _is_meant(note: KnownNote, name: str) -> bool:
    path = name.removeprefix("./").removeprefix("vault/").removesuffix(".md")
    return name == note.id or path in (note.path.removesuffix(".md"), note.canonical.removesuffix(".md"))


def _notes_of_session(console: Console, known: Sequence[KnownNote], name: str) -> dict[str, KnownNote]:
    from pipeline.errors import SessionUnknown, UsageError
    from pipeline.wiring import workspace_adapters

    store = workspace_adapters.store_of(console.folder)
    if imported := import_named(store, name):
        return {note.id: note for note in known if note.owner == f"import:{imported}"}
    try:
        session = session_named(console.folder, store, name)
    except SessionUnknown as error:
        hint = "name a note by its path in the vault, such as reports/2026/name.md, or name a session"
        raise UsageError(f"there is no note {name!r}, and {error.message}", hint=hint) from error
    return {note.id: note for note in known if note.owner == f"session:{session}"}


def _record(console: Console, drafts: Sequence[EventBase]) -> None:
    """Record decisions, if there are any, and build vault and site."""
    from pipeline.wiring import workspace_adapters

    if drafts:
        workspace_adapters.record_decisions(console.folder, drafts)
    report = bring_vault_up_to_date(console)
    print_decisions(console, report)
    bring_site_up_to_date(console)
    if report.problems:
        end(1)


def _print(console: Console, word: str, paths: Sequence[str]) -> None:
    console.data([f"{word}: vault/{path}" for path in paths] or [f"nothing to do: {word} already"], {word: list(paths)})
