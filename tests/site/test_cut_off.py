"""A build that is cut off is made good by the next one, at whatever point it ended; and what could not be read is tried again."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.site import files
from pipeline.vault.kept import FILE, Kept
from tests.site.scratch import Scratch, cold, note


class Cut(BaseException):
    """The end of a process."""


def _before_anything_is_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> None:
        raise Cut

    monkeypatch.setattr(files, "put_in_place", cut)


def _amid_the_renaming(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = files.put_in_place

    def cut(site: Path, paths: list[str]) -> None:
        whole(site, random.Random(len(paths)).sample(paths, len(paths) // 2))
        raise Cut

    monkeypatch.setattr(files, "put_in_place", cut)


def _before_it_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> None:
        raise Cut

    monkeypatch.setattr(Kept, "commit", cut)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    scratch = Scratch(tmp_path)
    for number in range(6):
        links = f"Words of {number}. [[n{(number + 1) % 6}]] ![[pic.svg]]"
        scratch.write(f"my/n{number}.md", note(f"Note {number}", links, "source", tags="[research/source, topic/x]"))
    scratch.write("my/pic.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>')
    scratch.build()
    return scratch


def _changed(scratch: Scratch) -> None:
    scratch.write("my/n1.md", note("Another title", "Unheard of", "source", tags="[topic/y]"))
    scratch.write("my/new.md", note("New", "[[n3]]", "report"))
    scratch.write("my/pic.svg", '<svg xmlns="http://www.w3.org/2000/svg"><title>Other</title></svg>')
    scratch.remove("my/n4.md")


@pytest.mark.parametrize("cutting", [_before_anything_is_in_place, _amid_the_renaming, _before_it_is_remembered])
def test_a_build_that_was_cut_off_is_made_good_by_the_next(
    scratch: Scratch, tmp_path: Path, cutting: Callable[[pytest.MonkeyPatch], None]
) -> None:
    _changed(scratch)
    with pytest.MonkeyPatch.context() as monkeypatch:
        cutting(monkeypatch)
        with pytest.raises(Cut):
            scratch.build()
    scratch.build()
    assert scratch.files() == cold(scratch, tmp_path / "other")


def test_what_changed_between_a_cut_and_the_next_build_is_seen_too(scratch: Scratch, tmp_path: Path) -> None:
    _changed(scratch)
    with pytest.MonkeyPatch.context() as monkeypatch:
        _amid_the_renaming(monkeypatch)
        with pytest.raises(Cut):
            scratch.build()
    scratch.remove("my/new.md")
    scratch.remove("my/pic.svg")
    scratch.build()
    assert scratch.files() == cold(scratch, tmp_path / "other")


def test_a_note_that_may_not_be_read_is_tried_again(scratch: Scratch) -> None:
    scratch.write("my/n1.md", note("Secret for a while", "x", "source"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.site.public.read", lambda root, path: None if path == "my/n1.md" else files.read(root, path))
        scratch.build()
    assert "Secret for a while" not in scratch.html("my/n1.html")
    scratch.build()
    assert "Secret for a while" in scratch.html("my/n1.html"), "though it looks as it did"


def test_a_folder_that_went_takes_its_pages_and_images_with_it(scratch: Scratch, tmp_path: Path) -> None:
    for path in sorted((scratch.folder / "vault" / "my").iterdir())[:-1]:
        scratch.write(f"other/{path.name}", path.read_bytes())
    (scratch.folder / "vault" / "my").rename(tmp_path / "away")
    assert "my/n5.html" in scratch.build().removed
    assert not (scratch.folder / "site" / "my").exists()
    assert scratch.files() == cold(scratch, tmp_path / "other")


def test_what_a_killed_build_left_beside_the_pages_goes(scratch: Scratch) -> None:
    whole = scratch.files()
    (scratch.folder / "site" / "my" / ".n1.html.tmp").write_text("half")
    (scratch.folder / "site" / "my" / ".mine.tmp").write_text("somebody's own")
    scratch.build()
    assert scratch.files() == {**whole, "my/.mine.tmp": b"somebody's own"}


def test_what_stood_when_the_cache_was_lost_is_known_again_as_it_stands(scratch: Scratch) -> None:
    (scratch.folder / "state" / FILE).unlink()
    assert scratch.build().written == ()
    with closing(sqlite3.connect(scratch.folder / "state" / FILE)) as base:
        known = dict(base.execute("SELECT path, size FROM pages"))
    assert known == {path: len(data) for path, data in scratch.files().items()}
