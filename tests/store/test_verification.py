from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import WorkspaceLocked
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import ZEROS, seal
from pipeline.store.verification import repair, verify
from tests.store.samples import files_in, record, records

FIRST = "sessions/s-1/events/000001-run-1.jsonl"
SECOND = "sessions/s-1/events/000004-run-2.jsonl"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a log of one session in two segments, one batch, and one object that a record names."""
    store = FileStore(tmp_path)
    digest = store.objects.put(b"page")
    store.append("s-1", records([1, 2, 3], note={"digest": digest}), 0)
    store.append("s-1", records([4, 5], run="run-2"), 3)
    store.append("batch-1", records([1], "batch-1"), 0)
    for stream in ("s-1", "batch-1"):
        store.release(stream)
    return tmp_path


def kinds(root: Path) -> list[tuple[str, int, str]]:
    return [(finding.path, finding.line, finding.kind) for finding in verify(root)]


def alter(path: Path, line: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b"worker", b"wOrker")
    path.write_bytes(b"".join(lines))


def versions(root: Path) -> list[int]:
    return [one.version for one in FileStore(root).load("s-1")]


def test_a_sound_log_has_no_findings_and_is_not_touched(root: Path) -> None:
    before = files_in(root)
    assert verify(root) == []
    assert repair(root) == []
    assert files_in(root) == before


def test_a_log_that_is_not_there_has_no_findings(tmp_path: Path) -> None:
    assert verify(tmp_path / "none") == []
    assert repair(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_every_damaged_file_is_named(root: Path) -> None:
    alter(root / FIRST, 3)
    (root / "batches" / "batch-1.jsonl").write_bytes(b"<<<<<<< ours\n")
    stored = next((root / "objects").glob("*/*.gz"))
    stored.write_bytes(b"x")
    assert kinds(root) == [
        (FIRST, 3, "corrupt"),
        (SECOND, 1, "detached"),
        ("batches/batch-1.jsonl", 1, "corrupt"),
        (stored.relative_to(root).as_posix(), 0, "object"),
    ]


def test_a_missing_object_is_named_once_by_the_record_that_needs_it(root: Path) -> None:
    next((root / "objects").glob("*/*.gz")).unlink()
    assert kinds(root) == [(FIRST, 1, "missing")]
    assert repair(root) == []


def test_an_object_under_a_wrong_name_is_found(root: Path) -> None:
    stored = next((root / "objects").glob("*/*.gz"))
    stored.rename(stored.with_name("0" * 64 + ".gz"))
    assert [kind for _, _, kind in kinds(root)] == ["missing", "object"]


def test_a_file_that_cannot_be_read_is_named(root: Path) -> None:
    (root / SECOND).unlink()
    (root / SECOND).mkdir()
    assert kinds(root) == [(SECOND, 0, "unreadable")]


def test_repair_sets_copies_aside_and_keeps_the_longest_sound_prefix(root: Path) -> None:
    alter(root / FIRST, 3)
    before = files_in(root)
    done = {one.path: one for one in repair(root)}
    assert {path: one.kept for path, one in done.items()} == {FIRST: 2, SECOND: 0}
    for path, one in done.items():
        assert one.copy.startswith("damaged/")
        assert (root / one.copy).read_bytes() == before[path]
    assert (verify(root), versions(root)) == ([], [1, 2])
    assert repair(root) == []
    assert FileStore(root).append("s-1", records([3], run="run-3"), 2) == 3


def test_repair_removes_a_segment_without_a_sound_record(root: Path) -> None:
    alter(root / SECOND, 1)
    assert [(one.path, one.kept) for one in repair(root)] == [(SECOND, 0)]
    assert not (root / SECOND).exists()
    assert (verify(root), versions(root)) == ([], [1, 2, 3])


def test_repair_trims_a_torn_tail_and_mends_a_missing_line_end(root: Path) -> None:
    whole = (root / SECOND).read_bytes()
    for damaged, kept in ((whole + b'{"id":', 2), (whole[:-1], 2), (whole[:-2], 1)):
        (root / SECOND).write_bytes(damaged)
        assert kinds(root)[0][2] == "torn"
        assert [one.kept for one in repair(root)] == [kept]
        assert verify(root) == []
        assert whole.startswith((root / SECOND).read_bytes())


def test_a_sealed_torn_tail_is_no_finding(root: Path) -> None:
    (root / FIRST).write_bytes((root / FIRST).read_bytes() + b'{"id":')
    assert verify(root) == []
    assert repair(root) == []


def test_repair_sets_a_damaged_object_aside(root: Path) -> None:
    stored = next((root / "objects").glob("*/*.gz"))
    stored.write_bytes(b"x")
    done = repair(root)
    assert [(root / one.copy).read_bytes() for one in done] == [b"x"]
    assert kinds(root) == [(FIRST, 1, "missing")]
    FileStore(root).objects.put(b"page")
    assert verify(root) == []


def test_repair_leaves_both_ends_of_a_fork(root: Path) -> None:
    other = root / "sessions/s-1/events/000001-run-9.jsonl"
    other.write_bytes(seal(record(1, run="run-9").data, ZEROS)[0])
    before = files_in(root)
    assert [kind for _, _, kind in kinds(root)] == ["fork"]
    assert repair(root) == []
    assert files_in(root) == before


def test_repair_leaves_a_stream_that_is_being_written(root: Path) -> None:
    writer = FileStore(root)
    writer.append("s-1", records([6], run="run-3"), 5)
    alter(root / FIRST, 2)
    before = files_in(root)
    with pytest.raises(WorkspaceLocked):
        repair(root)
    assert files_in(root) == before
