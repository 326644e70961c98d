"""What a folder holds, at a glance."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.folders import Look, look, names_of_folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.md").write_text("one")
    (tmp_path / "b.md").write_text("two!")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "below")
    return tmp_path


def test_plain_files_and_folders_are_seen_and_links_are_not(folder: Path) -> None:
    found = look(str(folder))
    assert found.files == {
        "a.md": Look(3, (folder / "a.md").stat().st_mtime_ns),
        "b.md": Look(4, (folder / "b.md").stat().st_mtime_ns),
    }
    assert found.folders == ("below",) == names_of_folders(str(folder))


def test_an_open_folder_looks_the_same(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        assert look(descriptor) == look(str(folder))
    finally:
        os.close(descriptor)


def test_the_mark_stays_while_nothing_happens_to_the_files(folder: Path) -> None:
    mark = look(str(folder)).mark
    (folder / "below" / "deeper.md").write_text("not in this folder")
    assert look(str(folder)).mark == mark


@pytest.mark.parametrize("change", ["written", "same size", "touched", "gone", "new", "renamed", "link"])
def test_the_mark_changes_with_whatever_happens_to_a_file(folder: Path, change: str) -> None:
    mark = look(str(folder)).mark
    file = folder / "a.md"
    if change == "written":
        file.write_text("longer than before")
    elif change in {"same size", "touched"}:
        file.write_text("eno" if change == "same size" else "one")
        os.utime(file, ns=(1, 1))
    elif change == "new":
        (folder / "c.md").write_text("")
    elif change == "renamed":
        file.rename(folder / "c.md")
    else:
        file.unlink()
    if change == "link":
        file.symlink_to(folder / "b.md")
    assert look(str(folder)).mark != mark


def test_a_name_that_is_no_text_has_its_place_in_the_mark(tmp_path: Path) -> None:
    mark = look(str(tmp_path)).mark
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_text("x")
    assert look(str(tmp_path)).mark != mark
