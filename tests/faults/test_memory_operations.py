"""One file operation of a consolidation with a model fails; the next makes up for it, and asks for nothing that is recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import get_args

import pytest

from pipeline.batch.memory_consolidation import consolidate, memory_events, read_memory
from pipeline.batch.session_index import read_all
from pipeline.domain.events.upkeep_events import SessionConsolidated
from pipeline.domain.memory import cost_of_calls
from pipeline.errors import LogError
from pipeline.store.file_store import FileStore
from pipeline.store.verification import verify
from tests.batch.test_consolidating_with_model import Model
from tests.fakes import context_for
from tests.faults.filesystem import Fault, FileSystem, close_below, faulty
from tests.seeds import FULL, SEED
from tests.vault.builders import a_store


def a_log(root: Path) -> FileStore:
    """The log of two researched questions, a failed and an interrupted one, in files."""
    store = FileStore(root / "events")
    for name, records in a_store().streams.items():
        store.append(name, records, 0)
        store.release(name)
    return store


def consolidated(root: Path, run: str) -> Model:
    """Consolidate as a new process would, with all that its end closes."""
    model = Model()
    try:
        store = FileStore(root / "events")
        asyncio.run(consolidate(store, context_for(run), read_all(store).sessions, model))
    finally:
        close_below(root)
    return model


def lived(root: Path, at: int, fault: Fault) -> tuple[FileSystem, list[str]]:
    """Consolidate with one fault, then twice without; return what broke."""
    a_log(root)
    refused = False
    with faulty(root, at, fault) as system:
        try:
            consolidated(root, "run-1")
        except LogError:
            refused = True
    store = FileStore(root / "events")
    known = {one.session for one in memory_events(store) if isinstance(one, SessionConsolidated) and one.step}
    second = consolidated(root, "run-2")
    third = consolidated(root, "run-3")
    memory = read_memory(FileStore(root / "events"))
    ended = {one.id for one in read_all(store).sessions if one.ended and one.tokens}
    again = [one.query for one in second.asked if one.name == "episode"]
    # The pages of these sessions were never stored.
    wrong = [str(finding) for finding in verify(root / "events") if finding.kind not in ("torn", "leftover", "missing")]
    wrong += [f"not consolidated: {name}" for name in ended - memory.sessions.keys()]
    wrong += [f"asked again: {again}"] if len(again) > 2 - len(known) else []
    wrong += [f"asked by a third: {[one.name for one in third.asked]}"] if third.asked else []
    wrong += ["a call without a bill"] if cost_of_calls(memory_events(FileStore(root / "events"))).charged_usd <= 0 else []
    wrong += ["a fault that was not reported"] if system.failed and not refused and not known else []
    return system, wrong


@pytest.mark.parametrize("fault", get_args(Fault))
def test_whichever_operation_of_a_consolidation_with_a_model_fails_the_next_makes_up_for_it(tmp_path: Path, fault: Fault) -> None:
    whole, wrong = lived(tmp_path / "whole", 0, fault)
    assert wrong == []
    part = range(1, len(whole.operations) + 1) if FULL else range(1 + SEED % 8, len(whole.operations) + 1, 8)
    broke = {at: found for at in part if (found := lived(tmp_path / str(at), at, fault)[1])}
    assert broke == {}
