"""Folders compared with what a build left in them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pipeline.system.folders import Drift, Folder, Manifest, all_folders


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
