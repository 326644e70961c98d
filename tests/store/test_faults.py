"""Disks that fail: what was acknowledged stays, what was not is never half there."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path

import pytest

from pipeline.domain.events.stream_records import Record
from pipeline.errors import LogUnwritable, VersionConflict
from pipeline.store.file_store import FileStore
from pipeline.store.verification import verify
from pipeline.system import files
from tests.seeds import FULL, SEED
from tests.store.faults import FaultyDisk
from tests.store.samples import record, records

FOLDER = Path("sessions/s-1/events")


def fails(*_: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def dies(*_: object) -> None:
    raise KeyboardInterrupt


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def writes_only(count: int) -> object:
    return lambda fd, data: os.write(fd, data[:count])


def segments(root: Path) -> list[str]:
    return sorted(path.name for path in (root / FOLDER).glob("*"))


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """Return a store in which s-1 is at version 2."""
    store = FileStore(tmp_path)
    store.append("s-1", records([1, 2]), 0)
    return store


def test_a_batch_cut_anywhere_is_acknowledged_once_when_it_comes_again(tmp_path: Path) -> None:
    length = 3 * len(b"".join(one.data for one in records([3, 4, 5]))) // 2 + 3 * 60
    for count in range(0, length, 29):
        store = FileStore(tmp_path / str(count))
        store.append("s-1", records([1, 2]), 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_write", writes_only(count))
            with pytest.raises(LogUnwritable):
                store.append("s-1", records([3, 4, 5]), 2)
        assert store.append("s-1", records([3, 4, 5]), 2) == 5
        assert store.append("s-1", records([6]), 5) == 6
        assert list(FileStore(tmp_path / str(count)).load("s-1")) == records(range(1, 7))
        assert verify(tmp_path / str(count)) == []
        store.release("s-1")


def test_whole_lines_of_a_failed_batch_are_stored_events(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "_write", writes_only(400))
        patch.setattr(files, "_ftruncate", fails)
        with pytest.raises(LogUnwritable):
            store.append("s-1", records([3, 4, 5]), 2)
    loaded = list(store.load("s-1"))
    assert loaded == records([1, 2, 3])
    with pytest.raises(VersionConflict):
        store.append("s-1", [record(3, identity="another")], 2)
    assert store.append("s-1", [record(4, identity="another")], 3) == 4
    assert list(store.load("s-1")) == [*loaded, record(4, identity="another")]


def test_a_failed_file_is_given_up_and_a_new_segment_repeats_what_is_in_doubt(
    tmp_path: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "_fdatasync", fails)
        patch.setattr(files, "_ftruncate", fails)
        with pytest.raises(LogUnwritable, match="Input/output error") as refused:
            store.append("s-1", records([3]), 2)
    assert "check it" in refused.value.hint
    given_up = (tmp_path / FOLDER / "000001-run-1.jsonl").read_bytes()
    assert store.append("s-1", records([3, 4]), 2) == 4
    assert segments(tmp_path) == ["000001-run-1.jsonl", "000003-run-1.jsonl"]
    assert (tmp_path / FOLDER / "000001-run-1.jsonl").read_bytes() == given_up
    assert (tmp_path / FOLDER / "000003-run-1.jsonl").read_bytes().startswith(given_up.splitlines(keepends=True)[2])
    assert list(FileStore(tmp_path).load("s-1")) == records(range(1, 5))


def test_a_failed_append_is_cut_off_again_so_that_nobody_builds_on_what_the_disk_may_never_hold(
    tmp_path: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (tmp_path / FOLDER / "000001-run-1.jsonl").read_bytes()
    for name, fault in (("_fdatasync", fails), ("_write", writes_only(100)), ("_write", full)):
        with monkeypatch.context() as patch:
            patch.setattr(files, name, fault)
            with pytest.raises(LogUnwritable):
                store.append("s-1", records([3]), 2)
        assert list(FileStore(tmp_path).load("s-1")) == records([1, 2])
        assert (tmp_path / FOLDER / "000001-run-1.jsonl").read_bytes() == before


def test_what_is_in_doubt_stays_in_doubt_over_a_release(
    tmp_path: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "_fdatasync", fails)
        with pytest.raises(LogUnwritable):
            store.append("s-1", records([3]), 2)
    store.release("s-1")
    assert store.append("s-1", records([3]), 2) == 3
    assert segments(tmp_path) == ["000001-run-1.jsonl", "000003-run-1.jsonl"]


def test_a_failed_sync_is_never_repeated_on_that_file(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []

    def watch(fd: int) -> None:
        synced.append(os.fstat(fd).st_ino)

    def watch_and_fail(fd: int) -> None:
        watch(fd)
        fails()

    with monkeypatch.context() as patch:
        patch.setattr(files, "_fdatasync", watch_and_fail)
        with pytest.raises(LogUnwritable):
            store.append("s-1", records([3]), 2)
    (failed,) = synced
    monkeypatch.setattr(files, "_fsync", watch)
    monkeypatch.setattr(files, "_fdatasync", watch)
    store.append("s-1", records([3]), 2)
    store.append("s-1", records([4]), 3)
    assert len(synced) > 2
    assert synced.count(failed) == 1


def test_a_full_disk_leaves_no_trace_of_a_first_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path)
    store.objects.put(b"page")
    with monkeypatch.context() as patch:
        patch.setattr(files, "_write", full)
        for _ in range(3):
            with pytest.raises(LogUnwritable, match="No space left") as refused:
                store.append("s-1", records([1]), 0)
        assert "free some space" in refused.value.hint
        with pytest.raises(LogUnwritable):
            store.objects.put(b"another page")
    assert segments(tmp_path) == []
    assert list((tmp_path / "local" / "tmp").iterdir()) == []
    assert store.append("s-1", records([1]), 0) == 1
    assert segments(tmp_path) == ["000001-run-1.jsonl"]


def test_a_first_segment_whose_name_is_not_durable_is_followed_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path)
    with monkeypatch.context() as patch:
        synced = files.sync_directory
        patch.setattr(files, "sync_directory", lambda path: fails() if path == tmp_path / FOLDER else synced(path))
        with pytest.raises(LogUnwritable):
            store.append("s-1", records([1, 2]), 0)
    assert store.append("s-1", records([1, 2]), 0) == 2
    assert segments(tmp_path) == ["000001-run-1.jsonl", "000001-run-1~2.jsonl"]
    assert list(FileStore(tmp_path).load("s-1")) == records([1, 2])


def test_an_interrupt_between_write_and_acknowledgement_loses_nothing(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(files, "_fdatasync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append("s-1", records([3]), 2)
    assert store.append("s-1", records([3, 4]), 2) == 4
    assert list(store.load("s-1")) == records(range(1, 5))


def test_a_new_run_makes_durable_what_it_builds_on(tmp_path: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.release("s-1")
    synced: list[int] = []
    monkeypatch.setattr(files, "_fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    FileStore(tmp_path).append("s-1", [record(3, run="run-2")], 2)
    assert (tmp_path / FOLDER / "000001-run-1.jsonl").stat().st_ino in synced


def test_what_a_killed_process_left_and_a_sync_lost_is_not_built_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = FaultyDisk(random.Random(0), monkeypatch)
    killed = FileStore(tmp_path)
    killed.append("s-1", records([1, 2]), 0)
    with monkeypatch.context() as patch:
        patch.setattr(files, "_fdatasync", dies)
        with pytest.raises(KeyboardInterrupt):
            killed.append("s-1", records([3]), 2)
    killed.release("s-1")
    second, third = FileStore(tmp_path), FileStore(tmp_path)
    assert list(second.load("s-1")) == records([1, 2, 3])
    faulty.rate = 1.0
    with pytest.raises(LogUnwritable):
        second.append("s-1", [record(4, run="run-2")], 3)
    second.release("s-1")
    faulty.rate = 0.0
    with pytest.raises(VersionConflict):
        third.append("s-1", [record(4, run="run-3")], 3)
    assert third.append("s-1", [record(3, run="run-3")], 2) == 3
    third.release("s-1")
    faulty.power_cut(tmp_path)
    assert list(FileStore(tmp_path).load("s-1")) == [*records([1, 2]), record(3, run="run-3")]


class Life:
    """A seeded story of one log on a bad disk: appends, retries, kills, power cuts."""

    def __init__(self, seed: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._chance = random.Random(seed)
        self.disk = FaultyDisk(self._chance, monkeypatch)
        self._root = root
        self._store = FileStore(root)
        self._runs = 0
        self._drafts = 0
        self.acknowledged: list[Record] = []

    def go_on(self, turns: int) -> None:
        for _ in range(turns):
            self.disk.rate = self._chance.choice([0.0, 0.2, 0.6])
            self._chance.choices([self._append, self._restart, self._lose_power], [12, 1, 1])[0]()
            self.check()

    def check(self) -> None:
        loaded = list(self._store.load("s-1"))
        assert loaded[: len(self.acknowledged)] == self.acknowledged
        assert [one.version for one in loaded] == list(range(1, len(loaded) + 1))

    def _append(self) -> None:
        version = len(self._store.load("s-1"))
        batch = [self._draft(version + n) for n in range(1, self._chance.randint(1, 4) + 1)]
        for _ in range(self._chance.randint(1, 3)):
            try:
                self._store.append("s-1", batch, version)
            except LogUnwritable:
                continue
            self.acknowledged = list(self._store.load("s-1"))
            assert self.acknowledged[version:] == batch
            return

    def _lose_power(self) -> None:
        self._store.release("s-1")
        self.disk.power_cut(self._root)
        self._restart()

    def _restart(self) -> None:
        self._store.release("s-1")
        self._store = FileStore(self._root)
        self._runs += 1

    def _draft(self, version: int) -> Record:
        self._drafts += 1
        return record(version, run=f"run-{self._runs}", identity=f"e-{self._drafts}", note="x" * self._chance.randint(0, 60))


@pytest.mark.parametrize("seed", range(60 * SEED, 60 * SEED + (60 if FULL else 20)))
def test_on_a_bad_disk_every_acknowledged_event_stays_and_none_is_doubled(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(seed, tmp_path, monkeypatch)
    life.go_on(60)
    life.disk.forget()
    assert life.acknowledged
    assert life.disk.faults > 0
