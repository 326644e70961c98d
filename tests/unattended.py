"""Nights in processes of their own: how one is started, listened to and ended."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.night_events import BatchEnded, QueryEnded
from pipeline.store.file_store import FileStore
from tests.fakes import batches

ROOT = Path(__file__).parent.parent
KEY = "sk-or-v1-canary0standin0secret0"
PATIENCE_S = 60
# SIGINT is ignored in what a shell starts in the background, and so it would be in everything below.
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from pipeline.engine import run_context; run_context.GRACE_S = float(sys.argv.pop(1))\n"
    "from pipeline.cli.main import main; main()"
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
    asked = [sys.executable, "-m", "tests.standin", str(latency_s)]
    with subprocess.Popen(asked, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        yield Server(found[0])
        process.kill()


@pytest.fixture(scope="module")
def slow() -> Iterator[Server]:
    yield from serving(0.6)


@pytest.fixture(scope="module")
def stuck() -> Iterator[Server]:
    yield from serving(3_600)


def workspace(folder: Path, server: Server | None = None, questions: int = 2) -> Path:
    (folder / "corpus").mkdir(parents=True)
    for number in (1, 2):
        text = f"The harbour is {10 + number} metres deep at pier № 0, № 1 and № 2 at low tide. Ships wait outside at night."
        (folder / "corpus" / f"harbour-{number}.md").write_text(f"# Harbour {number}\n\n{text}\n", "utf-8")
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
    batch = max(batches(store))
    events = list(decode_all(record.data for record in store.load(batch)))
    (end,) = [event for event in events if isinstance(event, BatchEnded)]
    return [event for event in events if isinstance(event, QueryEnded)], end


@dataclass
class Running:
    """A run of the program whose messages are read as they come."""

    process: subprocess.Popen[bytes]
    heard: bytes = b""
    printed: bytes = b""

    def until(self, text: str) -> None:
        self.heard = self._read(self.process.stderr, text, self.heard, PATIENCE_S)
        assert text.encode() in self.heard, self.heard.decode()

    def has_printed(self, text: str, within_s: float = PATIENCE_S) -> bool:
        self.printed = self._read(self.process.stdout, text, self.printed, within_s)
        return text.encode() in self.printed

    def _read(self, stream: IO[bytes] | None, text: str, seen: bytes, within_s: float) -> bytes:
        """Return what a stream says until ``text`` is in it, it ends, or the time is over."""
        assert stream is not None
        end = time.monotonic() + within_s
        while text.encode() not in seen and select.select([stream], [], [], max(0.0, end - time.monotonic()))[0]:
            data = os.read(stream.fileno(), 65_536)
            if not data:
                break
            seen += data
        return seen

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, (self.printed + out).decode(), (self.heard + err).decode()


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
