"""Servers that refuse for good, and servers that name absurd waits: one request is enough, and nobody sleeps past the cap."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from tests.commanding import Said, said
from tests.integration.stage import KEYS, SEARCHES, SMALL, Stage, queue_text
from tests.integration.verdicts import assert_correct_or_honest
from tests.seeds import drawn
from tests.standin.fixtures import hosted
from tests.standin.options import Options

FOUR = "".join(f"  - {{query: 'How do heat pumps behave, part {at}?', id: q{at}, mode: fast}}\n" for at in range(4))
REFUSALS = {
    "credit": ("/api/v1", "status:402"),
    "key": ("/api/v1", "status:401"),
    "quota": ("/v1", "F10"),
    "openai key": ("/v1", "status:401"),
}


def research(folder: Path, *args: str) -> Said:
    with mock.patch.dict(os.environ, KEYS):
        return said(folder, *args)


@pytest.mark.parametrize("name", [name for (name,) in drawn(4, REFUSALS)])
def test_a_refusal_is_met_once_whatever_is_waiting_and_all_goes_on_when_the_account_is_good_again(
    name: str, tmp_path: Path
) -> None:
    path, verbs = REFUSALS[name]
    with hosted(Options(latency_s=0.05)) as standin:
        text = queue_text(standin, search="brave", queries=FOUR)
        (tmp_path / "queries.yaml").write_text(text.replace(standin.openrouter_url, standin.base_url + path))
        standin.fault("chat", verbs)
        first = research(tmp_path, "run")
        assert first.code == 4
        assert len(standin.log.of("chat")) == 1
        assert "refuses" in first.out
        standin.clear()
        asked = len(standin.log.of("brave"))
        again = research(tmp_path, "run")
        assert again.code == 0, again.out
        assert "4 answered" in again.out
        surveys = [hit.request.query["q"] for hit in standin.log.of("brave")[asked:]]
        assert not set(surveys) & {hit.request.query["q"] for hit in standin.log.of("brave")[:asked]}


@pytest.mark.parametrize(("search", "code"), [*((name, 4) for name in SEARCHES), ("brave, wikipedia", 0)])
def test_a_search_that_refuses_is_met_once_and_the_next_takes_over(stage: Stage, tmp_path: Path, search: str, code: int) -> None:
    refusing = search.partition(",")[0]
    stage.standin.fault(refusing, "status:402")
    ended = stage.night(tmp_path, queue_text(stage.standin, search=search, queries=FOUR), config=SMALL)
    assert ended.result.exit_code == code
    assert len(stage.standin.log.of(refusing)) == 1
    assert_correct_or_honest(ended, (refusing,))
    assert all((state.status == "complete") == (code == 0) for state in ended.states)
