"""What became of a question, read from its session's log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pipeline.config.settings import load_workspace
from pipeline.errors import QueueInvalid
from pipeline.evaluate.program_run import Setup, research, setup_of, write_workspace
from pipeline.evaluate.question_set.question_set import load
from pipeline.evaluate.scoring.outcome import STAGES, Outcome, document_of, outcome_of
from pipeline.text.normalise import normalised
from pipeline.wiring import workspace_adapters
from tests.evaluate.folders import folder_in


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evaluated")


@pytest.fixture(scope="module")
def outcomes(place: Path) -> dict[str, Outcome]:
    data = load(folder_in(place / "set"))
    ids = write_workspace(place / "work", Setup(), data.corpus, data.entries, "fast")
    return asyncio.run(research(place / "work", Setup(), ids, lambda _done: None))


def test_a_report_has_its_text_and_its_documents(outcomes: dict[str, Outcome]) -> None:
    found = outcomes["depth"]
    assert found.ending == "report"
    assert "The harbour is 12 metres deep at low tide." in found.output
    assert tuple(found.reached) == STAGES
    assert all("harbour.md" in documents for documents in found.reached.values())
    assert found.reached["cited"] <= found.reached["quoted"] <= found.reached["read"] <= found.reached["searched"]


def test_the_title_is_not_part_of_the_text(outcomes: dict[str, Outcome]) -> None:
    report = outcomes["depth"].report
    assert report is not None
    assert outcomes["depth"].output.startswith(normalised(report.summary[0].text))


def test_a_question_without_evidence_is_refused_not_failed(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["soup"].ending == "refused"
    assert outcomes["soup"].output == ""


def test_a_log_that_cannot_be_read_is_a_failure(place: Path, outcomes: dict[str, Outcome]) -> None:
    assert outcomes
    assert outcome_of(workspace_adapters.store_of(place / "work"), "no-such-session", "why it ended", 0.0).ending == "failed"


def test_addresses_lead_to_paths_in_the_folder() -> None:
    assert document_of("corpus:old%20things/a%23b.md#part") == "old things/a#b.md"
    assert document_of("https://example.org/a#b") == "https://example.org/a"


def test_ids_of_any_kind_get_ids_of_a_queue(tmp_path: Path) -> None:
    data = load(folder_in(tmp_path / "set"))
    ids = write_workspace(tmp_path / "work", Setup(), data.corpus, data.entries, "deep")
    assert list(ids.values()) == [entry.id for entry in data.entries]
    workspace = load_workspace(tmp_path / "work")
    assert [query.id for query in workspace.queue.queries] == list(ids)
    assert workspace.corpus == data.corpus


def test_a_workspace_lends_its_settings_but_not_its_documents(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("settings: {corpus: mine, search: [local], reasoner: extractive}\nqueries: []\n")
    (tmp_path / "templates").mkdir()
    setup = setup_of(tmp_path, {"search": ["wikipedia"]})
    assert setup.settings == {"search": ["wikipedia"], "reasoner": "extractive"}
    assert setup.templates == tmp_path / "templates"
    (tmp_path / "queries.yaml").write_text("settings: {corpse: mine}\nqueries: []\n")
    with pytest.raises(QueueInvalid):
        setup_of(tmp_path, {})


def test_without_a_workspace_nothing_but_the_documents_is_used(tmp_path: Path) -> None:
    assert setup_of(tmp_path, {}).settings == {"reasoner": "extractive", "search": ["local"]}
