"""``kill -9`` of a real process over a real store: nothing recorded is lost, nothing answered is asked again."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.ops.citation_audit import check
from pipeline.store.files import FileStore
from tests.fakes import event_names, report_bytes
from tests.killing import SESSION
from tests.seeds import FULL, SEED

ROOT = Path(__file__).parent.parent
PARTS, KILLS = 12 if FULL else 2, 10


class Victim:
    """The process of ``tests.killing``, the folder that it is at work in, and what the log and the journal there say."""

    def __init__(self, folder: Path, stdin: IO[str], stdout: IO[str]) -> None:
        self.folder, self._in, self._out = folder, stdin, stdout
        self._name = "."
        self.recorded_before: list[set[str]] = []

    def turn_to(self, name: str) -> None:
        """Go on with a session in a new folder beside the last one."""
        self.folder = (self.folder if self._name == "." else self.folder.parent) / name
        self.folder.mkdir()
        self._name = name

    def do(self, command: str) -> str:
        """Note what is recorded now, have one child do the command, return how it ended."""
        self.recorded_before.append(self.recorded())
        self._in.write(f"{self._name} {command}\n")
        self._in.flush()
        return self._out.readline().strip()

    def recorded(self) -> set[str]:
        records = FileStore(self.folder / "events").load(SESSION)
        return event_names(list(decode_all(record.data for record in records)), {})

    def state(self) -> SessionState:
        return ResearchSession.open(FileStore(self.folder / "events"), SESSION).state

    def asked_again(self) -> list[str]:
        """The calls of a child for an answer that was recorded before the child began."""
        calls = [line.split(" ", 1) for line in (self.folder / "calls").read_text().splitlines()]
        return [name for child, name in calls if name in self.recorded_before[int(child) - 1]]


@contextmanager
def victim(folder: Path) -> Iterator[Victim]:
    command = [sys.executable, "-m", "tests.killing", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Victim(folder, cast(IO[str], process.stdin), cast(IO[str], process.stdout))
        finally:
            cast(IO[str], process.stdin).close()


class Undisturbed(NamedTuple):
    """A session that nobody killed: how it ended, and how many seconds it took on this machine now."""

    state: SessionState
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("undisturbed")
    with victim(folder) as process:
        start = time.monotonic()
        assert process.do("run") == "exit 0"
        return Undisturbed(process.state(), time.monotonic() - start)


def assert_the_same_outcome(process: Victim, undisturbed: Undisturbed) -> None:
    state = process.state()
    assert state.status == "complete"
    assert report_bytes(state) == report_bytes(undisturbed.state)
    assert process.asked_again() == []
    assert check(state, FileStore(process.folder / "events")).unsupported == ()


def test_killed_after_every_single_event_the_session_ends_in_the_same_report(tmp_path: Path, undisturbed: Undisturbed) -> None:
    deaths = 0
    with victim(tmp_path) as process:
        while process.do(f"event {process.state().version + 2}") == "killed":
            deaths += 1
        assert_the_same_outcome(process, undisturbed)
    assert deaths > 30


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_random_instants_the_session_ends_in_the_same_report(
    part: int, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    chance = random.Random(f"{SEED} {part}")
    kills = sessions = 0
    with victim(tmp_path) as process:
        while kills < KILLS:
            sessions += 1
            assert sessions < 10 * KILLS
            process.turn_to(str(sessions))
            while process.do(f"after {chance.uniform(0.001, undisturbed.seconds):.4f}") == "killed":
                kills += 1
            assert_the_same_outcome(process, undisturbed)
