from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.errors import EventRejected, LogDamaged, LogForked, LogUnreadable, LogUnwritable
from pipeline.ports import EventStore
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import ZEROS, seal
from tests.fakes import batches
from tests.store.contract import EventStoreContract
from tests.store.samples import files_in, record, records


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.fixture
def files(root: Path) -> FileStore:
    return FileStore(root)


@pytest.fixture
def store(root: Path) -> EventStore:
    return FileStore(root)


@pytest.fixture
def other_store(root: Path) -> EventStore:
    return FileStore(root)


class TestFileStore(EventStoreContract):
    """The contract over files."""


def segment(root: Path, name: str = "000001-run-1.jsonl") -> Path:
    return root / "sessions" / "s-1" / "events" / name


def test_a_run_writes_one_segment_and_leaves_nothing_behind(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1, 2]), 0)
    files.append("s-1", records([3]), 2)
    files.append("batch-1", records([1], "batch-1"), 0)
    files.release("s-1")
    files.release("batch-1")
    assert list(files_in(root)) == [
        ".gitattributes",
        "batches/batch-1.jsonl",
        "local/.gitignore",
        "sessions/s-1/events/000001-run-1.jsonl",
    ]
    assert (root / ".gitattributes").read_bytes() == b"*.jsonl -text -merge\n"
    assert (root / "local" / ".gitignore").read_bytes() == b"*\n"


def test_every_run_has_a_segment_of_its_own(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1, 2]), 0)
    files.append("s-1", [record(3, run="run-2")], 2)
    files.append("s-1", [record(4, run="run-2")], 3)
    assert [path.name for path in sorted(segment(root).parent.iterdir())] == ["000001-run-1.jsonl", "000003-run-2.jsonl"]


def test_a_run_that_comes_back_does_not_touch_its_earlier_segment(root: Path, files: FileStore) -> None:
    for version in (1, 2):
        files.append("batch-1", [record(version, "batch-1")], version - 1)
        files.release("batch-1")
    assert [path.name for path in sorted((root / "batches").iterdir())] == ["batch-1.jsonl", "batch-1~run-1.jsonl"]
    assert list(files.load("batch-1")) == records([1, 2], "batch-1")
    assert batches(files) == ["batch-1"]


def test_only_the_owner_may_read_and_write(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1]), 0)
    files.objects.put(b"page")
    for path in [root, *root.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_the_users_own_git_attributes_are_left_alone(root: Path, files: FileStore) -> None:
    root.mkdir()
    (root / ".gitattributes").write_text("mine\n")
    files.append("s-1", records([1]), 0)
    assert (root / ".gitattributes").read_text() == "mine\n"


def test_reading_makes_nothing(root: Path, files: FileStore) -> None:
    files.load("s-1")
    list(files.ids("session"))
    batches(files)
    assert not root.exists()


def test_appending_only_what_is_stored_writes_no_byte(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1, 2]), 0)
    files.release("s-1")
    before = files_in(root)
    assert files.append("s-1", records([1, 2]), 0) == 2
    files.release("s-1")
    assert files_in(root) == before


def test_a_folder_without_a_segment_is_no_session(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1]), 0)
    (root / "sessions" / "s-2" / "events").mkdir(parents=True)
    (root / "sessions" / "notes.txt").write_text("x")
    (root / "batches").mkdir()
    (root / "batches" / "README").write_text("x")
    assert list(files.ids("session")) == ["s-1"]
    assert batches(files) == []


def test_an_id_that_cannot_be_a_file_name_is_refused(files: FileStore) -> None:
    for session, run in (("a/b", "run"), (".hidden", "run"), ("s-1", "run~2"), ("s-1", "../run"), ("x" * 151, "run")):
        with pytest.raises(EventRejected):
            files.append(session, [record(1, session, run)], 0)


def test_a_torn_tail_is_ignored_logged_once_by_all_processes_together_and_left_alone(
    root: Path, files: FileStore, caplog: pytest.LogCaptureFixture
) -> None:
    files.append("s-1", records([1, 2, 3]), 0)
    torn = segment(root).read_bytes()[:-40]
    segment(root).write_bytes(torn)
    later = FileStore(root)
    with caplog.at_level(logging.WARNING, "pipeline.store"):
        assert [list(later.load("s-1")), list(later.load("s-1"))] == [records([1, 2])] * 2
    assert len(caplog.records) == 1
    assert "sessions/s-1/events/000001-run-1.jsonl:3: torn:" in caplog.records[0].message
    with caplog.at_level(logging.WARNING, "pipeline.store"):
        FileStore(root).load("s-1")
    assert len(caplog.records) == 1
    files.release("s-1")
    assert later.append("s-1", [record(3, run="run-2")], 2) == 3
    assert segment(root).read_bytes() == torn
    sealed = FileStore(root)
    assert list(sealed.load("s-1")) == [*records([1, 2]), record(3, run="run-2")]


def test_damage_is_refused_for_reading_and_writing_alike(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1, 2, 3]), 0)
    files.release("s-1")
    segment(root).write_bytes(segment(root).read_bytes().replace(b'"note":""', b'"note":"x"', 1))
    with pytest.raises(LogDamaged, match=r"000001-run-1\.jsonl:1"):
        files.load("s-1")
    with pytest.raises(LogDamaged, match=r"000001-run-1\.jsonl:1"):
        files.append("s-1", records([4]), 3)
    assert not list((root / "local" / "locks").iterdir())


def test_a_fork_is_refused(root: Path, files: FileStore) -> None:
    files.append("s-1", records([1]), 0)
    files.release("s-1")
    segment(root, "000001-run-2.jsonl").write_bytes(seal(record(1, run="run-2").data, ZEROS)[0])
    with pytest.raises(LogForked):
        files.load("s-1")
    with pytest.raises(LogForked):
        files.append("s-1", records([2]), 1)


def test_a_segment_that_cannot_be_read_is_neither_absence_nor_damage(root: Path, files: FileStore) -> None:
    segment(root).mkdir(parents=True)
    with pytest.raises(LogUnreadable, match=r"000001-run-1\.jsonl: the file cannot be read: Is a directory") as caught:
        files.load("s-1")
    assert caught.value.exit_code == 12


def test_a_folder_that_cannot_be_made_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file is in the way")
    store = FileStore(tmp_path / "events")
    with pytest.raises(LogUnwritable):
        store.append("s-1", records([1]), 0)
    with pytest.raises(LogUnwritable):
        store.objects.put(b"page")


def test_threads_that_append_to_different_sessions_do_not_disturb_each_other(files: FileStore) -> None:
    def write(session: str) -> None:
        for version in range(1, 11):
            files.append(session, [record(version, session)], version - 1)

    threads = [threading.Thread(target=write, args=(f"s-{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        assert list(files.load(f"s-{n}")) == records(range(1, 11), f"s-{n}")


WRITER = """
import sys
from pathlib import Path
from pipeline.store.file_store import FileStore
from tests.store.samples import record
from tests.fakes import batches
store = FileStore(Path(sys.argv[1]))
for version in range(1, 301):
    store.append("s-1", [record(version, note="x" * 3000)], version - 1)
"""


def test_a_reader_sees_a_growing_prefix_while_another_process_writes(root: Path, files: FileStore) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root)])
    seen = 0
    while writer.poll() is None:
        loaded = files.load("s-1")
        assert [one.version for one in loaded] == list(range(1, len(loaded) + 1))
        assert len(loaded) >= seen
        seen = len(loaded)
    assert writer.returncode == 0
    assert len(files.load("s-1")) == 300
