"""Notes made in several processes are those that one would make."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path

import pytest

from pipeline.adapters.store.file_store import FileStore
from pipeline.errors import TemplateInvalid
from pipeline.vault import BuildReport, build_vault
from pipeline.vault.rendering.render_task import SourceOrder
from pipeline.vault.vault_model import VaultModel
from tests.fakes import MemoryStore
from tests.vault.builders import TEMPLATES, Failing, Workplace, a_store, change, changed_templates


@pytest.fixture
def alone(tmp_path: Path) -> Workplace:
    """What one process makes."""
    store = Failing()
    store.streams = a_store().streams
    built = Workplace(tmp_path / "alone", store)
    built.build()
    return built


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes share the work, however little it is: the other one is given the first orders, this one makes the rest."""
    monkeypatch.setattr("pipeline.vault.rendering.render_pool.processors", lambda _most: 2)
    monkeypatch.setattr("pipeline.vault.rendering.render_pool.WORTH_IT", 0)
    monkeypatch.setattr("pipeline.vault.rendering.render_pool.READING_WORTH_IT", 0)
    monkeypatch.setattr("pipeline.vault.rendering.render_pool.SESSIONS", 1)
    monkeypatch.setattr("pipeline.vault.rendering.render_pool.SOURCES", 1)


@pytest.mark.usefixtures("shared")
def test_processes_side_by_side_make_the_same_and_name_the_same_faults(tmp_path: Path, alone: Workplace) -> None:
    store = alone.store
    assert isinstance(store, Failing)
    place = Workplace(tmp_path / "w", store, changed_templates(tmp_path / "t"))
    place.build()
    assert place.files() == alone.files()
    change(place.templates / "_worker.md.j2", "| sentence", "| shout")
    with pytest.raises(TemplateInvalid, match=r"_worker\.md\.j2, line \d+: No filter named 'shout'"):
        place.build()
    change(place.templates / "_worker.md.j2", "| shout", "| sentence")
    store.failing = "2026-11-28-power-cut-9c01"
    assert [store.failing in problem for problem in place.build().problems] == [True]


@pytest.fixture
def in_files(tmp_path: Path, alone: Workplace) -> FileStore:
    """The same log in files, which another process can read."""
    files = FileStore(tmp_path / "events")
    for name, records in alone.store.streams.items():
        for _run, some in groupby(records, key=lambda record: record.run_id):
            found = list(some)
            files.append(name, found, found[0].version - 1)
        files.release(name)
    return files


def _built(folder: Path, store: FileStore) -> tuple[dict[str, bytes], BuildReport]:
    place = Workplace(folder, MemoryStore())
    report = build_vault(store, templates=TEMPLATES, vault=place.vault, state_dir=place.state)
    return place.files(), report


@pytest.mark.usefixtures("shared")
def test_a_log_that_two_processes_read_gives_the_same_notes(tmp_path: Path, alone: Workplace, in_files: FileStore) -> None:
    files, report = _built(tmp_path / "w", in_files)
    assert (files, report.problems) == (alone.files(), ())


@pytest.mark.usefixtures("shared")
def test_damage_that_another_process_finds_is_reported(
    tmp_path: Path, in_files: FileStore, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, *_ = sorted((tmp_path / "events" / "sessions").glob("*/events/*.jsonl"))
    first.write_bytes(first.read_bytes().replace(b"append", b"upend"))
    second.write_bytes(second.read_bytes()[:-9])
    _files, report = _built(tmp_path / "w", in_files)
    assert [first.parent.parent.name in problem for problem in report.problems] == [True]
    assert caplog.text.count(f"{second.parent.parent.name}/events/{second.name}") == 1


def _deadly(_self: object) -> tuple[object, tuple[int]]:
    """For pickle: whoever reads it is dead at once."""
    return os._exit, (1,)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("deadly", [VaultModel, SourceOrder], ids=["at its start", "at its work"])
def test_a_process_that_dies_is_done_without(
    tmp_path: Path, alone: Workplace, deadly: type, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deadly, "__reduce_ex__", lambda self, _protocol: _deadly(self))
    place = Workplace(tmp_path / "w", alone.store)
    assert place.build().problems == ()
    assert place.files() == alone.files()
    assert caplog.text.count("the work goes on without it") == 1
