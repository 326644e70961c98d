"""Databases of aidaemon: SQLite with ``messages`` and ``events`` of many sessions, and what it learnt over all of them.

A database is opened read-only and as it lies on the disk: nothing is written, not even a lock. Only the tables named here are
read, because others hold tokens. What is kept as the original of a session are therefore its rows, one JSON object a line.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from pipeline.adapters.imports.foreign_json import NotJson, parsed
from pipeline.adapters.imports.record_fields import Fields
from pipeline.adapters.imports.source_files import SourceFiles
from pipeline.domain.imports.import_events import FactsImported, ImportedFact, ImportFinding, MessageImported
from pipeline.domain.imports.parsed import ParsedImport, Tally
from pipeline.system.files import connect_sqlite
from pipeline.text.normalise import one_line

KIND = "aidaemon"
HEADER = b"SQLite format 3\0"
MOST_ROWS = 200_000  # of one session
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "messages": ("id", "session_id", "role", "content", "tool_call_id", "tool_name", "tool_calls_json", "created_at"),
    "events": ("id", "session_id", "event_type", "data", "created_at", "task_id", "tool_name"),
    "episodes": ("id", "session_id", "summary", "topics", "outcome", "importance", "start_time", "end_time", "created_at"),
    "procedures": ("id", "name", "trigger_pattern", "steps", "success_count", "failure_count", "created_at"),
    "error_solutions": ("id", "error_pattern", "domain", "solution_summary", "solution_steps", "success_count", "failure_count"),
    "expertise": ("id", "domain", "tasks_attempted", "tasks_succeeded", "tasks_failed", "current_level", "common_errors"),
}
_TALK = ("messages", "events")
_LEARNT = ("episodes", "procedures", "error_solutions", "expertise")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPOKEN = frozenset({"user_message", "assistant_response", "tool_result"})  # events that repeat a message
_TEXTS = ("content", "summary", "result_summary", "result", "description", "message", "command", "reason", "mission", "task")
Row = dict[str, Any]


def read_database(files: SourceFiles, name: str) -> Iterator[ParsedImport | ImportFinding]:
    """Yield each session of a database, then what it learnt, or why it cannot be read."""
    path = files.path(name)
    if files.path(f"{name}-wal").is_file() if files.root.is_dir() else path.with_name(f"{path.name}-wal").is_file():
        what = "has a write-ahead log beside it (-wal), which is not read: stop aidaemon first, then the file has all messages"
        yield ImportFinding(where=name, what=what)
    try:
        with closing(connect_sqlite(path, "ro&immutable=1")) as db:
            db.text_factory = bytes
            yield from _Database(db, files, name).read()
    except sqlite3.Error as error:
        yield ImportFinding(
            where=name, what=f"cannot be read further: {error}; check it with: sqlite3 FILE 'PRAGMA integrity_check'"
        )


class _Database:
    def __init__(self, db: sqlite3.Connection, files: SourceFiles, name: str) -> None:
        self._db, self._files, self._name = db, files, name
        self._findings: list[ImportFinding] = []

    def read(self) -> Iterator[ParsedImport | ImportFinding]:
        found = self._tables()
        self._columns = {table: self._present(table) for table in _COLUMNS if table in found}
        if not any(table in self._columns for table in _TALK):
            what = "is an SQLite database, but none of aidaemon: it has no table “messages” or “events”"
            yield ImportFinding(where=self._name, what=what)
            return
        yield from self._findings
        for session in self._sessions():
            yield self._session(session)
        yield from self._lost_rows()
        if learnt := self._learnt():
            yield learnt

    def _tables(self) -> set[str]:
        """The real tables: a view or a virtual table of that name could run anything."""
        rows = self._db.execute("SELECT name FROM sqlite_master WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
        return {row[0].decode("utf-8", "replace") for row in rows}

    def _present(self, table: str) -> tuple[str, ...]:
        known = {row[1].decode("utf-8", "replace") for row in self._db.execute(f"PRAGMA table_info({table})")}
        missing = [column for column in _COLUMNS[table] if column not in known]
        if missing:
            what = f"the table “{table}” lacks {', '.join(missing)}; these are read as empty"
            self._findings.append(ImportFinding(where=self._name, what=what))
        return tuple(column for column in _COLUMNS[table] if column in known)

    def _sessions(self) -> list[str]:
        found: set[str] = set()
        for table in _TALK:
            if "session_id" in self._columns.get(table, ()):
                rows = self._db.execute(f"SELECT DISTINCT session_id FROM {table} WHERE typeof(session_id)='text'")  # noqa: S608 - names of ours
                found |= {row[0].decode("utf-8", "replace") for row in rows}
        return sorted(found)

    def _lost_rows(self) -> Iterator[ImportFinding]:
        """Say how many rows belong to no session."""
        for table in _TALK:
            if "session_id" in self._columns.get(table, ()):
                rows = self._db.execute(f"SELECT count(*) FROM {table} WHERE typeof(session_id)<>'text'")  # noqa: S608 - names of ours
                if lost := int(rows.fetchone()[0]):
                    what = "of the rows name no session; they are left out"
                    yield ImportFinding(where=f"{self._name}, {table}", what=f"{lost:,} {what}", records=lost)

    def _rows(self, table: str, session: str | None, tally: Tally) -> Iterator[Row]:
        """Yield the rows of a table in order of their time; what cannot be read any more is noted."""
        columns = self._columns.get(table, ())
        if not columns or (session is not None and "session_id" not in columns):
            return
        where = "" if session is None else "WHERE session_id = CAST(? AS TEXT)"
        order = ", ".join(name for name in ("created_at", "id") if name in columns) or "1"
        values = () if session is None else (session.encode(),)
        rows = self._db.execute(
            f"SELECT {', '.join(columns)} FROM {table} {where} ORDER BY {order} LIMIT {MOST_ROWS + 1}",  # noqa: S608 - names of ours
            values,
        )
        for number, row in enumerate(_until_damage(rows, f"{self._name}, {table}", tally)):
            if number == MOST_ROWS:
                tally.note(f"{self._name}, {table}", f"has more than {MOST_ROWS:,} rows of this session; the others are not read")
                return
            yield {column: self._value(value, table, column, tally) for column, value in zip(columns, row, strict=True)}

    def _value(self, value: Any, table: str, column: str, tally: Tally) -> Any:
        if not isinstance(value, bytes):
            return value
        data = self._files.redact(value)
        try:
            return data.decode()
        except UnicodeDecodeError:
            tally.note(f"{self._name}, {table}", f"“{column}” holds bytes that are not UTF-8; they are read as ?")
            return data.decode("utf-8", "replace")

    def _session(self, session: str) -> ParsedImport:
        tally = Tally()
        rows = [(table, row) for table in _TALK for row in self._rows(table, session, tally)]
        said = {str(row.get("id")) for table, row in rows if table == "messages"}
        found = [pair for table, row in rows if (pair := self._item(table, row, said, tally))]
        found.sort(key=lambda pair: (pair[0], pair[1].role == "event"))
        for _, item in found:
            tally.keep(item)
        items = [item for _, item in found]
        asked = [one.text for one in items if one.role in ("user", "user_message") and one.text.strip()]
        times = [one.when for one in items if one.when]
        open_tasks = _open_tasks(items)
        return ParsedImport(
            kind=KIND,
            original_id=session,
            origin=self._name,
            original=_as_lines(rows),
            tally=tally,
            question=asked[0] if asked else "",
            title=session,
            status="unfinished" if open_tasks else "ended",
            finished=not open_tasks,
            created=min(times, default=""),
            updated=max(times, default=""),
            queue=open_tasks,
        )

    def _item(self, table: str, row: Row, said: set[str], tally: Tally) -> tuple[str, MessageImported] | None:
        tally.records += 1
        fields = Fields(row, f"{self._name}, {table} {one_line(str(row.get('id')), 60)}", tally)
        item = _message(fields) if table == "messages" else _event(fields, said)
        return None if item is None else (item.when, item)

    def _learnt(self) -> ParsedImport | None:
        """What the program learnt over all sessions, as an import of its own."""
        tally = Tally()
        rows = [(table, row) for table in _LEARNT for row in self._rows(table, None, tally)]
        tally.records = len(rows)
        for table in _LEARNT:
            facts = tuple(_fact(table, Fields(row, f"{self._name}, {table}", tally)) for name, row in rows if name == table)
            if facts:
                tally.keep(FactsImported(ordinal=0, author=table, facts=facts))
        if not rows and not tally.findings:
            return None
        stem = self._name.rpartition("/")[2]
        return ParsedImport(
            KIND,
            f"what {stem} learnt",
            self._name,
            _as_lines(rows),
            tally,
            title=f"What aidaemon learnt ({stem})",
            status="ended",
        )


def _until_damage(rows: sqlite3.Cursor, where: str, tally: Tally) -> Iterator[Sequence[Any]]:
    """Yield rows until the database turns out to be damaged, and note that."""
    while True:
        try:
            row = next(rows, None)
        except sqlite3.Error as error:
            tally.note(where, f"cannot be read further: {error}; the rows before are imported")
            return
        if row is None:
            return
        yield row


def _message(fields: Fields) -> MessageImported:
    return MessageImported(
        ordinal=0,
        role=fields.text("role") or "message",
        when=fields.time("created_at"),
        ref=fields.text("id"),
        text=fields.text("content"),
        name=fields.text("tool_name"),
        result=fields.as_json("tool_calls_json"),
    )


def _event(fields: Fields, said: set[str]) -> MessageImported | None:
    """The message of an event; None if it repeats one of ``said``, the ids of all messages."""
    data = _data(fields)
    kind = _CAPITAL.sub("_", fields.text("event_type")).lower()
    if kind in _SPOKEN and data.text("message_id") in said:
        fields.tally.merged += 1
        return None
    text = next(filter(None, map(data.text, (name for name in _TEXTS if isinstance(data.values.get(name), str)))), "")
    seconds = data.seconds("duration_ms", 1e3) if "duration_ms" in data.values else data.seconds("duration_secs", 1)
    return MessageImported(
        ordinal=0,
        role=kind or "event",
        when=fields.time("created_at"),
        ref=fields.text("id"),
        author=fields.text("task_id") or data.text("task_id"),
        text=text or data.as_json("arguments"),
        name=fields.text("tool_name") or data.text("name"),
        result=data.text("result") if text != data.text("result") else "",
        status=data.text("status"),
        error=data.text("error"),
        success=data.truth("success"),
        seconds=seconds,
    )


def _data(fields: Fields) -> Fields:
    """The fields of an event's ``data``, a JSON text in a column."""
    text = fields.text("data")
    values: Any = {}
    if text:
        try:
            values = parsed(text.encode(), lambda what: fields.tally.note(fields.where, f"“data” {what}"))
        except NotJson as error:
            fields.tally.note(fields.where, f"“data” {error}; it is read as text")
            values = {"content": text}
    if not isinstance(values, dict):
        fields.tally.note(fields.where, "“data” is no object; it is read as text")
        values = {"content": text}
    return Fields(values, fields.where, fields.tally)


