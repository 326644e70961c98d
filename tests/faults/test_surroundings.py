"""What surrounds a night goes away under it: the log, the notes, the room on the disk, the right to write."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.filesystem import faulty
from tests.faults.night import Said, Workspace, broken, workspace
from tests.forking import Command
from tests.seeds import FULL, SEED

MOMENTS = range(3 + (0 if FULL else SEED % 15 * 3), 120, 3 if FULL else 45)


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace(tmp_path_factory.mktemp("evening") / "workspace")


def untold(said: Said) -> bool:
    """Whether a command failed without saying in one clear message what and what to do."""
    told = any(sign in said.err for sign in ("research:", "→")) or "failed" in said.out or "interrupted" in said.out
    return "Traceback" in said.err or "unexpected" in said.err or (said.code != 0 and not told)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_log_that_vanishes_midway_ends_the_night_with_a_message_and_comes_back_whole(
    evening: Workspace, tmp_path: Path, moment: int
) -> None:
    space = evening.copy(tmp_path / "workspace")
    aside = tmp_path / "aside"
    with faulty(space.folder, moment, happens=partial(os.rename, space.events, aside)) as system:
        said = space.research("run")
    if aside.exists():  # as a mount that comes back: what was written in its place meanwhile is hidden by it
        shutil.rmtree(space.events, ignore_errors=True)
        aside.rename(space.events)
    assert system.outside == [f"rename {aside}"] or not aside.exists()
    assert not untold(said), said.err
    known = space.recorded()
    said = space.research("run")
    if "only what is lost for good is written off: research verify --repair" in said.err:  # all of a session was in its place
        space.research("verify", "--repair")
        said = space.research("run")
    assert said.code == 0, said.err
    assert not [wrong for wrong in broken(space, said, known) if not wrong.startswith("lost")]


@pytest.mark.parametrize("moment", MOMENTS)
def test_notes_that_vanish_midway_are_named_and_come_back_when_they_are_asked_for(
    evening: Workspace, tmp_path: Path, moment: int
) -> None:
    space = evening.copy(tmp_path / "workspace")
    with faulty(space.folder, moment, happens=partial(os.rename, space.folder / "vault", tmp_path / "aside")):
        said = space.research("run")
    assert not untold(said), said.err
    shutil.rmtree(space.folder / "vault", ignore_errors=True)
    (tmp_path / "aside").rename(space.folder / "vault")
    known = space.recorded()
    said = space.research("run")
    assert said.code == 0, said.err
    assert broken(space, said, known) == []
    reports = space.folder / "vault" / "reports"
    if len(list(reports.rglob("*.md"))) < 2:  # to the program a note that is gone from a vault that stands was deleted
        assert "deleted in the vault, so no longer made: reports/" in said.err
        assert space.research("unhide", "--all").code == 0
    assert len(list(reports.rglob("*.md"))) == 2


@pytest.mark.parametrize("part", ["events", "vault"])
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_part_that_may_not_be_written_is_named(evening: Workspace, tmp_path: Path, part: str) -> None:
    space = evening.copy(tmp_path / "workspace")
    for folder, _, _ in os.walk(space.folder / part):
        Path(folder).chmod(0o500)
    said = space.research("run")
    for folder, _, _ in os.walk(space.folder / part):
        Path(folder).chmod(0o700)
    assert said.code != 0
    assert part in said.err
    assert not untold(said), said.err
    said = space.research("run")
    assert said.code == 0, said.err


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system with little room, where the system lets us have one: enough for a site written beside the one before."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", str(place)]
    if subprocess.run([mount, *options], capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_disk_that_is_really_full_stops_the_night_and_room_lets_it_go_on(evening: Workspace, small_disk: Path) -> None:
    """The ballast goes in steps, so that the night comes to its end in one of several places."""
    ballast = small_disk / "ballast"
    space = evening.copy(small_disk / "workspace")
    known, codes = space.recorded(), []
    more = (16_384, 65_536, 131_072)
    for free in (4_096, *(more if FULL else more[SEED % 3 : SEED % 3 + 1])):
        room = shutil.disk_usage(small_disk).free + (ballast.stat().st_size if ballast.exists() else 0)
        ballast.write_bytes(b"\0" * max(0, room - free))
        said = _in_a_process(space)
        codes.append(said.code)
        assert "Traceback" not in said.err
        assert [wrong for wrong in broken(space, said, known) if "exit" not in wrong] == []
        known = space.recorded()
    assert any(codes)
    ballast.unlink()
    said = _in_a_process(space)
    assert said.code == 0, said.err
    assert len(list((space.folder / "vault" / "reports").rglob("*.md"))) == 2


def _in_a_process(space: Workspace) -> Said:
    done = Command(space.folder, "run")
    code = done.ended()
    assert code is not None
    return Said(code, done.out, done.err)


@pytest.mark.parametrize("command", [["run"], ["-q", "run"]])
def test_a_folder_of_sessions_that_takes_nothing_new_is_named_and_is_no_damage(
    evening: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    space = evening.copy(tmp_path / "workspace")
    real = os.mkdir

    def refused(path: str | os.PathLike[str], *more: int, **named: int) -> None:
        if "sessions" in Path(path).parts:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        real(path, *more, **named)

    monkeypatch.setattr(os, "mkdir", refused)
    said = space.research(*command)
    assert said.code == 12
    assert "cannot be written: Permission denied" in said.err
    assert "unexpected" not in said.err
    assert "damaged" not in said.err


def test_a_full_disk_and_a_lock_that_cannot_be_made_are_no_damage(evening: Workspace, tmp_path: Path) -> None:
    space = evening.copy(tmp_path / "workspace")
    with faulty(space.folder, 1, "full"):
        said = space.research("run")
    assert said.code == 12
    assert "No space left on device" in said.err
    assert "free some space" in said.err


def test_a_question_that_cannot_be_added_is_said_with_path_and_reason(
    evening: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = evening.copy(tmp_path / "workspace")

    really = os.open

    def refused(path: str | Path, flags: int, *arguments: int, **keywords: Any) -> int:
        if flags & os.O_CREAT and Path(path).parent == space.folder:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return really(path, flags, *arguments, **keywords)

    before = (space.folder / "queries.yaml").read_bytes()
    monkeypatch.setattr(os, "open", refused)
    said = space.research("add", "Why do tides come twice a day?")
    assert said.code == 12
    assert "queries.yaml cannot be written: Read-only file system" in said.err
    assert (space.folder / "queries.yaml").read_bytes() == before


@pytest.mark.parametrize("arguments", [["list"], ["--json", "list"], ["--help"]])
def test_an_output_that_cannot_be_written_is_no_fault_of_the_program(evening: Workspace, arguments: list[str]) -> None:
    done = Command(evening.folder, *arguments, stdout=Path("/dev/full"))
    assert done.ended() == 12
    assert "No space left on device" in done.err
    assert "fault of the program" not in done.err


@pytest.mark.parametrize("amount", ["nan", "inf", "-inf", "-1", "much"])
def test_a_cap_that_is_no_sum_of_money_is_refused(evening: Workspace, amount: str) -> None:
    said = evening.research("run", "--max-cost", amount, "--dry-run")
    assert said.code == 2
    assert "is not a sum of money" in said.err


def test_a_path_that_is_not_utf_8_is_refused_before_anything_is_written(evening: Workspace, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff"))
    shutil.copytree(evening.folder, folder)
    for command in ("list", "run", "init"):
        said = evening.research("-C", str(folder), command)
        assert said.code == 2
        assert "not UTF-8" in said.err
        assert "rename the folder" in said.err
