from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import LogUnwritable, WorkspaceLocked
from pipeline.store.file_store import FileStore
from pipeline.system.process_lock import workspace_lock
from tests.store.samples import records

HOLDER = """
import sys, time
from pathlib import Path
from pipeline.store.file_store import FileStore
from pipeline.system.process_lock import workspace_lock
from tests.store.samples import record
with workspace_lock(Path(sys.argv[1]), "research run"):
    FileStore(Path(sys.argv[1])).append("s-1", [record(1)], 0)
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_run_is_refused_at_once_and_told_who_works(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    owner = rf"another run \(research run, process {holder.pid} on {socket.gethostname()}, since 20\d\d-\d\d-\d\dT.*\) works"
    with pytest.raises(WorkspaceLocked, match=owner), workspace_lock(tmp_path):
        pass
    with pytest.raises(WorkspaceLocked, match=f"process {holder.pid} .*writes s-1"):
        FileStore(tmp_path).append("s-1", records([1, 2]), 0)


def test_a_lock_is_given_back_without_a_trace_and_can_be_taken_again(tmp_path: Path) -> None:
    for _ in range(2):
        with workspace_lock(tmp_path):
            assert str(os.getpid()) in (tmp_path / "local" / "run.lock").read_text()
        assert not (tmp_path / "local" / "run.lock").exists()


@pytest.mark.parametrize("written", ["", "[]", "{", '{"pid": 1}'])
def test_an_owner_that_has_not_named_itself_is_refused_all_the_same(tmp_path: Path, written: str) -> None:
    with workspace_lock(tmp_path):
        (tmp_path / "local" / "run.lock").write_text(written)
        with pytest.raises(WorkspaceLocked, match="another run works"), workspace_lock(tmp_path):
            pass


def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path) -> None:
    with workspace_lock(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with workspace_lock(tmp_path):
        child.communicate(b"\n")


def test_a_lock_that_cannot_be_made_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "local").write_text("a file is in the way")
    with pytest.raises(LogUnwritable), workspace_lock(tmp_path):
        pass