def _open_tasks(items: Sequence[MessageImported]) -> tuple[str, ...]:
    """The descriptions of tasks that were started and never ended, for the queue."""
    ended = {one.author for one in items if one.role == "task_end"}
    return tuple(one.text for one in items if one.role == "task_start" and one.author not in ended and one.text.strip())


def _fact(table: str, fields: Fields) -> ImportedFact:
    match table:
        case "episodes":
            return ImportedFact(text=fields.text("summary"), title=fields.as_json("topics") or fields.text("outcome"))
        case "procedures":
            text = "\n".join(filter(None, (fields.text("trigger_pattern"), fields.as_json("steps"), _tried(fields))))
            return ImportedFact(text=text, title=fields.text("name"))
        case "error_solutions":
            text = "\n".join(filter(None, (fields.text("solution_summary"), fields.as_json("solution_steps"), _tried(fields))))
            return ImportedFact(text=text, title=fields.text("error_pattern"))
    done = f"{fields.text('tasks_succeeded') or '?'} of {fields.text('tasks_attempted') or '?'} tasks succeeded"
    text = "\n".join(filter(None, (f"{fields.text('current_level')}: {done}", fields.as_json("common_errors"))))
    return ImportedFact(text=text, title=fields.text("domain"))


def _tried(fields: Fields) -> str:
    known = fields.text("success_count"), fields.text("failure_count")
    return f"{known[0] or '?'} times with success, {known[1] or '?'} without" if any(known) else ""


def _as_lines(rows: Sequence[tuple[str, Row]]) -> bytes:
    lines = (json.dumps({"table": table, **row}, ensure_ascii=False, default=str) for table, row in rows)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
