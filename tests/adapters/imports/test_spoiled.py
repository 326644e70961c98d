"""Spoiled originals: each is named, nothing crashes, and the sound sessions beside it are imported."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.imports.kit import database, everything, go_event, go_session, got_event, read, write_events, write_graph

SOUND = 6  # sessions of ``everything``, with what aidaemon learnt


def raw_session(data: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "state" / "spoiled.json").write_bytes(data)

    return spoil


def session(**other: Any) -> Callable[[Path], None]:
    return raw_session(json.dumps(go_session(id="spoiled", **other)).encode())


def worker(**other: Any) -> Callable[[Path], None]:
    return session(workers=[{**go_session()["workers"][0], **other}])


def raw_event(data: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        inside = folder / "state" / "2026-02-01-cafe0001" / "events"
        (inside / "000009_spoiled.json").write_bytes(data)

    return spoil


def raw_log(data: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "garden" / ".got" / "events" / "20260402-spoiled.jsonl").write_bytes(data)

    return spoil


def got(name: str, data: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "garden" / ".got" / name).write_bytes(data)

    return spoil


def in_database(*statements: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "aidaemon.db").unlink()
        database(folder / "aidaemon.db", *statements)

    return spoil


def linked(target: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder.parent / "outside.json").write_text(json.dumps(go_session(id="outside")))
        (folder / "state" / "linked.json").symlink_to(folder.parent / target)

    return spoil


def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "state" / "pipe.json")


def unreadable_name(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder / "state") + b"/\xff.json")).write_text("{}")


def foreign_database(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state" / "foreign.db")) as db:
        db.execute("create table songs (title text)")
        db.commit()


def cut_database(folder: Path) -> None:
    path = folder / "state" / "cut.db"
    path.write_bytes((folder / "aidaemon.db").read_bytes()[:5_000])


def no_database(folder: Path) -> None:
    (folder / "state" / "none.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9_000)


def log_beside_database(folder: Path) -> None:
    (folder / "aidaemon.db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"\0" * 28)


def table_without_column(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "old.db")) as db:
        db.execute("create table messages (id text, session_id text, role text, content text)")
        db.execute("insert into messages values ('1', 'old', 'user', 'How far is the moon?')")
        db.commit()


def another_graph(folder: Path) -> None:
    write_graph(folder / "boat", [got_event("10:00:00", "edge.create", src="T-8", tgt="T-9", type="X")], beside=False)


def doubled_version(folder: Path) -> None:
    write_events(folder / "state", [go_event(8, "worker.failed", worker_id="w9", error="late")])


def deep(depth: int) -> bytes:
    return b'{"query": "Why?", "workers": ' + b"[" * depth + b"]" * depth + b"}"


PACKED = gzip.compress(json.dumps({"state": {"nodes": {}, "edges": []}}).encode())
NODE = json.dumps(got_event("10:00:00", "node.create", id="T-3", type="TASK", data={"title": "Oil the gate"})).encode()

SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty file": (raw_session(b""), "is empty"),
    "cut file": (raw_session(json.dumps(go_session()).encode()[:300]), "is not valid JSON"),
    "no session": (raw_session(b'{"hello": 1}'), "is no session of go-research"),
    "a list": (raw_session(b"[1, 2]"), "is no session of go-research"),
    "not UTF-8": (raw_session(b'{"query": "\xff\xfe", "mode": "fast"}'), "is not UTF-8, at byte 11"),
    "UTF-16": (raw_session('{"query": "x"}'.encode("utf-16")), "is UTF-16"),
    "byte order mark": (raw_session(b"\xef\xbb\xbf" + json.dumps(go_session(id="bom")).encode()), "byte order mark"),
    "doubled key": (raw_session(b'{"id": "d", "query": "A?", "query": "B?", "mode": "fast"}'), "has a key twice (query)"),
    "NaN": (raw_session(b'{"id": "n", "query": "A?", "mode": "fast", "complexity_score": NaN}'), "has NaN"),
    "infinite number": (
        raw_session(b'{"id": "n", "query": "A?", "mode": "fast", "complexity_score": 1e999}'),
        "number that is too large",
    ),
    "huge integer": (
        raw_session(b'{"id": "n", "query": "A?", "mode": "fast", "version": ' + b"9" * 5_000 + b"}"),
        "is not valid JSON",
    ),
    "nested too deeply": (raw_session(deep(100_000)), "nested too deeply"),
    "half a surrogate": (raw_session(b'{"id": "h", "query": "A \\ud83d?", "mode": "fast"}'), "half a surrogate pair"),
    "unknown status": (session(status="paused"), "status 'paused', which go-research does not have"),
    "no question": (session(query=""), "has no question"),
    "question of a wrong type": (session(query=["A?"]), "“query” should be text, is a list"),
    "workers of a wrong type": (session(workers={"a": 1}), "“workers” should be a list, is an object"),
    "a worker that is text": (session(workers=["worker-1"]), "workers 1: should be an object, is text"),
    "an insight that is null": (session(insights=[None]), "insights 1: should be an object, is nothing"),
    "bad time": (session(created_at="yesterday"), "'yesterday' is no time"),
    "time off the calendar": (session(created_at="2026-02-31T00:00:00Z"), "“created_at” '2026-02-31"),
    "negative duration": (worker(tool_calls=[{"tool": "x", "duration": -5}]), "is a negative length of time"),
    "sources of a wrong type": (worker(sources=[1, None, "https://example.org"]), "2 of its entries are no text"),
    "very long text": (worker(final_output="tide " * 200_000), "has 1,000,000 characters"),
    "link out of the folder": (linked("outside.json"), "is a symbolic link"),
    "link to nothing": (linked("nothing.json"), "is a symbolic link"),
    "pipe": (a_pipe, "is no regular file"),
    "name that is not UTF-8": (unreadable_name, "has a name that is not UTF-8"),
    "event without a type": (raw_event(b'{"id": "x", "version": 9}'), "is no event: it has no “type”"),
    "event of another session": (
        raw_event(json.dumps(go_event(9, "synthesis.started", aggregate_id="other")).encode()),
        "another session",
    ),
    "cut event": (raw_event(b'{"type": "research.st'), "is not valid JSON"),
    "doubled version": (doubled_version, "version 8 occurs 2 times"),
    "foreign database": (foreign_database, "is an SQLite database, but none of aidaemon"),
    "cut database": (cut_database, "cannot be read further"),
    "broken database": (no_database, "cannot be read further"),
    "write-ahead log": (log_beside_database, "has a write-ahead log beside it"),
    "missing column": (table_without_column, "lacks tool_call_id, tool_name, tool_calls_json, created_at"),
    "data that is no JSON": (
        in_database("insert into events values (90, 'telegram:7', 'error', 'oops', '2026-03-01', null, null, null)"),
        "“data” is not valid JSON",
    ),
    "row without a session": (
        in_database("insert into messages values ('m9', x'00', 'user', 'lost', null, null, null, '2026-03-01')"),
        "of the rows name no session",
    ),
    "bytes that are no text": (
        in_database("insert into messages values ('m9', 'telegram:7', 'user', x'ff41', null, null, null, '2026-03-01')"),
        "bytes that are not UTF-8",
    ),
    "Windows line ends": (raw_log(NODE + b"\r\n"), "line ends of Windows"),
    "cut last line": (raw_log(NODE + b'\n{"ts": "2026'), "may have been cut off"),
    "line of 10 MB": (raw_log(b'{"event": "' + b"x" * 10_000_000 + b'"}\n' + NODE + b"\n"), "lines over 4 MB are left out"),
    "line that is no object": (raw_log(b"[]\n"), "is no event: it has no “event”"),
    "unknown event": (raw_log(b'{"event": "moon.rise", "id": "M"}\n'), "of an unknown kind"),
    "cut gzip": (got("snapshots/cut.json.gz", PACKED[:-12]), "is cut off in the middle"),
    "no gzip": (got("snapshots/none.json.gz", b"hello"), "cannot be unpacked"),
    "gzip bomb": (got("snapshots/bomb.json.gz", gzip.compress(b" " * 70_000_000)), "has more than 64 MB unpacked"),
    "entity without an id": (got("entities/T-4.json", b'{"data": {"entity_type": "task"}}'), "is no entity"),
    "edge with one end": (
        got("entities/E-1.json", b'{"data": {"id": "E-1", "entity_type": "edge", "source_id": "T-1"}}'),
        "both ends",
    ),
    "only a link": (another_graph, "holds no record of a Graph of Thought"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_input_is_named_and_the_rest_is_imported(tmp_path: Path, name: str) -> None:
    spoil, words = SPOILED[name]
    folder = everything(tmp_path / "in")
    spoil(folder)
    sessions, findings = read(folder)
    said = [*findings, *(one for session in sessions for one in session.tally.findings)]
    assert any(words in f"{one.where}: {one.what}" for one in said), said
    assert len(sessions) >= SOUND
    for session in sessions:
        counts = session.tally.counts
        assert counts.records == counts.items + counts.merged + counts.left_out


def test_sound_originals_have_no_findings(tmp_path: Path) -> None:
    sessions, findings = read(everything(tmp_path))
    assert len(sessions) == SOUND
    assert not findings
    assert not [one for session in sessions for one in session.tally.findings]


def test_of_a_folder_of_other_things_each_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    (tmp_path / "song.json").write_text('{"title": "x"}')
    sessions, findings = read(tmp_path)
    assert not sessions
    assert {one.where for one in findings} == {"notes.txt", "song.json"}


def test_a_format_that_is_named_reads_only_that(tmp_path: Path) -> None:
    folder = everything(tmp_path)
    assert {one.kind for one in read(folder, "got")[0]} == {"got"}
    assert {one.kind for one in read(folder, "go-research-events")[0]} == {"go-research-events"}
