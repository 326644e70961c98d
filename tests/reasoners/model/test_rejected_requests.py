"""Requests that a server, a filter or a template rejects: what is changed before they are sent again."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from pipeline import errors
from pipeline.domain import reasoner_questions as q
from pipeline.reasoners.model.capabilities import Capabilities
from pipeline.text.cleaning import tokens
from tests.reasoners.model import kit
from tests.reasoners.model.kit import GOOD, QUESTIONS, Script, ask, finished, reasoner_for, reply, said, thinking

WITHHELD = {
    "finish reason": finished("content_filter", "par"),
    "refusal": finished("stop", None, refusal="I cannot help with that."),
    "policy": reply(400, {"error": {"message": "m", "code": "content_policy_violation"}}),
    "moderation": reply(
        403, {"error": {"code": 403, "message": "m", "metadata": {"reasons": ["x"], "flagged_input": "holds 45"}}}
    ),
}


@pytest.mark.parametrize("fault", sorted(WITHHELD))
def test_a_filtered_page_is_a_typed_failure_that_is_not_tried_again(fault: str) -> None:
    script, reasoner = thinking(WITHHELD[fault])
    with pytest.raises(errors.AnswerWithheld) as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 1
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "fault",
    [
        reply(400, {"error": {"message": "'response_format' of type 'json_schema' is not supported", "code": 400}}),
        reply(404, {"error": {"message": "No endpoints found that can handle the requested parameters.", "code": 404}}),
        reply(500, {"error": {"message": "failed to parse grammar"}}),
        reply(422, {"detail": "unprocessable"}),
        reply(400, {}),
    ],
)
def test_the_response_format_is_negotiated_down_and_remembered(fault: httpx.Response) -> None:
    script, reasoner = thinking(fault, fault, said(GOOD["reading"]))
    ask(reasoner, QUESTIONS["reading"])
    ask(reasoner, QUESTIONS["reading"])
    kinds = [body.get("response_format", {}).get("type") for body in script.bodies]
    assert kinds == ["json_schema", "json_object", None, None]


def test_a_proven_format_is_not_given_up_for_an_unexplained_fault() -> None:
    script, reasoner = thinking(said(GOOD["reading"]), reply(400, {"error": {"message": "bad"}}))
    ask(reasoner, QUESTIONS["reading"])
    with pytest.raises(errors.ServiceFailed, match="rejects the request: bad"):
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 2


def test_a_server_that_names_its_limit_otherwise_or_knows_no_temperature_is_asked_its_way() -> None:
    limit = reply(400, {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}})
    heat = reply(400, {"error": {"message": "Unsupported value: 'temperature' does not support 0 with this model."}})
    script, reasoner = thinking(limit, heat, said(GOOD["reading"]))
    ask(reasoner, QUESTIONS["reading"])
    last = script.bodies[-1]
    assert last["max_completion_tokens"] == 1_000
    assert not {"max_tokens", "temperature"} & last.keys()
    assert last["response_format"]["type"] == "json_schema"


TOO_LONG = {
    "litellm": (400, "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum "
                     "context length is 8192 tokens. However, your messages resulted in 21000 tokens.", 8192),
    "litellm without the upstream's words": (400, "litellm.ContextWindowExceededError: too much", 0),
    "vllm": (400, "This model's maximum context length is 8,192 tokens. However, you requested 9000 tokens", 8192),
    "llama.cpp": (400, "the request exceeds the available context size. try increasing it", 0),
    "ollama": (500, "input length exceeds the context length", 0),
    "lm studio": (400, "Trying to keep the first 9000 tokens when context overflows. However, the model is loaded with context "
                       "length of only 8192 tokens, which is not enough", 8192),
    "anthropic": (400, "prompt is too long: 208310 tokens > 200000 maximum", 0),
    "google": (400, "The input token count (40000) exceeds the maximum number of tokens allowed (32768).", 0),
    "tgi": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000", 8192),
}  # fmt: skip


LARGE = q.ShownPage(url=kit.URL_A, title="WAL", text="# WAL\n\n" + "The log holds 45 records.\n\n" * 9_000)
LARGE_PAGE = kit.READING.model_copy(update={"pages": {"S1": LARGE}})


@pytest.mark.parametrize("server", sorted(TOO_LONG))
def test_a_prompt_that_is_too_long_is_shortened_once_and_the_model_s_size_is_remembered(server: str) -> None:
    status, words, limit = TOO_LONG[server]
    script, reasoner = thinking(reply(status, {"error": {"message": words, "code": str(status)}}), said(GOOD["reading"]))
    assert ask(reasoner, LARGE_PAGE).value.findings
    first, second = (tokens(body["messages"][1]["content"]) for body in script.bodies)
    assert second < 0.75 * first
    assert second + script.bodies[1]["max_tokens"] < limit if limit else second < 0.6 * first
    ask(reasoner, LARGE_PAGE)
    assert len(script.requests) == 3
    assert tokens(script.bodies[2]["messages"][1]["content"]) == second


@pytest.mark.parametrize(("question", "calls"), [(LARGE_PAGE, 2), (QUESTIONS["reading"], 1)])
def test_a_prompt_that_stays_too_long_or_cannot_be_shortened_is_named_so(question: q.Question[Any], calls: int) -> None:
    script, reasoner = thinking(reply(400, {"error": {"message": TOO_LONG["anthropic"][1], "code": "400"}}))
    with pytest.raises(errors.ServiceFailed, match="too long for acme/one"):
        ask(reasoner, question)
    assert len(script.requests) == calls


def test_a_template_with_an_unknown_name_is_one_clear_message(tmp_path: Any) -> None:
    for file in kit.TEMPLATES.glob("*.j2"):
        (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    (tmp_path / "reading.md.j2").write_text("{{ query }}\n{{ nobody }}\n", "utf-8")
    with pytest.raises(errors.TemplateInvalid, match=r"reading\.md\.j2, line 2: 'nobody' is undefined"):
        ask(reasoner_for(Script([said("x")]), templates=tmp_path), QUESTIONS["reading"])


def test_the_schema_is_in_the_prompt_only_where_the_server_takes_none() -> None:
    schema, messages = {"type": "object"}, [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    bodies = [Capabilities(format=form).body("m", messages, 9, "n", schema) for form in ("json_schema", "json_object", "prompt")]
    assert [body["messages"][0] for body in bodies] == [messages[0]] * 3
    assert [body["messages"][1]["content"].startswith("u") for body in bodies] == [True] * 3
    assert ['{"type":"object"}' in body["messages"][1]["content"] for body in bodies] == [False, True, True]
