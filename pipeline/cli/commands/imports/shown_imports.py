"""What ``list``, ``show`` and ``why`` print of imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.ops.console_output import Console

if TYPE_CHECKING:
    from pipeline.domain.imports.state import ImportState
    from pipeline.ports import EventStore


def import_state(store: EventStore, name: str) -> ImportState:
    """Return the state of an import.

    Raises:
        LogError: its log cannot be read.
        SessionUnknown: an interrupted import recorded nothing of it.
    """
    from pipeline.domain.events.json_codec import decode_all
    from pipeline.domain.imports.state import import_of
    from pipeline.errors import SessionUnknown

    state = import_of(name, decode_all(record.data for record in store.load(name)))
    if not state.imports:
        raise SessionUnknown(f"{name} has no records", hint="import it again: research import PATH")
    return state


def all_imports(console: Console, store: EventStore) -> list[ImportState]:
    """Return all imports without their items, the oldest first; print which cannot be read."""
    from pipeline.domain.events.json_codec import decode_all
    from pipeline.domain.imports.state import import_of
    from pipeline.errors import LogError

    found = []
    for name in store.ids("import"):
        try:
            records = (record.data for record in store.load(name) if record.type in ("run.started", "research.imported"))
            found.append(import_of(name, decode_all(records)))
        except LogError as error:
            console.say(f"cannot be read: {error.message}\n  → {error.hint or 'research verify'}", fg="red")
    return sorted((one for one in found if one.imports), key=lambda one: (one.said.created, one.id))


def notes_of_imports(console: Console) -> dict[str, str]:
    """Return the path of each import's note, by the import's id."""
    from pipeline.wiring import workspace_adapters

    notes = (note for note in workspace_adapters.notes_of(console.folder) if note.owner.startswith("import:") and note.path)
    return {note.owner.removeprefix("import:"): console.path(f"vault/{note.path}") for note in notes}


def print_import(console: Console, store: EventStore, name: str) -> None:
    """Print an import as ``research show`` does."""
    from pipeline.cli.import_presentation import listed_import, show_import_lines

    state = import_state(store, name)
    note = notes_of_imports(console).get(name, "")
    more: dict[str, Any] = state.said.model_dump(include={"original_id", "origin", "digest", "findings", "queue"})
    console.data(list(show_import_lines(state, note)), listed_import(state, note) | more | {"missing": state.missing})


def print_why(console: Console, store: EventStore, name: str, words: str) -> None:
    """Print what words of an import rest on: nothing.

    Raises:
        UsageError: the words do not occur in it.
    """
    from pipeline.cli.import_presentation import why_import_lines, why_import_value
    from pipeline.errors import UsageError

    state, wanted = import_state(store, name), " ".join(words.split())
    value = why_import_value(state, wanted)
    if not value["items"]:
        raise UsageError(f"{name} has no such words", hint=f"it was imported and is not checked: research show {name}")
    console.data(list(why_import_lines(state, wanted)), value)
