"""Only where a folder has another mark are its files compared one by one; nothing that anyone did escapes the next build."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.system.folders import Look, Tree
from pipeline.vault.build_cache import Kept
from tests.vault.builders import Workplace


def _drifted(place: Workplace) -> set[str]:
    """The files that the next build will see not to be as they were left."""
    with closing(Kept(place.state, "")) as kept, closing(Tree(place.vault)) as tree:
        return set(kept.files.drift(tree).files)


def _path(place: Workplace, note: Path) -> str:
    return note.relative_to(place.vault).as_posix()


def test_a_file_with_another_time_alone_is_noticed(place: Workplace) -> None:
    note = place.note("sources/")
    assert _drifted(place) == set()
    os.utime(note, ns=(0, note.stat().st_mtime_ns + 1))
    assert _drifted(place) == {_path(place, note)}


@pytest.mark.parametrize("which", ["the one that is written", "another in its folder"])
def test_what_is_edited_while_a_build_is_under_way_is_noticed_by_the_next(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    folder = place.note("sources/").parent
    lost, other = sorted(folder.glob("*.md"))[:2]
    edited = lost if which == "the one that is written" else other
    lost.write_text(lost.read_text().replace("## ", "### ", 1))
    write = Tree.write

    def and_someone_writes_too(tree: Tree, path: str, data: bytes, *, durable: bool = False) -> Look:
        how = write(tree, path, data, durable=durable)
        edited.write_text(f"{edited.read_text()}mine\n")
        return how

    monkeypatch.setattr(Tree, "write", and_someone_writes_too)
    place.build()
    monkeypatch.undo()
    assert _drifted(place) == {_path(place, edited)}
    assert edited.name.removesuffix(".md") in " ".join(place.build().set_aside)
