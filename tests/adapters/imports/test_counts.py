"""Every record of an original is kept, merged into another, or left out with a finding: counted against what was generated."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.events.json_codec import decode, encode
from pipeline.domain.imports.parsed import ParsedImport
from tests.adapters.imports.kit import TABLES, got_event, read, write_events, write_graph, write_session

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=6,
)
ENTRIES = st.lists(JSON | st.fixed_dictionaries({}, optional={"thought": JSON, "result": JSON, "timestamp": JSON}), max_size=5)
WORKERS = st.lists(
    st.fixed_dictionaries({"iterations": ENTRIES, "tool_calls": ENTRIES}, optional={"id": JSON, "sources": JSON, "status": JSON})
    | st.text(max_size=3)
    | st.none(),
    max_size=4,
)
NAMES = st.sampled_from(["T-1", "task:T-1", "T-2", "D-1", "H-1", ""])
EVENTS = st.lists(
    st.builds(
        lambda kind, clock, rest: {**got_event(f"10:{clock:02d}:00", kind), **rest},
        st.sampled_from(["node.create", "node.update", "node.delete", "edge.create", "edge.delete", "decision.create",
                         "decision.supersede", "handoff.initiate", "handoff.reject", "reasoning.step", "moon.rise"]),
        st.integers(0, 59),
        st.fixed_dictionaries({}, optional={"id": NAMES, "src": NAMES, "tgt": NAMES, "type": JSON, "data": JSON, "changes": JSON,
                                            "handoff_id": NAMES, "new_id": NAMES, "old_id": NAMES, "affects": JSON}),
    )
    | JSON.map(lambda value: {"other": value}),
    max_size=12,
)  # fmt: skip


def totals(path: Path) -> tuple[int, list[ParsedImport]]:
    """How many records are accounted for at a path: in sessions, and in findings that belong to none."""
    sessions, findings = read(path)
    for one in sessions:
        counts = one.tally.counts
        assert counts.records == counts.items + counts.merged + counts.left_out
        for item in one.tally.items:
            assert decode(encode(item.model_copy(update={"id": "e", "session_id": "s", "version": 1}))).type == item.type
    return sum(one.tally.counts.records for one in sessions) + sum(one.records for one in findings), sessions


@settings(max_examples=30, deadline=None)
@given(workers=WORKERS, insights=ENTRIES, report=st.text(max_size=20))
def test_every_record_of_a_session_is_accounted_for(workers: list[Any], insights: list[Any], report: str) -> None:
    inside = sum(len(one["iterations"]) + len(one["tool_calls"]) for one in workers if isinstance(one, dict))
    generated = len(workers) + inside + len(insights) + bool(report)
    with tempfile.TemporaryDirectory() as folder:
        write_session(Path(folder), workers=workers, insights=insights, report=report)
        assert totals(Path(folder))[0] == generated


@settings(max_examples=30, deadline=None)
@given(events=EVENTS)
def test_every_event_of_a_graph_is_accounted_for(events: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_graph(Path(folder), [*events, got_event("23:00:00", "node.create", id="Z", type="task", data={})], beside=False)
        assert totals(Path(folder))[0] == len(events) + 1


@settings(max_examples=20, deadline=None)
@given(
    payloads=st.lists(
        st.dictionaries(st.sampled_from(["type", "query", "facts", "worker_id", "output", "timestamp"]), JSON), max_size=6
    )
)
def test_every_event_file_is_accounted_for(payloads: list[dict[str, Any]]) -> None:
    events = [
        {"version": number, "type": "research.started", "aggregate_id": "a", **one} for number, one in enumerate(payloads, 1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        inside = write_events(Path(folder), []) / "events"
        for number, event in enumerate(events, 1):
            (inside / f"{number:06d}_x.json").write_text(json.dumps(event))
        assert totals(Path(folder))[0] == len(events)
        shutil.rmtree(inside)


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", 7, None]), st.text(max_size=5) | st.none(), st.binary(max_size=4)), max_size=8
    ),
    events=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["user_message", "TaskEnd", "x"]), JSON), max_size=8),
)
def test_every_row_of_a_database_is_accounted_for(rows: list[Any], events: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "aidaemon.db"
        with closing(sqlite3.connect(path)) as db:
            db.executescript(TABLES.replace(" not null", "").replace("session_id text", "session_id"))
            for number, (session, text, data) in enumerate(rows):
                db.execute(
                    "insert into messages values (?, ?, 'user', ?, ?, null, null, '2026-01-01')",
                    (f"m{number}", session, text, data),
                )
            for session, kind, value in events:
                values = (session, kind, json.dumps(value), "2026-01-01")
                db.execute("insert into events (session_id, event_type, data, created_at) values (?, ?, ?, ?)", values)
            db.commit()
        assert totals(path)[0] == len(rows) + len(events)
