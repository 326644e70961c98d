"""Only where a folder has another mark are its files compared one by one; nothing that anyone did escapes the next build."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.system.folders import Look, look
from pipeline.system.safe_tree import Tree
from pipeline.vault.kept import FILE, Files, Kept
from pipeline.vault.output.templates import Renderer
from tests.fakes import MemoryStore
from tests.vault.builders import Failing, Story, Workplace, a_store, afresh, change, changed_templates


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


def test_after_a_build_each_folder_that_holds_a_file_of_ours_has_its_mark(place: Workplace) -> None:
    marks = _marks(place)
    assert marks == {folder: look(str(place.vault / folder)).mark for folder in marks}
    assert marks.keys() == {path.rpartition("/")[0] for path in place.files()} - {".obsidian"}


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


def test_a_folder_that_cannot_be_entered_counts_as_all_its_files_unlike(place: Workplace, tmp_path: Path) -> None:
    note = place.note("reports/")
    inside = {_path(place, path) for path in note.parent.iterdir()}
    note.parent.rename(tmp_path / "elsewhere")
    note.parent.symlink_to(tmp_path / "elsewhere")
    assert _drifted(place) == inside
    place.build()
    assert _drifted(place) == inside


def test_a_file_beside_ours_is_looked_at_once(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    looks_in = Files.looks_in
    monkeypatch.setattr(Files, "looks_in", lambda files, folder: asked.append(folder) or looks_in(files, folder))  # type: ignore[func-returns-value]
    (place.note("sources/").parent / "mine.md").write_text("mine")
    place.build()
    assert _path(place, place.note("sources/")).rpartition("/")[0] in asked
    asked.clear()
    place.build()
    assert asked == []


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


def test_what_is_missing_of_a_damaged_session_is_seen_again_until_it_is_made_good(tmp_path: Path) -> None:
    store = Failing()
    store.streams = a_store().streams
    place = Workplace(tmp_path / "w", store)
    place.build()
    store.failing = "2026-11-28-power-cut-9c01"
    lost = sorted(place.vault.rglob("*9c01*.*"))
    assert len(lost) > 3
    for path in lost:
        path.unlink()
    for _ in range(2):
        assert len(place.build().problems) == 1
        assert _drifted(place) == {_path(place, path) for path in lost}
    store.failing = ""
    place.build()
    assert _drifted(place) == set()
    assert place.files() == afresh(place, tmp_path / "afresh")


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


def test_a_file_of_which_the_build_could_not_be_rid_is_taken_away_by_a_later_one(place: Workplace) -> None:
    note = place.vault / "nights/2026-11-21.md"
    data = note.read_bytes()
    note.unlink()
    note.mkdir()
    for batch in ("batch-2026-11-21t020000-ab12", "batch-2026-11-28t020000-ab12"):
        del place.store.streams[batch]
    assert len(place.build().left_alone) == 1
    note.rmdir()
    note.write_bytes(data)
    assert place.build().removed == ("nights/2026-11-21.md",)


def test_a_folder_that_was_emptied_is_no_longer_looked_at(place: Workplace) -> None:
    assert "nights" in _marks(place)
    for batch in ("batch-2026-11-21t020000-ab12", "batch-2026-11-28t020000-ab12"):
        del place.store.streams[batch]
    place.build()
    assert "nights" not in _marks(place)


def test_a_catalogue_of_before_folders_had_marks_is_taken_over_with_all_edits_since(place: Workplace) -> None:
    before = _marks(place)
    with closing(sqlite3.connect(place.state / FILE)) as base:
        base.execute("DROP TABLE folders")
        base.execute("DROP INDEX files_by_owner")
        base.execute("UPDATE kept SET value = 'an earlier program' WHERE name = 'layout'")
        base.commit()
    note = place.note("topics/")
    change(note, "%% begin notes %%\n", "%% begin notes %%\nmine\n")
    place.note("sources/").unlink()
    place.build()
    assert "mine" in note.read_text()
    assert _drifted(place) == set()
    assert _marks(place).keys() == before.keys()


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


def test_a_build_that_waited_for_another_knows_what_began_meanwhile(place: Workplace) -> None:
    with closing(sqlite3.connect(place.state / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = threading.Thread(target=place.build)
        waiting.start()
        time.sleep(0.3)  # it has come as far as it can
        story = _a_story(place.store, 77)
        other.execute("ROLLBACK")
        waiting.join()
    assert any(path.startswith("sessions/") and story.id in data.decode() for path, data in place.files().items())
