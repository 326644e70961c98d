"""A folder at a glance: how its files look, and a mark that tells whether any of them was touched."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.system.folders import Look, digest_below, look, program_id, sources


def _look_of(path: Path) -> Look:
    return Look(path.stat().st_size, path.stat().st_mtime_ns)


def test_a_look_tells_the_plain_files_and_the_folders(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("b.md", "a\nb 1", "ä.md", os.fsdecode(b"\xff"))]
    for number, path in enumerate(files):
        path.write_bytes(b"x" * number)
    (tmp_path / "link").symlink_to("b.md")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    found = look(str(tmp_path))
    assert found.folders == ("folder",)
    assert found.files == {path.name: _look_of(path) for path in files}


def test_the_mark_is_another_as_soon_as_a_file_came_went_or_was_written(tmp_path: Path) -> None:
    marks = [look(str(tmp_path)).mark]
    for name, text in (("a", "x"), ("b", "x"), ("a", "xy")):
        (tmp_path / name).write_text(text)
        marks.append(look(str(tmp_path)).mark)
    os.utime(tmp_path / "b", ns=(0, 7))
    marks.append(look(str(tmp_path)).mark)
    (tmp_path / "b").rename(tmp_path / "c")
    marks.append(look(str(tmp_path)).mark)
    (tmp_path / "c").unlink()
    marks.append(look(str(tmp_path)).mark)
    assert len(set(marks)) == len(marks)
    (tmp_path / "folder").mkdir()
    assert look(str(tmp_path)).mark == marks[-1]


def test_a_small_tree_has_another_name_when_a_file_in_it_changes_comes_or_moves(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("1")
    os.mkfifo(tmp_path / "pipe")
    names = [digest_below(tmp_path), digest_below(tmp_path)]
    (tmp_path / "deep" / "a").write_text("2")
    names.append(digest_below(tmp_path))
    (tmp_path / "b").write_text("")
    names.append(digest_below(tmp_path))
    (tmp_path / "b").rename(tmp_path / "c")
    names.append(digest_below(tmp_path))
    assert names[0] == names[1]
    assert len(set(names)) == 4


def test_all_that_decides_what_a_note_says_counts_for_the_programs_id_and_each_room_has_its_own() -> None:
    names = {path.relative_to(path.parents[2]).as_posix() for path in sources("vault") if len(path.parts) > 3}
    assert {"pipeline/system/templates.py", "pipeline/text/normalise.py"} <= names
    assert any(path.parent.name == "output" for path in sources("vault"))
    assert program_id("vault") != program_id("site")
