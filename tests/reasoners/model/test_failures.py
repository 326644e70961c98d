"""What servers send when they fail or refuse, and which model is asked instead."""

from __future__ import annotations

import httpx
import pytest

from pipeline import errors
from tests.reasoners.model.kit import GOOD, MODEL, QUESTIONS, Scripted, ask, reply, said, thinking

RATE = {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "Too Many Requests"}}}
NULLED = {"id": None, "choices": None, "model": None, "usage": None, **RATE}
BROKEN = {
    "choices": [
        {
            "message": {"role": "assistant", "content": "partial output..."},
            "finish_reason": "error",
            "error": {"code": 502, "message": "Provider disconnected", "metadata": {"error_type": "provider_unavailable"}},
        }
    ]
}
CREDIT = {"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}}
LIMITED = {"error": {"code": 429, "message": "Rate limit exceeded", "metadata": {"error_type": "rate_limit_exceeded"}}}
CAPACITY = {
    "error": {
        "message": "All providers for acme/one are at capacity. Retry after 40 seconds.",
        "error_type": "rate_limit_exceeded",
        "http_status": 429,
        "availability": {"code": "capacity_exhausted", "retryable": True, "retry_after": 40, "fallback_models": ["acme/two"]},
    }
}
UNKNOWN = {
    "error": {
        "message": "acme/one is not a valid model ID",
        "http_status": 400,
        "availability": {"code": "model_not_found", "retryable": False},
    }
}
QUOTA = {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}
SPEND = {"error": {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}}


PASSING: dict[str, Scripted] = {
    "F1 error only": reply(200, RATE),
    "F2 all null and error": reply(200, NULLED),
    "F3 error inside the choice": reply(200, BROKEN),
    "F6 rate": reply(429, LIMITED, retry_after="60"),
    "F7 capacity": reply(429, CAPACITY),
    "F11 overloaded": reply(529, OVERLOADED),
    "no choices": reply(200, {"id": "gen-1"}),
    "empty choices": said("", choices=[]),
    "null choices": said("", choices=None),
    "a choice of another type": said("", choices=["x"]),
    "a web page": httpx.Response(200, html="<html>Just a moment...</html>"),
    "cut JSON": httpx.Response(200, content=b'{"choices": [{"mess'),
    "a list": reply(200, []),
    "an empty body": httpx.Response(200),
    "no content": httpx.Response(204),
    "duplicate keys": httpx.Response(200, content=b'{"choices": 1, "choices": 2}'),
    "NaN": httpx.Response(200, content=b'{"choices": NaN}'),
    "nested without end": httpx.Response(200, content=b"[" * 100_000),
    "a timeout": reply(408, {"error": {"message": "m"}}),
    "a conflict": reply(409, {}),
    "a server error page": httpx.Response(500, html="<html>oops</html>"),
    "bad gateway": reply(502, {"error": "upstream"}),
    "a timeout at the edge": httpx.Response(524, text="timeout"),
    "a cut connection": httpx.RemoteProtocolError("peer closed connection"),
    "no connection": httpx.ConnectError("refused"),
    "a slow reply": httpx.ReadTimeout("slow"),
}


@pytest.mark.parametrize("fault", sorted(PASSING))
def test_what_may_pass_is_tried_once_more_and_a_server_that_never_answered_is_down(fault: str) -> None:
    script, reasoner = thinking(PASSING[fault], said(GOOD["reading"]))
    assert ask(reasoner, QUESTIONS["reading"]).value.queries
    assert len(script.requests) == 2
    assert script.bodies[0] == script.bodies[1]
    script, reasoner = thinking(PASSING[fault])
    with pytest.raises(errors.ServiceUnavailable) as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 2
    assert caught.value.exit_code == 3
    assert caught.value.outage is not None
    assert not caught.value.outage.was_up


DOWN = ("F6 rate", "F7 capacity", "F11 overloaded", "bad gateway", "no connection", "a cut connection")


@pytest.mark.parametrize("fault", sorted(PASSING))
def test_a_server_that_is_down_is_told_from_a_call_that_failed(fault: str) -> None:
    _, reasoner = thinking(said(GOOD["reading"]), PASSING[fault])
    ask(reasoner, QUESTIONS["reading"])
    with pytest.raises(errors.ServiceUnavailable) as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert (caught.value.outage is not None) == (fault in DOWN or fault.startswith(("F1 ", "F2 ", "F3 ")))


REFUSING = {
    "F5 credit": reply(402, CREDIT),
    "credit inside a 200": reply(200, CREDIT),
    "F10 quota": reply(429, QUOTA),
    "F11 spend limit": reply(429, SPEND),
    "no key": reply(401, {"error": {"message": "No auth credentials found", "code": 401}}),
    "wrong key": reply(401, {"error": {"message": "m", "type": "invalid_request_error", "code": "invalid_api_key"}}),
    "forbidden": reply(403, {"error": {"message": "no", "code": 403}}),
    "forbidden by a page": httpx.Response(403, html="<html>no</html>"),
}


@pytest.mark.parametrize("fault", sorted(REFUSING))
def test_a_refusal_for_good_is_one_hit_and_stops_all_later_calls_even_with_fallbacks(fault: str) -> None:
    script, reasoner = thinking(REFUSING[fault], fallbacks=("acme/two",))
    for _ in range(2):
        with pytest.raises(errors.ProviderRefused) as caught:
            ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) == 1
    assert caught.value.exit_code == 4
    assert caught.value.hint


