"""A folder at a glance: how its files look, and a mark that tells whether any of them was touched."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from pipeline.system.manifest import Drift, Folder, Look, Manifest, all_folders, digest_below, look, program_id, sources


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
    assert {"pipeline/system/templates.py", "pipeline/text/cleaning.py"} <= names
    assert any(path.parent.name == "output" for path in sources("vault"))
    assert program_id("vault") != program_id("site")


# ---- folders compared with what a build left in them ----


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("a.md", "one/b.md", "one/two/c.md", ".hidden/d.md", "attic/e.md", "one/attic/f.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    return tmp_path


@pytest.fixture
def manifest() -> Manifest:
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.execute("CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, mtime INTEGER)")
    base.execute("CREATE TABLE folders (path TEXT PRIMARY KEY, mark TEXT)")
    return Manifest(base)


def found_in(root: Path) -> dict[str, Folder]:
    return dict(all_folders(root, aside={"attic"}))


def left(manifest: Manifest, root: Path) -> None:
    """Record the tree as a build that made all of it would."""
    found = found_in(root)
    paths = {f"{folder}/{name}".lstrip("/"): look for folder, one in found.items() for name, look in one.files.items()}
    manifest._base.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", ((path, *look) for path, look in paths.items()))
    Drift(manifest, found).record(paths)


def test_hidden_folders_links_and_what_is_aside_at_the_top_are_passed_over(root: Path) -> None:
    assert found_in(root).keys() == {"", "one", "one/two", "one/attic"}


def test_only_folders_with_another_mark_are_compared(root: Path, manifest: Manifest) -> None:
    left(manifest, root)
    assert Drift(manifest, found_in(root)).folders == {}
    (root / "one" / "two" / "c.md").write_text("changed in place")
    drift = Drift(manifest, found_in(root))
    assert drift.folders.keys() == {"one/two"}
    assert drift.files == {"one/two/c.md": drift.look("one/two/c.md")}


def test_a_file_that_was_not_made_good_is_seen_again(root: Path, manifest: Manifest) -> None:
    left(manifest, root)
    (root / "one" / "b.md").unlink()
    Drift(manifest, found_in(root)).record({})
    assert Drift(manifest, found_in(root)).files == {"one/b.md": None}
    Drift(manifest, found_in(root)).record({}, {"one/b.md"})
    assert Drift(manifest, found_in(root)).folders == {}


def test_what_somebody_writes_during_the_build_is_seen_at_the_next(root: Path, manifest: Manifest) -> None:
    left(manifest, root)
    drift = Drift(manifest, found_in(root))
    (root / "one" / "b.md").write_text("by the build")
    now = found_in(root)["one"].files["b.md"]
    manifest._base.execute("UPDATE files SET size = ?, mtime = ? WHERE path = 'one/b.md'", now)
    (root / "one" / "mine.md").write_text("by somebody else")
    drift.record({"one/b.md": now})
    assert Drift(manifest, found_in(root)).folders.keys() == {"one"}
