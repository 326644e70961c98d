"""Only what differs is written; what is not ours is not touched; nothing that anyone wrote is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import ResearchError
from pipeline.system.files import connect_sqlite
from pipeline.vault.build_cache import FILE
from tests.vault.builders import Workplace, a_store, change


def test_an_edited_note_is_set_aside_before_it_is_written_anew(place: Workplace) -> None:
    note = place.note("reports/")
    edited = note.read_bytes() + b"\nI disagree.\n"
    note.write_bytes(edited)
    report = place.build()
    (copy,) = report.set_aside
    assert copy.startswith(f"attic/{note.stem}.")
    assert (place.vault / copy).read_bytes() == edited
    assert b"I disagree" not in note.read_bytes()
    assert place.build().written == ()


def test_a_foreign_file_at_a_notes_path_is_left_alone_and_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    (place.vault / "nights").mkdir(parents=True)
    (place.vault / "nights/2026-11-21.md").write_text("my diary")
    report = place.build()
    assert (place.vault / "nights/2026-11-21.md").read_text() == "my diary"
    assert [problem.partition(":")[0] for problem in report.left_alone] == ["nights/2026-11-21.md"]
    assert len(report.written) == len(place.files()) - 1


def test_files_that_are_no_notes_of_ours_are_never_touched(place: Workplace) -> None:
    names = ("my/thoughts.md", "reports/2026/mine.md", ".obsidian/app.json", "canvas.canvas", "attic/old.md")
    for name in names:
        (place.vault / name).parent.mkdir(exist_ok=True)
        (place.vault / name).write_text(name)
    place.store.streams.clear()
    place.build()
    assert [(place.vault / name).read_text() for name in names] == [*names]


@pytest.mark.parametrize("content", [None, b"", b"{", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_lost_or_unreadable_catalogue_adopts_what_is_as_it_would_be_made(place: Workplace, content: bytes | None) -> None:
    (place.state / FILE).unlink() if content is None else (place.state / FILE).write_bytes(content)
    report = place.build()
    assert report.written == report.set_aside == report.removed == report.problems == ()
    assert place.build().unchanged == report.unchanged


def test_a_summary_that_was_damaged_is_made_again(place: Workplace) -> None:
    sqlite3.connect(place.state / FILE, isolation_level=None).execute("UPDATE summaries SET value = '{'")
    (place.templates / "topic.md.j2").write_text("Other words.\n")
    assert {path.partition("/")[0] for path in place.build().written} == {"topics"}


def test_while_another_build_is_under_way_nothing_is_done(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.vault.build_cache.connect_sqlite", partial(connect_sqlite, timeout_s=0.01))
    base = place.vault / "bases" / "reports.base"
    base.unlink()
    other = sqlite3.connect(place.state / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ResearchError, match="locked"):
        place.build()
    assert not base.exists()
    other.rollback()
    assert place.build().written == ("bases/reports.base",)


@pytest.mark.parametrize(
    ("path", "template"), [("bases/reports.base", "bases/reports.base"), (".obsidian/snippets/research.css", "research.css")]
)
def test_a_base_or_style_sheet_is_renewed_until_somebody_edits_it_also_where_nothing_is_known_of_it(
    place: Workplace, path: str, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, made_from = place.vault / path, place.templates / template
    file.write_text("zero: true\n# generated: Botz\n")  # as an earlier version signed it
    for new in ("one: true\n", "two: true\n"):
        made_from.write_text(new)
        shutil.rmtree(place.state)
        assert place.build().written == (path,)
        assert file.read_text().startswith(new)
    file.write_text(mine := f"mine: true\n{file.read_text()}")
    made_from.write_text("three: true\n")
    assert place.build().set_aside == ()
    monkeypatch.setattr("pipeline.vault.stages.Build", None)  # a build with nothing to do does without it
    assert place.build().written == ()
    assert file.read_text() == mine


def test_notes_that_are_no_longer_made_go_away_with_their_folders(place: Workplace) -> None:
    del place.store.streams["batch-2026-11-21t020000-ab12"], place.store.streams["batch-2026-11-28t020000-ab12"]
    report = place.build()
    assert report.removed == ("nights/2026-11-21.md", "nights/2026-11-28.md", "nights/thirty-nights.svg")
    assert not (place.vault / "nights").exists()
    assert report.set_aside == ()


@pytest.mark.parametrize("mine", ["%% begin notes %%\nmine\n", "loose words\n%% begin notes %%\n"])
def test_a_stale_note_that_someone_wrote_in_moves_to_the_attic(place: Workplace, mine: str) -> None:
    note = place.vault / "nights/2026-11-21.md"
    change(note, "%% begin notes %%\n", mine)
    edited = note.read_bytes()
    del place.store.streams["batch-2026-11-21t020000-ab12"]
    report = place.build()
    assert not note.exists()
    assert [(place.vault / copy).read_bytes() for copy in report.set_aside] == [edited]


@pytest.mark.parametrize("put", [Path.symlink_to, lambda note, _: note.mkdir(), lambda note, _: os.mkfifo(note)])
def test_a_link_a_folder_or_a_pipe_in_the_way_is_left_alone_and_named(
    place: Workplace, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    canary, note = tmp_path / "canary", place.note("reports/")
    canary.write_text("untouched")
    note.unlink()
    put(note, canary)
    how = note.lstat().st_ino
    assert len(place.build().left_alone) == 1
    assert canary.read_text() == "untouched"
    assert note.lstat().st_ino == how


def test_a_linked_folder_is_not_entered(place: Workplace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(place.vault / "reports")
    (place.vault / "reports").symlink_to(outside)
    report = place.build()
    assert list(outside.iterdir()) == []
    assert len(report.left_alone) == 2
