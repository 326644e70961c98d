"""The four formats, whole and spoiled: what is spoiled is named in a line for each kind, and the rest is imported."""

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

from tests.imports.kit import database, everything, go_session, got_event, read, write_graph, write_session

SOUND = 6  # sessions of ``everything``, with what aidaemon learnt


def file(name: str, data: bytes) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return spoil


def session(**other: Any) -> Callable[[Path], None]:
    return file("state/spoiled.json", json.dumps(go_session(id="spoiled", **other)).encode())


def in_database(*statements: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "aidaemon.db").unlink()
        database(folder / "aidaemon.db", *statements)

    return spoil


def linked(folder: Path) -> None:
    (folder.parent / "outside.json").write_text(json.dumps(go_session(id="outside")))
    (folder / "state" / "linked.json").symlink_to(folder.parent / "outside.json")


def another_name(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder / "state") + b"/\xff.json")).write_text("{}")


def foreign_database(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "state" / "foreign.db")) as db:
        db.execute("create table songs (title text)")
        db.commit()


def only_a_link(folder: Path) -> None:
    write_graph(folder / "boat", [got_event("10:00:00", "edge.create", src="T-8", tgt="T-9", type="X")], beside=False)


def twice(folder: Path) -> None:
    write_session(folder / "copy")


