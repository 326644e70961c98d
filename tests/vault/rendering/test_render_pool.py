"""Notes made in several processes are those that one would make."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.errors import TemplateInvalid
from pipeline.vault.rendering.render_task import SourceOrder
from pipeline.vault.vault_model import VaultModel
from tests.vault.builders import Failing, Workplace, a_store, change, changed_templates


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
    monkeypatch.setattr("pipeline.vault.note_generation.SESSIONS", 1)
    monkeypatch.setattr("pipeline.vault.note_generation.SOURCES", 1)


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
