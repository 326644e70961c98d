"""Models that think for long and servers that are slow: the settings are sent, and no page is lost to a server with one slot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.events.session_events import PageRead, StepFailed
from tests.integration.stage import SMALL, Ended, Stage, queue_text
from tests.integration.verdicts import assert_charged

PAGES = {**SMALL, "pages_per_iteration": 12, "queries_per_thought": 5, "hits_per_query": 20}


def asked(stage: Stage) -> list[dict[str, Any]]:
    """The bodies of all requests to the model."""
    return [hit.request.json_object() or {} for hit in stage.standin.log.of("chat")]


def failures(ended: Ended) -> list[str]:
    return [f"{event.step}: {event.message}" for event in ended.events() if isinstance(event, StepFailed)]


def with_reasoner(text: str, more: str) -> str:
    return text.replace("key: OPENROUTER_API_KEY}", f"key: OPENROUTER_API_KEY, {more}}}")


def test_a_server_with_one_slot_at_seventy_seconds_a_call_loses_no_page(stage: Stage, tmp_path: Path) -> None:
    stage.standin.reset(slots=1, slot_s=70.0)
    ended = stage.night(tmp_path, queue_text(stage.standin), config=PAGES)
    assert failures(ended) == []
    assert ended.state.status == "complete"
    assert sum(isinstance(event, PageRead) for event in ended.events()) >= 4
    assert stage.loop.skipped > 70 * len(asked(stage)) / 2


def most_under_way(stage: Stage) -> int:
    hits = stage.standin.log.of("chat")
    return max(sum(one.at <= hit.at < (one.ended or one.at) for one in hits) for hit in hits)


@pytest.mark.parametrize(("more", "most"), [("", 1), ("concurrency: 3", 3)])
def test_a_server_on_this_machine_gets_one_request_at_a_time_unless_told_otherwise(
    stage: Stage, tmp_path: Path, more: str, most: int
) -> None:
    stage.standin.reset(slots=9, slot_s=30.0)
    queries = "".join(f"  - {{query: 'How do {one} behave?', mode: fast}}\n" for one in ("pumps", "kilns", "locks", "looms"))
    text = queue_text(stage.standin, queries=queries)
    stage.night(tmp_path, with_reasoner(text, more) if more else text, config=SMALL)
    assert most_under_way(stage) == most


@pytest.mark.parametrize("thinks", [3_000, 7_000, 12_000])
def test_the_room_that_a_model_needs_is_found_with_one_call_and_remembered(stage: Stage, tmp_path: Path, thinks: int) -> None:
    stage.standin.reset(thinks=thinks)
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    assert ended.state.status == "complete"
    assert failures(ended) == []
    rooms = [body["max_tokens"] for body in asked(stage)]
    assert sum(room < thinks for room in rooms) <= 2  # those that were under way before it was known
    assert_charged(ended, stage.standin.log, exactly=True)


def test_a_model_that_needs_more_room_than_it_may_have_is_named_so(stage: Stage, tmp_path: Path) -> None:
    stage.standin.reset(thinks=20_000)
    ended = stage.night(tmp_path, queue_text(stage.standin), config=SMALL)
    assert any("cut off at 16,000 tokens" in failure for failure in failures(ended))
    again = stage.night(tmp_path, with_reasoner(queue_text(stage.standin), "max_tokens: 24000"), config=SMALL)
    assert again.state.status == "complete"


def test_effort_is_that_of_the_role_unless_it_is_set_and_room_is_as_it_is_set(stage: Stage, tmp_path: Path) -> None:
    stage.night(tmp_path / "usual", queue_text(stage.standin), config=SMALL)
    assert {body.get("reasoning_effort") for body in asked(stage)} == {"high", "low", None}
    stage.standin.reset()
    text = with_reasoner(queue_text(stage.standin), "effort: low, max_tokens: 9000")
    stage.night(tmp_path / "set", text, config=SMALL)
    assert {(body["reasoning_effort"], body["max_tokens"]) for body in asked(stage)} == {("low", 9000)}


def test_a_server_that_hangs_costs_each_step_one_try_and_one_retry(stage: Stage, tmp_path: Path) -> None:
    stage.standin.fault("chat", "hang_before_headers")
    before = stage.loop.skipped
    ended = stage.night(tmp_path, with_reasoner(queue_text(stage.standin), "timeout: 20s"), config=SMALL)
    prompts = [json.dumps(body["messages"]) for body in asked(stage)]
    assert max(map(prompts.count, prompts)) <= 2
    assert stage.loop.skipped - before < 2 * 2 * 20 + 60
    assert [event.status for event in ended.result.ended] == ["interrupted"]
    assert [record.getMessage() for record in ended.logged] == []
