"""Branches in files: what is read, what is written, and what of another workspace's log is not believed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import pytest

from pipeline.domain.branch_merging import joined
from pipeline.domain.events import session_events as e
from pipeline.domain.events.stream_records import Record, merge_run_id
from pipeline.domain.events.upkeep_events import ObjectsPruned, SessionForgotten, SessionPruned
from pipeline.domain.session import record_of, stamped
from pipeline.errors import LogForked, WorkspaceLocked
from pipeline.store import record_chain
from pipeline.store.copying import CopyReport, OtherLog, copy_log
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import ZEROS, parse, seal
from pipeline.store.verification import StoredLog, verify
from pipeline.text.cleaning import digest_of
from tests.recorded import recorded, records, stream
from tests.store.samples import files_in

READS = [event for event in stream() if isinstance(event, e.PageRead)]
BASE = READS[0].version - 1


def copy_missing(root: Path, other: Path, *, check: bool = False) -> CopyReport:
    return copy_log(OtherLog(other), FileStore(root), check=check)


def run_of(name: str, drafts: Sequence[e.EventBase], base: int = BASE) -> list[Record]:
    events = [e.RunStarted(agent=name), *drafts]
    at = "2026-11-22T02:15:00.000Z"
    return [record_of(stamped(one, "s1", n, name, f"{name}-{n}", at)) for n, one in enumerate(events, base + 1)]


def log_of(root: Path, *runs: tuple[list[Record], int]) -> Path:
    """A log of the recorded session's beginning, in which each run continues that version."""
    store = FileStore(root)
    for data in recorded().objects.values():
        store.objects.put(data)
    for run, base in ((list(records()[:BASE]), 0), *runs):
        store.append("s1", run, base)
        store.release("s1")
    return root


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    return log_of(tmp_path / "laptop", (run_of("laptop", READS[:2]), BASE))


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return log_of(tmp_path / "server", (run_of("server", READS[2:3]), BASE))


def segment_of(root: Path, name: str) -> Path:
    return next((root / "sessions/s1/events").glob(f"*-{name}.jsonl"))


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "sessions/s1/events").iterdir())


def test_a_stream_with_two_branches_is_read_joined_and_nothing_is_written(laptop: Path, server: Path) -> None:
    copy_missing(laptop, server)
    before = names(laptop)
    store = FileStore(laptop, joined)
    assert store.load("s1")[-1].id == f"server-{BASE + 2}"
    assert store.branched(["s1"]) == {"s1"}
    assert names(laptop) == before


def test_the_next_append_stores_the_merge_and_what_was_read_before_it_still_holds(laptop: Path, server: Path) -> None:
    copy_missing(laptop, server)
    read = FileStore(laptop, joined).load("s1")
    store = FileStore(laptop, joined)
    version = store.append("s1", run_of("later", [], len(read)), len(read))
    store.release("s1")
    again = FileStore(laptop, joined)
    assert list(again.load("s1"))[:-1] == list(read)
    assert (version, again.branched(["s1"])) == (len(read) + 1, frozenset())


def test_two_machines_that_join_on_their_own_write_the_same_file(laptop: Path, server: Path) -> None:
    mine, theirs = shutil.copytree(laptop, laptop.with_name("a")), shutil.copytree(server, server.with_name("b"))
    copy_missing(mine, server)
    copy_missing(theirs, laptop)
    for root in (mine, theirs):
        FileStore(root, joined).join("s1")
    assert files_in(mine / "sessions") == files_in(theirs / "sessions")
    assert copy_missing(mine, theirs).segments == []


def test_the_merge_is_named_after_both_ends(laptop: Path, server: Path) -> None:
    ends = [segment_of(laptop, "laptop"), segment_of(server, "server")]
    heads = [parse("x", path.read_bytes(), "s1").lines[-1].hash.decode() for path in ends]
    copy_missing(laptop, server)
    store = FileStore(laptop, joined)
    store.join("s1")
    assert segment_of(laptop, merge_run_id(*heads)).exists()
    assert store.join("s1") == []


