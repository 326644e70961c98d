"""One file operation of ``research merge DIR`` fails; then it is asked for again.

``python -m bench.faults --merge`` lets each operation fail in each way.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from pipeline.store.segments import parse, seal
from pipeline.store.verification import verify
from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import Workspace, workspace
from tests.faults.test_nth_operation import drawn
from tests.seeds import SEED

SLICES = 2
CUT = 6  # the event at which the machines part
ELSEWHERE = ("/site/", "/vault/", "/ops/")  # what is made again from the log


@dataclass
class Apart:
    """Two workspaces that went on from the same events, and the log that they should come to."""

    laptop: Workspace
    server: Path
    united: dict[str, bytes]


def apart(folder: Path) -> Apart:
    """Let two machines go on with one interrupted session; unite them once without any fault."""
    whole = workspace(folder / "whole")
    machines = [_cut(whole, folder / name) for name in ("laptop", "server")]
    for machine in machines:
        assert machine.research("-q", "run").code == 0
    shutil.copytree(machines[0].folder, folder / "united")
    united = Workspace(folder / "united")
    assert united.research("merge", str(machines[1].folder)).code == 0
    return Apart(machines[0], machines[1].folder, log_of(united))


def _cut(whole: Workspace, folder: Path) -> Workspace:
    space = whole.copy(folder)
    for path in (folder / "events" / "sessions").glob("*/events/*.jsonl"):
        lines = parse("x", path.read_bytes(), path.parent.parent.name).lines[:CUT]
        path.write_bytes(b"".join(seal(line.record.data, line.prev)[0] for line in lines))
    for made in ("events/local", "events/batches", "vault/sessions", "vault/reports", "site"):
        shutil.rmtree(folder / made)
    return Workspace(space.folder)


def log_of(space: Workspace) -> dict[str, bytes]:
    return {name: data for name, data in space.tree("events").items() if name.endswith(".jsonl")}


def merged(scene: Apart, folder: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Merge with one fault, then without; return what broke."""
    shutil.copytree(scene.laptop.folder, folder)
    space = Workspace(folder)
    before = log_of(space)
    with faulty(folder, at, fault) as system:
        said = space.research("merge", str(scene.server))
    wrong = [f"{name} was changed" for name, data in before.items() if not log_of(space).get(name, b"").startswith(data)]
    wrong += [str(finding) for finding in verify(space.events) if finding.kind not in ("torn", "fork")]
    wrong += ["a traceback was printed"] if "Traceback" in said.err else []
    wrong += [f"exit {said.code}, and not a word"] if said.code and not said.err.strip() else []
    wrong += [f"exit 0, and {what}" for what in _undone(space, scene) if said.code == 0]
    again = space.research("merge", str(scene.server))
    wrong += [f"the second merge ended in {again.code}: {again.err}"] if again.code else []
    return system, wrong + [f"after the second merge, {what}" for what in _undone(space, scene)]


def _undone(space: Workspace, scene: Apart) -> list[str]:
    now = log_of(space)
    return [
        f"{name} is not as it should be" for name in sorted(now.keys() | scene.united) if now.get(name) != scene.united.get(name)
    ]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Apart:
    return apart(tmp_path_factory.mktemp("apart"))


@pytest.fixture(scope="module")
def places(scene: Apart, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Who asks for each file operation of a merge in which none fails."""
    system, wrong = merged(scene, tmp_path_factory.mktemp("whole") / "workspace", 0, "EIO")
    assert wrong == []
    return system.places


@pytest.mark.parametrize("part", range(SLICES))
def test_whichever_operation_of_a_merge_fails_the_next_merge_makes_it_whole(
    scene: Apart, places: list[str], tmp_path: Path, part: int
) -> None:
    mine = [(at, fault) for at, fault in drawn(places, Random(SEED)) if not any(room in places[at - 1] for room in ELSEWHERE)]
    broke = {}
    for at, fault in mine[part::SLICES]:
        _, wrong = merged(scene, tmp_path / "workspace", at, fault)
        shutil.rmtree(tmp_path / "workspace")
        if wrong:
            broke[f"{fault} at operation {at}: {places[at - 1]}"] = wrong
    assert broke == {}


def test_a_merge_copies_and_joins_by_many_operations(places: list[str]) -> None:
    assert len([place for place in places if "other_log" in place]) >= 8
    assert any("file_writer" in place for place in places)
