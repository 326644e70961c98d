"""One file operation of a night fails; then comes a clean night.

Every place in the program that writes meets a fault each day, on an operation that the day's seed draws; with ``SUITE=full``
every fault. ``python -m bench.faults`` lets each operation fail in each way.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import Workspace, broken, disagreeing, workspace
from tests.seeds import FULL, SEED

SLICES, OF_A_PLACE = 4, 4 if FULL else 1
FAULTS: tuple[Fault, ...] = ("EIO", "ENOSPC", "short", "full")


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("evening") / "workspace")


@pytest.fixture(scope="module")
def places(evening: Workspace, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Who asks for each file operation of a night in which none fails."""
    system, wrong = night(evening, tmp_path_factory.mktemp("whole") / "workspace", 0, "EIO")
    assert wrong == []
    return system.places


def drawn(places: Sequence[str], chance: Random) -> Iterator[tuple[int, Fault]]:
    """Numbers of operations with faults: each place with ``OF_A_PLACE`` faults, on as many operations."""
    numbers: dict[str, list[int]] = {}
    for number, place in enumerate(places, start=1):
        numbers.setdefault(place, []).append(number)
    for place, all_of_it in numbers.items():
        some = chance.sample(all_of_it, min(OF_A_PLACE, len(all_of_it)))
        faults = [fault for fault in FAULTS if fault != "short" or place.startswith("write ")]
        chance.shuffle(faults)
        for turn in range(OF_A_PLACE):
            yield some[turn % len(some)], faults[turn % len(faults)]


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


@pytest.mark.parametrize("part", range(SLICES))
def test_whichever_operation_fails_nothing_is_lost_and_the_next_night_puts_it_right(
    evening: Workspace, places: list[str], tmp_path: Path, part: int
) -> None:
    broke = {}
    for at, fault in list(drawn(places, Random(SEED)))[part::SLICES]:
        _, wrong = night(evening, tmp_path / "workspace", at, fault)
        shutil.rmtree(tmp_path / "workspace")
        if wrong:
            broke[f"{fault} at operation {at}: {places[at - 1]}"] = wrong
    assert broke == {}


def test_a_night_writes_at_many_places(places: list[str]) -> None:
    """The tests above would mean little if it did not."""
    assert len(set(places)) > 30
    assert len(places) > 300
