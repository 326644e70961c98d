"""Replies that are no answers: what is asked for again, how, and how often; and what is read as an answer after all."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import httpx
import pytest

from pipeline import errors
from tests.reasoners.model.kit import GOOD, MODEL, QUESTIONS, Script, ask, finished, reasoner_for, reply, said, streamed, thinking

EMPTY: dict[str, Any] = {
    "null": {"content": None},
    "blank": {"content": "  \n"},
    "of another type": {"content": 1},
    "no parts": {"content": []},
    "only thoughts": {"content": [{"type": "thinking", "thinking": []}]},
    "a message of another type": "x",
}


@pytest.mark.parametrize("fault", sorted(EMPTY))
def test_an_empty_reply_is_asked_for_again_once_and_is_told_so(fault: str) -> None:
    script, reasoner = thinking(said("", choices=[{"finish_reason": "stop", "message": EMPTY[fault]}]))
    with pytest.raises(errors.AnswerInvalid, match="is empty"):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 2
    assert "is empty" in script.bodies[1]["messages"][-1]["content"]


def test_the_usage_of_a_stream_is_counted_and_a_stream_without_an_end_is_no_answer() -> None:
    whole = json.dumps(GOOD["reading"])
    _, reasoner = thinking(streamed(whole))
    assert ask(reasoner, QUESTIONS["reading"]).cost.usd == pytest.approx(0.001)
    _, reasoner = thinking(streamed(whole[:20], end=None))
    with pytest.raises(errors.ResearchError):
        ask(reasoner, QUESTIONS["reading"])


@pytest.mark.parametrize(
    ("content", "told"),
    [("<think>endless", "only thoughts"), ("<answer>x</answer>", "faulty at 0"), ("<html><body>x", "is a web page")],
)
def test_the_message_about_an_unusable_reply_is_true(content: str, told: str) -> None:
    script, reasoner = thinking(said(content))
    with pytest.raises(errors.AnswerInvalid, match=told):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 2


def test_a_model_that_fails_again_and_again_is_replaced() -> None:
    script, reasoner = thinking(*[said("no json")] * 2, said(GOOD["reading"]), fallbacks=("acme/two",))
    assert ask(reasoner, QUESTIONS["reading"]).cost.total_tokens == 330
    assert [body["model"] for body in script.bodies] == [MODEL, MODEL, "acme/two"]


@pytest.mark.parametrize("fallbacks", [(), ("acme/three",)])
def test_a_role_has_a_model_of_its_own_and_a_wrong_name_is_said_unless_a_fallback_is_named(fallbacks: tuple[str, ...]) -> None:
    unknown = reply(404, {"error": {"code": "model_not_found", "message": "no such model"}})
    script = Script([unknown, said(GOOD["reading"])])
    reasoner = reasoner_for(script, roles=(("read", "acme/two"),), fallbacks=fallbacks)
    with nullcontext() if fallbacks else pytest.raises(errors.ModelUnknown, match="the model acme/two cannot be asked"):
        ask(reasoner, QUESTIONS["reading"])
    assert [body["model"] for body in script.bodies] == ["acme/two", *fallbacks]
    useless = Script([*[said("no json")] * 2, said(GOOD["reading"])])
    ask(reasoner_for(useless, roles=(("read", "acme/two"),)), QUESTIONS["reading"])
    assert [body["model"] for body in useless.bodies] == ["acme/two", "acme/two", MODEL]


def test_no_answer_costs_three_calls_however_many_models_may_be_asked() -> None:
    script, reasoner = thinking(said("no json"), fallbacks=("acme/two", "acme/three", "acme/four"))
    with pytest.raises(errors.AnswerInvalid):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 3


@pytest.mark.parametrize("bad", [said("no json"), finished("length", "x"), finished("stop", "")])
def test_a_model_whose_answers_stay_useless_is_not_asked_any_more_in_that_role(bad: httpx.Response) -> None:
    script, reasoner = thinking(bad)
    for is_good in [*[False] * 5, True, *[False] * 6]:  # those in a row count
        script.replies = [said(GOOD["reading"]) if is_good else bad]
        with nullcontext() if is_good else pytest.raises(errors.AnswerInvalid) as caught:
            ask(reasoner, QUESTIONS["reading"])
        assert caught is None or caught.value.outage is None
    asked = len(script.requests)
    with pytest.raises(errors.AnswerInvalid, match="role read") as caught:
        ask(reasoner.for_query(()), QUESTIONS["reading"])
    assert (len(script.requests), caught.value.cost) == (asked, None)
    assert caught.value.outage is not None
    assert "roles" in caught.value.hint
    script.replies = [said(GOOD["plan"])]
    assert ask(reasoner, QUESTIONS["plan"]).value.perspectives


def test_a_cut_reply_is_asked_for_once_more_with_twice_the_room_and_the_same_prompt() -> None:
    cut = finished("length", json.dumps(GOOD["reading"])[:-20])
    script, reasoner = thinking(cut, said(GOOD["reading"]))
    ask(reasoner, QUESTIONS["reading"])
    first, second = script.bodies
    assert (first.pop("max_tokens"), second.pop("max_tokens")) == (1_000, 2_000)
    assert first == second


@pytest.mark.parametrize("content", ["", json.dumps(GOOD["reading"])[:-2]])
def test_a_reply_that_is_cut_twice_is_never_parsed(content: str) -> None:
    script, reasoner = thinking(finished("length", content))
    with pytest.raises(errors.AnswerInvalid, match="cut off at 2,000 tokens"):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 2


@pytest.mark.parametrize("place", ["content", "reasoning_content"])
def test_a_reply_that_repeats_itself_up_to_its_cap_is_not_asked_for_with_more_room(place: str) -> None:
    turns = "".join(f'{{"source": "https:", "quote": "The best way to do this {turn % 7}?"}},\n' for turn in range(60))
    script, reasoner = thinking(finished("length", **{"content": "", place: '{"findings": [' + turns}))
    with pytest.raises(errors.AnswerInvalid, match="talked without end"):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 1


def test_an_unusable_reply_is_asked_for_again_with_the_validators_words() -> None:
    for bad, why in (({"queries": ["x"], "more": 2}, "findings: Field required"), ("Sure! Here it is:", "not one JSON object")):
        script, reasoner = thinking(said(bad), said(GOOD["reading"]))
        ask(reasoner, QUESTIONS["reading"])
        assert why in script.bodies[1]["messages"][-1]["content"]
        assert all(body["messages"][:2] == script.bodies[0]["messages"] for body in script.bodies)
        assert [len(body["messages"]) for body in script.bodies] == [2, 4]


@pytest.mark.parametrize("calls", [[{"id": "c", "function": {"name": "web_search", "arguments": '{"q'}}], [1], "x"])
def test_a_tool_call_is_no_answer_and_is_told_so(calls: Any) -> None:
    script, reasoner = thinking(finished("tool_calls", None, tool_calls=calls), said(GOOD["reading"]))
    ask(reasoner, QUESTIONS["reading"])
    assert "no tools" in script.bodies[1]["messages"][-1]["content"]


@pytest.mark.parametrize("finish", [None, "eos", "end_turn"])
def test_other_servers_words_for_a_whole_reply_are_accepted(finish: Any) -> None:
    _, reasoner = thinking(finished(finish, json.dumps(GOOD["reading"])))
    assert ask(reasoner, QUESTIONS["reading"]).value.queries


UNPARSED = {
    "llama.cpp": (500, "The model produced output that does not match the expected peg-native format", {"type": "server_error"}),
    "an older llama.cpp": (500, "Failed to parse input at pos 12: </tool_call>", {"type": "server_error"}),
    "groq": (
        400,
        "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.",
        {"code": "json_validate_failed", "failed_generation": '{"reasoning": '},
    ),
    "ollama": (500, "error parsing tool call: raw='{', err=unexpected end of JSON input", {}),
}


def unparsed(server: str) -> httpx.Response:
    status, message, more = UNPARSED[server]
    return reply(status, {"error": {"message": message, **more}})


@pytest.mark.parametrize("server", sorted(UNPARSED))
def test_a_reply_that_the_server_could_not_parse_is_asked_for_once_more_without_a_format_and_with_more_room(server: str) -> None:
    script, reasoner = thinking(unparsed(server), said(GOOD["reading"]))
    assert ask(reasoner, QUESTIONS["reading"]).value.queries
    first, second = script.bodies
    assert first["response_format"]["type"] == "json_schema"
    assert "response_format" not in second
    assert second["max_tokens"] == 2_000
    assert "could not parse it" in second["messages"][-1]["content"]
    assert UNPARSED[server][2].get("failed_generation", "(no text)") in second["messages"][2]["content"]


@pytest.mark.parametrize("server", sorted(UNPARSED))
def test_a_server_that_cannot_parse_what_its_model_replies_is_not_down(server: str) -> None:
    script, reasoner = thinking(unparsed(server))
    with pytest.raises(errors.AnswerInvalid, match="no usable answer") as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert caught.value.outage is None
    assert len(script.requests) == 2
    assert UNPARSED[server][1][:20] in caught.value.exchange.decode()


def test_a_proven_format_outlasts_a_reply_that_the_server_could_not_parse() -> None:
    script, reasoner = thinking(said(GOOD["reading"]), unparsed("llama.cpp"), said(GOOD["reading"]))
    for _ in range(3):
        ask(reasoner, QUESTIONS["reading"])
    assert ["response_format" in body for body in script.bodies] == [True, True, False, True]
