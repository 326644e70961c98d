"""What other programs' sessions are in ``list`` and ``show``: imported, and not checked."""

from __future__ import annotations

from typing import Any

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_events import NOT_CHECKED, Import, import_of
from pipeline.errors import LogError, SessionUnknown
from pipeline.ops.console_output import Console
from pipeline.ports import EventStore
from pipeline.text.normalise import counted

_MOST_LISTED = 10  # imports in a list of everything


def imports_of(console: Console, store: EventStore) -> list[Import]:
    """Return all imports, the oldest first; print which cannot be read."""
    found = []
    for name in store.ids("import"):
        try:
            found.append(import_of(name, decode_all(record.data for record in store.load(name))))
        except LogError as error:
            console.say(f"cannot be read: {error.message}\n  → {error.hint or 'research verify'}", fg="red")
    return sorted(filter(None, found), key=lambda one: (one.last.created, one.id))


def listed_import(found: Import) -> dict[str, Any]:
    """Return an import as a value for ``list`` and ``show``."""
    last = found.last
    fields = {"kind", "question", "status", "created", "records", "left_out", "origin", "digest"}
    value = {"id": found.id, "checked": False, "title": last.heading, "imported": last.at, "tags": list(last.tags)}
    return value | last.model_dump(include=fields)


def import_lines(imports: list[Import], *, everything: bool) -> list[str]:
    """Return the lines of imports in a list; only some of many, unless ``everything``."""
    lines = []
    for one in imports if everything else imports[-_MOST_LISTED:]:
        lines += [f"{'imported':<11} {one.last.heading}", f"{'':<11} {one.id}, not checked"]
    if not everything and (more := len(imports) - _MOST_LISTED) > 0:
        lines.append(f"{'imported':<11} and {more:,} more: research list --status imported")
    return lines


def print_import(console: Console, store: EventStore, name: str) -> None:
    """Print an import as ``research show`` does."""
    found = next((one for one in imports_of(console, store) if one.id == name), None)
    if not found:
        raise SessionUnknown(f"{name} has no records", hint="import it again: research import PATH")
    said = found.last
    lines = [said.heading, f"  ! {NOT_CHECKED}"]
    lines.append(f"  {said.kind}, from {said.origin}; its status there: {said.status or 'unknown'}")
    lines.append(f"  began {said.created[:19] or 'at an unknown time'}, imported {said.at[:19]}")
    lines.append(f"  {counted(said.records, 'record')}; the original is stored as {said.digest[:16]}…")
    lines += [f"  {line}" for line in said.faults]
    console.data(lines, {**listed_import(found), "faults": said.faults, "queue": said.queue})