@pytest.mark.parametrize(
    "fault",
    [
        reply(400, UNKNOWN),
        reply(429, CAPACITY),
        reply(404, {"error": {"message": 'model "acme/one" not found, try pulling it first'}}),
        reply(404, {"object": "error", "message": "The model `acme/one` does not exist.", "code": 404}),
        reply(404, {"error": {"message": "m", "type": "invalid_request_error", "code": "model_not_found"}}),
        reply(404, [{"error": {"code": 404, "message": "models/acme/one is not found", "status": "NOT_FOUND"}}]),
    ],
)
def test_a_model_that_is_unknown_or_has_no_capacity_is_replaced_by_its_fallback_at_once(fault: httpx.Response) -> None:
    script, reasoner = thinking(fault, said(GOOD["reading"], model="acme/two"), fallbacks=("acme/two",))
    answer = ask(reasoner, QUESTIONS["reading"])
    assert [body["model"] for body in script.bodies] == [MODEL, "acme/two"]
    assert (answer.cost.model_requested, answer.cost.model) == (MODEL, "acme/two")


def test_an_unknown_model_without_a_fallback_is_refused_and_the_message_says_where_to_correct_it() -> None:
    script, reasoner = thinking(reply(400, UNKNOWN))
    with pytest.raises(errors.ProviderRefused, match="not a valid model") as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert "queries.yaml" in caught.value.hint
    assert not caught.value.retryable
    assert len(script.requests) == 1


LITELLM = {
    "budget": (400, "Budget has been exceeded! Current cost: 3.0, Max budget: 2.0", "budget_exceeded", errors.ProviderRefused),
    "key": (401, "litellm.AuthenticationError: OpenAIException - Incorrect API key", None, errors.ProviderRefused),
    "filter": (400, "litellm.ContentPolicyViolationError: blocked", None, errors.AnswerWithheld),
    "model": (400, "litellm.BadRequestError: LLM Provider NOT provided; model acme/one not found", None, errors.ProviderRefused),
    "rate": (429, "litellm.RateLimitError: try again in 7 seconds", None, errors.ServiceUnavailable),
    "upstream": (500, "litellm.APIConnectionError: cannot connect", None, errors.ServiceUnavailable),
    "down": (503, "litellm.ServiceUnavailableError: overloaded", None, errors.ServiceUnavailable),
}


@pytest.mark.parametrize("name", sorted(LITELLM))
def test_the_errors_of_a_proxy_mean_what_they_say(name: str) -> None:
    status, words, kind, error = LITELLM[name]
    script, reasoner = thinking(reply(status, {"error": {"message": words, "type": kind, "param": None, "code": str(status)}}))
    with pytest.raises(error) as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert len(script.requests) <= 2
    assert (caught.value.outage is not None) == (error is errors.ServiceUnavailable)
