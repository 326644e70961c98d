"""What the doctor says of the machines that share a queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config.settings import load_workspace
from pipeline.domain.distribution.jobs import SeenWorker, WorkerProcess
from pipeline.ops.doctor.queue_checks import clock_finding, queue_findings, worker_findings

ALIVE = SeenWorker(WorkerProcess("w1", "north", 4, 30.0), 2.0, 3)


def test_clocks_that_differ_by_more_than_a_few_seconds_are_named_with_the_direction() -> None:
    assert clock_finding(-4.0).level == "ok"
    ahead, behind = clock_finding(90.0), clock_finding(-90.0)
    assert (ahead.level, behind.level) == ("note", "note")
    assert "90 s ahead of" in ahead.text
    assert "90 s behind" in behind.text


def test_each_worker_is_listed_and_a_lost_one_with_what_happens_to_its_sessions() -> None:
    alive, lost = worker_findings([ALIVE, replace(ALIVE, silent_s=400.0)])
    assert (alive.level, lost.level) == ("ok", "note")
    assert "3 sessions of up to 4" in alive.text
    assert "400 s ago" in lost.text


def test_a_worker_that_is_gone_without_a_session_is_told_only_if_no_other_runs_on_its_machine() -> None:
    gone = replace(ALIVE, silent_s=400.0, jobs=0)
    (alone,) = worker_findings([gone])
    assert alone.level == "note"
    assert "sessions" not in alone.text + alone.todo
    (alive,) = worker_findings([ALIVE, gone])
    assert alive.level == "ok"


def test_of_workers_with_one_name_it_is_said_how_to_tell_them_apart() -> None:
    *_, last = worker_findings([ALIVE, ALIVE])
    assert last.text == "2 workers go by the name north; RESEARCH_MACHINE gives a worker another name"


def test_of_many_workers_the_first_are_listed_and_the_others_counted() -> None:
    many = [replace(ALIVE, worker=replace(ALIVE.worker, machine=f"m{number}")) for number in range(12)]
    assert [finding.text for finding in worker_findings(many)][-1] == "2 further workers"


def test_a_workspace_with_files_has_no_queue_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    monkeypatch.delenv("RESEARCH_STORE", raising=False)
    assert list(queue_findings(load_workspace(tmp_path))) == []


def test_the_queue_in_a_database_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_store_url: str) -> None:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    monkeypatch.setenv("RESEARCH_STORE", postgres_store_url)
    (finding,) = queue_findings(load_workspace(tmp_path))
    assert finding.text == "the clocks of this machine and of the database agree"
