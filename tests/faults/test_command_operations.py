"""One file operation of ``ask``, ``prune`` or ``forget`` fails; then the command is given again.

``python -m bench.faults --command prune`` lets each operation fail in each way.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.talk import talk_of
from pipeline.ops.forgetting import leftovers
from pipeline.store.verification import verify
from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import WORDS, Workspace, workspace
from tests.faults.test_nth_operation import drawn
from tests.seeds import FULL, SEED

QUESTION = "How does write-ahead logging survive a power cut?"
AGE_S = 1.1  # what is pruned must be older than a second
HARMLESS = {"torn", "leftover"}
SLICES = 2


@dataclass
class Scene:
    """A workspace on the evening before, a command, and what is missing of its effect."""

    space: Workspace
    arguments: tuple[str, ...]
    missing: Callable[[Workspace], list[str]]


def scene(name: str, folder: Path) -> Scene:
    """Lay out the workspace for a command."""
    space = workspace(folder)
    (session,) = space.store.ids("session")
    time.sleep(AGE_S)
    return {
        "ask": Scene(space, ("ask", session, QUESTION), _not_answered),
        "prune": Scene(space, ("prune", "--older-than", "1s", "sessions"), _not_pruned),
        "forget": Scene(space, ("forget", session, "--yes"), _not_forgotten),
    }[name]


def _not_answered(space: Workspace) -> list[str]:
    talks = [talk_of(name, decode_all(one.data for one in space.store.load(name))) for name in space.store.ids("talk")]
    answered = [turn for talk in talks for turn in talk.turns if turn.text == QUESTION and turn.answer and turn.answer.found]
    noted = any(QUESTION in path.read_text() for path in (space.folder / "vault" / "reports").rglob("*.md"))
    return ([] if answered else ["the question has no answer"]) + ([] if noted else ["its note lacks the question"])


def _not_pruned(space: Workspace) -> list[str]:
    names = list(space.store.ids("session"))
    wrong = [f"{name} is not pruned" for name in names if name not in space.store.tombstones().sessions]
    wrong += [f"files of {name} are left" for name in leftovers(space.store)]
    return wrong + ([] if any((space.folder / "vault" / "reports").rglob("*.md")) else ["the report has no note any more"])


def _not_forgotten(space: Workspace) -> list[str]:
    wrong = [f"{name} is still there" for name in space.store.ids("session")]
    wrong += [f"files of {name} are left" for name in leftovers(space.store)]
    return wrong + [f"{path.name} is left" for path in (space.folder / "vault" / "reports").rglob("*.md")]


def done(one: Scene, folder: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Give the command with one fault, then without; return what broke."""
    space = one.space.copy(folder)
    with faulty(folder, at, fault) as system:
        said = space.research(*one.arguments)
    wrong = list(_unsound(space))
    wrong += ["a traceback was printed"] if "Traceback" in said.err + said.out else []
    wrong += [f"exit {said.code}, and not a word"] if said.code and not said.err.strip() else []
    wrong += [f"exit 0, and {what}" for what in one.missing(space) if said.code == 0]
    again = space.research(*one.arguments)
    if one.missing(space):
        wrong += [f"the second time exit {again.code}, {again.err!r}, and {what}" for what in one.missing(space)]
    return system, [*wrong, *_unsound(space)]


def _unsound(space: Workspace) -> Iterator[str]:
    yield from (str(finding) for finding in verify(space.events) if finding.kind not in HARMLESS)
    if not any(WORDS in path.read_text() for path in (space.folder / "vault").rglob("*.md") if path.name != "thoughts.md"):
        yield "a reader's words are gone"


@pytest.fixture(scope="module", params=["ask", "prune", "forget"])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(request.param, tmp_path_factory.mktemp("scene") / "workspace")


@pytest.fixture(scope="module")
def places(one: Scene, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Who asks for each file operation of the command if none fails."""
    system, wrong = done(one, tmp_path_factory.mktemp("whole") / "workspace", 0, "EIO")
    assert wrong == []
    assert len(system.places) > 30
    return system.places


@pytest.mark.parametrize("part", range(SLICES))
def test_whichever_operation_fails_nothing_is_lost_and_the_command_can_be_given_again(
    one: Scene, places: list[str], tmp_path: Path, part: int
) -> None:
    chance, broke = Random(SEED), {}
    tried = list(drawn(places, chance))
    for at, fault in chance.sample(tried, min(60 if FULL else 16, len(tried)))[part::SLICES]:
        _, wrong = done(one, tmp_path / "workspace", at, fault)
        shutil.rmtree(tmp_path / "workspace")
        if wrong:
            broke[f"{fault} at operation {at}: {places[at - 1]}"] = wrong
    assert broke == {}
