"""Event folders of go-research: ``<id>/events/000001_research_started.json``, one JSON file an event.

Workers that run side by side write the same version twice and leave others out. All events are kept; each such fault is noted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from pipeline.adapters.imports.foreign_json import NotJson, parsed
from pipeline.adapters.imports.record_fields import Fields, compact
from pipeline.adapters.imports.source_files import LARGEST_ORIGINAL, SourceFiles, Unreadable, archived
from pipeline.domain.imports.import_events import FactsImported, ImportedFact, ImportFinding, MessageImported, ReportImported
from pipeline.domain.imports.parsed import ParsedImport, Tally

KIND = "go-research-events"
EVENT_FILE = re.compile(r"(?P<folder>(?:.*/)?)events/(?P<version>\d{4,9})_(?P<type>[^/]+)\.json")
_ENVELOPE = {"id", "aggregate_id", "version", "timestamp", "type"}
_ENDS = {"research.completed": "complete", "research.failed": "failed", "research.cancelled": "cancelled"}


@dataclass
class _Folder:
    """What is known of one event folder so far."""

    name: str
    tally: Tally = field(default_factory=Tally)
    contents: dict[str, bytes] = field(default_factory=dict)
    id: str = ""
    question: str = ""
    mode: str = ""
    status: str = "running"
    created: str = ""
    updated: str = ""
    versions: list[int] = field(default_factory=list)


def read_event_folders(files: SourceFiles, names: Sequence[str]) -> Iterator[ParsedImport | ImportFinding]:
    """Yield the session of each event folder among the files, or why there is none. ``names`` are sorted."""
    folders: dict[str, list[str]] = {}
    for name in names:
        if found := EVENT_FILE.fullmatch(name):
            folders.setdefault(found["folder"].rstrip("/"), []).append(name)
    for folder, events in folders.items():
        yield from _session(files, folder, events)


def _session(files: SourceFiles, folder: str, names: Sequence[str]) -> Iterator[ParsedImport | ImportFinding]:
    found = _Folder(folder or files.root.name)
    size = 0
    for name in names:
        found.tally.records += 1
        try:
            found.contents[name.removeprefix(f"{folder}/")] = data = files.read(name)
            if (size := size + len(data)) > LARGEST_ORIGINAL:
                yield ImportFinding(where=folder, what=f"has more than {LARGEST_ORIGINAL // 1_000_000} MB; nothing of it is read")
                return
            value = parsed(data, partial(found.tally.note, name))
        except (Unreadable, NotJson) as error:
            found.tally.leave_out(name, str(error))
            continue
        _read_event(found, name, value)
    _note_versions(found)
    if not found.tally.items:
        yield from found.tally.findings
        yield ImportFinding(where=found.name, what="none of its events can be read")
        return
    yield _parsed(found)


def _parsed(found: _Folder) -> ParsedImport:
    finished = found.status == "complete"
    return ParsedImport(
        kind=KIND,
        original_id=found.id or found.name.rpartition("/")[2],
        origin=found.name,
        original=archived(found.contents),
        form="tar",
        files=len(found.contents),
        tally=found.tally,
        question=found.question,
        title=found.mode,
        status=found.status,
        finished=finished,
        created=found.created,
        updated=found.updated,
        queue=(found.question,) if found.question.strip() and not finished else (),
    )


def _read_event(found: _Folder, name: str, value: Any) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        found.tally.leave_out(name, "is no event: it has no “type”")
        return
    event = Fields(value, name, found.tally)
    kind, version = event.text("type"), event.number("version")
    if version is None:
        found.tally.note(name, "has no version")
    else:
        found.versions.append(int(version))
    _name_session(found, event, name)
    at = event.time("timestamp")
    found.created, found.updated = found.created or at, at or found.updated
    found.status = _ENDS.get(kind, found.status)
    _KNOWN.get(kind, _unknown)(found, event, _message(event, at))


def _name_session(found: _Folder, event: Fields, name: str) -> None:
    stated = event.text("aggregate_id")
    found.id = found.id or stated
    if stated != found.id:
        found.tally.note(name, f"belongs to another session, {stated[:60]!r}; it is kept with this one")


def _note_versions(found: _Folder) -> None:
    """Note doubled and missing versions: usual where workers ran side by side."""
    known = sorted(found.versions)
    doubled = sorted({one for one, next_ in pairwise(known) if one == next_})
    for version in doubled[:100]:
        times = known.count(version)
        found.tally.note(
            found.name, f"version {version} occurs {times} times; all these events are kept, in the order of their files"
        )
    gaps = [(one + 1, next_ - 1) for one, next_ in pairwise([0, *known]) if next_ > one + 1]
    for first, last in gaps[:100]:
        what = f"version {first} is" if first == last else f"the versions {first} to {last} are"
        found.tally.note(found.name, f"{what} missing in the folder")


def _message(event: Fields, at: str) -> MessageImported:
    return MessageImported(
        ordinal=0, role="event", when=at, ref=event.text("id"), author=event.text("worker_id"), name=event.text("type")
    )


def _unknown(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.tally.note(event.where, f"has the unknown type {said.name[:60]!r}; it is kept as it is")
    rest = {name: value for name, value in event.values.items() if name not in _ENVELOPE}
    found.tally.keep(said.model_copy(update={"text": event.cut("event", compact(rest))}))


def _started(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.question, found.mode = event.text("query") or found.question, event.text("mode") or found.mode
    found.tally.keep(said.model_copy(update={"role": "question", "text": event.text("query")}))


def _planned(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.tally.keep(said.model_copy(update={"role": "plan", "text": event.text("topic"), "result": _perspectives(event)}))


def _perspectives(event: Fields) -> str:
    shadow = Tally()  # perspectives are parts of the plan, and no records of their own
    views = list(Fields(event.values, event.where, shadow).records("perspectives"))
    event.tally.findings += [one.model_copy(update={"records": 0}) for one in shadow.findings]
    lines = [f"{view.text('name')}: {view.text('focus')} {' '.join(view.texts('questions'))}".strip() for view in views]
    return "\n".join(lines)


def _worker_started(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.tally.keep(
        said.model_copy(update={"role": "worker", "text": event.text("objective"), "name": event.text("perspective")})
    )


def _worker_completed(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.tally.keep(
        said.model_copy(update={"role": "worker", "result": event.text("output"), "status": "completed", "sources": _urls(event)})
    )
    facts = tuple(_fact(one) for one in event.records("facts"))
    if facts:
        found.tally.keep(FactsImported(ordinal=0, when=said.when, author=said.author, ref=said.ref, facts=facts))


def _worker_failed(found: _Folder, event: Fields, said: MessageImported) -> None:
    found.tally.keep(said.model_copy(update={"role": "worker", "status": "failed", "error": event.text("error")}))


def _analysed(found: _Folder, event: Fields, said: MessageImported) -> None:
    text = "\n".join(filter(None, (event.as_json("contradictions"), event.as_json("knowledge_gaps"))))
    found.tally.keep(said.model_copy(update={"role": "analysis", "text": text}))
    facts = tuple(_fact(one) for one in event.records("validated_facts"))
    if facts:
        found.tally.keep(FactsImported(ordinal=0, when=said.when, ref=said.ref, facts=facts))


def _fact(one: Fields) -> ImportedFact:
    sources = (one.text("source_url"),) if one.text("source_url") else one.texts("corroborated_by")
    return ImportedFact(text=one.text("content"), confidence=one.number("confidence"), sources=sources)


def _reported(found: _Folder, event: Fields, said: MessageImported) -> None:
    text = event.text("full_content") or event.text("summary")
    found.tally.keep(
        ReportImported(
            ordinal=0, when=said.when, ref=said.ref, title=event.text("title"), text=text, sources=_urls(event, "citations")
        )
    )


def _urls(event: Fields, name: str = "sources") -> tuple[str, ...]:
    values = event.values.get(name)
    entries = values if isinstance(values, list) else []
    if len(entries) != sum(isinstance(one, dict | str) for one in entries) or (
        values is not None and not isinstance(values, list)
    ):
        event.tally.note(event.where, f"“{name}” has entries that are no sources; they are left out")
    named = (one.get("url") if isinstance(one, dict) else one for one in entries)
    return tuple(event.cut(name, url) for url in named if isinstance(url, str) and url)


def _ended(found: _Folder, event: Fields, said: MessageImported) -> None:
    text = " ".join(filter(None, (event.text("reason"), event.text("failed_phase"))))
    found.tally.keep(
        said.model_copy(
            update={
                "role": "end", "text": text, "status": found.status, "error": event.text("error"),
                "seconds": event.seconds("duration", 1e9),
            }
        )
    )  # fmt: skip


def _step(found: _Folder, _event: Fields, said: MessageImported) -> None:
    found.tally.keep(said.model_copy(update={"role": "step"}))


_KNOWN: Mapping[str, Callable[[_Folder, Fields, MessageImported], None]] = {
    "research.started": _started,
    "plan.created": _planned,
    "worker.started": _worker_started,
    "worker.completed": _worker_completed,
    "worker.failed": _worker_failed,
    "analysis.started": _step,
    "analysis.completed": _analysed,
    "synthesis.started": _step,
    "snapshot.taken": _step,
    "report.generated": _reported,
    **dict.fromkeys(_ENDS, _ended),
}
