"""One file operation of a night or of a command fails; then it is asked for again.

Every place in the program that writes in a night meets a fault every third day, on an operation that the day's seed draws; of
other commands ten operations a day do. With ``SUITE=full`` all places do. ``python -m bench.faults`` lets each operation fail in
each way.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.talk import talk_of
from pipeline.ops.forgetting import leftovers
from pipeline.store.record_chain import parse, seal
from pipeline.store.verification import verify
from tests.faults.filesystem import Fault, FileSystem, faulty
from tests.faults.night import WORDS, Workspace, broken, disagreeing, workspace
from tests.seeds import FULL, SEED

FAULTS: tuple[Fault, ...] = ("EIO", "ENOSPC", "short", "full")
COMMANDS = ("night", "ask", "prune", "forget", "merge")
HARMLESS = {"torn", "leftover", "fork"}
QUESTION = "How does write-ahead logging survive a power cut?"
AGE_S = 1.1  # what is pruned must be older than a second
CUT = 6  # the event at which two machines part


@dataclass
class Scene:
    """A workspace on the evening before, a command, and what is missing of its effect."""

    space: Workspace
    arguments: tuple[str, ...]
    missing: Callable[[Workspace], list[str]]


def scene(name: str, folder: Path) -> Scene:
    """Lay out the workspace for a command."""
    if name == "merge":
        return _apart(folder)
    space = workspace(folder)
    (session,) = space.store.ids("session")
    time.sleep(AGE_S if name == "prune" else 0)
    return {
        "night": Scene(space, ("-q", "run"), _not_researched),
        "ask": Scene(space, ("ask", session, QUESTION), _not_answered),
        "prune": Scene(space, ("forget", "--older-than", "1s", "--only", "sessions"), _not_pruned),
        "forget": Scene(space, ("forget", session, "--yes"), _not_forgotten),
    }[name]


def _reports(space: Workspace) -> list[Path]:
    return list((space.folder / "vault" / "reports").rglob("*.md"))


def _not_researched(space: Workspace) -> list[str]:
    return [] if len(_reports(space)) == 2 else [f"there are {len(_reports(space))} reports"]


def _not_answered(space: Workspace) -> list[str]:
    talks = [talk_of(name, decode_all(one.data for one in space.store.load(name))) for name in space.store.ids("talk")]
    answered = [turn for talk in talks for turn in talk.turns if turn.text == QUESTION and turn.answer and turn.answer.found]
    noted = any(QUESTION in path.read_text() for path in _reports(space))
    return ([] if answered else ["the question has no answer"]) + ([] if noted else ["its note lacks the question"])


def _not_pruned(space: Workspace) -> list[str]:
    names = list(space.store.ids("session"))
    wrong = [f"{name} is not pruned" for name in names if name not in space.store.tombstones().sessions]
    wrong += [f"files of {name} are left" for name in leftovers(space.store)]
    return wrong + ([] if _reports(space) else ["the report has no note any more"])


def _not_forgotten(space: Workspace) -> list[str]:
    wrong = [f"{name} is still there" for name in space.store.ids("session")]
    wrong += [f"files of {name} are left" for name in leftovers(space.store)]
    return wrong + [f"{path.name} is left" for path in _reports(space)]


def _apart(folder: Path) -> Scene:
    """Let two machines go on with one interrupted session; the log that they should come to is that of a merge without fault."""
    whole = workspace(folder / "whole")
    laptop, server, united = (whole.copy(folder / name) for name in ("laptop", "server", "united"))
    for space in (laptop, server):
        for path in (space.folder / "events" / "sessions").glob("*/events/*.jsonl"):
            lines = parse("x", path.read_bytes(), path.parent.parent.name).lines[:CUT]
            path.write_bytes(b"".join(seal(line.record.data, line.prev)[0] for line in lines))
        for made in ("events/local", "events/batches", "vault/sessions", "vault/reports", "site"):
            shutil.rmtree(space.folder / made)
        space.acknowledged.clear()
        assert space.research("-q", "run").code == 0
    shutil.rmtree(united.folder)
    shutil.copytree(laptop.folder, united.folder)
    assert united.research("merge", str(server.folder)).code == 0
    wanted = _log_of(united)

    def undone(space: Workspace) -> list[str]:
        now = _log_of(space)
        return [f"{name} is not as it should be" for name in sorted(now.keys() | wanted) if now.get(name) != wanted.get(name)]

    return Scene(laptop, ("merge", str(server.folder)), undone)


def _log_of(space: Workspace) -> dict[str, bytes]:
    return {name: data for name, data in space.tree("events").items() if name.endswith(".jsonl")}


def done(one: Scene, folder: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Give the command with one fault, then without; return what broke."""
    space, is_night = one.space.copy(folder), "run" in one.arguments
    known = space.recorded() if is_night else {}
    with faulty(space.folder, at, fault) as system:
        said = space.research(*one.arguments)
    wrong = [f"written outside: {what}" for what in system.outside]
    if is_night:
        wrong += [*broken(space, said, known), *disagreeing(space, said, system.failed)]
    else:
        wrong += [*_unsound(space), *(f"exit 0, and {what}" for what in one.missing(space) if said.code == 0)]
        wrong += ["a traceback was printed"] if "Traceback" in said.err + said.out else []
        wrong += [f"exit {said.code}, and not a word"] if said.code and not said.err.strip() else []
    known = space.recorded() if is_night else {}
    again = space.research(*one.arguments)
    wrong += broken(space, again, known) if is_night else _unsound(space)
    return system, wrong + [f"the second time exit {again.code}, {again.err!r}, and {what}" for what in one.missing(space)]


def _unsound(space: Workspace) -> Iterator[str]:
    yield from (str(finding) for finding in verify(space.events) if finding.kind not in HARMLESS)
    if not any(WORDS in path.read_text() for path in (space.folder / "vault").rglob("*.md")):
        yield "a reader's words are gone"


def drawn(places: Sequence[str], chance: Random) -> Iterator[tuple[int, Fault]]:
    """Numbers of operations with faults: each place with one fault on one operation, with ``SUITE=full`` with all four."""
    numbers: dict[str, list[int]] = {}
    for number, place in enumerate(places, start=1):
        numbers.setdefault(place, []).append(number)
    for place, all_of_it in numbers.items():
        faults = [fault for fault in FAULTS if fault != "short" or place.startswith("write ")]
        chance.shuffle(faults)
        for fault in faults if FULL else faults[:1]:
            yield chance.choice(all_of_it), fault


@pytest.mark.parametrize("name", COMMANDS)
def test_whichever_operation_fails_nothing_is_lost_and_the_next_try_puts_it_right(name: str, tmp_path: Path) -> None:
    one = scene(name, tmp_path / "evening")
    system, wrong = done(one, tmp_path / "whole", 0, "EIO")
    assert wrong == []
    assert len(set(system.places)) > 20
    chance, broke = Random(SEED), {}
    tried = list(drawn(system.places, chance))
    some = tried if FULL else tried[SEED % 3 :: 3] if name == "night" else chance.sample(tried, min(10, len(tried)))
    for at, fault in some:
        _, wrong = done(one, tmp_path / "workspace", at, fault)
        shutil.rmtree(tmp_path / "workspace")
        if wrong:
            broke[f"{fault} at operation {at}: {system.places[at - 1]}"] = wrong
    assert broke == {}
