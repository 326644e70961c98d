"""One seed for all worker processes, named at the end; and a folder for scratch files that costs no waiting for a disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.seeds import SEED

MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own there
ROOM = 2 << 30  # bytes that must be free there


def pytest_configure() -> None:
    """Hand the seed on to the workers, which could start on another day, and put scratch files into memory if there is room."""
    os.environ["SUITE_SEED"] = str(SEED)
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"drawn with seed {SEED}; SUITE_SEED={SEED} draws the same again")
