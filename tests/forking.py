"""``research`` in processes of their own, forked from one that has all of it loaded: most end sooner than it takes to load it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.cli.main import main
from pipeline.engine import stop_and_clock

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.simulation.machines.worker_process", "tests.warmed"])
PATIENCE_S = 120.0


class Command:
    """``research -C folder arguments``, begun; what it prints is in files, so that nobody has to read it.

    ``stdout`` and ``stderr`` may be other files, such as a terminal. ``grace_s`` is the time that current calls have after the
    first signal.
    """

    def __init__(
        self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None, grace_s: float = 10.0, **to: Path
    ) -> None:
        self._printed = TemporaryDirectory()
        self._files = {name: Path(self._printed.name, name) for name in ("stdout", "stderr")} | to
        for file in self._files.values():
            file.touch()
        given, environment = ["research", "-C", str(folder), *arguments], {**os.environ, **(env or {})}
        self.process = FORK.Process(target=_research, args=(given, environment, grace_s, *self._files.values()))
        self.process.start()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.exitcode

    @property
    def out(self) -> str:
        return self._files["stdout"].read_text("utf-8")

    @property
    def err(self) -> str:
        return self._files["stderr"].read_text("utf-8")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid or 0, number)

    def until(self, text: str) -> None:
        """Wait until it says so, or has ended."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.err and self.code is None and time.monotonic() < end:
            time.sleep(0.02)
        assert text in self.err, self.err

    def ended(self, within_s: float = PATIENCE_S) -> int | None:
        """Wait for its end; return its exit code."""
        self.process.join(within_s)
        return self.code


def _research(given: list[str], env: dict[str, str], grace_s: float, *printed: Path) -> None:
    os.environ.clear()
    os.environ.update(env)
    for number, file in enumerate(printed, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", closefd=False)
    stop_and_clock.GRACE_S = grace_s
    sys.argv = given
    main()
