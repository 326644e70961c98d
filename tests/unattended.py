"""Nights in processes of their own: how one is started, listened to and ended."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.night_events import BatchEnded, QueryEnded
from pipeline.store.file_store import FileStore
from tests.fakes import batches
from tests.forking import Command
from tests.standin.fixtures import hosted
from tests.standin.options import Options
from tests.standin.server import Standin

ROOT = Path(__file__).parent.parent
KEY = "sk-or-v1-canary0standin0secret0"
PATIENCE_S = 120
Start = Callable[..., Command]
BARE = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}


def command(folder: Path, *args: str) -> list[str]:
    return [sys.executable, "-m", "pipeline", "-C", str(folder), *args]


@pytest.fixture(scope="module")
def slow() -> Iterator[Standin]:
    with hosted(Options(latency_s=0.6)) as server:
        yield server


@pytest.fixture(scope="module")
def stuck() -> Iterator[Standin]:
    with hosted(Options(latency_s=3_600)) as server:
        yield server


def workspace(folder: Path, server: Standin | None = None, questions: int = 2) -> Path:
    (folder / "corpus").mkdir(parents=True)
    for number in (1, 2):
        text = f"The harbour is {10 + number} metres deep at pier № 0, № 1 and № 2 at low tide. Ships wait outside at night."
        (folder / "corpus" / f"harbour-{number}.md").write_text(f"# Harbour {number}\n\n{text}\n", "utf-8")
    model = f'{{model: standin/model, base_url: "{server.openrouter_url}", key: STANDIN_API_KEY}}' if server else "extractive"
    entries = "".join(
        f'  - {{query: "How deep is the harbour, pier № {n}?", id: harbour-{n}, mode: fast}}\n' for n in range(questions)
    )
    (folder / "queries.yaml").write_text(f"settings:\n  reasoner: {model}\n  search: [local]\nqueries:\n{entries}", "utf-8")
    (folder / ".env").write_text(f"STANDIN_API_KEY={KEY}\n")
    (folder / ".env").chmod(0o600)
    return folder


def night_of(folder: Path) -> tuple[list[QueryEnded], BatchEnded]:
    store = FileStore(folder / "events")
    batch = max(batches(store))
    events = list(decode_all(record.data for record in store.load(batch)))
    (end,) = [event for event in events if isinstance(event, BatchEnded)]
    return [event for event in events if isinstance(event, QueryEnded)], end


@pytest.fixture
def start() -> Iterator[Start]:
    """Begin commands; those that still run at the end are killed."""
    begun: list[Command] = []

    def starting(folder: Path, *args: str, grace_s: float = 10) -> Command:
        begun.append(Command(folder, *args, grace_s=grace_s))
        return begun[-1]

    yield starting
    for command in begun:
        command.send(signal.SIGKILL)
        command.ended()