def test_a_store_without_a_rule_refuses_branches_and_verify_says_who_joins_them(laptop: Path, server: Path) -> None:
    copy_missing(laptop, server)
    with pytest.raises(LogForked, match="the next run joins them"):
        FileStore(laptop).load("s1")
    assert [finding.kind for finding in verify(laptop)] == ["fork"]
    FileStore(laptop, joined).join("s1")
    assert verify(laptop) == []
    assert len(FileStore(laptop).load("s1")) == len(FileStore(laptop, joined).load("s1"))


def test_a_merge_whose_file_was_copied_in_part_is_made_again_whole(laptop: Path, server: Path) -> None:
    copy_missing(laptop, server)
    store = FileStore(laptop, joined)
    whole = store.load("s1")
    store.join("s1")
    file = next(path for path in (laptop / "sessions/s1/events").iterdir() if "merge-" in path.name)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:1]))
    again = FileStore(laptop, joined)
    assert again.load("s1") == whole
    again.join("s1")
    assert verify(laptop) == []
    assert FileStore(laptop).load("s1") == whole


def test_a_log_takes_over_only_what_it_lacks(laptop: Path, server: Path) -> None:
    checked = copy_missing(laptop, server, check=True)
    assert checked.segments == [f"sessions/s1/events/{BASE + 1:06d}-server.jsonl"]
    assert len(names(laptop)) == 2
    assert copy_missing(laptop, server).segments == checked.segments
    assert copy_missing(laptop, server).segments == []


def test_of_a_segment_in_both_logs_the_longer_one_is_taken(laptop: Path, server: Path) -> None:
    early = server / "sessions/s1/events/000001-run-1.jsonl"
    segment_of(server, "server").unlink()
    early.write_bytes(b"".join(early.read_bytes().splitlines(keepends=True)[:3]))
    copy_missing(server, laptop)
    assert FileStore(server).load("s1") == FileStore(laptop).load("s1")


def test_a_log_that_is_being_written_takes_over_nothing(laptop: Path, server: Path) -> None:
    writer = FileStore(laptop)
    writer.append("s1", run_of("more", [], BASE + 3), BASE + 3)
    with pytest.raises(WorkspaceLocked):
        copy_missing(laptop, server)
    writer.release("s1")


# ------------------------------------------------------------------------------------------------ a hostile log


def refusals(root: Path, other: Path) -> list[str]:
    before = names(root)
    refused = [str(finding) for finding in copy_missing(root, other).refused]
    assert names(root) == before
    assert verify(root) == []
    return refused


def test_an_altered_record_is_refused_by_name(laptop: Path, server: Path) -> None:
    path = segment_of(server, "server")
    path.write_bytes(path.read_bytes().replace(b"page.read", b"page.reaD"))
    assert "server.jsonl:2: corrupt: the record was altered" in refusals(laptop, server)[0]


def test_a_segment_that_continues_a_record_nobody_has_is_refused_by_name(laptop: Path, server: Path) -> None:
    forged = run_of("server", READS[2:3])
    lines, head = [], b"f" * 64
    for record in forged:
        line, head = seal(record.data, head)
        lines.append(line)
    segment_of(server, "server").write_bytes(b"".join(lines))
    FileStore(laptop).objects.remove([READS[2].digest])
    assert "server.jsonl:1: detached" in refusals(laptop, server)[0]
    assert not FileStore(laptop).objects.size(READS[2].digest), "objects come with what names them"


def test_records_of_another_stream_are_refused_by_name(laptop: Path, server: Path) -> None:
    (server / "sessions" / "s1").rename(server / "sessions" / "s2")
    assert all("corrupt: the record belongs to s1" in line for line in refusals(laptop, server))


def test_an_object_with_other_bytes_than_its_name_says_is_refused_with_what_names_it(laptop: Path, server: Path) -> None:
    path = laptop / "objects" / READS[2].digest[:2] / f"{READS[2].digest}.gz"
    path.unlink()
    other = next(found for found in (server / "objects").glob("*/*.gz") if found.name != path.name)
    shutil.copy(other, server / "objects" / READS[2].digest[:2] / path.name)
    (refused,) = refusals(laptop, server)
    assert "was altered" in refused


