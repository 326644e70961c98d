from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.web import Tavily
from pipeline.text.redaction import Secret
from tests.search.replies import Bench, reply

KEY = Secret("tvly-canary-key", "TAVILY_API_KEY")
ROW = {"title": "Lionel Messi | Britannica", "url": "https://www.britannica.com/a", "content": "std::vector<int>", "score": 0.8}


def page(*rows: Any, **more: Any) -> dict[str, Any]:
    return {"query": "x", "results": list(rows), "response_time": "1.67", **more}


@pytest.mark.parametrize(
    ("usage", "usd"),
    [({"credits": 2}, 0.016), ({"credits": 0}, 0.0), ({"credits": "2"}, 0.008), ({"credits": True}, 0.008), (None, 0.008)],
)
def test_credits_are_told_as_money(usage: Any, usd: float) -> None:
    bench = Bench(Tavily(KEY), reply(page(ROW, usage=usage)))
    result = asyncio.run(bench.search.search("who", 100))
    assert (result.cost.usd, result.hits[0].snippet) == (usd, "std::vector<int>")
    body = json.loads(bench.asked.content)
    assert (body["query"], body["max_results"], body["include_answer"]) == ("who", 20, False)
    assert bench.asked.headers["authorization"] == "Bearer tvly-canary-key"


def test_an_empty_list_is_nothing_found_and_a_missing_one_a_failure() -> None:
    assert asyncio.run(Bench(Tavily(KEY), reply(page())).search.search("a", 5)).hits == ()
    damaged: tuple[Any, ...] = ({"query": "x"}, page(None), page({"title": "x"}), {"results": {}})
    for body in damaged:
        with pytest.raises(SearchFailed):
            asyncio.run(Bench(Tavily(KEY), *[reply(body) for _ in range(3)]).search.search("a", 5))


@pytest.mark.parametrize("status", [401, 402, 403, 432, 433])
@pytest.mark.parametrize("body", [{"detail": {"error": "Over your plan's set usage limit."}}, "", "<html></html>"])
def test_key_and_limits_are_for_good(status: int, body: Any) -> None:
    bench = Bench(Tavily(KEY), lambda: reply(body, status))
    for _ in range(2):
        with pytest.raises(ProviderRefused, match=r"tavily refuses us: ."):
            asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1


def test_too_many_requests_pass_later() -> None:
    bench = Bench(Tavily(KEY), reply({"detail": {"error": "Slow down"}}, 429, {"Retry-After": "3"}), reply(page(ROW)))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert sum(bench.clock.slept) == pytest.approx(3)


@pytest.mark.parametrize(
    ("status", "detail"), [(400, {"error": "Query is too long"}), (422, [{"type": "string_type", "msg": "Query is too long"}])]
)
def test_a_query_that_it_does_not_take_is_not_repeated(status: int, detail: Any) -> None:
    bench = Bench(Tavily(KEY), reply({"detail": detail}, status))
    with pytest.raises(SearchFailed, match="Query is too long"):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1
