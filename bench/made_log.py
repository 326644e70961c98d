"""A log of many finished sessions, as nights of work would leave it: one scripted session, copied with other names and pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.store.record_chain import ZEROS, seal
from tests.recorded import SMALL, recorded

FIRST_DAY = datetime(2020, 1, 1, 2, 15, tzinfo=UTC)
EVENTS = {**SMALL, "iterations": 1, "gap_rounds": 0}
A_NIGHT = 40  # sessions
QUESTION = "How do pumps of make {0} behave?"


def question_id(number: int) -> str:
    """Return the id of the query that the session ``number`` (from 0) is about."""
    return f"pumps-{number}"


def write(events: Path, sessions: int, first: int = 0) -> int:
    """Write the segments of that many sessions, from number ``first`` on, below the log's folder; return how many events.

    They are sealed as the store seals them but not synced one by one: what is measured is reading. One night holds ``A_NIGHT``
    sessions.
    """
    store = recorded(**EVENTS)
    datas = [record.data for record in store.load("s1")]
    for number in range(first, first + sessions):
        _write_session(events, number, datas)
    return sessions * len(datas)


def session_id(number: int) -> str:
    """Return the id of the session ``number`` (from 0)."""
    return f"{_day(number):%Y-%m-%d}-pumps-{number}-{number:04x}"


def _day(number: int) -> datetime:
    return FIRST_DAY + timedelta(days=number // A_NIGHT)


def _write_session(events: Path, number: int, datas: list[bytes]) -> None:
    folder = events / "sessions" / session_id(number) / "events"
    folder.mkdir(parents=True)
    lines, prev = [], ZEROS
    for data in datas:
        line, prev = seal(_renamed(data, number), prev)
        lines.append(line)
    (folder / f"000001-run-{number}.jsonl").write_bytes(b"".join(lines))


def _renamed(data: bytes, number: int) -> bytes:
    changes = (
        ('"session_id":"s1"', f'"session_id":"{session_id(number)}"'),
        ('"run_id":"run-1"', f'"run_id":"run-{number}"'),
        ('"query":"How do pumps behave?"', f'"query":"{QUESTION.format(number)}"'),
        ('"query_id":"pumps"', f'"query_id":"{question_id(number)}"'),
        ("2026-11-21T", f"{_day(number):%Y-%m-%d}T"),
        ("corpus:page-", f"corpus:make-{number}/page-"),
    )
    for old, new in changes:
        data = data.replace(old.encode(), new.encode())
    return data
