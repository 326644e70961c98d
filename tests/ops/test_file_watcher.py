"""Folders watched: every way to save is noticed, once, and the work never sets itself off."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.domain.events.stream_records import Record
from pipeline.errors import StoreUnreachable
from pipeline.ops.change_watching import Feed, FileWatcher, run_on_changes
from pipeline.store.file_store import FileStore
from tests.fakes import MemoryStore
from tests.store.samples import record, records

LONG_S = 20.0


@contextmanager
def watching(folder: Path, *, besides: tuple[Path, ...] = (), polls: bool = False) -> Iterator[FileWatcher]:
    made = FileWatcher([folder], besides, polls=polls)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    watched = tmp_path / "watched"
    (watched / "sub").mkdir(parents=True)
    (watched / "sub" / "a.j2").write_text("one")
    return watched


@pytest.mark.parametrize("polls", [False, True])
def test_a_file_that_is_written_or_renamed_into_place_is_noticed(folder: Path, polls: bool) -> None:
    with watching(folder, polls=polls) as watch:
        (folder / "sub" / "a.j2").write_text("two, and longer")
        assert any(path.endswith("a.j2") for path in watch.changes.take(LONG_S))
        (folder / "sub" / ".a.j2.swp").write_text("three")
        (folder / "sub" / ".a.j2.swp").replace(folder / "sub" / "a.j2")
        assert any(path.endswith("a.j2") for path in watch.changes.take(LONG_S))


def test_a_folder_that_is_made_later_is_watched_too(folder: Path) -> None:
    with watching(folder) as watch:
        (folder / "new").mkdir()
        watch.changes.take(LONG_S)
        (folder / "new" / "b.jsonl").write_text("{}")
        assert any(path.endswith("b.jsonl") for path in watch.changes.take(LONG_S))


def test_passing_files_and_what_is_left_out_and_reading_are_no_changes(folder: Path) -> None:
    (folder / "local").mkdir()
    with watching(folder, besides=(folder / "local",)) as watch:
        (folder / "local" / "cache.sqlite").write_text("x")
        (folder / ".a.tmp").write_text("x")
        (folder / "a.j2~").write_text("x")
        (folder / "4913").write_text("x")
        (folder / "sub" / "a.j2").read_text()
        list(os.scandir(folder))
        assert watch.changes.take(1.0) == frozenset()


def test_where_the_system_cannot_tell_it_looks_again_and_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def schedule(self, *_args: object, **_more: object) -> None:
            raise OSError(28, "inotify watch limit reached")

        def stop(self) -> None:
            raise RuntimeError("it was never started")

    monkeypatch.setattr("pipeline.ops.change_watching.Observer", Full)
    with watching(folder) as watch:
        assert watch.polls
        (folder / "sub" / "a.j2").write_text("two, and longer")
        assert watch.changes.take(LONG_S)


def test_new_events_are_found_also_beside_a_copy_whose_name_has_blanks(folder: Path) -> None:
    store = FileStore(folder)
    store.append("s-1", records([1]), 0)
    (segment,) = (folder / "sessions" / "s-1" / "events").iterdir()
    for name in (f"{segment.stem} (copy of: me).jsonl", "copy.jsonl"):
        segment.with_name(name).write_bytes(segment.read_bytes())
    feed = Feed(store)
    store.append("s-1", [record(2)], 1)
    assert [one.version for one in feed.read()] == [2]


def test_new_events_are_worked_on_also_after_the_store_was_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Sequence[Record]:
        raise StoreUnreachable("the database does not answer")

    store, done = MemoryStore(), list[frozenset[str]]()
    feed = Feed(store)
    store.append("s-1", records([1]), 0)
    answers: list[Callable[[], Sequence[Record]]] = [away, feed.read, lambda: records([2])]
    monkeypatch.setattr(feed, "read", lambda: answers.pop(0)())

    def work(changed: frozenset[str]) -> None:
        done.append(changed)
        (folder / "sub" / "a.j2").write_text("changed")

    with watching(folder) as watch:
        run_on_changes(watch, feed, work, lambda: len(done) > 1)
    assert done == [frozenset(), frozenset()]  # all is made again, also where a template changed at the same time
