"""Sessions of other programs, in the shapes in which these programs write them, with text of our own."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pipeline.imports.converters import Converted, read_all

POOLS = "https://example.org/pools"


def read(path: Path, only: str | None = None) -> tuple[list[Converted], list[str]]:
    """Return all sessions at a path, and the lines of what is wrong with any of it."""
    found, faults = read_all(path, only, lambda data: data)
    sessions = list(found)
    for one in sessions:
        faults.take(one.faults)
    return sessions, list(faults.lines)


def go_session(**other: Any) -> dict[str, Any]:
    """A complete session of go-research with one worker, one insight and a report: five records."""
    worker = {
        "id": "worker-1",
        "worker_num": 1,
        "objective": "Find what limits oxygen in tide pools",
        "tools_available": ["search"],
        "iterations": [
            {"number": 1, "thought": "Look for measurements at night", "action": "search", "result": "two papers",
             "timestamp": "2026-01-05T09:00:01.123456789+01:00"}
        ],
        "tool_calls": [
            {"tool": "search", "args": {"query": "tide pool oxygen"}, "result": "3 hits", "success": True,
             "duration": 1_500_000_000, "iteration": 1, "timestamp": "2026-01-05T09:00:02+01:00"}
        ],
        "final_output": "Algae use oxygen at night.",
        "summary": "",
        "sources": [POOLS],
        "status": "complete",
        "cost": {"total_tokens": 900, "total_cost": 0.01},
        "started_at": "2026-01-05T09:00:00+01:00",
        "completed_at": None,
    }  # fmt: skip
    session = {
        "id": "2026-01-05-ab12cd34",
        "version": 1,
        "query": "How do tide pools keep their oxygen at night?",
        "mode": "storm",
        "complexity_score": 0.6,
        "workers": [worker],
        "report": "# Oxygen in tide pools\n\nAlgae make oxygen by day. At night **all** of it is used up.\n",
        "sources": [POOLS],
        "insights": [
            {"title": "Night", "finding": "Oxygen falls below 2 mg/l before dawn.", "implication": "Fish leave.",
             "confidence": 0.8, "sources": [POOLS], "worker_id": "worker-1"}
        ],
        "cost": {"total_cost": 0.01},
        "created_at": "2026-01-05T09:00:00+01:00",
        "updated_at": "2026-01-05T09:05:00+01:00",
        "status": "complete",
    }  # fmt: skip
    return session | other


def write_session(folder: Path, **other: Any) -> Path:
    """Write a session of go-research as that program does."""
    session = go_session(**other)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session['id']}.json"
    path.write_text(json.dumps(session, indent=2))
    (folder / ".last").write_text(session["id"])
    return path


def go_event(version: int, kind: str, **payload: Any) -> dict[str, Any]:
    """One event of go-research."""
    at = f"2026-02-01T10:00:{version % 60:02d}Z"
    envelope = {"id": f"event-{version}-{kind}", "aggregate_id": "2026-02-01-cafe0001", "version": version, "timestamp": at}
    return {**envelope, "type": kind, **payload}


def go_events() -> list[dict[str, Any]]:
    """The events of a whole session: eight records and two claims."""
    source = {"url": "https://example.org/barnacles", "title": "Barnacles", "snippet": ""}
    fact = {"content": "They filter diatoms from the water.", "confidence": 0.9, "source_url": source["url"]}
    return [
        go_event(1, "research.started", query="What do barnacles eat in winter?", mode="storm", config={"timeout": 6e10}),
        go_event(2, "plan.created", topic="barnacles", perspectives=[{"name": "Food", "focus": "plankton", "questions": ["?"]}]),
        go_event(3, "worker.started", worker_id="w1", worker_num=1, objective="Find their food", perspective="Food"),
        go_event(4, "worker.completed", worker_id="w1", output="Diatoms.", facts=[fact], sources=[source]),
        go_event(5, "analysis.completed", validated_facts=[{"content": "Diatoms in winter too.", "confidence": 0.7}],
                 contradictions=[], knowledge_gaps=[{"description": "How much?", "importance": 0.4}]),
        go_event(6, "synthesis.started"),
        go_event(7, "report.generated", title="Barnacles", summary="", full_content="They eat diatoms.",
                 citations=[{"id": 1, **source}]),
        go_event(8, "research.completed", duration=90_000_000_000, total_cost={}, source_count=1),
    ]  # fmt: skip


def write_events(folder: Path, events: Iterable[Mapping[str, Any]]) -> Path:
    """Write an event folder of go-research as that program does; events of one version and type get one file."""
    inside = folder / "2026-02-01-cafe0001" / "events"
    inside.mkdir(parents=True, exist_ok=True)
    for event in events:
        name = f"{event['version']:06d}_{event['type'].replace('.', '_')}.json"
        (inside / name).write_text(json.dumps(event, indent=2))
    (inside.parent / "snapshot.json").write_text("{}")
    return inside.parent


TABLES = """
create table messages (id text primary key, session_id text not null, role text not null, content text, tool_call_id text,
  tool_name text, tool_calls_json text, created_at text not null);
create table events (id integer primary key autoincrement, session_id text not null, event_type text not null, data text not null,
  created_at text not null, consolidated_at text, task_id text, tool_name text);
