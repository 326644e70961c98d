"""Sessions of go-research: one JSON file each, ``<state>/<id>.json``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any

from pipeline.adapters.imports.foreign_json import NotJson, parsed
from pipeline.adapters.imports.record_fields import Fields
from pipeline.adapters.imports.source_files import SourceFiles, Unreadable
from pipeline.domain.imports.import_events import FactsImported, ImportedFact, ImportFinding, MessageImported, ReportImported
from pipeline.domain.imports.parsed import ParsedImport, Tally

KIND = "go-research"
_FINISHED, _OPEN = frozenset({"complete", "expanded"}), frozenset({"pending", "running", "failed"})
_NANOSECONDS = 1e9
# The fields of each kind of record that are read, or that say nothing to a reader.
_FIELDS = {
    "session": "id version query mode complexity_score workers report sources insights cost status created_at updated_at"
    " parent_id",
    "worker": "id worker_num objective tools_available iterations tool_calls final_output summary sources status cost error"
    " started_at completed_at",
    "iteration": "number thought action result timestamp",
    "tool call": "tool args result success duration iteration timestamp error",
    "insight": "title finding implication confidence sources worker_id id timestamp iteration",
}


_NOTHING: tuple[Any, ...] = (None, "", [], {}, 0, False)


def is_session(value: Any) -> bool:
    """Return whether a JSON value has the shape of a session."""
    return isinstance(value, dict) and "query" in value and bool({"workers", "mode", "report", "insights"} & value.keys())


def read_sessions(files: SourceFiles, names: list[str]) -> Iterator[ParsedImport | ImportFinding]:
    """Yield the session of each file, or why there is none."""
    for name in names:
        tally = Tally()
        try:
            data = files.read(name)
            value = parsed(data, partial(tally.note, name))
        except (Unreadable, NotJson) as error:
            yield ImportFinding(where=name, what=str(error))
            continue
        if not is_session(value):
            yield ImportFinding(where=name, what="is no session of go-research: it has no “query” with workers, mode or report")
            continue
        yield _session(value, name, data, tally)


def _session(value: dict[str, Any], name: str, data: bytes, tally: Tally) -> ParsedImport:
    fields = Fields(value, name, tally)
    for worker in fields.records("workers"):
        _worker(worker, tally)
    _insights(fields, tally)
    _report(fields, tally)
    _note_unread(value, name, tally)
    question, status = fields.text("query"), fields.text("status")
    if status not in _FINISHED | _OPEN:
        tally.note(name, f"has the status {status[:40]!r}, which go-research does not have; it is taken for unfinished")
    if not question.strip():
        tally.note(name, "has no question")
    return ParsedImport(
        kind=KIND,
        original_id=fields.text("id") or name.rpartition("/")[2].removesuffix(".json"),
        origin=name,
        original=data,
        tally=tally,
        question=question,
        title=fields.text("mode"),
        status=status,
        finished=status in _FINISHED,
        created=fields.time("created_at"),
        updated=fields.time("updated_at"),
        queue=(question,) if question.strip() and status not in _FINISHED else (),
    )


def _worker(worker: Fields, tally: Tally) -> None:
    author = worker.text("id")
    tally.keep(
        MessageImported(
            ordinal=0,
            role="worker",
            author=author,
            when=worker.time("started_at"),
            text=worker.text("objective"),
            result=worker.text("final_output") or worker.text("summary"),
            status=worker.text("status"),
            error=worker.text("error"),
            sources=worker.texts("sources"),
        )
    )
    for one in worker.records("iterations"):
        tally.keep(
            MessageImported(
                ordinal=0, role="thought", author=author, when=one.time("timestamp"), text=one.text("thought"),
                name=one.text("action"), result=one.text("result"),
            )
        )  # fmt: skip
    for one in worker.records("tool_calls"):
        tally.keep(
            MessageImported(
                ordinal=0, role="tool", author=author, when=one.time("timestamp"), text=one.as_json("args"),
                name=one.text("tool"), result=one.text("result"), success=one.truth("success"),
                seconds=one.seconds("duration", _NANOSECONDS),
            )
        )  # fmt: skip


def _insights(fields: Fields, tally: Tally) -> None:
    found = [(one.text("worker_id"), _insight(one)) for one in fields.records("insights")]
    for author, facts in groupby(found, key=lambda pair: pair[0]):
        tally.keep(FactsImported(ordinal=0, author=author, facts=tuple(fact for _, fact in facts)))


def _insight(one: Fields) -> ImportedFact:
    parts = (one.text("finding"), one.text("implication"))
    return ImportedFact(
        text="\n\n".join(filter(None, parts)),
        title=one.text("title"),
        confidence=one.number("confidence"),
        sources=one.texts("sources"),
    )


def _note_unread(session: dict[str, Any], name: str, tally: Tally) -> None:
    """Note once for each kind of record which of its fields are not read: another version may have put something there."""
    workers = _objects(session, "workers")
    kinds = {
        "session": [session],
        "worker": workers,
        "iteration": [one for worker in workers for one in _objects(worker, "iterations")],
        "tool call": [one for worker in workers for one in _objects(worker, "tool_calls")],
        "insight": _objects(session, "insights"),
    }
    for kind, records in kinds.items():
        known = _FIELDS[kind].split()
        unread = sorted({field for one in records for field, said in one.items() if field not in known and said not in _NOTHING})
        if unread:
            tally.note(name, f"{kind}: not read are the fields {', '.join(unread)[:300]}; the stored original has them")


def _objects(record: dict[str, Any], field: str) -> list[dict[str, Any]]:
    found = record.get(field)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _report(fields: Fields, tally: Tally) -> None:
    found = fields.values.get("report")
    if found is not None and not isinstance(found, str):
        tally.records += 1
        tally.leave_out(f"{fields.where}, report", "should be text; it is left out")
    elif text := fields.text("report"):
        tally.records += 1
        sources = fields.texts("sources")
        tally.keep(ReportImported(ordinal=0, when=fields.time("updated_at"), text=text, sources=sources))
