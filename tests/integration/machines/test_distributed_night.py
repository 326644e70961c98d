"""The commands of the chapter on many machines, as processes: workers in folders of their own, one of them killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import CallSent
from pipeline.errors import UsageError
from pipeline.search.providers import Brave
from pipeline.wiring.store_adapters import store_of
from tests.integration.stage import KEYS, queue_text
from tests.standin.fixtures import hosted
from tests.standin.options import Options

pytest.importorskip("psycopg")

CHAPTER = Path(__file__).parents[3] / "docs" / "several-machines.md"


def environment(url: str, machine: str) -> dict[str, str]:
    return {**os.environ, "RESEARCH_STORE": url, "RESEARCH_MACHINE": machine}


def run(*args: str, folder: Path, url: str, machine: str = "here") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline", *args]
    return subprocess.run(command, cwd=folder, env=environment(url, machine), capture_output=True, text=True, timeout=120)


@contextmanager
def worker(folder: Path, url: str, machine: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A worker of that machine; what it says is in the file ``said`` of its folder: a pipe that nobody reads would hold it up."""
    command = [sys.executable, "-m", "pipeline", "work", *options]
    with (
        (folder / "said").open("w") as said,
        subprocess.Popen(command, cwd=folder, env=environment(url, machine), stderr=said, text=True) as process,
    ):
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)


@pytest.fixture
def folders(tmp_path: Path, postgres_url: str) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("run", "north", "south")}
    found["run"].mkdir()
    assert run("init", folder=found["run"], url=postgres_url).returncode == 0
    file = found["run"] / "queries.yaml"  # without vectors a worker is ready at once
    file.write_text(re.sub(r"^settings:.*\n", "settings:\n  embeddings: off\n", file.read_text(), count=1, flags=re.M))
    for name in ("north", "south"):
        shutil.copytree(found["run"], found[name])
    return found


def test_the_two_commands_of_the_chapter_research_the_sample_queue_also_when_a_worker_is_killed(
    folders: dict[str, Path], postgres_url: str
) -> None:
    wanted = ["research store init", "research work", "research run --distribute"]
    assert [command for command in re.findall(r"^(research .+)$", CHAPTER.read_text(), re.M) if command in wanted] == wanted
    missing = run("run", "--distribute", folder=folders["run"], url=postgres_url)
    assert "research store init" in missing.stderr
    assert run("store", "init", folder=folders["run"], url=postgres_url).returncode == 0
    distributed = [sys.executable, "-m", "pipeline", "--json", "run", "--distribute"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        worker(folders["north"], postgres_url, "north", "--lease", "2s", "--sessions", "2") as north,
        worker(folders["south"], postgres_url, "south", "--sessions", "1"),
        subprocess.Popen(distributed, cwd=folders["run"], env=environment(postgres_url, "here"), **pipes) as running,
    ):
        _until_it_works(folders["north"], running)
        north.kill()
        out, said = running.communicate(timeout=120)
        doctor = run("doctor", folder=folders["south"], url=postgres_url).stdout
    assert running.returncode == 0, said
    account = json.loads(out)
    assert (account["done"], account["failed"], account["open"]) == (5, 0, 0)
    assert "on north" in said
    assert "on south" in said
    assert all((folders["run"] / entry["report"]).exists() for entry in account["ended"])
    assert list((folders["north"] / "vault").glob("reports/**/*.md")) == [], "the vault is built by the run alone"
    assert re.findall("workers are connected: (.*)", doctor) == ["south"]


def _until_it_works(folder: Path, running: subprocess.Popen[str]) -> None:
    """Return as soon as the worker in that folder has taken a session."""
    while "plan.created" not in (folder / "said").read_text() and running.poll() is None:
        time.sleep(0.02)


