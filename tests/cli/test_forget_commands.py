"""Memory as its user meets it: a run consolidates, a failure of that ends no night and is printed, and it can be switched off."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest

from pipeline.batch.memory_consolidation import read_memory
from pipeline.errors import LogUnwritable
from pipeline.store.file_store import FileStore, StreamWriter
from tests.commanding import said, workspace_in
from tests.integration.stage import KEYS, queue_text
from tests.standin.fixtures import standin as standin
from tests.standin.server import Standin

HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast, tags: [sea]}\n"


@pytest.fixture
def folder(tmp_path: Path, standin: Standin) -> Path:
    """A workspace with a model."""
    made = workspace_in(tmp_path / "ws", "")
    (made / "queries.yaml").write_text(queue_text(standin, search="local", queries=HARBOUR, settings="  embeddings: off\n"))
    (made / ".env").write_text("".join(f"{name}={value}\n" for name, value in KEYS.items()))
    return made


def put_in_settings(folder: Path, line: str) -> None:
    queue = folder / "queries.yaml"
    queue.write_text(queue.read_text().replace("settings:\n", f"settings:\n  {line}\n"))


def streams(folder: Path) -> list[str]:
    return list(FileStore(folder / "events").ids("memory"))


def test_a_run_consolidates_what_ended(folder: Path) -> None:
    assert said(folder, "run").code == 0
    memory = read_memory(FileStore(folder / "events"))
    assert [one.query_id for one in memory.sessions.values()] == ["harbour"]
    assert any("metres deep" in one.statement.quote for one in memory.statements.values())
    assert said(folder, "verify").code == 0
    assert "nothing to consolidate" in said(folder, "consolidate").out
    assert len(streams(folder)) == 1


def test_a_failed_consolidation_is_printed_even_when_quiet_and_the_night_is_done_all_the_same(folder: Path) -> None:
    append = StreamWriter.append

    def failing(writer: StreamWriter, records: object, version: int) -> int:
        if writer._stream.startswith("memory-"):
            raise LogUnwritable("no space left")
        return append(writer, records, version)  # type: ignore[arg-type]

    with mock.patch.object(StreamWriter, "append", failing):
        told = said(folder, "-q", "run")
    assert told.code == 0
    assert "not consolidated: no space left" in told.err
    assert "research consolidate" in told.err
    assert said(folder, "consolidate").code == 0
    assert len(streams(folder)) == 1


def test_with_a_model_the_command_keeps_its_checked_sentences_and_prints_what_they_cost(folder: Path) -> None:
    queue = (folder / "queries.yaml").read_text()
    put_in_settings(folder, "memory: off")
    assert said(folder, "run").code == 0
    (folder / "queries.yaml").write_text(queue)
    put_in_settings(folder, "memory: model")
    told = said(folder, "--json", "consolidate")
    assert told.code == 0
    assert json.loads(told.out)["tokens"] > 0
    assert "nothing to consolidate" in said(folder, "consolidate").out
    (one,) = read_memory(FileStore(folder / "events")).sessions.values()
    assert len(one.episode.sentences) > 0
    assert said(folder, "verify").code == 0


def test_a_model_that_is_not_there_is_reported_and_the_rules_consolidate(folder: Path) -> None:
    put_in_settings(folder, "memory: off")
    assert said(folder, "run").code == 0
    assert streams(folder) == []
    (folder / "queries.yaml").write_text(
        f'settings: {{memory: model, reasoner: {{model: m, base_url: "http://127.0.0.1:9/v1"}}}}\nqueries:\n{HARBOUR}'
    )
    told = said(folder, "-q", "consolidate")
    assert told.code == 0
    assert "without a model's sentences" in told.err
    assert len(read_memory(FileStore(folder / "events")).sessions) == 1


def test_of_a_session_without_a_model_nothing_is_remembered(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path / "ws", HARBOUR)
    assert said(folder, "run").code == 0
    assert streams(folder) == []
    assert "nothing to consolidate" in said(folder, "consolidate").out
