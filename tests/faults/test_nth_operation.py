"""One file operation of a night fails, wherever; then comes a clean night. ``python -m bench.faults`` tries each."""

from __future__ import annotations

import os
import shutil
from datetime import date
from pathlib import Path
from random import Random

import pytest

from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import Workspace, broken, disagreeing, workspace

SAMPLE = 24  # of some hundreds
FAULTS: tuple[Fault, ...] = ("EIO", "ENOSPC", "short", "full")


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("evening") / "workspace")


def night(evening: Workspace, folder: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Live through one faulty night and a clean one in a copy of the workspace; return what broke."""
    space = evening.copy(folder)
    known = space.recorded()
    with faulty(space.folder, at, fault) as system:
        said = space.research("-q", "run")
    wrong = broken(space, said, known) + [f"written outside: {what}" for what in system.outside]
    wrong += disagreeing(space, said, system.failed)
    return system, wrong or put_right(space)


def put_right(space: Workspace) -> list[str]:
    """A clean night: all is done, told, and the same when it is built anew."""
    known = space.recorded()
    said = space.research("run")
    wrong = broken(space, said, known)
    if said.code != 0:
        wrong.append(f"the clean night ended in {said.code}: {said.out}{said.err}")
    reports = list((space.folder / "vault" / "reports").rglob("*.md"))
    if len(reports) != 2:
        wrong.append(f"there are {len(reports)} reports")
    return wrong


def test_whichever_operation_fails_nothing_is_lost_all_is_said_and_the_next_night_puts_it_right(
    evening: Workspace, tmp_path: Path
) -> None:
    """A sample, another one each day; ``SEED=N`` takes that of another day again."""
    seed = int(os.environ.get("SEED", date.today().toordinal()))
    print(f"SEED={seed}")
    system, wrong = night(evening, tmp_path / "whole", 0, "EIO")
    assert wrong == []
    assert {part for part in ("write", "link", "replace", "mkdir") if part in system.operations} >= {"write", "replace"}
    dice, broke = Random(seed), {}
    for at in sorted(dice.sample(range(1, len(system.operations) + 1), SAMPLE)):
        fault = dice.choice(FAULTS)
        faulted, wrong = night(evening, tmp_path / str(at), at, fault)
        shutil.rmtree(tmp_path / str(at))
        if wrong:
            broke[f"{fault} at {at}: {faulted.operations[at - 1 : at]} {faulted.failed[:1]}"] = wrong
    assert broke == {}
