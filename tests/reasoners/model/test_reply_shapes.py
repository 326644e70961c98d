"""The forms in which servers and models give an answer, each seen in public reports: all are read, none costs a second call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, Literal

import httpx
import pytest
from pydantic import BaseModel

from pipeline.config.queue_schema import Price
from pipeline.config.services import ModelServer
from pipeline.domain.budget import CombinedBudget
from pipeline.reasoners.model.call_costs import Prices
from pipeline.reasoners.model.calls import AnswerCalls, ModelClient, ModelRequest
from pipeline.reasoners.model.capabilities import KnownCapabilities
from pipeline.reasoners.model.completion_replies import Content
from pipeline.reasoners.model.json_reply import UnusableReply, parse_reply, parse_text
from tests.reasoners.model.kit import MODEL, Script, finished, http_for, said, streamed

PROMPT = ({"role": "system", "content": "s"}, {"role": "user", "content": "u"})


class Found(BaseModel):
    quote: str
    question: str = ""
    level: Literal["high", "low"] = "low"


class Answer(BaseModel):
    findings: list[Found]
    queries: list[str] = []
    done: bool = False


class Report(BaseModel):
    text: str


FOUND = {"quote": "The log holds 45 records.", "question": "Q1", "level": "high"}
ANSWER = {"findings": [FOUND], "queries": ["wal"], "done": False}
JSON = json.dumps(ANSWER)
HALF = len(JSON) // 2


def message(**parts: Any) -> httpx.Response:
    return said("", choices=[{"finish_reason": "stop", "message": parts}])


def events(*chunks: Any, done: bool = True) -> httpx.Response:
    told = "".join(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n" for chunk in chunks)
    return httpx.Response(200, content=f": ping\n\n{told}{'data: [DONE]' if done else ''}\n\n".encode())


def delta(finish: str | None = None, **parts: Any) -> dict[str, Any]:
    return {"choices": [{"delta": parts, "finish_reason": finish}]}


def envelope(text: str) -> httpx.Response:
    """A reply whose envelope has the same text somewhere else."""
    return httpx.Response(200, content=text.replace("@", json.dumps(JSON)).encode())


FORMS: dict[str, httpx.Response] = {
    # around the answer
    "a fence": said(f"```json\n{JSON}\n```\n"),
    "prose around a fence": said(f"Here it is:\n```json\n{JSON}\n```\nI hope that helps."),
    "prose around": said(f"Sure! {JSON} Done."),
    "prose with braces before": said(f"For {{key}} see [E1]: {JSON}"),
    "two fences": said(f'```json\n{{"draft": 1}}\n```\nBetter:\n```json\n{JSON}\n```'),
    "a tag": said(f"<answer>{JSON}</answer>"),
    "a byte order mark": said(f"\ufeff{JSON}"),
    "the end mark of a template": said(f"{JSON}<|im_end|>"),
    "thoughts": said(f"<think>\nThe log {{ ... }}.\n</think>\n\n{JSON}"),
    "thoughts without their beginning": said(f"Let me see: {{braces}}.</think>{JSON}"),
    "thoughts in capitals": said(f"[THINK]so[/THINK]{JSON}"),
    "thoughts twice": said(f"<thinking>a</thinking> <reasoning>b</reasoning> {JSON}"),
    "thoughts and a fence": said(f"<think>a</think>\n```json\n{JSON}\n```"),
    "channels": said(f"<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>{JSON}<|return|>"),
    "said twice": said(f"{JSON}\n{JSON}"),
    # nearly JSON
    "a trailing comma": said(JSON.replace("]", ",]")),
    "Python": said(repr(ANSWER)),
    "unquoted keys": said('{findings: [{quote: "The log holds 45 records.", level: "high"}], queries: ["wal"]}'),
    "comments": said(JSON.replace('"queries"', '// next\n"queries"')),
    "a raw line break": said(JSON.replace("holds 45", "holds\n45")),
    "a raw tab": said(JSON.replace("holds 45", "holds\t45")),
    "an escape that is none": said(JSON.replace("Q1", "Q\\_1")),
    "quotes in a string": said(JSON.replace("The log", 'The "log"')),
    "curly quotes": said(JSON.replace('"wal"', "“wal”")),
    "no last brace": said(JSON[:-1]),
    # another shape
    "one wrapper more": said({"answer": ANSWER}),
    "two wrappers more": said({"response": {"response": ANSWER}}),
    "the schema around it": said({"type": "object", "properties": ANSWER}),
    "a list of one": said([ANSWER]),
    "the list alone": said([FOUND, FOUND]),
    "an object a line": said(f"{json.dumps(FOUND)}\n{json.dumps(FOUND)}"),
    "a call in the text": said({"name": "answer", "arguments": ANSWER}),
    "a tagged call in the text": said(f'<tool_call>\n{{"name": "answer", "arguments": {JSON}}}\n</tool_call>'),
    "arguments of a call in the text": said({"name": "answer", "arguments": JSON}),
    "JSON in a string": said(json.dumps(JSON)),
    "a list in a string": said({**ANSWER, "findings": json.dumps([FOUND])}),
    "a list in Python in a string": said({**ANSWER, "findings": repr([FOUND])}),
    "one where a list belongs": said({**ANSWER, "findings": FOUND, "queries": "wal"}),
    "texts where objects belong": said({**ANSWER, "findings": ["The log holds 45 records."]}),
    "null for an empty list": said({**ANSWER, "queries": None}),
    "other spellings": said({"Findings": [{**FOUND, "level": "HIGH"}], "queries": [], "done": "false"}),
    "a number where a text belongs": said({**ANSWER, "queries": [45]}),
    "a key too many": said({**ANSWER, "confidence": 0.9}),
    # in another place
    "parts": message(content=[{"type": "text", "text": JSON[:HALF]}, {"type": "text", "text": JSON[HALF:]}]),
    "parts with thoughts": message(content=[{"type": "thinking", "thinking": "so"}, {"type": "text", "text": JSON}]),
    "an object for a text": message(content=ANSWER),
    "arguments of a call": finished("tool_calls", None, tool_calls=[{"function": {"name": "answer", "arguments": JSON}}]),
    "arguments as an object": finished("tool_calls", None, tool_calls=[{"function": {"name": "answer", "arguments": ANSWER}}]),
    "arguments of a call by its older name": message(content=None, function_call={"name": "answer", "arguments": JSON}),
    "an answer behind the thoughts": message(content="", reasoning_content=f"So: {JSON}"),
    "an answer among the thoughts": message(content=None, reasoning=JSON),
    "a completion that is no chat": said("", choices=[{"finish_reason": "stop", "text": JSON}]),
    "an envelope around the envelope": envelope('{"success": true, "data": {"choices": [{"message": {"content": @}}]}}'),
    "white space until there is no room": finished("length", JSON + " \n" * 500),
    "NaN in the envelope": envelope('{"choices": [{"message": {"content": @}}], "x": NaN}'),
    "a key twice in the envelope": envelope('{"id": 1, "id": 2, "choices": [{"message": {"content": @}}]}'),
    "a huge number in the envelope": envelope('{"created": ' + "9" * 99 + ', "choices": [{"message": {"content": @}}]}'),
    # as a stream
    "a stream": streamed(JSON[:9], JSON[9:30], JSON[30:]),
    "a stream without a last reason": events(delta(content=JSON)),
    "a stream whose first event has no choice": events({"choices": [], "prompt_filter_results": []}, delta("stop", content=JSON)),
    "a stream with an event without a delta": events(delta(content=JSON), {"choices": [{"index": 0}]}, delta("stop")),
    "a stream of a call": events(
        *(delta(tool_calls=[{"index": 0, "function": {"arguments": part}}]) for part in (JSON[:HALF], JSON[HALF:])),
        delta("tool_calls"),
    ),
    "a stream of thoughts alone": events(delta(reasoning_content=JSON), delta("stop", content="")),
    "a stream without spaces": httpx.Response(200, text=f'data:{json.dumps(delta("stop", content=JSON))}\r\n\r\ndata:[DONE]'),
}  # fmt: skip


def content_of(reply: httpx.Response) -> str:
    script = Script([reply])
    server = ModelServer("acme", "https://models.acme-models.com/v1")
    client = ModelClient(http_for(script), server, Prices(Price(1.0, 4.0)), CombinedBudget(()), KnownCapabilities())
    found = asyncio.run(client.ask(ModelRequest(MODEL, "reading", PROMPT, Answer.model_json_schema(), 1_000), AnswerCalls()))
    assert isinstance(found, Content)
    assert len(script.requests) == 1
    return found.text


@pytest.mark.parametrize("form", sorted(FORMS))
def test_what_servers_and_models_make_of_an_answer_is_read(form: str) -> None:
    answer = parse_reply(content_of(FORMS[form]), Answer)
    assert " ".join(answer.findings[0].quote.replace('"', "").split()) == "The log holds 45 records."


TEXTS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "a fence": "```markdown\n{}\n```".format,
    "thoughts": "<think>so</think>\n\n{}".format,
    "an end mark": "{}<|eot_id|>".format,
    "JSON all the same": lambda report: json.dumps({"text": report}),
}


@pytest.mark.parametrize("form", sorted(TEXTS))
def test_a_report_is_read_as_it_is(form: str) -> None:
    report = "# Kilns\n\nThey keep heat [E1].\n\n```sh\nkiln --hot\n```\n\n{not JSON} at all."
    assert parse_text(TEXTS[form](report), Report).text == report


@pytest.mark.parametrize("text", ["", "<think>and so on", "```\n```"])
def test_a_report_without_a_word_is_unusable(text: str) -> None:
    with pytest.raises(UnusableReply):
        parse_text(text, Report)


UNFIT: dict[str, Any] = {
    "prose": "I think that",
    "duplicate keys": '{"findings": [], "findings": [{"quote": "x"}]}',
    "NaN": '{"findings": NaN}',
    "nested without end": "[" * 100_000,
    "a missing key": json.dumps({"queries": ["wal"]}),
    "a string": '"x"',
    "a web page": "<html><body>x",
    "a quote without end and nothing else": '"' * 100_001,
    "a brace and much space": "{" + " " * 1_000_000,
    "brackets without end": "[1] " * 20_000,
}


@pytest.mark.parametrize("fault", sorted(UNFIT))
def test_what_holds_no_answer_is_told_so(fault: str) -> None:
    with pytest.raises(UnusableReply) as caught:
        parse_reply(UNFIT[fault], Answer)
    assert 0 < len(str(caught.value)) < 2_000