def test_a_night_whose_run_is_killed_for_good_goes_on_and_is_built_by_a_worker_that_builds(
    folders: dict[str, Path], postgres_url: str
) -> None:
    assert run("store", "init", folder=folders["run"], url=postgres_url).returncode == 0
    distributed = [sys.executable, "-m", "pipeline", "run", "--distribute"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with (
        worker(folders["north"], postgres_url, "north", "--sessions", "1") as north,
        subprocess.Popen(distributed, cwd=folders["run"], env=environment(postgres_url, "here"), **quiet) as running,
    ):
        _until_it_works(folders["north"], running)
        north.send_signal(signal.SIGSTOP)  # so that the night is not over before another command has started
        alone = run("run", folder=folders["run"], url=postgres_url)
        running.kill()
        north.kill()
    assert alone.returncode == 11, alone.stderr
    with worker(folders["south"], postgres_url, "south", "--builds", "--lease", "2s"):
        until = time.monotonic() + 60
        last_run = folders["south"] / "events" / "local" / "last-run.json"
        while not last_run.exists() and time.monotonic() < until:
            time.sleep(0.2)
    assert json.loads(last_run.read_text())["done"] == 5
    assert len(list((folders["south"] / "vault").glob("reports/**/*.md"))) == 5
    assert "nothing to do" in run("run", "--distribute", folder=folders["run"], url=postgres_url).stdout
    assert run("verify", folder=folders["run"], url=postgres_url).returncode == 0


def test_a_worker_begins_and_builds_the_night_by_its_schedule_and_the_dashboard_shows_the_queue(
    folders: dict[str, Path], postgres_url: str
) -> None:
    assert run("store", "init", folder=folders["run"], url=postgres_url).returncode == 0
    each_second = ("--schedule", "* * * * * *")  # the sixth field
    with worker(folders["north"], postgres_url, "north", "--builds", *each_second) as working:
        last_run = folders["north"] / "events" / "local" / "last-run.json"
        while not last_run.exists() and working.poll() is None:  # however slow the machine is
            time.sleep(0.2)
    assert json.loads(last_run.read_text())["done"] == 5
    refused = run("work", "--schedule", "at night", folder=folders["run"], url=postgres_url)
    assert (refused.returncode, "is no schedule" in refused.stderr) == (2, True)
    command = [sys.executable, "-m", "pipeline", "work", "--dashboard"]
    shown: dict[str, Any] = {"env": environment(postgres_url, "here"), "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folders["run"], start_new_session=True, **shown) as dashboard:
        assert dashboard.stdout
        assert any("research" in line for line in dashboard.stdout)
        os.killpg(dashboard.pid, signal.SIGTERM)


def test_without_a_database_the_commands_say_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_STORE", "files")
    (tmp_path / "queries.yaml").write_text("queries:\n  - How do pumps behave?\n")
    for command in (("run", "--distribute"), ("work",)):
        refused = CliRunner().invoke(cli, ["-C", str(tmp_path), *command]).exception
        assert isinstance(refused, UsageError)
        assert "store: postgresql://ROLE@HOST/DATABASE" in refused.hint


def test_the_night_s_cap_holds_over_all_workers_and_killed_runs(
    folders: dict[str, Path], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cap, per_worker = 0.25, 2
    assert run("store", "init", folder=folders["run"], url=postgres_url).returncode == 0
    queries = "".join(f"  - How do {one} in cold climates behave?\n" for one in ("heat pumps", "stone kilns", "river locks"))
    with hosted(Options(latency_s=0.03)) as standin:
        for folder in folders.values():
            (folder / "queries.yaml").write_text(queue_text(standin, queries=queries, limits=f"cost_usd: {cap}, concurrency: 2"))
        keys = {**environment(postgres_url, "here"), **KEYS}
        options = ("--sessions", str(per_worker))
        work = [sys.executable, "-m", "pipeline", "work", *options]
        command = [sys.executable, "-m", "pipeline", "run", "--distribute", "--worker-wait", "10s"]
        with ExitStack() as stack:
            for machine in ("north", "south"):
                one = stack.enter_context(
                    subprocess.Popen(
                        work, cwd=folders[machine], env={**keys, "RESEARCH_MACHINE": machine}, stderr=subprocess.DEVNULL
                    )
                )
                stack.callback(one.terminate)
            for wait_s in (3.0, 3.0, 120.0):
                with subprocess.Popen(command, cwd=folders["run"], env=keys, stderr=subprocess.DEVNULL) as process:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(wait_s)
                    process.kill()
        charged = standin.log.charged().usd + Brave.price * len(standin.log.of("brave"))
    monkeypatch.setenv("RESEARCH_STORE", postgres_url)
    store = store_of(folders["run"])
    events = [event for name in store.ids("session") for event in decode_all(record.data for record in store.load(name))]
    worst = max((event.worst.usd for event in events if isinstance(event, CallSent)), default=0.0)
    assert 0 < worst < cap
    assert 0 < charged <= cap + 2 * worst
