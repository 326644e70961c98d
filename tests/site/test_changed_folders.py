"""Folders compared with what is known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.site import changed_folders
from pipeline.site.changed_folders import ASIDE, NO_FOLDER, other_folders
from pipeline.system.folder_fingerprint import Folder, look


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for path in ("a.md", "one/b.md", "one/two/c.md", ".hidden/d.md", "attic/e.md", "one/attic/f.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    return tmp_path


def marks(root: Path) -> dict[str, str]:
    return {path: found.mark for path, found in other_folders(root, {}, aside=ASIDE)}


def test_hidden_folders_links_and_what_is_aside_at_the_top_are_passed_over(root: Path) -> None:
    assert set(marks(root)) == {"", "one", "one/two", "one/attic"}


def test_only_folders_with_another_mark_are_looked_into(root: Path) -> None:
    known = marks(root)
    assert list(other_folders(root, known, aside=ASIDE)) == []
    (root / "one" / "two" / "c.md").write_text("changed in place")
    assert [path for path, _ in other_folders(root, known, aside=ASIDE)] == ["one/two"]


def test_a_folder_that_is_gone_is_told_with_all_below_it(root: Path) -> None:
    known = marks(root)
    (root / "one").rename(root / "attic" / "one")
    found = dict(other_folders(root, known, aside=ASIDE))
    assert found == {"one": NO_FOLDER, "one/two": NO_FOLDER, "one/attic": NO_FOLDER}


def test_a_tree_that_is_not_there_is_all_gone(tmp_path: Path) -> None:
    assert dict(other_folders(tmp_path / "none", {"": "x", "one": "y"})) == {"": NO_FOLDER, "one": NO_FOLDER}


def test_what_somebody_saw_just_now_is_not_looked_at_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = marks(root)
    given = {"": known[""], "one": "changed since", "one/two": known["one/two"]}
    looked_at: list[str] = []

    def spy(place: str) -> Folder:
        looked_at.append(place)
        return look(place)

    monkeypatch.setattr(changed_folders, "look", spy)
    assert list(other_folders(root, known, given, aside=ASIDE)) == []
    assert looked_at == [f"{root}/one", f"{root}/one/attic"], "the others were given"
