"""For all tests: one seed, named at the end; scratch files in memory; templates compiled once, documents read by one process."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from hypothesis import settings
from jinja2 import Environment, meta

from pipeline.config import workspace_starter
from pipeline.documents.extractor import Extractor
from pipeline.search import passage_search
from pipeline.wiring import session_adapters
from tests.postgres_server import postgres_server, postgres_store_url, postgres_url
from tests.seeds import FULL, SEED

__all__ = ["postgres_server", "postgres_store_url", "postgres_url"]  # fixtures of all tests

MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own there
ROOM = 2 << 30  # bytes that must be free there
LONG = {"test_distributed_night.py", "test_deaths.py", "test_unattended.py", "test_surroundings.py", "test_nth_operation.py"}
LONG |= {"test_branches.py", "test_night_told.py", "test_odd_paths.py", "test_walks.py", "test_mcp_server.py", "test_killing.py"}


settings.register_profile("suite", deadline=None, max_examples=100 if FULL else 50)  # no test asserts a time
settings.load_profile("suite")


def pytest_configure() -> None:
    """Hand the seed on to the workers, which could start on another day, and spare them the disk and Jinja's compiler."""
    os.environ["SUITE_SEED"] = str(SEED)
    os.environ["RESEARCH_EMBEDDINGS"] = "off"  # a test that searches by meaning says so
    os.environ.pop("SSL_CERT_FILE", None)  # of this machine: each command would read its authorities
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # so it is in what a shell starts in the background, and in all below
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("_parse", "_generate"):
        setattr(Environment, name, _once(getattr(Environment, name)))
    compiled = cache(lambda source: compile(source, "<template>", "exec"))
    find, kept = meta.find_referenced_templates, KeptExtractor()
    instead: dict[tuple[Any, str], Callable[..., Any]] = {
        (Environment, "_compile"): lambda _, source, filename: _placed(compiled(source), filename),
        (meta, "find_referenced_templates"): cache(lambda tree: list(find(tree))),
        (passage_search, "Extractor"): lambda: kept,
        (session_adapters, "Extractor"): lambda: kept,
        (workspace_starter, "_current"): cache(workspace_starter._current),
    }
    for (holder, name), call in instead.items():
        setattr(holder, name, call)


def pytest_xdist_auto_num_workers() -> int | None:
    """Twice as many workers as processors, if nobody says otherwise: a quarter of the suite's time is waiting."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else 2 * (os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Begin each worker's collection with other folders: what one has compiled, the next ones only load."""
    report, worker = (yield), getattr(collector.config, "workerinput", None)
    if worker and collector.path == Path(__file__).parent:
        begin = len(report.result) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        report.result = report.result[begin:] + report.result[:begin]
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deal the long tests out to the beginnings of all workers' parts: one that began last would be waited for at the end."""
    items.sort(key=lambda item: item.path)  # the same in all workers
    workers = getattr(config, "workerinput", {"workercount": 1})["workercount"]
    long = [item for item in items if item.path.name in LONG]
    others = [item for item in items if item.path.name not in LONG]
    ends = [len(others) * worker // workers for worker in range(workers + 1)]
    items[:] = [item for worker in range(workers) for item in (*long[worker::workers], *others[ends[worker] : ends[worker + 1]])]


def pytest_collection_finish() -> None:
    """What was collected stays until the end: no collection of garbage looks through it again, which saved an eighth."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"drawn with seed {SEED}; SUITE_SEED={SEED} draws the same again")


class KeptExtractor(Extractor):
    """One process reads the documents of all commands of a worker: to start one takes as long as all that it reads."""

    def close(self) -> None:
        """Nothing: the next command reads documents too."""

    async def aclose(self) -> None:
        """Nothing, as ``close``."""


def _placed(code: CodeType, file: str) -> CodeType:
    """Return code as if it had been compiled from ``file``, which errors name."""
    parts = tuple(_placed(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=parts)


def _once(step: Callable[..., Any]) -> Callable[..., Any]:
    """Do a step of Jinja's compiler once for each template text (or its tree) and kind of environment.

    Three quarters of the time of a small site's build are Jinja's. Which file a template was read from changes nothing here.
    """
    known: dict[Any, Any] = {}

    def call(environment: Environment, source: Any, name: str | None, filename: str | None, **more: Any) -> Any:
        kind = (type(environment), environment.lexer, environment.autoescape, environment.finalize, environment.undefined)
        key = (kind, frozenset(environment.filters), frozenset(environment.globals), source, name, tuple(more.items()))
        if key not in known:
            known[key] = step(environment, source, name, filename, **more)
        return known[key]

    return call
