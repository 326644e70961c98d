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


def _report(fields: Fields, tally: Tally) -> None:
    if text := fields.text("report"):
        tally.records += 1
        sources = fields.texts("sources")
        tally.keep(ReportImported(ordinal=0, when=fields.time("updated_at"), text=text, sources=sources))
