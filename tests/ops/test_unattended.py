"""What surrounds unattended work: the lock, the log file, the ping, and how it all ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.cli.researching import run_async
from pipeline.errors import WorkspaceLocked
from pipeline.ops import console_output as consoles
from pipeline.ops.console_output import LOG_FILE, Console
from pipeline.ops.unattended import unattended_run
from pipeline.system.process_lock import WorkspaceLock
from tests.ops.listening import Listener
from tests.ops.test_monitor_ping import monitor

__all__ = ["monitor"]


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    yield Console(tmp_path, quiet=False, verbose=False, as_json=False, color=False)
    consoles._masks.clear()


def log_of(console: Console) -> str:
    path = console.folder / LOG_FILE
    return path.read_text("utf-8") if path.exists() else ""


def test_a_shift_in_which_nothing_happens_leaves_nothing_behind(console: Console) -> None:
    with unattended_run(console, "research run"):
        pass
    assert [path.name for path in console.folder.iterdir()] == ["queries.yaml"]


def test_the_last_word_stands_in_the_log_file_with_the_exit_code(console: Console) -> None:
    def night() -> None:
        with unattended_run(console, "research run") as run:
            run.summary_line = "2 reports"
            consoles.end(3)

    with pytest.raises(SystemExit):
        night()
    assert "research run ended: 2 reports; exit code 3" in log_of(console)


def test_a_fault_of_the_program_leaves_its_traceback_and_is_told_to_the_monitor(console: Console, monitor: Listener) -> None:
    (console.folder / "ping").write_text(monitor.url)
    with pytest.raises(ZeroDivisionError), unattended_run(console, "research run", console.folder / "ping"):
        _ = 1 / 0
    assert "ZeroDivisionError: division by zero" in log_of(console)
    assert monitor.heard[-1][0].endswith("/1")
    assert monitor.heard[-1][2]["summary"] == "unexpected ZeroDivisionError"


def test_a_lock_that_is_not_given_back_in_time_is_refused(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    with (
        WorkspaceLock(console.folder / "events", "research run"),
        unattended_run(console, "research retry") as run,
        pytest.raises(WorkspaceLocked),
        run.lock(timedelta(seconds=0.3)),
    ):
        pass
    assert capsys.readouterr().err.count("waiting up to") == 1


def test_who_waits_for_the_lock_can_be_stopped(console: Console) -> None:
    def night() -> None:
        with WorkspaceLock(console.folder / "events"), unattended_run(console, "run") as run:
            run.stop.ask("stopped by SIGTERM", 143)
            with run.lock(timedelta(hours=1)):
                pass

    with pytest.raises(SystemExit) as ended:
        night()
    assert ended.value.code == 143


def test_signals_are_heard_while_work_is_awaited_and_told(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    async def work(stopped: asyncio.Event) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        await stopped.wait()
        return "done"

    async def until_stopped() -> str:
        stopped = asyncio.Event()
        waiting = asyncio.create_task(run.stop.wait())
        waiting.add_done_callback(lambda _task: stopped.set())
        return await work(stopped)

    with unattended_run(console, "research run") as run:
        assert run_async(run, until_stopped()) == "done"
    assert "stopped by SIGTERM; current calls have 10 s" in capsys.readouterr().err
    assert "no new call is started" in log_of(console)
