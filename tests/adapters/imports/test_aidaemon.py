from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pipeline.domain.imports.import_events import FactsImported, MessageImported
from tests.adapters.imports.kit import TABLES, database, event, message, read


def test_a_session_is_its_messages_and_events_in_order_of_time(tmp_path: Path) -> None:
    ((talk, _learnt), findings) = read(database(tmp_path / "aidaemon.db"))
    assert not findings
    items = [item for item in talk.tally.items if isinstance(item, MessageImported)]
    assert [item.role for item in items] == ["user", "tool_result", "assistant", "task_start"]
    assert (items[1].success, items[1].seconds, items[1].text) == (True, 0.12, "set")
    assert talk.question == "Water the ferns on Friday"
    assert talk.tally.counts.model_dump() == {"records": 5, "items": 4, "merged": 1, "left_out": 0}


def test_what_does_not_say_whether_it_succeeded_stays_unknown(tmp_path: Path) -> None:
    path = database(tmp_path / "aidaemon.db")
    with closing(sqlite3.connect(path)) as db:
        event(db, "tool_result", {"name": "calendar", "result": "?"}, "09:00:00")
        event(db, "tool_result", {"name": "calendar", "result": "?", "success": "yes"}, "09:00:01")
        db.commit()
    ((talk, _), _) = read(path)
    assert [item.success for item in talk.tally.items[-2:] if isinstance(item, MessageImported)] == [None, None]
    assert "“success” should be true or false, is text" in talk.tally.findings[0].what


def test_a_task_that_never_ended_is_for_the_queue(tmp_path: Path) -> None:
    path = database(tmp_path / "aidaemon.db")
    assert read(path)[0][0].queue == ("Compare two watering timers",)
    with closing(sqlite3.connect(path)) as db:
        event(db, "TaskEnd", {"task_id": "t1", "status": "completed"}, "09:00:00", "t1")
        db.commit()
    (talk, _) = read(path)[0]
    assert (talk.queue, talk.finished) == ((), True)


def test_what_it_learnt_is_an_import_of_its_own(tmp_path: Path) -> None:
    (_, learnt) = read(database(tmp_path / "aidaemon.db"))[0]
    (facts,) = learnt.tally.items
    assert isinstance(facts, FactsImported)
    assert (facts.author, facts.facts[0].title) == ("procedures", "set a reminder")
    assert "3 times with success, 1 without" in facts.facts[0].text


def test_the_database_is_not_touched_and_other_tables_are_not_read(tmp_path: Path) -> None:
    path = database(tmp_path / "aidaemon.db")
    before = (path.read_bytes(), sorted(tmp_path.iterdir()))
    path.chmod(0o400)
    sessions, _ = read(path)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before
    assert all(b"a-secret-of-the-other-program" not in one.original for one in sessions)


def test_a_view_named_like_a_table_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "trap.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "create view messages as with recursive n(i) as (select 1 union all select i + 1 from n) select i as id from n"
        )
        db.commit()
    sessions, findings = read(path)
    assert not sessions
    assert "none of aidaemon" in findings[0].what


def test_rows_after_damage_are_missed_and_the_others_imported(tmp_path: Path) -> None:
    path = tmp_path / "aidaemon.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(TABLES)
        for number in range(2_000):
            message(db, f"m{number:05d}", "user", "The tide turns twice a day. " * 10, "08:00:00")
        db.commit()
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096 * 8] = b"\xff" * 4096 * 8
    path.write_bytes(data)
    sessions, findings = read(path)
    said = [*findings, *(finding for one in sessions for finding in one.tally.findings)]
    assert any("cannot be read further" in one.what for one in said)
