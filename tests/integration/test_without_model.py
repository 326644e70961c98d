"""A plan or an outline that the model fails to make is made without it, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.vault import build_vault
from pipeline.wiring.workspace_adapters import templates_of
from tests.integration.stage import SMALL, Stage, queue_text
from tests.integration.verdicts import assert_charged, assert_cited

SAID = {"perspectives": "The question was split into perspectives without", "outline": "The sections were chosen, and the facts"}
ASKED_TWICE = ("model:garbage", "model:truncating", "hang_before_headers")


def calls_of(stage: Stage, name: str) -> list[int]:
    """The numbers of the requests to the model that ask for such an answer, counted from 1."""
    bodies = [hit.request.json_object() or {} for hit in stage.standin.log.of("chat")]
    return [at for at, body in enumerate(bodies, 1) if body["response_format"]["json_schema"]["name"] == name]


@pytest.mark.parametrize("name", sorted(SAID))
@pytest.mark.parametrize("fault", [*ASKED_TWICE, "status:404"])
def test_a_plan_or_an_outline_that_fails_for_good_is_made_without_the_model(
    stage: Stage, tmp_path: Path, name: str, fault: str
) -> None:
    if (fault, name) == ("hang_before_headers", "perspectives"):
        pytest.skip("the first call of a run shows whether the server is there at all")
    stage.night(tmp_path / "usual", queue_text(stage.standin), config=SMALL)
    (number,) = calls_of(stage, name)
    stage.standin.reset()
    stage.standin.fault("chat", fault, calls={number, number + 1} if fault in ASKED_TWICE else {number})
    ended = stage.night(tmp_path / "bad", queue_text(stage.standin), config=SMALL)
    assert ended.state.status == "complete"
    assert_cited(ended.state)
    assert_charged(ended, stage.standin.log, exactly=False)
    assert ended.state.report is not None
    assert [line for line in ended.state.report.limits if line.startswith(SAID[name])]
    assert len(calls_of(stage, name)) <= 2


def test_the_note_of_the_report_says_what_was_made_without_the_model(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("chat", "model:garbage", calls={1, 2})
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    build_vault(ended.store, templates=templates_of(tmp_path), vault=tmp_path / "vault", state_dir=tmp_path / "state")
    (note,) = (tmp_path / "vault" / "reports").rglob("*.md")
    assert "without the language model" in note.read_text()
