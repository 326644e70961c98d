"""A night in a process of its own: real signals, real terminals, and the poor surroundings that cron gives it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.codec import decode_all
from pipeline.console import LOG_FILE
from pipeline.night_events import BatchEnded, QueryEnded
from pipeline.store.files import FileStore
from tests.test_ping import CHECK, Monitor

ROOT = Path(__file__).parent.parent
KEY = "sk-or-v1-canary0standin0secret0"
PATIENCE_S = 60
# SIGINT is ignored in what a shell starts in the background, and so it would be in everything below.
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from pipeline import stopping; stopping.GRACE_S = float(sys.argv.pop(1))\n"
    "from pipeline.cli import main; main()"
)
BARE = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def command(folder: Path, *args: str, grace_s: float = 10) -> list[str]:
    return [sys.executable, "-c", START, str(grace_s), "-C", str(folder), *args]


def said(folder: Path, *args: str, env: Mapping[str, str] = BARE) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(folder, *args), env=dict(env), capture_output=True, check=False, timeout=PATIENCE_S)


@dataclass
class Server:
    """The stand-in, as a process: what stops at a signal must not be in this one."""

    url: str


def serving(latency_s: float) -> Iterator[Server]:
    asked = [sys.executable, "-m", "tests.standin", "--port", "0", "--latency", str(latency_s)]
    with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        yield Server(found[0])
        process.kill()


@pytest.fixture(scope="module")
def slow() -> Iterator[Server]:
    yield from serving(0.2)


@pytest.fixture(scope="module")
def stuck() -> Iterator[Server]:
    yield from serving(3_600)


def workspace(folder: Path, server: Server | None = None, questions: int = 2) -> Path:
    (folder / "corpus").mkdir(parents=True)
    for number in (1, 2):
        text = f"The harbour is {10 + number} metres deep at low tide. Ships wait outside the harbour at night."
        (folder / "corpus" / f"harbour-{number}.md").write_text(f"# Harbour {number}\n\n{text}\n")
    model = f'{{model: standin/model, base_url: "{server.url}/api/v1", key: STANDIN_API_KEY}}' if server else "extractive"
    entries = "".join(
        f'  - {{query: "How deep is the harbour, pier № {n}?", id: harbour-{n}, mode: fast}}\n' for n in range(questions)
    )
    (folder / "queries.yaml").write_text(f"settings:\n  reasoner: {model}\n  search: [local]\nqueries:\n{entries}", "utf-8")
    (folder / ".env").write_text(f"STANDIN_API_KEY={KEY}\n")
    (folder / ".env").chmod(0o600)
    return folder


def night_of(folder: Path) -> tuple[list[QueryEnded], BatchEnded]:
    store = FileStore(folder / "events")
    batch = max(store.batch_ids())
    events = list(decode_all(record.data for record in store.load(batch)))
    (end,) = [event for event in events if isinstance(event, BatchEnded)]
    return [event for event in events if isinstance(event, QueryEnded)], end


@dataclass
class Running:
    """A run of the program whose messages are read as they come."""

    process: subprocess.Popen[bytes]
    heard: bytes = b""

    def until(self, text: str) -> None:
        patience = time.monotonic() + PATIENCE_S
        assert self.process.stderr is not None
        while text.encode() not in self.heard:
            assert time.monotonic() < patience, self.heard.decode()
            data = os.read(self.process.stderr.fileno(), 65_536)
            assert data, self.heard.decode()
            self.heard += data

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out.decode(), (self.heard + err).decode()


@pytest.fixture
def start() -> Iterator[Any]:
    begun: list[subprocess.Popen[bytes]] = []

    def starting(folder: Path, *args: str, grace_s: float = 10, env: Mapping[str, str] = BARE, **more: Any) -> Running:
        asked = command(folder, *args, grace_s=grace_s)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        begun.append(subprocess.Popen(asked, env=dict(env), **pipes))
        return Running(begun[-1])

    yield starting
    for process in begun:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


# ---- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_the_first_signal_ends_the_night_in_order_and_the_next_night_goes_on(
    number: signal.Signals, code: int, tmp_path: Path, slow: Server, start: Any
) -> None:
    folder = workspace(tmp_path / "ws", slow)
    run = start(folder, "run")
    run.until("plan.created")
    run.process.send_signal(number)
    returned, out, err = run.ended()
    assert returned == code
    assert out.splitlines()[-1] == f"0 reports, 0 failed, 2 open, 0 skipped; exit code {code}"
    assert f"stopped by {number.name}" in err
    ended, end = night_of(folder)
    assert {(event.status, event.cause) for event in ended} == {("interrupted", "stopped")}
    assert end.exit_code == code
    assert json.loads((folder / "events" / "local" / "last-run.json").read_text())["exit_code"] == code
    assert list((folder / "vault" / "nights").glob("*.md"))
    assert not (folder / "events" / "local" / "run.lock").exists()
    assert "stopped by" in (folder / LOG_FILE).read_text("utf-8")
    assert said(folder, "verify").returncode == 0
    again = said(folder, "run")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, b"2 reports, 0 failed, 0 skipped; exit code 0")


def test_a_terminal_that_hangs_up_stops_the_night_in_order(tmp_path: Path, slow: Server) -> None:
    folder = workspace(tmp_path / "ws", slow)
    pid, leader = pty.fork()
    if pid == 0:
        asked = command(folder, "run")
        os.execve(asked[0], asked, {**BARE, "TERM": "xterm"})  # noqa: S606 - its terminal is to be the new one
    shown = b""
    while b" steps" not in shown:
        assert select.select([leader], [], [], PATIENCE_S)[0]
        shown += os.read(leader, 65_536)
    os.close(leader)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 143
    assert night_of(folder)[1].exit_code == 143
    assert list((folder / "vault" / "nights").glob("*.md"))
    assert "exit code 143" in (folder / LOG_FILE).read_text("utf-8")


def test_the_second_signal_ends_the_night_at_once_and_nothing_is_lost(tmp_path: Path, stuck: Server, start: Any) -> None:
    folder = workspace(tmp_path / "ws", stuck)
    run = start(folder, "run", grace_s=3_600)
    run.until("research.started")
    run.process.send_signal(signal.SIGTERM)
    run.until("once more ends it at once")
    time.sleep(0.3)  # less than that after the first, it would be an echo of it
    run.process.send_signal(signal.SIGTERM)
    assert run.ended()[0] == 143
    assert said(folder, "verify").returncode == 0
    assert b"interrupted" in said(folder, "list").stdout


def test_what_never_answers_is_given_up_after_the_grace(tmp_path: Path, stuck: Server, start: Any) -> None:
    folder = workspace(tmp_path / "ws", stuck)
    run = start(folder, "run", grace_s=0.1)
    run.until("research.started")
    run.process.send_signal(signal.SIGTERM)
    assert run.ended()[0] == 143


def test_the_night_ends_by_its_deadline_whatever_never_answers(tmp_path: Path, stuck: Server) -> None:
    folder = workspace(tmp_path / "ws", stuck)
    queue = (folder / "queries.yaml").read_text("utf-8")
    (folder / "queries.yaml").write_text(queue.replace("settings:\n", "settings:\n  limits: {timeout: 2s}\n"), "utf-8")
    done = subprocess.run(command(folder, "run", grace_s=0.1), env=BARE, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 3
    ended, end = night_of(folder)
    assert {(event.status, event.cause) for event in ended} == {("interrupted", "cap")}
    assert end.exit_code == 3


# ---- the lock ------------------------------------------------------------------------------------------------------


def test_a_run_is_refused_while_another_works_and_waits_for_it_if_it_is_told_to(
    tmp_path: Path, stuck: Server, start: Any
) -> None:
    folder = workspace(tmp_path / "ws", stuck, questions=1)
    first = start(folder, "run", grace_s=0.1)
    first.until("research.started")
    for refused in (said(folder, "run"), said(folder, "run", "--lock-wait", "1s")):
        assert refused.returncode == 11
        assert f"research run, process {first.process.pid} on".encode() in refused.stderr
    impatient, patient = start(folder, "run", "--lock-wait", "10m"), start(folder, "-v", "run", "--lock-wait", "10m", grace_s=0.1)
    for waiting in (impatient, patient):
        waiting.until("waiting")
    for run, sign_of_life in ((impatient, ""), (first, ""), (patient, "run.started")):
        run.until(sign_of_life)
        run.process.send_signal(signal.SIGTERM)
        assert run.ended()[0] == 143


# ---- poor surroundings ---------------------------------------------------------------------------------------------

ASCII = {**BARE, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("env", [BARE, {**ASCII, "TERM": "dumb", "NO_COLOR": "yes please"}, {**BARE, "LC_ALL": "nowhere"}])
def test_without_home_language_or_terminal_everything_is_said(env: dict[str, str], tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    done = said(folder, "run", env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == b"2 reports, 0 failed, 0 skipped; exit code 0"
    lines = done.stderr.splitlines()
    stamped = [line for line in lines if re.match(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  harbour-", line)]
    assert len(stamped) >= 4
    assert b"\x1b" not in done.stderr + done.stdout
    for args in (["list"], ["log", "harbour-0"], ["--json", "show", "harbour-0"]):
        assert said(folder, *args, env=env).returncode == 0, args


def test_cron_hears_nothing_of_a_night_that_goes_well_and_all_of_one_that_fails(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    done = said(folder, "-q", "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with (folder / "queries.yaml").open("a") as queue:
        queue.write("  - {query: 'Zyzzyva quokka xylophone?', id: none}\n")
    failed = said(folder, "-q", "run")
    assert failed.returncode == 1
    assert failed.stdout.splitlines()[-1] == b"0 reports, 1 failed, 0 skipped; exit code 1"
    assert failed.stderr == b""


def test_each_step_is_told_when_that_is_wanted(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws", questions=1)
    told = said(folder, "-v", "run").stderr.decode()
    assert {"page.read", "facts.observed", "section.written"} <= {
        line.split()[2] for line in told.splitlines() if "harbour-0" in line
    }


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", ">&- 2>&-"])
def test_messages_that_go_nowhere_stop_no_night(closed: str, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    script = f'exec "$0" "$@" {closed}'
    done = subprocess.run(["/bin/sh", "-c", script, *command(folder, "run")], env=BARE, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0
    assert night_of(folder)[1].done == 2


def test_a_reader_that_goes_away_stops_no_night(tmp_path: Path, start: Any) -> None:
    folder = workspace(tmp_path / "ws")
    reading, writing = os.pipe()
    os.close(reading)
    run = start(folder, "run", stderr=writing)
    os.close(writing)
    assert run.process.wait(PATIENCE_S) == 0
    assert night_of(folder)[1].done == 2


# ---- a terminal ----------------------------------------------------------------------------------------------------


def on_a_terminal(asked: Sequence[str], env: Mapping[str, str]) -> tuple[int, bytes]:
    """Run with stderr and stdout on a terminal; return the exit code and all that was shown."""
    leader, follower = pty.openpty()
    with subprocess.Popen(asked, env=dict(env), stdout=follower, stderr=follower, stdin=follower) as process:
        os.close(follower)
        shown = b""
        while select.select([leader], [], [], PATIENCE_S)[0]:
            try:
                data = os.read(leader, 65_536)
            except OSError:
                break
            if not data:
                break
            shown += data
    os.close(leader)
    return process.returncode, shown


def test_a_terminal_shows_bars_and_gets_its_cursor_back(tmp_path: Path, slow: Server) -> None:
    code, shown = on_a_terminal(command(workspace(tmp_path / "ws", slow), "run"), {**BARE, "TERM": "xterm-256color"})
    assert code == 0
    assert b"\x1b[3" in shown
    assert re.search(rb"\d of 2 sessions, \d+ steps?, \d\.\d{4} USD", shown)
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l") > -1
    assert shown.splitlines()[-1] == b"2 reports, 0 failed, 0 skipped; exit code 0"


@pytest.mark.parametrize("more", [{"TERM": "dumb"}, {"TERM": ""}, {}])
def test_a_terminal_that_cannot_draw_gets_lines(more: dict[str, str], tmp_path: Path) -> None:
    code, shown = on_a_terminal(command(workspace(tmp_path / "ws"), "run"), {**BARE, **more, "NO_COLOR": "1"})
    assert code == 0
    assert b"\x1b" not in shown
    assert b"research.completed" in shown


def test_without_colours_bars_are_drawn_without_them(tmp_path: Path, slow: Server) -> None:
    folder = workspace(tmp_path / "ws", slow)
    code, shown = on_a_terminal(command(folder, "run"), {**BARE, "TERM": "xterm-256color", "NO_COLOR": "anything"})
    assert code == 0
    assert b"of 2 sessions" in shown
    assert not re.search(rb"\x1b\[[0-9;]*3[0-9][0-9;]*m", shown)


# ---- looking on ----------------------------------------------------------------------------------------------------


def test_a_night_can_be_looked_at_while_it_runs(tmp_path: Path, slow: Server, start: Any) -> None:
    folder = workspace(tmp_path / "ws", slow)
    night = start(folder, "run")
    night.until("research.started")
    following = start(folder, "log", "--follow", "harbour-0")
    everything = start(folder, "--json", "log", "--follow")
    while night.process.poll() is None:
        shown = said(folder, "--json", "show", "harbour-0")
        assert shown.returncode == 0, shown.stderr
    assert night.ended()[0] == 0
    code, out, err = following.ended()
    assert (code, err) == (0, "")
    stored = said(folder, "log", "harbour-0").stdout.decode()
    assert out == stored
    time.sleep(1)
    everything.process.send_signal(signal.SIGINT)
    code, out, err = everything.ended()
    assert (code, err) == (130, "")
    seen = [json.loads(line) for line in out.splitlines()]
    assert {"research.completed", "batch.ended"} <= {event["type"] for event in seen}
    assert len({(event["session_id"], event["version"]) for event in seen}) == len(seen)


# ---- a monitor -----------------------------------------------------------------------------------------------------


@pytest.fixture
def monitor() -> Iterator[Monitor]:
    one = Monitor()
    yield one
    one.silence.set()
    one.server.shutdown()
    one.server.server_close()


def test_a_monitor_hears_every_ending_and_its_address_stands_nowhere(tmp_path: Path, monitor: Monitor) -> None:
    folder = workspace(tmp_path / "ws")
    (tmp_path / "ping").write_text(monitor.url)
    pinging = ("-v", "run", "--ping-url-file", str(tmp_path / "ping"))
    outputs = []
    for status in (200, 500):
        monitor.status = status
        done = said(folder, *pinging)
        outputs.append(done.stdout + done.stderr)
        assert done.returncode == 0
        (folder / "queries.yaml").write_text((folder / "queries.yaml").read_text("utf-8").replace("deep", "very deep"), "utf-8")
    monitor.status = 200
    (folder / "queries.yaml").write_text("queries:\n  - {query: Fine, mood: deep}\n")
    assert said(folder, *pinging).returncode == 2
    ends = [(path.rpartition("/")[2], body) for path, _, body in monitor.heard]
    assert next(what for what, _ in ends if what != "start") == "0"
    assert ends[1][1]["summary"] == "2 reports, 0 failed, 0 skipped"
    assert ends[-1][0] == "2"
    texts = outputs + [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(CHECK.encode() in text for text in texts)


def test_a_monitor_that_cannot_be_asked_costs_no_night(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "ws")
    done = said(folder, "run", "--ping-url-file", str(tmp_path / "missing"))
    assert done.returncode == 0
    assert b"cannot be read" in done.stderr


def test_no_key_stands_in_the_log_file(tmp_path: Path, slow: Server) -> None:
    folder = workspace(tmp_path / "ws", slow)
    assert said(folder, "-v", "run").returncode == 0
    text = (folder / LOG_FILE).read_text("utf-8")
    assert "research run begins" in text
    assert "research run ended: 2 reports" in text
    assert KEY not in text