create table procedures (id integer primary key, name text, trigger_pattern text, steps text, success_count integer,
  failure_count integer, created_at text);
create table settings (name text, value text);
"""


def database(path: Path, *more: str) -> Path:
    """Make a database of aidaemon with one session of two messages and three events, and one thing learnt."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
        message(db, "m1", "user", "Water the ferns on Friday", "08:00:00")
        message(db, "m2", "assistant", "It is in the calendar.", "08:00:05")
        event(db, "user_message", {"content": "Water the ferns on Friday", "message_id": "m1"}, "08:00:00")
        event(db, "ToolResult", {"name": "calendar", "result": "set", "success": True, "duration_ms": 120}, "08:00:03")
        event(db, "task_start", {"task_id": "t1", "description": "Compare two watering timers"}, "08:01:00", "t1")
        db.execute(
            "insert into procedures values (1, 'set a reminder', 'remind me', '[\"ask when\", \"set\"]', 3, 1, '2026-03-01')"
        )
        db.execute("insert into settings values ('token', 'a-secret-of-the-other-program')")
        for statement in more:
            db.execute(statement)
        db.commit()
    return path


def message(
    db: sqlite3.Connection, identity: str, role: str, content: str | None, clock: str, session: str = "telegram:7"
) -> None:
    """Add a message to a database."""
    db.execute(
        "insert into messages values (?, ?, ?, ?, null, null, null, ?)",
        (identity, session, role, content, f"2026-03-01T{clock}Z"),
    )


def event(db: sqlite3.Connection, kind: str, data: Any, clock: str, task: str | None = None, session: str = "telegram:7") -> None:
    """Add an event to a database."""
    text = data if isinstance(data, str) else json.dumps(data)
    values = (session, kind, text, f"2026-03-01T{clock}Z", task)
    db.execute("insert into events (session_id, event_type, data, created_at, task_id) values (?, ?, ?, ?, ?)", values)


def got_event(clock: str, kind: str, **payload: Any) -> dict[str, Any]:
    """One event of a Graph of Thought."""
    return {"ts": f"2026-04-01T{clock}Z", "event": kind, "meta": {"branch": "main", "session": "20260401-aaaa"}, **payload}


def got_events() -> list[dict[str, Any]]:
    """Six events: a task with a change and a link, a decision, a hand-over of two steps."""
    return [
        got_event("10:00:00", "node.create", id="task:T-1", type="TASK",
                  data={"title": "Choose a rain gauge", "status": "pending"}),
        got_event("10:01:00", "decision.create", id="decision:D-1", decision="Use a steel barrel",
                  rationale="Plastic cracks in frost", affects=["task:T-1"], alternatives=["plastic"], context={}),
        got_event("10:02:00", "edge.create", src="T-1", tgt="D-1", type="DEPENDS_ON", weight=1.0),
        got_event("10:03:00", "node.update", id="T-1", changes={"priority": "high"}),
        got_event("10:04:00", "handoff.initiate", handoff_id="H-1", source_agent="main", target_agent="b", task_id="T-1",
                  context={}, instructions="Measure the roof"),
        got_event("10:05:00", "handoff.accept", handoff_id="H-1", agent="b", acknowledgment="On it"),
    ]  # fmt: skip


def write_graph(project: Path, events: Iterable[Mapping[str, Any]] = (), *, beside: bool = True) -> Path:
    """Write a Graph of Thought as that program does; ``beside``: with a snapshot of one node and one edge, and one entity."""
    root = project / ".got"
    (root / "events").mkdir(parents=True, exist_ok=True)
    lines = [f"{json.dumps(one)}\n" for one in events or got_events()]
    (root / "events" / "20260401-100000-aaaa.jsonl").write_text("".join(lines))
    if beside:
        entity = {"entity_type": "task", "id": "T-2", "title": "Paint the shed", "status": "completed",
                  "created_at": "2026-04-02T10:00:00+00:00", "modified_at": "2026-04-02T10:00:00+00:00"}  # fmt: skip
        node = {
            "id": "T-0",
            "node_type": "task",
            "content": "Clear the gutter",
            "properties": {"status": "completed"},
            "metadata": {},
        }
        edge = {"source_id": "T-1", "target_id": "T-0", "edge_type": "DEPENDS_ON"}
        snapshot = {"timestamp": "2026-03-31T00:00:00Z", "state": {"nodes": {"T-0": node}, "edges": [edge]}}
        for folder, name, data in (
            ("entities", "T-2.json", json.dumps({"_checksum": "0", "data": entity}).encode()),
            ("snapshots", "snap_20260331.json.gz", gzip.compress(json.dumps(snapshot).encode(), mtime=0)),
        ):
            (root / folder).mkdir(exist_ok=True)
            (root / folder / name).write_bytes(data)
    return root


def everything(folder: Path) -> Path:
    """Write one of each format below a folder."""
    write_session(folder / "state")
    write_session(folder / "state", id="2026-01-06-ffff0001", query="Why do limpets return to one place?", status="running",
                  report="", insights=[], workers=[])  # fmt: skip
    write_events(folder / "state", go_events())
    database(folder / "aidaemon.db")
    write_graph(folder / "garden")
    return folder
