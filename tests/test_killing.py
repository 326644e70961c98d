"""``kill -9`` of a real process over a real store: nothing recorded is lost, nothing answered is asked again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.ops.citation_audit import check
from pipeline.store.file_store import FileStore
from tests.fakes import Journal, context_for, event_names, report_bytes, seeded_latency, started, step_context_for
from tests.forking import FORK, PATIENCE_S

SESSION = "s1"
LIMITS: dict[str, Any] = {"perspectives": 5, "iterations": 2}


def research(folder: Path, child: int, kill_after_event: int | None) -> None:
    """One run over the session in ``folder``, from wherever it stands, killed right after that event was acknowledged.

    Each call of a fake is noted in ``FOLDER/calls``, one line ``child name``, before the answer is given.
    """
    store = FileStore(folder / "events")

    def listen(event: EventBase, _state: SessionState) -> None:
        if kill_after_event is not None and event.version >= kill_after_event:
            os.kill(os.getpid(), signal.SIGKILL)

    # one step at a time where a death after each is wanted, so that none is recorded together with others
    at_once = 8 if kill_after_event is None else 1
    context = replace(context_for(f"run-{child}", concurrency=at_once), listener=listen)
    journal = Journal(note=_noting(folder / "calls", child), latency=seeded_latency(child, 0.002))
    session = ResearchSession.open(store, SESSION)
    if session.state.status == "pending":
        Recorder(session, store, context).record(started(**LIMITS))
    asyncio.run(run_session(session, store, step_context_for(store, journal), context))


def _noting(path: Path, child: int) -> Callable[[str], None]:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(name: str) -> None:
        os.write(handle, f"{child} {name}\n".encode())

    return note


@dataclass
class Victim:
    """A session in a folder, researched by one process after the other, and what the log and the journal there say."""

    folder: Path
    recorded_before: list[set[str]] = field(default_factory=list)

    def run(self, kill_after_event: int | None = None) -> int | None:
        """Note what is recorded now, let one process research, return how it ended."""
        self.recorded_before.append(self.recorded())
        process = FORK.Process(target=research, args=(self.folder, len(self.recorded_before), kill_after_event))
        process.start()
        process.join(PATIENCE_S)
        return process.exitcode

    def recorded(self) -> set[str]:
        records = FileStore(self.folder / "events").load(SESSION)
        return event_names(list(decode_all(record.data for record in records)), {})

    def state(self) -> SessionState:
        return ResearchSession.open(FileStore(self.folder / "events"), SESSION).state

    def asked_again(self) -> list[str]:
        """The calls of a child for an answer that was recorded before the child began."""
        calls = [line.split(" ", 1) for line in (self.folder / "calls").read_text().splitlines()]
        return [name for child, name in calls if name in self.recorded_before[int(child) - 1]]


def test_killed_after_every_single_event_the_session_ends_in_the_same_report(tmp_path: Path) -> None:
    undisturbed, killed = Victim(tmp_path / "undisturbed"), Victim(tmp_path / "killed")
    for one in (undisturbed, killed):
        one.folder.mkdir()
    assert undisturbed.run() == 0
    while killed.run(killed.state().version + 2) == -signal.SIGKILL:
        pass
    assert len(killed.recorded_before) > 31
    state = killed.state()
    assert state.status == "complete"
    assert report_bytes(state) == report_bytes(undisturbed.state())
    assert killed.asked_again() == []
    assert check(state, FileStore(killed.folder / "events")).unsupported == ()