def test_a_missing_object_and_one_that_is_a_pipe_are_refused(laptop: Path, server: Path) -> None:
    path = laptop / "objects" / READS[2].digest[:2] / f"{READS[2].digest}.gz"
    path.unlink()
    theirs = server / path.relative_to(laptop)
    theirs.unlink()
    assert "which is in neither log" in refusals(laptop, server)[0]
    os.mkfifo(theirs)
    assert "cannot be read" in refusals(laptop, server)[0]


def test_objects_that_no_record_names_are_not_taken(laptop: Path, server: Path) -> None:
    digest = FileStore(server).objects.put(b"nobody asked for this")
    copy_missing(laptop, server)
    assert not (laptop / "objects" / digest[:2] / f"{digest}.gz").exists()


@pytest.mark.parametrize("name", ["..x", "a b", "-rf", "x\n", "~/x"])
def test_a_name_that_no_log_has_is_refused(laptop: Path, server: Path, name: str) -> None:
    folder = server / "sessions" / name
    folder.mkdir(parents=True)
    (folder / "events").mkdir()
    assert any("no log has a file of this name" in one.message for one in copy_missing(laptop, server).refused)


def test_a_link_out_of_the_log_is_refused(laptop: Path, server: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (server / "sessions" / "s3").symlink_to(tmp_path / "outside")
    segment_of(server, "server").unlink()
    (server / "sessions/s1/events" / "000009-x.jsonl").symlink_to("/etc/passwd")
    assert [(one.kind, one.message) for one in copy_missing(laptop, server).refused] == [("invalid", "it is a link")] * 2


def test_a_sound_record_that_is_no_event_is_refused(laptop: Path, server: Path) -> None:
    path = segment_of(server, "server")
    first = parse("x", path.read_bytes(), "s1").lines[0]
    bad = first.record.data.replace(b'"process":0', b'"process":[]')
    path.write_bytes(seal(bad, first.prev)[0])
    assert "invalid: version" in refusals(laptop, server)[0]
    pruned(server, SessionForgotten(session="x"))
    path = server / "prunes" / "prune-1.jsonl"
    path.write_bytes(seal(parse("x", path.read_bytes(), "prune-1").lines[0].record.data.replace(b'"x"', b"[]"), ZEROS)[0])
    assert "invalid: version" in refusals(laptop, server)[1]


def test_a_file_that_the_system_does_not_let_us_read_is_refused_by_name(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_chain, "read_bytes", mock.Mock(side_effect=PermissionError(13, "Permission denied")))
    refused = copy_missing(tmp_path / "new", server).refused
    assert [one.kind for one in refused] == ["unreadable"] * 2


def test_another_file_under_a_name_that_is_taken_is_refused(laptop: Path, server: Path) -> None:
    path = segment_of(server, "server")
    path.rename(path.with_name(segment_of(laptop, "laptop").name))
    pruned(laptop, SessionForgotten(session=digest_of(b"s2")))  # which strikes nothing out of a session
    assert "neither continues the other" in refusals(laptop, server)[0]


def test_a_session_that_begins_twice_under_one_id_is_refused_or_joined_and_never_mixed(laptop: Path, tmp_path: Path) -> None:
    """Somebody else's session of the same name begins with another record: both are kept, and one goes on."""
    other = FileStore(tmp_path / "other")
    began = stream()[1]
    drafts = [e.RunStarted(agent="x"), began.model_copy(update={"query": "What is another question?"})]
    other.append("s1", [record_of(stamped(d, "s1", n, "x", f"x-{n}", began.at)) for n, d in enumerate(drafts, 1)], 0)
    before = FileStore(laptop).load("s1")
    copy_missing(laptop, tmp_path / "other")
    assert list(FileStore(laptop, joined).load("s1"))[: len(before)] == list(before)
    assert parse("x", segment_of(laptop, "x").read_bytes(), "s1").lines[0].prev == ZEROS


def test_a_copy_that_a_syncing_tool_kept_of_a_changed_file_belongs_to_the_same_stream(laptop: Path) -> None:
    """The tool leaves both files; one of them is the beginning of the other, whichever it is."""
    store = FileStore(laptop)
    before = store.load("s1")
    store.append("batch-1", [record_of(stamped(e.RunStarted(), "batch-1", 1, "r", "r-1", "2026-11-22T02:15:00.000Z"))], 0)
    store.release("batch-1")
    own, batch = segment_of(laptop, "laptop"), laptop / "batches" / "batch-1.jsonl"
    for path in (own, batch):
        early = path.read_bytes().splitlines(keepends=True)[:1]
        path.with_name(f"{path.stem}.sync-conflict-20261122-021500-ABCDEFG.jsonl").write_bytes(b"".join(early))
    assert verify(laptop) == []
    assert FileStore(laptop).load("s1") == before
    assert list(FileStore(laptop).ids("batch")) == ["batch-1"]


def pruned(root: Path, event: e.EventBase, name: str = "prune-1") -> None:
    store = FileStore(root)
    store.append(name, [record_of(stamped(event, name, 1, "p", "p-1", "2026-11-23T02:15:00.000Z"))], 0)
    store.release(name)


def test_records_whose_page_was_pruned_are_taken_over_with_the_tombstone(laptop: Path, server: Path) -> None:
    name = f"{READS[2].digest[:2]}/{READS[2].digest}.gz"
    for root in (laptop, server):
        (root / "objects" / name).unlink()
    pruned(server, ObjectsPruned(kind="pages", objects=(READS[2].digest,)))
    assert copy_missing(laptop, server).refused == []
    assert list(FileStore(laptop).ids("prune")) == ["prune-1"]
    FileStore(laptop, joined).join("s1")
    assert verify(laptop) == []


def test_what_was_forgotten_here_is_not_brought_back(server: Path, tmp_path: Path) -> None:
    root, theirs = tmp_path / "forgetful", FileStore(server)
    began = stamped(e.RunStarted(), "import-got-1", 1, "r", "r-1", "2026-11-22T02:15:00.000Z")
    theirs.append("import-got-1", [record_of(began)], 0)
    for number, name in enumerate((b"s1", b"import-got-1")):
        pruned(root, SessionForgotten(session=digest_of(name)), f"prune-{number}")
    assert copy_missing(root, server).segments == []
    assert not (root / "sessions").exists()
    assert not (root / "imports").exists()


def test_of_a_session_pruned_there_the_kept_report_and_its_pages_are_taken_over(server: Path, tmp_path: Path) -> None:
    store, root = FileStore(server), tmp_path / "other"
    kept = store.objects.put(b'{"digest":"' + READS[0].digest.encode() + b'"}\n')
    pruned(server, SessionPruned(session="s1", up_to=99, head="x", report=kept))
    copy_missing(root, server)
    assert FileStore(root).objects.get(kept) == store.objects.get(kept)
    assert FileStore(root).objects.get(READS[0].digest) == store.objects.get(READS[0].digest)
    assert not (root / "sessions").exists()


@pytest.mark.parametrize("source", [FileStore, OtherLog])
def test_what_was_struck_out_of_a_stream_does_not_come_back_and_the_stream_is_no_fork(
    tmp_path: Path, source: Callable[[Path], StoredLog]
) -> None:
    for version, run in enumerate("ab"):  # a segment each, of which one is left
        event = stamped(e.RunStarted(agent="secret"), "memory-1", version + 1, run, run, "2026-11-22T02:15:00.000Z")
        store = FileStore(tmp_path / "here")
        store.append("memory-1", [record_of(event)], version)
        store.release("memory-1")
    there = FileStore(tmp_path / "there")
    copy_log(source(tmp_path / "here"), there)
    pruned(tmp_path / "there", SessionForgotten(session=digest_of(b"s1")))
    there.strike("memory-1", lambda one: one._replace(data=one.data.replace(b"secret", b"")))
    again = copy_log(source(tmp_path / "here"), there)
    assert (again.refused, again.streams, again.ahead) == ([], [], 1)


def test_a_stream_that_is_damaged_in_the_target_is_refused_once(laptop: Path, tmp_path: Path) -> None:
    target = FileStore(tmp_path / "there")
    copy_log(FileStore(laptop), target)
    path = segment_of(tmp_path / "there", "laptop")
    path.write_bytes(path.read_bytes().replace(b"page.read", b"page.reaD"))
    (refused,) = copy_log(FileStore(laptop), target).refused
    assert "in the target it is damaged" in refused.message
