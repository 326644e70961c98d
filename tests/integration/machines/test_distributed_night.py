"""The commands of the chapter on many machines, as processes: workers in folders of their own, one of them killed."""

from __future__ import annotations

import json
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from pipeline.domain.events.session_events import CallSent
from pipeline.search.providers import Brave
from pipeline.wiring.store_adapters import store_of
from tests.commanding import said, workspace_in
from tests.forking import PATIENCE_S, Command
from tests.integration.stage import KEYS, events_of, queue_text
from tests.standin.fixtures import hosted
from tests.standin.options import Options

pytest.importorskip("psycopg")

CHAPTER = Path(__file__).parents[3] / "docs" / "several-machines.md"
TWO = "  - {query: How deep is the harbour?, mode: fast}\n  - {query: Where do ships wait at night?, mode: fast}\n"


@contextmanager
def begun(folder: Path, machine: str, *arguments: str, **env: str) -> Iterator[Command]:
    """A command on that machine, which is ended afterwards if it did not end by itself."""
    command = Command(folder, *arguments, env={"RESEARCH_MACHINE": machine, **env})
    try:
        yield command
    finally:
        if command.code is None:
            command.send(signal.SIGTERM)
        command.ended()


def until(holds: Callable[[], bool]) -> None:
    """Wait, however slow the machine is."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _here(postgres_store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RESEARCH_STORE": postgres_store_url, "RESEARCH_MACHINE": "here"}.items():
        monkeypatch.setenv(name, value)


def copied(run: Path) -> dict[str, Path]:
    """The folders of three machines that have the same questions and documents."""
    folders = {"run": run} | {name: run.with_name(name) for name in ("north", "south")}
    for name in ("north", "south"):
        shutil.copytree(run, folders[name])
    return folders


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    return copied(workspace_in(tmp_path / "run", TWO))


def test_the_two_commands_of_the_chapter_research_the_sample_queue_also_when_a_worker_is_killed(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["research store init", "research work", "research run --distribute"]
    lines = [line.partition("#")[0].rstrip() for line in CHAPTER.read_text().splitlines()]
    assert [line for line in lines if line in wanted] == wanted
    monkeypatch.setenv("RESEARCH_STORE", postgres_url)
    assert said(tmp_path / "run", "init").code == 0
    folders = copied(tmp_path / "run")
    assert "research store init" in said(folders["run"], "run", "--distribute").err
    assert said(folders["run"], "store", "init").code == 0
    with (
        begun(folders["north"], "north", "work", "--lease", "2s", "--sessions", "2") as north,
        begun(folders["south"], "south", "--json", "work", "--lease", "2s", "--sessions", "1") as south,
        begun(folders["run"], "here", "--json", "run", "--distribute") as running,
    ):
        until(lambda: "plan.created" in north.err or running.code is not None)
        north.send(signal.SIGKILL)
        assert running.ended() == 0, running.err
        doctor = said(folders["south"], "doctor").out
    assert json.loads(south.out) == {"exit_code": 143}
    account = json.loads(running.out)
    assert (account["done"], account["failed"], account["open"]) == (5, 0, 0)
    assert "on north" in running.err
    assert "on south" in running.err
    assert "Z  how-does-an-append-only-log-survive-a     plan.created" in running.err, "a question is shown by its own id"
    assert all((folders["run"] / entry["report"]).exists() for entry in account["ended"])
    assert list((folders["north"] / "vault").glob("reports/**/*.md")) == [], "the vault is built by the run alone"
    assert re.findall("workers are connected: (.*)", doctor) == ["south"]


def test_a_night_whose_run_is_killed_for_good_goes_on_and_is_built_by_a_worker_that_builds(folders: dict[str, Path]) -> None:
    with (
        begun(folders["north"], "north", "work", "--sessions", "1") as north,
        begun(folders["run"], "here", "run", "--distribute") as running,
    ):
        until(lambda: "plan.created" in north.err or running.code is not None)
        north.send(signal.SIGSTOP)  # so that the night is not over before another command has started
        alone = said(folders["run"], "run")
        running.send(signal.SIGKILL)
        north.send(signal.SIGKILL)
    assert alone.code == 11, alone.err
    last_run = folders["south"] / "events" / "local" / "last-run.json"
    with begun(folders["south"], "south", "work", "--builds", "--lease", "2s"):
        until(last_run.exists)
    assert json.loads(last_run.read_text())["done"] == 2
    assert len(list((folders["south"] / "vault").glob("reports/**/*.md"))) == 2
    assert "nothing to do" in said(folders["run"], "run", "--distribute").out
    assert said(folders["run"], "verify").code == 0


def test_a_worker_begins_and_builds_the_night_by_its_schedule_and_the_dashboard_shows_the_queue(folders: dict[str, Path]) -> None:
    last_run = folders["north"] / "events" / "local" / "last-run.json"
    each_second = ("--schedule", "* * * * * *")  # the sixth field
    with begun(folders["north"], "north", "work", "--builds", *each_second) as working:
        until(lambda: last_run.exists() or working.code is not None)
    assert json.loads(last_run.read_text())["done"] == 2
    refused = said(folders["run"], "work", "--schedule", "at night")
    assert (refused.code, "is no schedule" in refused.err) == (2, True)
    with begun(folders["run"], "here", "work", "--dashboard") as dashboard:
        until(lambda: "research" in dashboard.out)


def test_without_a_database_the_commands_say_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESEARCH_STORE", "files")
    (tmp_path / "queries.yaml").write_text("queries:\n  - How do pumps behave?\n")
    for command in (("run", "--distribute"), ("work",)):
        refused = said(tmp_path, *command)
        assert (refused.code, "store: postgresql://ROLE@HOST/DATABASE" in refused.err) == (2, True)


def test_the_night_s_cap_holds_over_all_workers_and_killed_runs(folders: dict[str, Path]) -> None:
    cap = 0.25
    queries = "".join(f"  - How do {one} in cold climates behave?\n" for one in ("heat pumps", "stone kilns", "river locks"))
    with hosted(Options(latency_s=0.03)) as standin:
        for folder in folders.values():
            (folder / "queries.yaml").write_text(queue_text(standin, queries=queries, limits=f"cost_usd: {cap}, concurrency: 2"))
        with ExitStack() as stack:
            for machine in ("north", "south"):
                stack.enter_context(begun(folders[machine], machine, "work", "--sessions", "2", **KEYS))
            for wait_s in (1.0, 1.0, PATIENCE_S):
                run = Command(folders["run"], "run", "--distribute", "--worker-wait", "10s", env=KEYS)
                run.ended(wait_s)
                run.send(signal.SIGKILL)
                run.ended()
        charged = standin.log.charged().usd + Brave.price * len(standin.log.of("brave"))
    events = events_of(store_of(folders["run"]))
    worst = max((event.worst.usd for event in events if isinstance(event, CallSent)), default=0.0)
    assert 0 < worst < cap
    assert 0 < charged <= cap + 2 * worst
