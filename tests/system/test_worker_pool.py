"""Processes that help: how many, and that neither they nor the one that asks outlive what they are for."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.system.worker_pool import Pool, processors

ROOT = Path(__file__).parents[2]
POOL = """
import multiprocessing, os, signal, sys, time
from pipeline.system.worker_pool import Pool
from tests.system.test_worker_pool import _busy, _place
if __name__ == "__main__":
    pool = Pool(2, "here", _place, "there")
    for work in [pool.submit(_busy, 0.1) for _ in range(2)]:
        work.result()
    helping = sorted(process.pid for process in multiprocessing.active_children())
    os.kill(helping[int(sys.argv[1])], signal.SIGKILL)
    while pool.submit(_busy, 0).result() != os.getpid():  # the pool has not noticed yet
        pass
    assert not pool.helps
    pool.close()
    print(len(helping))
"""


SCRIPT = """
print("imported")
if __name__ == "__main__":
    from pipeline.system.worker_pool import Pool
    from tests.system.test_worker_pool import _joined, _place
    pool = Pool(1, "here", _place, "there")
    print(pool.submit(_joined, "one").result())
    pool.close()
"""


def test_a_process_that_helps_does_not_import_the_module_that_was_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, tmp_path / "script.py"], env=found, capture_output=True, timeout=60, check=False)
    assert ended.stdout.split() == [b"imported", b"there", b"one"], ended.stderr


def _logging(_place: str, about: str) -> str:
    logging.getLogger("pipeline.test").warning("%s was noticed", about)
    return about


def test_what_a_process_that_helps_logs_is_logged_by_the_one_that_asks(caplog: pytest.LogCaptureFixture) -> None:
    pool = Pool(1, "here", _place, "there")
    assert [pool.submit(_logging, about).result() for about in ("one", "two")] == ["one", "two"]
    pool.close()
    assert [record.getMessage() for record in caplog.records] == ["one was noticed", "two was noticed"]


def test_no_more_processors_than_asked_for_and_at_least_one() -> None:
    assert processors(1) == 1
    assert 1 <= processors(4) <= 4


@pytest.mark.parametrize("victim", ["0", "1"])
def test_a_pool_of_which_a_process_dies_at_rest_comes_to_its_end(victim: str) -> None:
    """The one that died may have held what the other waits for; then that one must be ended."""
    ended = subprocess.run([sys.executable, "-c", POOL, victim], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"2\n", ended.stderr


def _refuse(*_given: object, **_more: object) -> None:
    raise OSError(11, "Resource temporarily unavailable")


def _place(given: str) -> str:
    return given


def _busy(_place: str, seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def _joined(place: str, about: str) -> str:
    return f"{place} {about}"


def test_where_no_process_can_be_started_the_work_is_done_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", _refuse)
    pool = Pool(2, "here", _place, "there")
    assert [pool.submit(_joined, about).result() for about in ("one", "two")] == ["here one", "here two"]
    pool.close()
    assert caplog.text.count("goes on without it") == 1


def test_work_is_done_at_the_other_processs_own_place() -> None:
    pool = Pool(1, "here", _place, "there")
    work = pool.submit(_joined, "one")
    assert (work.result(), work.done) == ("there one", True)
    pool.close()


def _named(place: str, about: Sequence[int]) -> list[tuple[str, int]]:
    return [(place, one) for one in about]


def test_shared_work_is_done_once_each_by_this_process_and_by_the_others() -> None:
    pool = Pool(1, "here", _place, "there")
    done = list(pool.shared(_named, range(500), 5, 2))
    pool.close()
    assert sorted(number for _place, number in done) == list(range(500))
    assert {place for place, _number in done} == {"here", "there"}


def test_shared_work_of_which_none_may_be_handed_over_is_done_here() -> None:
    pool = Pool(1, "here", _place, "there")
    assert list(pool.shared(_named, range(20), 5, 0)) == [("here", number) for number in range(20)]
    pool.close()
