"""The N-th file operation of a night fails, for every N until a whole night passes; then comes a clean night."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import Workspace, broken, workspace

SLICES = 16
FAULTS: tuple[Fault, ...] = ("EIO", "ENOSPC", "short", "full")


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("evening") / "workspace")


def night(evening: Workspace, folder: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Live through one faulty night and a clean one in a copy of the workspace; return what broke."""
    space = evening.copy(folder)
    known = space.recorded()
    with faulty(space.folder, at, fault) as system:
        said = space.research("run")
    wrong = broken(space, said, known) + [f"written outside: {what}" for what in system.outside]
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


@pytest.mark.parametrize("part", range(SLICES))
def test_whichever_operation_fails_nothing_is_lost_and_the_next_night_puts_it_right(
    evening: Workspace, tmp_path: Path, part: int
) -> None:
    """Each operation with one of the faults in turn; ``python -m bench.faults`` tries each with all of them."""
    broke, at = {}, part + 1
    while True:
        system, wrong = night(evening, tmp_path / str(at), at, FAULTS[(at + at // len(FAULTS)) % len(FAULTS)])
        shutil.rmtree(tmp_path / str(at))
        if wrong:
            broke[f"{at}: {system.operations[at - 1 : at]}"] = wrong
        if len(system.operations) < at:
            break
        at += SLICES
    assert broke == {}
    assert at > SLICES
