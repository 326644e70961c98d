"""Only where a folder has another mark are its files compared one by one; nothing that anyone did escapes the next build."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.system.folders import Look
from pipeline.system.safe_tree import Tree
from pipeline.vault.kept import FILE, Files, Kept
from pipeline.vault.output.templates import Renderer
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace, a_store, changed_templates


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    built = Workplace(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))
    built.build()
    return built


def _drifted(place: Workplace) -> set[str]:
    """The files that the next build will see not to be as they were left."""
    with closing(Kept(place.state, "")) as kept, closing(Tree(place.vault)) as tree:
        return set(kept.files.drift(tree).files)


def _marks(place: Workplace) -> dict[str, str]:
    with closing(sqlite3.connect(place.state / FILE)) as base:
        return dict(base.execute("SELECT path, mark FROM folders"))


def _path(place: Workplace, note: Path) -> str:
    return note.relative_to(place.vault).as_posix()


def _linked(note: Path) -> None:
    note.rename(note.with_suffix(".elsewhere"))
    note.symlink_to(note.with_suffix(".elsewhere"))


def _touched(note: Path) -> None:
    os.utime(note, ns=(0, note.stat().st_mtime_ns + 1))


def _replaced(note: Path) -> None:
    note.unlink()
    os.mkfifo(note)


@pytest.mark.parametrize("harm", [Path.unlink, lambda note: note.write_bytes(b"x"), _linked, _touched, _replaced])
def test_whatever_becomes_of_one_file_alone_is_noticed(place: Workplace, harm: Callable[[Path], object]) -> None:
    note = place.note("sources/")
    assert _drifted(place) == set()
    harm(note)
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


def test_a_file_that_was_refused_is_seen_again(place: Workplace) -> None:
    note = place.note("workers/")
    whole = note.read_bytes()
    note.write_bytes(whole + b"%% begin notes %%\n")
    for _ in range(2):
        assert len(place.build().left_alone) == 1
        assert _drifted(place) == {_path(place, note)}
    note.write_bytes(whole)
    assert place.build().left_alone == ()
    assert _drifted(place) == set()


def _a_story(store: MemoryStore, number: int) -> Story:
    pages = tuple(f"https://pages.example/{number}/{page}" for page in range(3))
    date = f"2026-10-{1 + number % 28:02d}"
    return Story(
        store,
        id=f"{date}-q{number}-{number:04x}",
        query=f"Which {number}?",
        query_id=f"q{number}",
        date=date,
        pages=pages,
        tags=(),
    ).whole()


def _cost(tmp_path: Path, sessions: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """How many notes one session more has rendered, and the folders whose files are compared, in a vault of so many."""
    place = Workplace(tmp_path / str(sessions), MemoryStore())
    for number in range(sessions):
        _a_story(place.store, number)
    place.build()
    rendered: list[str] = []
    compared: list[str] = []
    render, looks_in = Renderer.render, Files.looks_in
    monkeypatch.setattr(Renderer, "render", lambda self, note: rendered.append(note.path) or render(self, note))  # type: ignore[func-returns-value]
    monkeypatch.setattr(Files, "looks_in", lambda files, folder: compared.append(folder) or looks_in(files, folder))  # type: ignore[func-returns-value]
    _a_story(place.store, 99)
    place.build()
    monkeypatch.undo()
    return len(rendered), compared


def test_one_session_more_costs_no_more_beside_many_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (_cost(tmp_path, sessions, monkeypatch) for sessions in (16, 24))
    assert few == many
    assert many[0] < 12
    assert many[1] == []
