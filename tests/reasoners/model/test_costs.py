"""Every call is charged once; nothing is sent whose worst case does not fit."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from pipeline import errors
from pipeline.config.queue_schema import Price
from pipeline.domain.budget import Budget, Caps
from pipeline.domain.research_values import Cost
from pipeline.reasoners.model.call_costs import Prices
from tests.reasoners.model import kit
from tests.reasoners.model.kit import GOOD, KEY, MODEL, QUESTIONS, Script, ask, finished, reasoner_for, said

PRICES = Prices(Price(10.0, 10.0), {MODEL: Price(1.0, 4.0)})
CUT = httpx.RemoteProtocolError("peer closed connection")


def usage(**parts: Any) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.001} | parts}


def spent_on(script: Script, ledger: Budget, name: str = "reading", prices: Prices = PRICES) -> Cost:
    """What one question cost by its event, and by the ledger: they must agree."""
    reasoner = reasoner_for(script, budgets=(ledger,), prices=prices)
    try:
        cost: Cost | None = ask(reasoner, QUESTIONS[name]).cost
    except errors.StepError as error:
        cost = error.cost
    cost = cost or Cost()
    assert ledger.usd == pytest.approx(cost.usd, abs=1e-8)
    assert ledger.tokens == cost.total_tokens
    assert ledger.calls == cost.calls
    return cost


@pytest.mark.parametrize("stated", [0.00014, "0.00014", "1.4e-4"])
def test_the_servers_own_cost_counts_as_a_number_or_a_string(stated: Any) -> None:
    assert spent_on(Script([said(GOOD["reading"], **usage(cost=stated))]), Budget()).usd == 0.00014


@pytest.mark.parametrize("stated", [None, "free", -1, True, {}, 1e300, "NaN"])
def test_without_a_usable_cost_the_settings_price_its_tokens(stated: Any) -> None:
    cost = spent_on(Script([said(GOOD["reading"], **usage(cost=stated))]), Budget())
    assert cost.usd == pytest.approx((100 * 1.0 + 10 * 4.0) / 1_000_000)


def test_an_unknown_cost_counts_as_the_worst_case() -> None:
    ledger = Budget()
    cost = spent_on(Script([said(GOOD["reading"], **usage(cost=None))]), ledger, prices=Prices(Price(10.0, 10.0)))
    assert (cost.input_tokens, cost.output_tokens) == (100, 10)
    assert cost.assumed_usd == cost.usd > 1_000 * 10.0 / 1_000_000


@pytest.mark.parametrize(
    "account", [None, "x", [], {"prompt_tokens": -1}, {"prompt_tokens": "9" * 40}, {"completion_tokens": True}]
)
def test_unknown_tokens_count_as_the_worst_case(account: Any) -> None:
    cost = spent_on(Script([said(GOOD["reading"], usage=account)]), Budget())
    assert cost.output_tokens == 1_000
    assert cost.usd >= 1_000 * 4.0 / 1_000_000


def test_all_calls_of_an_answer_are_summed() -> None:
    script = Script([httpx.Response(503), finished("length", "x"), said(GOOD["reading"])])
    cost = spent_on(script, Budget())
    assert (cost.input_tokens, cost.output_tokens, cost.total_tokens) == (200, 20, 220)
    assert cost.usd == pytest.approx(0.002)
    assert cost.assumed_usd == 0


def test_a_cut_connection_counts_as_its_reservation() -> None:
    ledger = Budget()
    cost = spent_on(Script([CUT, said(GOOD["reading"])]), ledger)
    assert cost.output_tokens == 1_000 + 10
    assert cost.usd - cost.assumed_usd == pytest.approx(0.001)
    assert ledger.calls == 2


def test_what_never_reached_the_server_costs_nothing() -> None:
    ledger = Budget()
    assert spent_on(Script([httpx.ConnectError("refused")]), ledger) == Cost()
    assert ledger.calls == 0


@pytest.mark.parametrize("code", [500, 402, 429])
def test_an_error_is_not_billed_unless_it_says_so_or_ends_an_answer_that_had_begun(code: int) -> None:
    for status in (200, code):
        assert spent_on(Script([httpx.Response(status, json={"error": {"code": code}})]), Budget()).usd == 0
    stating = httpx.Response(200, json={"error": {"code": code}, **usage()})
    assert spent_on(Script([stating]), Budget()).usd == pytest.approx(0.001 if code == 402 else 0.002)
    begun = httpx.Response(
        200, text=f'data: {{"choices": [{{"delta": {{"content": "x"}}}}]}}\n\ndata: {{"error": {{"code": {code}}}}}\n\n'
    )
    broken_off = spent_on(Script([begun]), Budget())
    assert broken_off.assumed_usd == broken_off.usd > 0


def test_a_reply_that_cannot_be_read_may_have_been_billed() -> None:
    cost = spent_on(Script([httpx.Response(200, content=b"{"), said(GOOD["reading"])]), Budget())
    assert cost.output_tokens == 1_010


def test_a_call_that_does_not_fit_is_not_sent() -> None:
    script, ledger = Script([said(GOOD["reading"])]), Budget(Caps(0.001), name="query")
    with pytest.raises(errors.BudgetSpent) as caught:
        ask(reasoner_for(script, budgets=(Budget(), ledger), prices=PRICES), QUESTIONS["reading"])
    assert script.requests == []
    assert (caught.value.cost, caught.value.ledger, caught.value.cap) == (None, "query", "usd")


def test_a_retry_and_a_re_ask_must_fit_too() -> None:
    for bad in (said("no json"), CUT):
        script, ledger = Script([bad]), Budget(Caps(calls=1))
        with pytest.raises(errors.BudgetSpent) as caught:
            ask(reasoner_for(script, budgets=(ledger,)), QUESTIONS["reading"])
        assert len(script.requests) == 1
        assert caught.value.cost is not None
        assert ledger.calls == 1


def test_many_at_once_never_pass_the_cap() -> None:
    script, ledger = Script([said(GOOD["reading"])]), Budget(Caps(0.03))
    reasoner = reasoner_for(script, budgets=(ledger,), prices=PRICES)

    async def rush() -> list[Any]:
        calls = (reasoner.answer(QUESTIONS["reading"]) for _ in range(100))
        return list(await asyncio.gather(*calls, return_exceptions=True))

    results = asyncio.run(rush())
    assert 0 < ledger.usd <= 0.03
    assert all(isinstance(result, errors.BudgetSpent) or result.cost.usd for result in results)


def test_reasoners_of_two_queries_charge_their_own_ledgers_and_share_what_they_learnt() -> None:
    script = Script([httpx.Response(400, json={}), said(GOOD["reading"])])
    one, two, night = Budget(), Budget(), Budget()
    first = reasoner_for(script, budgets=(one, night))
    ask(first, QUESTIONS["reading"])
    ask(first.for_query((two, night)), QUESTIONS["reading"])
    assert (one.usd, two.usd, night.usd) == (0.001, 0.001, 0.002)
    assert len(script.requests) == 3


def test_the_key_stands_in_one_header_and_nowhere_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = httpx.Response(400, json={"error": {"message": f"bad key {KEY} for {MODEL}", "code": 400}})
    script = Script([echo, echo, said(json.dumps({"findings": [], "queries": [KEY]})), said(f"no json {KEY}")])
    reasoner = reasoner_for(script)
    answer = ask(reasoner, QUESTIONS["reading"])
    with pytest.raises(errors.AnswerInvalid) as caught:
        ask(reasoner, QUESTIONS["reading"])
    assert all(request.headers["authorization"] == f"Bearer {KEY}" for request in script.requests)
    shown = [str(caught.value), repr(caught.value), caplog.text, repr(reasoner.__dict__)]
    assert KEY not in "".join(shown)
    assert KEY.encode() not in answer.exchange + caught.value.exchange


def test_the_exchange_is_canonical_json_of_requests_and_raw_replies_without_headers() -> None:
    script = Script([httpx.Response(500, content=b"\xff" * 5_000), said(GOOD["reading"])])
    answer = ask(reasoner_for(script), QUESTIONS["reading"])
    whole = json.loads(answer.exchange)
    assert answer.exchange == json.dumps(whole, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    (call,) = whole["calls"]
    assert call["request"] == script.bodies[0]
    after_a_cut = ask(reasoner_for(Script([CUT, said(GOOD["reading"])])), QUESTIONS["reading"])
    assert json.loads(after_a_cut.exchange)["calls"][0]["lost"] == 1
    assert [reply["status"] for reply in call["replies"]] == [500, 200]
    assert call["replies"][0]["bytes"] == 5_000
    assert json.loads(call["replies"][1]["body"])["model"] == MODEL
    assert b"authorization" not in answer.exchange.lower()
    assert kit.MODEL in answer.exchange.decode()


@pytest.mark.parametrize(
    ("account", "sent", "cached"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 80}}, 100, 80),
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}, 100, 60),
        ({"input_tokens": 20, "output_tokens": 10, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10}, 100, 70),
        ({"prompt_tokens": 100, "completion_tokens": 10, "cache_read_input_tokens": 70}, 100, 70),
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": None}, 100, 0),
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 101}}, 100, 0),
        ({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": "many"}}, 100, 0),
    ],
)
def test_tokens_from_a_cache_are_read_in_each_servers_form_and_priced(account: dict[str, Any], sent: int, cached: int) -> None:
    prices = Prices(Price(10.0, 10.0), {MODEL: Price(1.0, 4.0, 0.1)})
    cost = spent_on(Script([said(GOOD["reading"], usage=account)]), Budget(), prices=prices)
    assert (cost.input_tokens, cost.cached_tokens, cost.output_tokens) == (sent, cached, 10)
    assert cost.usd == pytest.approx(((sent - cached) * 1.0 + cached * 0.1 + 10 * 4.0) / 1_000_000)
