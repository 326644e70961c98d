from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from pipeline.adapters.imports.formats import read_all
from pipeline.adapters.store.file_store import FileStore
from pipeline.adapters.store.verification import verify
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.records import Record
from pipeline.domain.imports.parsed import ParsedImport
from pipeline.domain.imports.state import ImportState, import_of
from pipeline.domain.merging.join import joined
from pipeline.ops.imports import importing
from pipeline.ops.imports.importing import Imported, import_session
from tests.adapters.imports.kit import everything, write_session
from tests.fakes import context_for


def sessions_of(folder: Path) -> list[ParsedImport]:
    return [one for one in read_all(folder) if isinstance(one, ParsedImport)]


def import_all(store: FileStore, folder: Path, *tags: str, run: str = "run-1") -> list[Imported]:
    return [import_session(store, context_for(run), one, tags) for one in sessions_of(folder)]


def size_of(log: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in log.rglob("*") if path.is_file() and "local" not in path.parts}


def state_in(store: FileStore, stream: str) -> ImportState:
    return import_of(stream, decode_all(record.data for record in store.load(stream)))


def contents(store: FileStore) -> dict[str, list[object]]:
    """What each import holds, without envelopes."""
    envelope = {"id", "session_id", "version", "at", "run_id"}
    return {name: [item.model_dump(exclude=envelope) for item in state_in(store, name).current()] for name in store.ids("import")}


def test_every_session_has_a_stream_that_begins_with_its_run_and_its_origin(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "events")
    done = import_all(store, everything(tmp_path / "in"), "coast")
    assert {one.outcome for one in done} == {"new"}
    for name in store.ids("import"):
        records = store.load(name)
        assert [record.type for record in records[:2]] == ["run.started", "research.imported"]
        state = state_in(store, name)
        assert (state.missing, state.tags) == (0, ("coast",))
        assert store.get(state.said.digest)
    assert not verify(tmp_path / "events")
    assert not list(store.session_ids())


def test_importing_twice_writes_nothing(tmp_path: Path) -> None:
    store, folder = FileStore(tmp_path / "events"), everything(tmp_path / "in")
    import_all(store, folder, "coast")
    before = size_of(tmp_path / "events")
    assert {one.outcome for one in import_all(FileStore(tmp_path / "events"), folder, run="run-2")} == {"unchanged"}
    assert size_of(tmp_path / "events") == before


class Dying(FileStore):
    """A store whose process is killed after some appends."""

    def __init__(self, root: Path, appends: int) -> None:
        super().__init__(root)
        self._left = appends

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
        return super().append(session_id, records, expected_version)


def test_killed_at_each_append_the_next_import_completes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "AT_ONCE", 4)
    folder = everything(tmp_path / "in")
    whole = FileStore(tmp_path / "whole")
    import_all(whole, folder)
    appends = sum(-(-len(whole.load(name)) // 4) for name in whole.ids("import"))
    assert appends > 6
    for number in range(appends):
        log = tmp_path / f"killed-{number}"
        if (child := os.fork()) == 0:  # pragma: no cover - the child is killed
            import_all(Dying(log, number), folder)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        import_all(FileStore(log), folder, run="run-2")
        assert contents(FileStore(log)) == contents(whole)
        assert not verify(log)
        before = size_of(log)
        import_all(FileStore(log), folder, run="run-3")
        assert size_of(log) == before


def test_an_original_that_grew_adds_only_what_is_new(tmp_path: Path) -> None:
    store, folder = FileStore(tmp_path / "events"), tmp_path / "in"
    write_session(folder, status="running", report="")
    (first,) = import_all(store, folder)
    write_session(folder)
    (second,) = import_all(store, folder, run="run-2")
    assert (second.stream, second.outcome, second.events) == (first.stream, "changed", 2)
    state = state_in(store, first.stream)
    assert state.said.finished
    assert state.report is not None
    assert state.revisions == dict.fromkeys(range(5), 1)


def test_an_original_that_was_changed_back_and_forth_is_shown_as_it_is(tmp_path: Path) -> None:
    store, folder = FileStore(tmp_path / "events"), tmp_path / "in"
    for number, report in enumerate(("one", "two", "one", "two")):
        write_session(folder, report=report)
        (done,) = import_all(store, folder, run=f"run-{number}")
        shown = state_in(store, done.stream).report
        assert shown is not None
        assert shown.text == report
    assert not verify(tmp_path / "events")


def test_a_new_tag_is_added_and_none_is_lost(tmp_path: Path) -> None:
    store, folder = FileStore(tmp_path / "events"), tmp_path / "in"
    write_session(folder)
    import_all(store, folder, "coast")
    (done,) = import_all(store, folder, "night", run="run-2")
    assert state_in(store, done.stream).tags == ("coast", "night")
    assert import_all(store, folder, "coast", run="run-3")[0].outcome == "unchanged"


def test_two_machines_that_import_the_same_have_it_once_after_their_logs_are_united(tmp_path: Path) -> None:
    folder = everything(tmp_path / "in")
    one, other = FileStore(tmp_path / "one", joined), FileStore(tmp_path / "other", joined)
    import_all(one, folder, run="run-a")
    import_all(other, folder, run="run-b")
    before = contents(one)
    for path in (tmp_path / "other" / "imports").iterdir():
        (tmp_path / "one" / "imports" / path.name).write_bytes(path.read_bytes())
    united = FileStore(tmp_path / "one", joined)
    assert contents(united) == before
    assert {done.outcome for done in import_all(united, folder, run="run-c")} == {"unchanged"}
    for name in united.ids("import"):
        united.join(name)
    assert not verify(tmp_path / "one")
    assert contents(FileStore(tmp_path / "one")) == before


def test_of_very_many_findings_the_first_are_recorded_and_the_others_counted(tmp_path: Path) -> None:
    store, folder = FileStore(tmp_path / "events"), tmp_path / "in"
    write_session(folder, insights=[None] * 3_000)
    (done,) = import_all(store, folder)
    said = state_in(store, done.stream).said
    assert len(said.findings) == importing.MOST_FINDINGS + 1
    assert sum(one.records for one in said.findings) == said.counts.left_out == 3_000
    assert import_all(store, folder, run="run-2")[0].outcome == "unchanged"
