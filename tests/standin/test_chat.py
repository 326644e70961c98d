"""Chat completions: both flavours, the account, and a count that is exact whatever happens to the reply."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.standin.charges import Price, Totals, tokens_in
from tests.standin.fixtures import hosted, standin
from tests.standin.options import Options
from tests.standin.rawclient import Seen, ask, get, post
from tests.standin.server import Standin

__all__ = ["standin"]

OPENAI = "/v1/chat/completions"
KEY = {"Authorization": "Bearer key"}
_BODY = {"model": "standin/model", "max_tokens": 4_000, "messages": [{"role": "user", "content": "Why?"}]}


def _error(seen: Seen) -> Any:
    return seen.json()["error"]


# ---- flavours --------------------------------------------------------------------------------------------------


def test_openrouter_tells_provider_and_cost(standin: Standin) -> None:
    seen = ask(standin, "x" * 40)
    found = seen.json()
    usage = found["usage"]
    assert found["provider"] == "Stand-in"
    assert found["choices"][0]["native_finish_reason"] == "stop"
    assert seen.headers["x-generation-id"] == found["id"]
    assert usage["prompt_tokens"] == 10
    assert usage["cost"] == (10 * 1_000 + usage["completion_tokens"] * 4_000) / 1e9


def test_openai_tells_neither(standin: Standin) -> None:
    found = ask(standin, path=OPENAI).json()
    assert not {"provider"} & set(found)
    assert not {"cost", "cost_details", "is_byok"} & set(found["usage"])
    assert "native_finish_reason" not in found["choices"][0]


def test_a_stream_ends_with_the_usage_and_done(standin: Standin) -> None:
    lines = [line for line in ask(standin, stream=True).body.decode().split("\n\n") if line]
    assert lines[0] == ": OPENROUTER PROCESSING"
    assert lines[-1] == "data: [DONE]"
    assert json.loads(lines[-2].removeprefix("data: "))["usage"]["total_tokens"] == standin.log.charged().total_tokens


def test_an_answer_longer_than_max_tokens_ends_for_length(standin: Standin) -> None:
    found = ask(standin, max_tokens=3).json()
    assert found["choices"][0]["finish_reason"] == "length"
    assert found["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("body", [[1], {"messages": "x"}, "text"])
def test_a_body_that_is_no_request_is_400(standin: Standin, body: Any) -> None:
    assert post(standin, "/api/v1/chat/completions", body, KEY).status == 400


# ---- keys, credit, quota ---------------------------------------------------------------------------------------


def test_no_key_and_a_wrong_key_are_401() -> None:
    with hosted(Options(keys={"chat": "right"})) as server:
        assert post(server, OPENAI, {}, {}).json()["error"]["code"] == "invalid_api_key"
        assert _error(ask(server))["code"] == 401
        assert get(server, "/api/v1/key", KEY).status == 401


def test_a_call_without_max_tokens_is_402_whatever_the_credit(standin: Standin) -> None:
    seen = ask(standin, max_tokens=None)
    assert (seen.status, _error(seen)["code"]) == (402, 402)
    assert "up to 32000 tokens" in _error(seen)["message"]


def test_the_worst_case_must_be_covered_before_the_model_is_asked() -> None:
    with hosted(Options(credit_usd=0.001)) as server:
        assert ask(server, max_tokens=240).status == 200
        refused = ask(server, max_tokens=250)
        assert refused.status == 402
        assert server.log.charged().calls == 1


def test_openai_says_insufficient_quota_when_the_credit_is_used_up() -> None:
    with hosted(Options(credit_usd=0.0)) as server:
        seen = ask(server, path=OPENAI)
        assert (seen.status, _error(seen)["type"]) == (429, "insufficient_quota")


def test_the_rate_is_429_with_retry_after() -> None:
    with hosted(Options(rates={"chat": 1})) as server:
        ask(server)
        seen = ask(server)
        assert (seen.status, seen.headers["retry-after"]) == (429, "1")


def test_the_key_says_what_is_left(standin: Standin) -> None:
    ask(standin)
    data = get(standin, "/api/v1/key", KEY).json()["data"]
    assert data["usage"] == standin.log.charged().usd > 0
    assert data["limit_remaining"] == pytest.approx(100 - data["usage"], abs=1e-12)


# ---- models ----------------------------------------------------------------------------------------------------


def test_a_model_that_is_down_is_passed_over_for_the_next() -> None:
    with hosted(Options(models={"a/a": Price(), "b/b": Price(10, 10)}, down=frozenset({"a/a"}))) as server:
        assert ask(server, model="a/a", models=["a/a", "b/b"]).json()["model"] == "b/b"
        assert _error(ask(server, model="a/a"))["availability"]["retryable"] is True
        assert _error(ask(server, model="acme/fake-1.0"))["availability"]["code"] == "model_not_found"


def test_the_list_of_models_has_prices() -> None:
    with hosted(Options(models={"a/a": Price(150, 600)})) as server:
        assert get(server, "/api/v1/models").json()["data"][0]["pricing"] == {
            "prompt": "0.000000150",
            "completion": "0.000000600",
        }


# ---- counting --------------------------------------------------------------------------------------------------


def _usage(seen: Seen) -> Totals:
    usage = seen.json()["usage"]
    return Totals(1, usage["prompt_tokens"], usage["completion_tokens"], round(usage["cost"] * 1e9))


def _sum(parts: list[Totals]) -> Totals:
    names = ("calls", "input_tokens", "output_tokens", "nano_usd")
    return Totals(*(sum(getattr(part, name) for part in parts) for name in names))


def test_the_sum_of_all_usage_is_the_sum_charged_also_with_many_at_once(standin: Standin) -> None:
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda size: _usage(ask(standin, "word " * size)), range(40)))
    assert standin.log.charged() == standin.log.seen() == _sum(told)


@pytest.mark.parametrize(
    "verb", ["hang_before_headers", "hang_mid_body", "cut_at:18", "trunc_gzip", "rst", "field_drop:usage", "nan"]
)
def test_what_was_made_is_charged_though_nobody_can_read_it(standin: Standin, verb: str) -> None:
    standin.fault("chat", verb)
    post(standin, "/api/v1/chat/completions", _BODY, KEY, patience_s=0.3)
    assert standin.log.unseen().calls == standin.log.charged().calls == 1


@pytest.mark.parametrize(
    "verb", ["status:503", "F1", "F2", "F3", "F6", "html_page", "empty_body", "204", "tls_bad", "redirect_loop"]
)
def test_what_stands_in_place_of_an_answer_is_not_charged(standin: Standin, verb: str) -> None:
    standin.fault("chat", verb)
    ask(standin)
    assert standin.log.charged() == Totals()


@pytest.mark.parametrize(
    "verb", ["delay:0.01", "drip:20000", "bom", "ws_prefix:200", "wrong_ct", "latency_jitter:0.01", "chunked"]
)
def test_what_can_still_be_read_is_charged_and_seen(standin: Standin, verb: str) -> None:
    standin.fault("chat", verb)
    ask(standin)
    assert standin.log.seen().calls == standin.log.charged().calls == 1


def test_an_answer_of_nothing_but_thinking_is_charged_as_its_usage_says(standin: Standin) -> None:
    standin.fault("chat", "F4")
    assert standin.log.charged() == Totals()
    assert _usage(ask(standin)) == standin.log.charged() == Totals(1, 49_000, 8_000, 310_000_000)


def test_a_bill_that_never_arrived_can_be_asked_for(standin: Standin) -> None:
    standin.fault("chat", "field_drop:usage", calls=[1])
    name = ask(standin).headers["x-generation-id"]
    data = get(standin, f"/api/v1/generation?id={name}", KEY).json()["data"]
    assert data["total_cost"] == standin.log.charged().usd
    assert get(standin, "/api/v1/generation?id=gen-0", KEY).status == 404


def test_tokens_are_characters_by_four_rounded_up() -> None:
    assert [tokens_in("x" * size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]
