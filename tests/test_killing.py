"""``kill -9`` of a real process over a real store: nothing recorded is lost, nothing answered is asked again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.ops.citation_audit import check
from pipeline.store.file_store import FileStore
from tests.fakes import event_names, report_bytes
from tests.killing import SESSION

ROOT = Path(__file__).parent.parent


class Victim:
    """The process of ``tests.killing``, the folder that it is at work in, and what the log and the journal there say."""

    def __init__(self, folder: Path, stdin: IO[str], stdout: IO[str]) -> None:
        self.folder, self._in, self._out = folder, stdin, stdout
        self.recorded_before: list[set[str]] = []

    def do(self, command: str) -> str:
        """Note what is recorded now, have one child do the command, return how it ended."""
        self.recorded_before.append(self.recorded())
        self._in.write(f"{command}\n")
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


def test_killed_after_every_single_event_the_session_ends_in_the_same_report(tmp_path: Path) -> None:
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
    with victim(tmp_path / "undisturbed") as process:
        assert process.do("run") == "exit 0"
        undisturbed = process.state()
    deaths = 0
    with victim(tmp_path / "killed") as process:
        while process.do(f"event {process.state().version + 2}") == "killed":
            deaths += 1
    assert deaths > 30
    state = process.state()
    assert state.status == "complete"
    assert report_bytes(state) == report_bytes(undisturbed)
    assert process.asked_again() == []
    assert check(state, FileStore(process.folder / "events")).unsupported == ()