LOG, GOT, EVENTS = "garden/.got/events/20260402-spoiled.jsonl", "garden/.got/", "state/2026-02-01-cafe0001/events/"
PACKED = gzip.compress(json.dumps({"state": {"nodes": {}, "edges": []}}).encode())
SPOILED: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty file": (file("state/spoiled.json", b""), "is not valid JSON"),
    "cut file": (file("state/spoiled.json", json.dumps(go_session()).encode()[:300]), "is not valid JSON"),
    "no session": (file("state/spoiled.json", b'{"hello": 1}'), "is no session of go-research"),
    "a list": (file("state/spoiled.json", b"[1, 2]"), "is no JSON object"),
    "not UTF-8": (file("state/spoiled.json", b'{"query": "\xff\xfe", "mode": "fast"}'), "is not valid JSON in UTF-8"),
    "UTF-16": (file("state/spoiled.json", '{"query": "x"}'.encode("utf-16")), "is not valid JSON in UTF-8"),
    "nested too deeply": (file("state/spoiled.json", b"[" * 100_000), "is not valid JSON"),
    "huge integer": (file("state/spoiled.json", b'{"version": ' + b"9" * 5_000 + b"}"), "is not valid JSON"),
    "question of a wrong type": (session(query=["A?"]), "“query” should be text"),
    "workers of a wrong type": (session(workers={"a": 1}), "“workers” should be a list"),
    "a worker that is text": (session(workers=["worker-1"]), "an entry of “workers” should be an object"),
    "bad time": (session(created_at="yesterday"), "“created_at” is no time"),
    "time off the calendar": (session(created_at="2026-02-31T00:00:00Z"), "“created_at” is no time"),
    "very long text": (session(workers=[{"id": "w", "final_output": "tide " * 200_000}]), "has texts that are cut here"),
    "the same session twice": (twice, "was imported under another name already"),
    "link out of the folder": (linked, "is a link or no regular file"),
    "pipe": (lambda folder: os.mkfifo(folder / "state" / "pipe.json"), "is a link or no regular file"),
    "name that is not UTF-8": (another_name, "has a name that is not UTF-8"),
    "event without a type": (file(f"{EVENTS}000009_spoiled.json", b'{"id": "x", "version": 9}'), "is no event"),
    "cut event": (file(f"{EVENTS}000009_spoiled.json", b'{"type": "research.st'), "is not valid JSON"),
    "foreign database": (foreign_database, "is an SQLite database, but holds no"),
    "broken database": (file("state/none.db", b"SQLite format 3\0" + b"\xff" * 9_000), "cannot be read further"),
    "write-ahead log": (file("aidaemon.db-wal", b"\x37\x7f\x06\x82" + b"\0" * 28), "has a write-ahead log"),
    "data that is no JSON": (
        in_database("insert into events values (90, 'telegram:7', 'error', 'oops', '2026-03-01', null, null, null)"),
        "has “data” that is no JSON object",
    ),
    "row without a session": (
        in_database("insert into messages values ('m9', '', 'user', 'lost', null, null, null, '2026-03-01')"),
        "names no session",
    ),
    "cut last line": (file(LOG, b'{"ts": "2026'), "is not valid JSON"),
    "unknown event": (file(LOG, b'{"event": "moon.rise", "id": "M"}\n'), "says nothing that can be read of a node"),
    "cut gzip": (file(f"{GOT}snapshots/cut.json.gz", PACKED[:-12]), "is cut off"),
    "no gzip": (file(f"{GOT}snapshots/none.json.gz", b"hello"), "cannot be unpacked"),
    "gzip bomb": (file(f"{GOT}snapshots/bomb.json.gz", gzip.compress(b" " * 70_000_000, 1)), "too large unpacked"),
    "edge with one end": (
        file(f"{GOT}entities/E-1.json", b'{"data": {"id": "E-1", "entity_type": "edge", "source_id": "T-1"}}'),
        "says nothing that can be read of a node",
    ),
    "only a link": (only_a_link, "holds no record of a Graph of Thought"),
    "a file of another kind": (file("notes.txt", b"milk"), "has none of the formats"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_input_is_named_and_the_rest_is_imported(tmp_path: Path, name: str) -> None:
    spoil, words = SPOILED[name]
    folder = everything(tmp_path / "in")
    spoil(folder)
    sessions, faults = read(folder)
    assert any(words in line for line in faults), faults
    assert len(sessions) >= SOUND


def test_sound_originals_have_no_faults_and_every_record_is_there(tmp_path: Path) -> None:
    sessions, faults = read(everything(tmp_path))
    assert not faults
    found = {one.said.original_id: one.said for one in sessions}
    assert len(found) == SOUND
    tide = found["2026-01-05-ab12cd34"]
    assert [one.role for one in tide.messages] == ["worker", "thought", "tool"]
    assert tide.claims[0].text == "Oxygen falls below 2 mg/l before dawn.\nFish leave."
    assert tide.claims[0].by == "worker-1, confidence 0.8"
    assert tide.report.startswith("# Oxygen in tide pools")
    assert tide.created == "2026-01-05T08:00:00.000Z"
    barnacles = found["2026-02-01-cafe0001"]
    assert (len(barnacles.messages), len(barnacles.claims), barnacles.report) == (8, 2, "They eat diatoms.")
    ferns = found["telegram:7"]
    assert [one.role for one in ferns.messages] == ["user", "tool_result", "assistant", "task_start"]
    assert "secret" not in "".join(one.original.decode("utf-8", "replace") for one in sessions)
    (graph,) = (one.said for one in sessions if one.said.kind == "got")
    assert {one.text.partition("\n")[0] for one in graph.messages} == {
        "Choose a rain gauge", "Use a steel barrel", "Measure the roof", "Paint the shed", "Clear the gutter"
    }  # fmt: skip
    assert any("DEPENDS_ON D-1" in one.text for one in graph.messages)
    assert {question for one in sessions for question in one.said.queue} == {
        "Why do limpets return to one place?", "Compare two watering timers", "Choose a rain gauge"
    }  # fmt: skip


def test_many_faults_of_one_kind_are_one_line(tmp_path: Path) -> None:
    write_session(tmp_path, workers=["a", "b", "c"])
    _, faults = read(tmp_path)
    assert faults == ["2026-01-05-ab12cd34.json: an entry of “workers” should be an object; it is left out (3 times)"]


def test_a_format_that_is_named_reads_only_that_and_a_single_file_is_enough(tmp_path: Path) -> None:
    folder = everything(tmp_path)
    assert {one.said.kind for one in read(folder, "got")[0]} == {"got"}
    assert {one.said.kind for one in read(folder, "go-research-events")[0]} == {"go-research-events"}
    (log,) = folder.rglob("*.jsonl")
    assert [one.said.kind for one in read(log)[0]] == ["got"]
    assert {one.said.kind for one in read(folder / "aidaemon.db")[0]} == {"aidaemon"}
