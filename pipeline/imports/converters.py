"""The four formats, each converted into ``ResearchImported``. Every record is kept, or left out with a fault that says why."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pipeline.domain.events.import_events import ImportedClaim, ImportedMessage, ResearchImported
from pipeline.imports.originals import LARGEST, LONGEST_REPORT, Faults, Record, Redact, Source, Unreadable, archived, record_of
from pipeline.system.files import connect_sqlite
from pipeline.text.cleaning import digest_of, one_line

MOST = 500  # claims, and messages, that an event holds; the stored original has all
_DATABASES = (".db", ".sqlite", ".sqlite3")
_LARGEST_ORIGINAL = 4 * LARGEST


class Converted(NamedTuple):
    """A session of another program, the bytes of its original, and what is wrong with it."""

    said: ResearchImported
    original: bytes
    faults: Faults


class _Read:
    """What a converter reads of a session: its original, what is wrong with it, and fields of ``ResearchImported``."""

    def __init__(self, original: bytes, faults: Faults, **said: Any) -> None:
        self.original, self.faults, self.said = original, faults, said


def read_all(path: Path, only: str | None, redact: Redact) -> tuple[Iterator[Converted], Faults]:
    """Return the sessions at ``path``, a file or a folder, and the faults that belong to none; complete when all are read."""
    source = Source(path, redact)
    return _sessions(source, only), source.faults


def _sessions(source: Source, only: str | None) -> Iterator[Converted]:
    groups: dict[tuple[str, str], list[str]] = {}
    for name in source.names():
        kind, group = _format_of(source, name)
        if only and source.root.is_file():
            kind, group = only, "" if only == "got" else name
        if kind and only in (None, kind):
            groups.setdefault((kind, group), []).append(name)
        elif kind == "" and not only and not name.endswith((".md", ".lock", ".tmp", ".last", "-wal", "-shm", "-journal")):
            source.faults.add("has none of the formats that can be imported", name)
    seen: set[tuple[str, str]] = set()
    for (kind, group), names in groups.items():
        try:
            for read in _CONVERTERS[kind](source, group, names):
                one = _converted(kind, group or source.root.name, read)
                if (key := (kind, one.said.original_id)) in seen:
                    source.faults.add("is a session that was imported under another name already", one.said.origin, 1)
                else:
                    seen.add(key)
                    yield one
        except Unreadable as error:
            source.faults.add(str(error), group or names[0], 1)
        except sqlite3.Error as error:
            source.faults.add(f"cannot be read further: {error}; sqlite3 FILE 'PRAGMA integrity_check' says more", group, 1)


def _format_of(source: Source, name: str) -> tuple[str | None, str]:
    """The format of a file and the group that is read with it; "" for no format, None for what holds no record."""
    path = PurePosixPath(name)
    folder, above = path.parent.name, "/".join(path.parts[:-2])
    if path.suffix in _DATABASES:
        return "aidaemon", name
    if folder == "events" and path.suffix == ".json" and path.name.partition("_")[0].isdigit():
        return "go-research-events", above
    if (folder == "events" or source.root.is_file()) and path.suffix == ".jsonl":
        return "got", above
    if (folder in ("snapshots", "entities") and path.suffix == ".json") or (folder == "snapshots" and name.endswith(".json.gz")):
        return "got", above
    if path.name in ("snapshot.json", ".gitignore", ".gitattributes", ".DS_Store"):
        return None, ""
    return ("go-research", name) if path.suffix == ".json" else ("", "")


def _converted(kind: str, origin: str, read: _Read) -> Converted:
    faults, parts = read.faults, {name: read.said.get(name, ()) for name in ("claims", "messages")}
    records = sum(map(len, parts.values())) + bool(read.said.get("report")) + faults.left_out
    about = {"kind": kind, "origin": one_line(origin, 300), "digest": digest_of(read.original), "records": records}
    held = {name: tuple(each[:MOST]) for name, each in parts.items()}
    event = ResearchImported(**{**read.said, **about, **held}, left_out=faults.left_out, faults=faults.lines[:20])
    return Converted(event, read.original, faults)


def _go_session(source: Source, name: str, _names: Sequence[str]) -> Iterator[_Read]:
    """Yield the session of a file ``<state>/<id>.json`` of go-research."""
    faults, data = Faults(), source.read(name)
    session = record_of(data, name, faults)
    if "query" not in session.values or not session.values.keys() & {"workers", "mode", "report", "insights"}:
        raise Unreadable("is no session of go-research: it has no “query” with workers, mode or report")
    messages = []
    for worker in session.records("workers"):
        by = worker.text("id")
        said = ("objective", "final_output", "summary", "error")
        parts: list[tuple[str, Record, str, tuple[str, ...]]] = [("worker", worker, "started_at", said)]
        parts += [("thought", one, "timestamp", ("thought", "action", "result")) for one in worker.records("iterations")]
        parts += [("tool", one, "timestamp", ("tool", "args", "result", "error")) for one in worker.records("tool_calls")]
        messages += [ImportedMessage(role=role, text=one.words(*names), at=one.time(at), by=by) for role, one, at, names in parts]
    claims = []
    for one in session.records("insights"):
        sure = f"confidence {sure}" if (sure := one.text("confidence")) else ""
        by, sources = ", ".join(filter(None, (one.text("worker_id"), sure))), one.texts("sources")
        claims.append(ImportedClaim(text=one.words("finding", "implication"), title=one.text("title"), by=by, sources=sources))
    question, status = session.text("query"), session.text("status")
    yield _Read(data, faults,
        claims=claims, messages=messages, original_id=session.text("id") or PurePosixPath(name).stem,
        question=question, title=session.text("mode"), status=status, report=session.text("report", limit=LONGEST_REPORT),
        created=session.time("created_at"), updated=session.time("updated_at"),
        queue=(question,) if question.strip() and status not in ("complete", "expanded") else (),
    )  # fmt: skip


def _go_events(source: Source, folder: str, names: Sequence[str]) -> Iterator[_Read]:
    """Yield the session of a folder of go-research with one file an event, by name: a version may be there twice."""
    faults, contents = Faults(), _contents(source, folder, names, source.faults)
    claims, messages = [], []
    said: dict[str, str] = {"status": "running"}
    for name, data in contents.items():
        where = f"{folder}/{name}".removeprefix("/")
        try:
            event = record_of(data, where, faults)
        except Unreadable as error:
            faults.add(str(error), where, 1)
            continue
        if not (kind := event.text("type")):
            faults.add("is no event: it has no “type”", where, 1)
            continue
        at, by = event.time("timestamp"), event.text("worker_id")
        found = {"original_id": event.text("aggregate_id"), "question": event.text("query"), "title": event.text("mode")}
        said = {**found, "created": at, **{key: value for key, value in said.items() if value}}
        said["updated"] = at or said.get("updated", "")
        ended = {"research.completed": "complete", "research.failed": "failed", "research.cancelled": "cancelled"}
        said["status"] = ended.get(kind, said["status"])
        said["report"] = event.text("full_content", "summary", limit=LONGEST_REPORT) or said.get("report", "")
        text = event.words("query", "topic", "perspectives", "perspective", "objective", "output", "contradictions",
                           "knowledge_gaps", "reason", "error")  # fmt: skip
        messages.append(ImportedMessage(role=kind, text=text, at=at, by=by))
        for one in (*event.records("facts"), *event.records("validated_facts")):
            address = one.text("source_url")
            sources = (address,) if address else one.texts("corroborated_by")
            claims.append(ImportedClaim(text=one.text("content"), by=by, sources=sources))
    if not messages:
        source.faults.take(faults)
        raise Unreadable("has no event that can be read")
    said["original_id"] = said["original_id"] or PurePosixPath(folder).name or source.root.name
    queue = (said["question"],) if said["question"].strip() and said["status"] != "complete" else ()
    yield _Read(archived(contents), faults, **said, claims=claims, messages=messages, queue=queue)


def _contents(source: Source, folder: str, names: Sequence[str], faults: Faults) -> dict[str, bytes]:
    """The files of one original by their path below its folder; what cannot be read is left out."""
    found: dict[str, bytes] = {}
    for name in names:
        try:
            found[name.removeprefix(f"{folder}/")] = source.read(name)
        except Unreadable as error:
            faults.add(str(error), name, 1)
        if sum(map(len, found.values())) > _LARGEST_ORIGINAL:
            raise Unreadable(f"has more than {_LARGEST_ORIGINAL // 1_000_000} MB; nothing of it is read")
    return found


# The columns of aidaemon's tables that are read; others hold tokens.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "messages": ("id", "session_id", "role", "content", "tool_name", "tool_calls_json", "created_at"),
    "events": ("id", "session_id", "event_type", "data", "created_at", "task_id", "tool_name"),
    "episodes": ("id", "summary", "topics", "outcome"),
    "procedures": ("id", "name", "trigger_pattern", "steps", "success_count", "failure_count"),
    "error_solutions": ("id", "error_pattern", "solution_summary", "solution_steps", "success_count", "failure_count"),
    "expertise": ("id", "domain", "tasks_attempted", "tasks_succeeded", "current_level", "common_errors"),
}
# The tables of what was learnt, and the column that is the title of a claim.
_LEARNT = {"episodes": "topics", "procedures": "name", "error_solutions": "error_pattern", "expertise": "domain"}
_DATA = ("content", "summary", "result_summary", "result", "description", "message", "command", "reason", "mission", "task",
         "arguments", "name", "status", "error")  # fmt: skip


def _aidaemon(source: Source, name: str, _names: Sequence[str]) -> Iterator[_Read]:
    """Yield each session of a database, then what was learnt over all. It is opened read-only, as it lies on the disk.

    The original of a session are its rows, one JSON object a line.
    """
    path = source.path(name)
    if path.with_name(f"{path.name}-wal").is_file():
        source.faults.add("has a write-ahead log (-wal) beside it, which is not read: stop aidaemon first", name)
    with closing(connect_sqlite(path, "ro&immutable=1")) as db:
        db.text_factory = bytes
        rows = {table: list(_rows(db, table, source, name)) for table in _COLUMNS}
    if not rows["messages"] and not rows["events"]:
        raise Unreadable("is an SQLite database, but holds no “messages” or “events” of aidaemon")
    sessions: dict[str, list[tuple[str, Record]]] = {}
    for table in ("messages", "events"):
        for row in rows[table]:
            if session := row.text("session_id"):
                sessions.setdefault(session, []).append((table, row))
            else:
                source.faults.add("names no session; it is left out", f"{name}, {table}", 1)
    for session, found in sorted(sessions.items()):
        yield _aidaemon_session(session, found)
    claims = []
    for table, title in _LEARNT.items():
        names = [column for column in _COLUMNS[table] if column not in ("id", title)]
        claims += [ImportedClaim(text=row.words(*names), title=row.words(title), by=table) for row in rows[table]]
    if claims:
        learnt, stem = [(table, row) for table in _LEARNT for row in rows[table]], PurePosixPath(name).name
        title = f"What aidaemon learnt ({stem})"
        yield _Read(_lines(learnt), Faults(), original_id=f"what {stem} learnt", title=title, claims=claims)


def _rows(db: sqlite3.Connection, table: str, source: Source, name: str) -> Iterator[Record]:
    """Yield the rows of a table in order; a view or a virtual table of that name is not read, it could run anything."""
    real = "SELECT 1 FROM sqlite_master WHERE type='table' AND name=? AND sql NOT LIKE 'CREATE VIRTUAL%'"
    known = {row[1].decode("utf-8", "replace") for row in db.execute(f"PRAGMA table_info({table})")}
    columns = [column for column in _COLUMNS[table] if column in known]
    if not columns or not db.execute(real, (table,)).fetchone():
        return
    where, order = f"{name}, {table}", ", ".join(one for one in ("created_at", "id") if one in columns) or "1"
    try:
        for row in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY {order}"):  # noqa: S608 - names of ours
            texts = (source.redact(one).decode("utf-8", "replace") if isinstance(one, bytes) else one for one in row)
            yield Record(dict(zip(columns, texts, strict=True)), where, source.faults)
    except sqlite3.Error as error:
        source.faults.add(f"cannot be read further: {error}; the rows before are imported", where, 1)


def _aidaemon_session(session: str, rows: Sequence[tuple[str, Record]]) -> _Read:
    faults, messages, tasks = Faults(), [], {}
    said = {row.text("id") for table, row in rows if table == "messages"}
    for table, row in rows:
        at = row.time("created_at")
        if table == "messages":
            text = row.words("content", "tool_name", "tool_calls_json")
            messages.append(ImportedMessage(role=row.text("role") or "message", text=text, at=at))
            continue
        try:
            data = record_of(row.text("data").encode(), row.where, faults)
        except Unreadable:
            faults.add("has “data” that is no JSON object; it is read as text", row.where)
            data = Record({"content": row.text("data")}, row.where, faults)
        # An event's name is written ToolResult or tool_result.
        kind = "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in row.text("event_type")).lstrip("_")
        if data.text("message_id") in said and kind in ("user_message", "assistant_response", "tool_result"):
            continue  # it repeats a message
        task = row.text("task_id") or data.text("task_id")
        messages.append(ImportedMessage(role=kind or "event", text=data.words(*_DATA), at=at, by=task))
        if kind == "task_start":
            tasks[task] = data.text("description")
        elif kind == "task_end":
            tasks.pop(task, None)
    messages.sort(key=lambda one: one.at)
    asked = [one.text for one in messages if one.role in ("user", "user_message") and one.text.strip()]
    times = sorted(one.at for one in messages if one.at) or [""]
    return _Read(_lines(rows), faults,
        messages=messages, original_id=session, question="".join(asked[:1]), title=session,
        status="unfinished" if tasks else "ended", created=times[0], updated=times[-1],
        queue=tuple(text for text in tasks.values() if text.strip()),
    )  # fmt: skip


def _lines(rows: Iterable[tuple[str, Record]]) -> bytes:
    lines = (json.dumps({"table": table, **row.values}, ensure_ascii=False, default=str) for table, row in rows)
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _graph(source: Source, folder: str, names: Sequence[str]) -> Iterator[_Read]:
    """Yield a Graph of Thought: its event logs, snapshots and entities, each node as its last write left it."""
    faults = Faults()
    contents = _contents(source, folder, names, source.faults)
    writes = [one for name, data in contents.items() for one in _writes(name, data, faults)]
    nodes: dict[str, dict[str, Any]] = {}
    links: dict[str, set[str]] = {}
    for at, _, node, values, link in sorted(writes, key=lambda one: one[:2]):
        links.setdefault(node, set()).update(link)
        if values:
            nodes.setdefault(node, {"first_at": at}).update(values)
    if not nodes:
        source.faults.take(faults)
        raise Unreadable("holds no record of a Graph of Thought that can be read")
    messages, tasks = [], []
    for node, values in nodes.items():
        one = Record({**values, "links": ", ".join(sorted(links[node]))}, node, faults)
        text = one.words("title", "decision", "name", "content", "instructions", "description", "rationale", "alternatives",
                         "reason", "result", "retrospective", "status", "links")  # fmt: skip
        at = one.time("created_at") or one.text("first_at")
        messages.append(ImportedMessage(role=one.text("kind") or "node", text=text, at=at, by=one.text("source_agent", "agent")))
        if one.text("kind") == "task" and one.text("status").lower() in ("pending", "in_progress"):
            tasks.append(one.text("title"))
    times = sorted(one.at for one in messages if one.at) or [""]
    named = [part for part in (*source.root.absolute().parts, *folder.split("/")) if part not in ("", "/", ".got", "events")]
    first = min(nodes.items(), key=lambda one: (one[1]["first_at"], one[0]))
    yield _Read(archived(contents), faults,
        messages=messages, original_id=digest_of(repr((first[0], first[1]["first_at"])).encode("utf-8", "replace"))[:16],
        title=f"Graph of Thought: {named[-1].removesuffix('.jsonl')}", status="open tasks" if tasks else "",
        created=times[0], updated=times[-1], queue=tuple(dict.fromkeys(filter(str.strip, tasks))),
    )  # fmt: skip


_Write = tuple[str, tuple[str, int], str, dict[str, Any], set[str]]  # time, place, node, values, links


def _writes(name: str, data: bytes, faults: Faults) -> Iterator[_Write]:
    """Yield what each record of a file writes; of a property the last write counts."""
    for number, line in enumerate(data.split(b"\n") if name.endswith(".jsonl") else [data], 1):
        where = f"{name}, line {number}" if name.endswith(".jsonl") else name
        try:
            if line.strip():
                record = record_of(_unpacked(line) if name.endswith(".gz") else line, where, faults)
                for node, values, links, at in _PARTS.get(name.partition("/")[0], _event)(record):
                    if node:
                        yield at, (name, number), node, values, links
                    else:
                        faults.add("says nothing that can be read of a node; it is left out", where, 1)
        except Unreadable as error:
            faults.add(str(error), where, 1)


_Said = Iterator[tuple[str, dict[str, Any], set[str], str]]  # node, values, links, time


def _event(event: Record) -> _Said:
    room, _, verb = event.text("event").partition(".")
    at = event.time("ts")
    node = _plain(event.text({"handoff": "handoff_id", "edge": "src"}.get(room, "new_id" if verb == "supersede" else "id")))
    kind, links = event.text("type").lower(), {f"AFFECTS {_plain(one)}" for one in event.texts("affects")}
    if room == "edge":
        yield node, {}, {f"{event.text('type') or 'RELATED'} {_plain(event.text('tgt'))}"} if verb == "create" else set(), at
    elif room == "node" and verb in ("create", "update", "delete"):
        inner = dict(event.inner("data" if verb == "create" else "changes").values)
        extra = {"kind": kind or "node"} if verb == "create" else {"status": "deleted"} if verb == "delete" else {}
        yield node, {"changed": True, **inner, **extra}, set(), at
    elif verb == "supersede":
        yield node, {}, {f"SUPERSEDES {_plain(event.text('old_id'))}"}, at
    elif room in ("handoff", "decision", "reasoning"):
        values = {key: one for key, one in event.values.items() if key not in ("ts", "event", "meta", "id", "type")}
        values["kind"] = room if room != "reasoning" else kind or "thought"
        if room == "handoff":
            values["status"] = f"{verb.removesuffix('e')}ed"
        yield node, values, links, at
    else:
        yield "", {}, set(), at


def _entity(record: Record) -> _Said:
    one = record.inner("data") if "data" in record.values else record
    at, kind = one.time("modified_at", "created_at"), one.text("entity_type").lower()
    if kind == "edge":
        target = _plain(one.text("target_id"))
        yield _plain(one.text("source_id")) if target else "", {}, {f"{one.text('edge_type') or 'RELATED'} {target}"}, at
    else:
        yield _plain(one.text("id")), {**one.inner("properties").values, **one.values, "kind": kind}, set(), at


def _snapshot(record: Record) -> _Said:
    at = record.time("timestamp", "created_at")
    state = record.inner("state") if "state" in record.values else record
    nodes = state.values.get("nodes")
    listed = [{"id": key, **one} for key, one in nodes.items() if isinstance(one, dict)] if isinstance(nodes, dict) else nodes
    for node in Record({"nodes": listed}, record.where, record.faults).records("nodes"):
        values = {"title": node.text("content"), **node.inner("metadata").values, **node.inner("properties").values}
        kind = node.text("node_type", "type").lower().rpartition(".")[2]
        yield _plain(node.text("id")), {**values, "kind": kind}, set(), at
    for edge in state.records("edges"):
        source, target = _plain(edge.text("source_id", "src", "source")), _plain(edge.text("target_id", "tgt", "target"))
        kind = edge.text("edge_type", "type").rpartition(".")[2] or "RELATED"
        yield source if target else "", {}, {f"{kind} {target}"}, at


_PARTS: Mapping[str, Callable[[Record], _Said]] = {"entities": _entity, "snapshots": _snapshot}


def _plain(name: str) -> str:
    """A node's id without the prefix that some programs write and others do not."""
    prefix, colon, rest = name.partition(":")
    return rest if colon and prefix in ("task", "decision", "sprint", "epic", "handoff") else name


def _unpacked(data: bytes) -> bytes:
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, LARGEST + 1)
    except (zlib.error, gzip.BadGzipFile, EOFError):
        raise Unreadable("cannot be unpacked") from None
    if len(found) > LARGEST or not unpacker.eof:
        raise Unreadable("is cut off, or too large unpacked; nothing of it is read")
    return found


_CONVERTERS: Mapping[str, Callable[[Source, str, Sequence[str]], Iterator[_Read]]] = {
    "go-research": _go_session,
    "go-research-events": _go_events,
    "aidaemon": _aidaemon,
    "got": _graph,
}
