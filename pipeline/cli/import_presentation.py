"""Imports as lines for a person and as values for ``--json``. Pure: nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.imports import import_events as i
from pipeline.domain.imports.state import NAMES, NOT_CHECKED, ImportState, text_of
from pipeline.text.normalise import counted, one_line

_MOST_FOUND = 5
_MOST_LISTED = 10  # imports in a list of everything
_MOST_FINDINGS = 20


def happened_in_import(event: EventBase) -> str:
    """Return the content of an import's event in a few words, "" for any other event."""
    match event:
        case i.ResearchImported():
            return f"{counts_line(event.counts)} of {event.origin}; not checked"
        case i.FactsImported():
            return f"{event.author}: {counted(len(event.facts), 'claim')}, not checked".removeprefix(": ")
        case i.ReportImported():
            return f"a report, not checked: {event.title or event.text}"
        case i.MessageImported():
            return f"{event.role}: {event.text or event.result or event.name or event.error}"
    return ""


def counts_line(counts: i.ImportCounts) -> str:
    """Return where the records of an original went."""
    parts = [f"{counts.merged:,} merged into others"] if counts.merged else []
    parts += [f"{counts.left_out:,} left out"] if counts.left_out else []
    return f"{counts.items:,} of {counted(counts.records, 'record')}" + (f" ({', '.join(parts)})" if parts else "")


def finding_line(finding: i.ImportFinding) -> str:
    """Return a finding as a line."""
    return one_line(f"{finding.where}: {finding.what}", 400)


def listed_import(state: ImportState, note: str) -> dict[str, Any]:
    """Return an import as a value for ``list`` and ``show``; ``note`` is the path of its note or ""."""
    said = state.said
    return {
        "id": state.id,
        "kind": said.kind,
        "checked": False,
        "title": state.title,
        "question": said.question,
        "status": said.status,
        "finished": said.finished,
        "tags": list(said.tags),
        "created": said.created,
        "imported": state.imported_at,
        "note": note,
        "counts": said.counts.model_dump(),
    }


def import_lines(imports: Sequence[tuple[ImportState, str]], *, everything: bool) -> list[str]:
    """Return the lines of imports in a list, each with the path of its note; only some of many, unless ``everything``."""
    lines = []
    for state, note in imports if everything else imports[-_MOST_LISTED:]:
        said = state.said
        lines.append(f"{'imported':<11} {one_line(state.title, 110)}")
        lines.append(f"{'':<11} {state.id}, {NAMES.get(said.kind, said.kind)}, not checked")
        lines += [f"{'':<11} {note}"] if note else []
    if not everything and (more := len(imports) - _MOST_LISTED) > 0:
        lines.append(f"{'imported':<11} and {more:,} more: research list --status imported")
    return lines


def show_import_lines(state: ImportState, note: str) -> Iterator[str]:
    """Yield what ``research show`` prints of an import."""
    said = state.said
    yield one_line(state.title, 300)
    yield f"  ! {NOT_CHECKED}"
    ended = said.status or ("ended" if said.finished else "unfinished")
    yield f"  {NAMES.get(said.kind, said.kind)}, from {said.origin}; its status there: {ended}"
    yield f"  began {said.created[:19] or 'at an unknown time'}, imported {state.imported_at[:19]} on {state.machine}"
    yield f"  {counts_line(said.counts)}"
    if state.missing:
        yield f"  the import was interrupted: {counted(state.missing, 'item')} not recorded yet; import it again"
    report, facts, messages = state.report, state.facts, state.messages
    parts = [f"{counted(len(facts), 'claim')}", f"{counted(len(messages), 'message')}"]
    yield f"  {'one report, ' if report else 'no report, '}{', '.join(parts)}"
    yield f"  original: {counted(said.files, 'file')}, stored as {said.digest[:16]}…"
    yield from (f"  finding: {finding_line(one)}" for one in said.findings[:_MOST_FINDINGS])
    if (more := len(said.findings) - _MOST_FINDINGS) > 0:
        yield f"  and {counted(more, 'more finding')}: research log {state.id} --json"
    if said.queue:
        yield f"  still open: {counted(len(said.queue), 'question')}; import it again to print them for queries.yaml"
    yield from [f"  {note}"] if note else []


def why_import_lines(state: ImportState, words: str) -> Iterator[str]:
    """Yield where words occur in an import, and why nothing supports them."""
    found = [item for item in state.current() if words.casefold() in " ".join(text_of(item).split()).casefold()]
    yield from (f"“{_around(text_of(item), words)}”  ({_place(item)})" for item in found[:_MOST_FOUND])
    if len(found) > _MOST_FOUND:
        yield f"and in {counted(len(found) - _MOST_FOUND, 'more item')}"
    said = state.said
    yield f"  {NOT_CHECKED}"
    yield f"  It comes from {said.origin}, {NAMES.get(said.kind, said.kind)}; the stored original is {said.digest}."
    named = sorted({source for item in found for source in _sources(item)})[:_MOST_FOUND]
    if named:
        yield f"  The other program named these sources; nobody read them here: {', '.join(one_line(one, 120) for one in named)}"


def why_import_value(state: ImportState, words: str) -> dict[str, Any]:
    """Return the same for ``--json``."""
    found = [item for item in state.current() if words.casefold() in " ".join(text_of(item).split()).casefold()]
    items = [{"ordinal": item.ordinal, "type": item.type, "text": _around(text_of(item), words)} for item in found]
    said = state.said
    return {"import": state.id, "checked": False, "items": items, "origin": said.origin, "original": said.digest}


def _place(item: i.Item) -> str:
    what = {"facts.imported": "a claim", "report.imported": "the report"}.get(item.type, getattr(item, "role", ""))
    return ", ".join(filter(None, (what, item.author, item.when[:19])))


def _sources(item: i.Item) -> tuple[str, ...]:
    if isinstance(item, i.FactsImported):
        return tuple(source for fact in item.facts for source in fact.sources)
    return item.sources


def _around(text: str, words: str, reach: int = 100) -> str:
    """The words with some text on both sides."""
    line = " ".join(text.split())
    at = line.casefold().find(words.casefold())
    start, end = max(0, at - reach), at + len(words) + reach
    return one_line(("…" if start else "") + line[start:end] + ("…" if end < len(line) else ""), 400)
