"""A process that researches one session with scripted fakes over a real event store, and dies when told to.

Run as ``python -m tests.killing FOLDER``; it reads one command a line from standard input, forks a child for it (so that a
death costs no start-up), and prints how the child ended:

``run``      until the session has ended
``event N``  killed with SIGKILL right after the event N was acknowledged

Each call of a fake is noted in ``FOLDER/calls``, one line ``child name``, before the answer is given.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.store.file_store import FileStore
from tests.fakes import Journal, context_for, seeded_latency, started, step_context_for

SESSION = "s1"
LIMITS: dict[str, Any] = {"perspectives": 5, "iterations": 2}


def research(folder: Path, child: int, kill_after_event: int | None) -> None:
    """One run over the session in ``folder``, from wherever it stands."""
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


def main(folder: Path) -> None:
    """Serve commands until standard input ends."""
    for child, line in enumerate(sys.stdin, start=1):
        command, *value = line.split()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                research(folder, child, int(value[0]) if command == "event" else None)
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        print("killed" if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
