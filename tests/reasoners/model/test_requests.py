"""What a model server is asked: streams, effort, marks for its cache, its context; and slow, dead, busy, endless replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any

import httpx
import pytest

from pipeline import errors
from pipeline.config.queue_schema import ModelChoice, Price
from pipeline.config.services import ModelServer
from pipeline.domain.budget import CombinedBudget
from pipeline.net.client import SERVICES, HttpClient
from pipeline.reasoners.model.call_costs import Prices
from pipeline.reasoners.model.calls import AnswerCalls, ModelClient, ModelRequest
from pipeline.reasoners.model.capabilities import KnownCapabilities, window_of
from pipeline.reasoners.model.completion_replies import Content, Meaning
from pipeline.text.redaction import Secret
from tests.reasoners.model.kit import MODEL, Script, http_for, reply, said, streamed
from tests.simulation.clock import VirtualLoop

SYSTEM = {"role": "system", "content": "You quote."}


class Pieces(httpx.AsyncByteStream):
    """A body in pieces, with a pause in seconds before each."""

    def __init__(self, pieces: Sequence[tuple[float, str]]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for pause_s, piece in self._pieces:
            await asyncio.sleep(pause_s)
            yield piece.encode()


def event(text: str, finish: str | None = None) -> str:
    return f"data: {json.dumps({'choices': [{'delta': {'content': text}, 'finish_reason': finish}]})}\n\n"


class Asked:
    """One call of a model at a server with a deadline of 0.4 s that answers with those pieces, or with scripted replies."""

    def __init__(self, server: Sequence[tuple[float, str]] | Script, **more: Any) -> None:
        self.tries = 0
        self.answers = server
        http = http_for(server) if isinstance(server, Script) else self._slow()
        more = {"timeout": timedelta(seconds=0.4)} | more
        self.client = ModelClient(
            http,
            ModelServer("acme", "https://m.acme-models.com/v1", choice=ModelChoice("", **more)),
            Prices(Price(1, 4)),
            CombinedBudget(()),
            KnownCapabilities(),
        )
        self.calls = AnswerCalls()

    def _slow(self) -> HttpClient:
        def handler(_request: httpx.Request) -> httpx.Response:
            self.tries += 1
            return httpx.Response(200, stream=Pieces(list(self.answers)))  # type: ignore[arg-type]

        return HttpClient(SERVICES, transport=httpx.MockTransport(handler))

    def __call__(self, name: str = "reading", model: str = MODEL, **more: Any) -> Meaning:
        messages = more.pop("messages", [SYSTEM, {"role": "user", "content": "u"}])
        wanted = ModelRequest(model, name, messages, {"type": "object"}, more.pop("max_tokens", 1_000), **more)
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(self.client.ask(wanted, self.calls))


def test_a_slow_model_is_waited_for_as_long_as_its_pieces_come() -> None:
    asked = Asked([(0.15, event(letter)) for letter in "slowly"] + [(0.1, event("", "stop"))])
    assert asked() == Content("slowly")
    assert asked.tries == 1


DEAD = {
    "begun and silent": ([(0.0, event("x")), (5.0, event("y"))], "fell silent in the middle", True),
    "never begun": ([(5.0, event("x"))], "no complete reply in time", True),
}


@pytest.mark.parametrize("way", sorted(DEAD))
def test_a_dead_server_is_told_by_the_time_between_pieces(way: str) -> None:
    pieces, words, down = DEAD[way]
    asked = Asked(pieces)
    with pytest.raises(errors.ServiceUnavailable, match=words) as caught:
        asked()
    assert asked.tries == 2
    assert (caught.value.outage is not None) == down


ENDLESS: dict[str, list[tuple[float, str]]] = {
    "the same words": [(0.0, event("and so on "))] * 400,
    "white space": [(0.0, event(" \n"))] * 4_000,
    "more than there is room for": [(0.0, event(f"{number} words, ")) for number in range(3_000)],
}


@pytest.mark.parametrize("way", sorted(ENDLESS))
def test_a_model_that_talks_without_end_is_stopped_and_named(way: str) -> None:
    asked = Asked([*ENDLESS[way], (5.0, event("", "stop"))])
    with pytest.raises(errors.AnswerInvalid, match=f"{MODEL} talked without end") as caught:
        asked()
    assert asked.tries == 1
    assert caught.value.outage is None
    assert b"choices" in asked.client.exchange(asked.calls)


def test_a_stream_is_asked_for_with_its_usage_and_kept_as_one_reply() -> None:
    script = Script([streamed("{", "}")])
    asked = Asked(script)
    asked()
    assert script.bodies[0]["stream"] is True
    assert script.bodies[0]["stream_options"] == {"include_usage": True}
    assert script.bodies[0]["max_tokens"] == 1_000
    kept = json.loads(asked.client.exchange(asked.calls))["calls"][0]["replies"][0]["body"]
    assert json.loads(kept)["choices"][0]["message"]["content"] == "{}"
    assert asked.calls.costs[0].usd == pytest.approx(0.001)


def test_a_server_that_takes_no_stream_or_no_options_for_one_is_asked_without() -> None:
    options = reply(422, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]})
    stream = reply(400, {"error": {"message": "Streaming is not supported for this model"}})
    script = Script([options, stream, said({})])
    Asked(script)()
    assert ["stream_options" in body for body in script.bodies] == [True, False, False]
    assert [body["stream"] for body in script.bodies] == [True, True, False]


@pytest.mark.parametrize(("status", "headers", "busy"), [(429, {}, True), (503, {"retry_after": "1"}, True), (503, {}, False)])
def test_a_busy_server_is_not_called_down(status: int, headers: dict[str, str], busy: bool) -> None:
    with pytest.raises(errors.ServiceUnavailable) as caught:
        Asked(Script([reply(status, {"error": {"message": "m"}}, **headers)]))()
    assert caught.value.outage is not None
    assert caught.value.outage.busy == busy


def test_planning_and_checking_think_long_and_reading_little_where_a_server_takes_it_and_the_settings_say_nothing() -> None:
    script = Script([said({})])
    for name in ("plan", "reading", "report", "check"):
        Asked(script)(name)
    Asked(script, effort="medium")("check")
    assert [body.get("reasoning_effort") for body in script.bodies] == ["high", "low", None, "high", "medium"]
    refusing = Script([reply(400, {"error": {"message": '"smollm2" does not support thinking'}}), said({})])
    Asked(refusing)("plan")
    assert ["reasoning_effort" in body for body in refusing.bodies] == [True, False]


def marks(message: dict[str, Any]) -> list[bool]:
    return ["cache_control" in part for part in message["content"]]


def test_the_beginnings_of_prompts_are_marked_for_the_cache_of_claude_alone() -> None:
    messages = [SYSTEM, {"role": "user", "content": ["facts", "task"]}]
    script = Script([said({})])
    Asked(script)(model="anthropic/claude-sonnet-4.5", messages=messages)
    system, user = script.bodies[0]["messages"]
    assert (marks(system), marks(user)) == ([True], [True, False])
    Asked(script)(messages=messages)
    assert [message["content"] for message in script.bodies[1]["messages"]] == ["You quote.", "factstask"]
    refusing = Script([reply(400, {"error": {"message": "messages[0].content: Input should be a valid string"}}), said({})])
    Asked(refusing)(model="claude-local", messages=messages)
    assert refusing.bodies[1]["messages"][1]["content"] == "factstask"


def test_a_server_that_takes_no_bounds_gets_the_schema_without_them() -> None:
    schema = {
        "type": "object",
        "properties": {"texts": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 9}}},
    }
    words = "output_format.schema: For 'string' type, property 'maxLength' is not supported"
    script = Script([reply(400, {"error": {"message": words}}), said({})])
    asked = Asked(script)
    asyncio.run(asked.client.ask(ModelRequest(MODEL, "reading", [SYSTEM], schema, 100), asked.calls))
    first, second = (body["response_format"]["json_schema"]["schema"] for body in script.bodies)
    assert (first, second) == (
        schema,
        {"type": "object", "properties": {"texts": {"type": "array", "items": {"type": "string"}}}},
    )


LIST = {"object": "list", "data": [{"id": "big", "context_length": 200_000}, {"id": "small", "max_model_len": 8_192}]}
OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "llama.cpp": (
        "a", {"/v1/models": {"data": [{"id": "a", "meta": {"n_ctx_train": 40_960}}]},
              "/props": {"default_generation_settings": {"n_ctx": 4_096}}}
    ),
    "LM Studio": (
        "a", {"/v1/models": {"data": [{"id": "a"}]},
              "/api/v0/models": {"data": [{"id": "a", "loaded_context_length": 4_096, "max_context_length": 40_960}]}}
    ),
    "Ollama with a loaded model": (
        "a", {"/v1/models": {"data": [{"id": "a:latest"}, {"id": "b"}]}, "/api/show": {"parameters": ""},
              "/api/ps": {"models": [{"model": "b", "context_length": 9}, {"model": "a:latest", "context_length": 4_096}]}}
    ),
    "Ollama": ("a", {"/v1/models": {"data": [{"id": "a:latest"}]}, "/api/show": {"parameters": "stop x\nnum_ctx    4096"}}),
}  # fmt: skip


def window(answer: Callable[[httpx.Request], httpx.Response], model: str, key: Secret | None = None) -> int:
    async def no_sleep(_seconds: float) -> None: ...

    http = HttpClient(SERVICES, transport=httpx.MockTransport(answer), sleep=no_sleep)
    return asyncio.run(window_of(http, "acme", "https://m.acme-models.com/v1", key, model))


def test_the_context_is_asked_for_where_servers_name_it() -> None:
    key = Secret("sk-canary-0123456789", "K")
    assert [window(lambda _: httpx.Response(200, json=LIST), model, key) for model in ("big", "small", "other")] == [
        200_000,
        8_192,
        0,
    ]


@pytest.mark.parametrize("server", sorted(OWN))
def test_servers_of_ones_own_name_it_at_addresses_of_their_own(server: str) -> None:
    model, pages = OWN[server]

    def answer(request: httpx.Request) -> httpx.Response:
        page = pages.get(request.url.path)
        return httpx.Response(200, json=page) if page else httpx.Response(404)

    assert window(answer, model) == 4_096


@pytest.mark.parametrize("status", [401, 404, 500, 503])
def test_a_server_that_does_not_name_it_costs_nothing(status: int) -> None:
    assert window(lambda _: httpx.Response(status, json=[]), "a") == 0
    script = Script([said({})])
    asked = Asked(script)
    assert asyncio.run(asked.client.window(MODEL)) == 0
    assert isinstance(asked(), Content)


def test_a_context_that_is_known_when_the_model_is_loaded_is_asked_for_after_its_first_answer() -> None:
    loaded: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("completions"):
            loaded.append("a")
            return said({})
        pages = {
            "/api/show": {"parameters": ""},
            "/api/ps": {"models": [{"model": "a", "context_length": 4_096}] if loaded else []},
        }
        page = pages.get(request.url.path)
        return httpx.Response(200, json=page) if page else httpx.Response(404)

    asked = Asked(Script([]))
    asked.client = ModelClient(
        HttpClient(SERVICES, transport=httpx.MockTransport(answer)), ModelServer("own", "https://m.acme-models.com/v1"),
        Prices(Price(0, 0)), CombinedBudget(()), KnownCapabilities(),
    )  # fmt: skip
    assert asyncio.run(asked.client.window("a")) == 0
    asked(model="a")
    assert asyncio.run(asked.client.window("a")) == 4_096


def test_the_settings_come_first_and_a_reply_gets_a_third_of_a_small_context() -> None:
    asked = Asked(Script([said({})]), context=6_000)
    assert asyncio.run(asked.client.window(MODEL)) == 6_000
    assert asked.client.capabilities.room(MODEL, 8_000) == 2_000
