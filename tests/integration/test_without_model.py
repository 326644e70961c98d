"""What the model fails to do is done without it, or left out, and the report says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.stage import SMALL, Stage, queue_text
from tests.integration.verdicts import assert_charged, assert_cited
from tests.standin.prompt import read_prompt

SAID = {
    "plan": ("The question was split into perspectives without the language model: ", "answered"),
    "reading": ("Pages were not read by the language model; passages were taken instead: ", "passages"),
    "report": ("The report could not be written; what follows are passages of the pages read: ", "passages"),
    "check": ("The report could not be checked; of what was not, only verbatim quotes are kept: ", "in-part"),
}
ASKED_TWICE = ("model:garbage", "model:truncating", "hang_before_headers")


@pytest.fixture(scope="module")
def usual_numbers(one_stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Which request of a night asks for what, if nothing fails."""
    one_stage.standin.reset()
    one_stage.night(tmp_path_factory.mktemp("usual"), queue_text(one_stage.standin), config=SMALL)
    found = {name: calls_of(one_stage, name) for name in SAID}
    assert all(len(numbers) == 1 for numbers in found.values())
    return {name: numbers[0] for name, numbers in found.items()}


def calls_of(stage: Stage, name: str) -> list[int]:
    """The numbers of the requests to the model that ask for such an answer, counted from 1."""
    bodies = [hit.request.json_object() or {} for hit in stage.standin.log.of("chat")]
    return [at for at, body in enumerate(bodies, 1) if read_prompt(body).name == name]


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("fault", [*ASKED_TWICE, "status:415"])
def test_what_the_model_fails_to_do_for_good_is_done_without_it_and_said(
    usual_numbers: dict[str, int], stage: Stage, tmp_path: Path, name: str, fault: str
) -> None:
    if (fault, name) == ("hang_before_headers", "plan"):
        pytest.skip("the first call of a run shows whether the server is there at all")
    if (fault, name) == ("model:garbage", "check"):
        pytest.skip("a check that names no sentence of the report finds no fault")
    number = usual_numbers[name]
    stage.standin.fault("chat", fault, calls={number, number + 1} if fault in ASKED_TWICE else {number})
    text = queue_text(stage.standin).replace("API_KEY}", "API_KEY, context: 30000}")
    ended = stage.night(tmp_path / "bad", text, config=SMALL)
    said, outcome = SAID[name]
    assert ended.state.status == "complete"
    assert_cited(ended.state)
    assert_charged(ended, stage.standin.log, exactly=False)
    assert ended.state.report is not None
    assert [line for line in ended.state.report.limits if line.startswith(said)]
    assert ended.state.report.outcome == outcome
    assert ended.state.window == 30_000
    assert ended.state.end_reason.startswith("the model failed: ") == (outcome == "passages")
    assert len(calls_of(stage, name)) <= 2


def test_the_note_of_the_report_says_what_was_made_without_the_model(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("chat", "model:garbage", calls={1, 2})
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    (note,) = ended.notes(tmp_path, "reports")
    assert "without the language model" in note
