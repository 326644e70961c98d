"""A night in a process of its own: real signals, its lock, and the poor surroundings that cron gives it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.batch import batch_runner
from pipeline.engine import stop_and_clock
from pipeline.ops.console_output import LOG_FILE
from tests.commanding import last_run, said
from tests.forking import Command
from tests.standin.server import Standin
from tests.unattended import BARE, PATIENCE_S, ROOT, Start, command, night_of, slow, start, stuck, workspace

__all__ = ["slow", "start", "stuck"]


def asks_in_a_note(folder: Path) -> None:
    note = folder / "vault" / "my" / "a.md"
    note.parent.mkdir(parents=True)
    note.write_text("---\nid: topic:harbours\n---\n\n%% begin notes %%\nask: How deep is the harbour?\n%% end notes %%\n")


# ---- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_ends_the_night_in_order_and_the_next_night_goes_on(
    number: signal.Signals, code: int, tmp_path: Path, slow: Standin, start: Start
) -> None:
    folder = workspace(tmp_path / "ws", slow)
    asks_in_a_note(folder)
    run = start(folder, "run")
    run.until("plan.created")
    run.send(number)
    assert run.ended() == code
    assert run.out.splitlines()[-1] == f"2 unfinished, 0 skipped; exit code {code}"
    assert f"stopped by {number.name}" in run.err
    ended, end = night_of(folder)
    assert {(event.status, event.cause) for event in ended} == {("interrupted", "stopped")}
    assert end.exit_code == code
    assert last_run(folder)["exit_code"] == code
    (note,) = (folder / "vault" / "nights").glob("*.md")
    assert "2 questions due, 2 left unfinished\n" in note.read_text()
    assert not (folder / "events" / "local" / "run.lock").exists()
    assert "no new call is started" in (folder / LOG_FILE).read_text("utf-8")
    assert not (folder / "events" / "talks").exists()  # what a note asks is a new call, too
    again = said(folder, "run")
    assert (again.code, again.out.splitlines()[-1]) == (0, "2 answered, 0 skipped; exit code 0")
    assert list((folder / "events" / "talks").iterdir())


def test_a_terminal_that_hangs_up_stops_the_night_in_order(tmp_path: Path, slow: Standin) -> None:
    folder = workspace(tmp_path / "ws", slow)
    pid, leader = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a program inherits which signals are ignored: under nohup, this one
        asked = command(folder, "run")
        os.execve(asked[0], asked, {**BARE, "TERM": "xterm"})  # noqa: S606 - its terminal is to be the new one
    shown = b""
    while b"plan.created" not in shown:
        assert select.select([leader], [], [], PATIENCE_S)[0]
        shown += os.read(leader, 65_536)
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
    assert night_of(folder)[1].exit_code == 143
    assert list((folder / "vault" / "nights").glob("*.md"))
    assert "exit code 143" in (folder / LOG_FILE).read_text("utf-8")


def test_the_second_signal_ends_the_night_at_once_and_nothing_is_lost(tmp_path: Path, stuck: Standin, start: Start) -> None:
    folder = workspace(tmp_path / "ws", stuck)
    before = len(stuck.log.hits)
    run = start(folder, "run", grace_s=3_600)
    run.until("research.started")
    while len(stuck.log.hits) == before:
        time.sleep(0.05)
    run.send(signal.SIGTERM)
    run.until("a second signal ends it at once")
    time.sleep(0.3)  # less than that after the first, it would be an echo of it
    run.send(signal.SIGTERM)
    assert run.ended() == 143
    assert last_run(folder) == {"exit_code": 143, "error": "stopped by SIGTERM"}
    assert said(folder, "verify").code == 0
    assert "interrupted" in said(folder, "list").out


def test_a_build_that_a_signal_meets_does_not_keep_the_run_from_ending(tmp_path: Path, start: Start) -> None:
    """A template that never ends stands for a vault that takes long: nobody looks at the request to stop while it is made."""
    folder = workspace(tmp_path / "ws", questions=1)
    copied = folder / "templates" / "vault"
    shutil.copytree(ROOT / "templates" / "vault", copied)
    (copied / "home.md.j2").write_text("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
    run = start(folder, "-v", "run", grace_s=-3)  # with the time for closing, one second
    run.until("research.completed")
    time.sleep(2)
    run.send(signal.SIGTERM)
    assert (run.ended(), "broken off" in run.err) == (143, True), run.err
    assert last_run(folder)["error"] in run.err
    assert said(folder, "verify").code == 0
    (copied / "home.md.j2").write_bytes((ROOT / "templates" / "vault" / "home.md.j2").read_bytes())
    assert said(folder, "run").code == 0
    assert (folder / "vault" / "Home.md").is_file()


def test_the_night_ends_by_its_deadline_whatever_never_answers(
    tmp_path: Path, stuck: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace(tmp_path / "ws", stuck)
    asks_in_a_note(folder)
    queue = (folder / "queries.yaml").read_text("utf-8")
    (folder / "queries.yaml").write_text(queue.replace("settings:\n", 'settings:\n  limits: {deadline: "06:30"}\n'), "utf-8")
    monkeypatch.setattr(batch_runner, "next_at", lambda _clock, now: now + timedelta(seconds=2))
    monkeypatch.setattr(stop_and_clock, "GRACE_S", 0.1)
    late = said(folder, "run")
    assert (late.code, "topic:harbours was not answered: the deadline has passed" in late.err) == (3, True)
    ended, end = night_of(folder)
    assert {(event.status, event.cause) for event in ended} == {("interrupted", "cap")}
    assert end.exit_code == 3


# ---- the lock ------------------------------------------------------------------------------------------------------


def test_a_run_is_refused_while_another_works_and_waits_for_it_if_it_is_told_to(
    tmp_path: Path, stuck: Standin, start: Start
) -> None:
    folder = workspace(tmp_path / "ws", stuck, questions=1)
    first = start(folder, "run", grace_s=0.1)
    first.until("research.started")
    for refused in (said(folder, "run"), said(folder, "run", "--lock-wait", "1s")):
        assert refused.code == 11
        assert f"research run, process {first.process.pid} on" in refused.err
    impatient, patient = start(folder, "run", "--lock-wait", "10m"), start(folder, "-v", "run", "--lock-wait", "10m", grace_s=0.1)
    for waiting in (impatient, patient):
        waiting.until("waiting")
    for run, sign_of_life in ((impatient, ""), (first, ""), (patient, "run.started")):
        run.until(sign_of_life)
        run.send(signal.SIGTERM)
        assert run.ended() == 143


# ---- poor surroundings ---------------------------------------------------------------------------------------------

ASCII = {**BARE, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def alone(folder: Path, *args: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(folder, *args), env=dict(env), capture_output=True, check=False, timeout=PATIENCE_S)


def test_without_home_language_or_terminal_everything_is_said(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    with (folder / "queries.yaml").open("a", encoding="utf-8") as queue:  # its note has letters that are not ASCII in its name
        queue.write("  - {query: 'How deep is the harbour — 港, Häfen?', id: deep, mode: fast}\n")
    env = {**ASCII, "TERM": "dumb", "NO_COLOR": "yes please"}
    done = alone(folder, "run", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b"3 with passages, 0 skipped; exit code 0"
    lines = done.stderr.splitlines()
    stamped = [line for line in lines if re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  harbour-", line)]
    assert len(stamped) >= 4
    assert b"\x1b" not in done.stderr + done.stdout
    assert alone(folder, "--json", "show", "deep", env=env).returncode == 0
    assert alone(folder, "list", env={**BARE, "LC_ALL": "nowhere"}).returncode == 0


def test_cron_hears_nothing_of_a_night_that_goes_well_and_all_of_one_that_fails(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    done = said(folder, "-q", "run")
    assert (done.code, done.out, done.err) == (0, "", "")
    with (folder / "queries.yaml").open("a") as queue:
        queue.write("  - {query: 'Zyzzyva quokka xylophone?', id: none}\n")
    not_found = said(folder, "-q", "run")
    assert (not_found.code, not_found.out, not_found.err) == (5, "", "")  # the vault says so; nothing failed
    (folder / "corpus").rename(folder / "elsewhere")
    failed = said(folder, "-q", "run", "--retry-failed", "none")
    assert failed.code == 2
    assert failed.err


def test_messages_that_go_nowhere_stop_no_night(tmp_path: Path) -> None:
    full, closed, left = (workspace(tmp_path / name) for name in ("full", "closed", "left"))
    assert Command(full, "run", stderr=Path("/dev/full")).ended() == 0
    script = 'exec "$0" "$@" >&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", script, *command(closed, "run")], env=BARE, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    night = Command(left, "run", stderr=pipe)
    select.select([reading], [], [], PATIENCE_S)
    os.close(reading)  # a reader that goes away
    assert night.ended() == 0
    assert [night_of(folder)[1].done for folder in (full, closed, left)] == [2, 2, 2]
