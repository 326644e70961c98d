from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.papers import Openalex
from pipeline.text.redaction import Secret
from tests.search.replies import Bench, reply

ROW: dict[str, Any] = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.7717/peerj.4375",
    "display_name": "The state of <i>OA</i>",
    "publication_date": "2018-02-13",
    "is_retracted": False,
    "open_access": {"is_oa": True, "oa_url": "https://peerj.com/articles/4375.pdf"},
    "primary_location": {"landing_page_url": "https://doi.org/x", "source": None},
    "abstract_inverted_index": {"growing": [1, 3], "Despite": [0], "interest,": [2]},
}
BUDGET = {
    "error": "Rate limit exceeded",
    "message": "Insufficient budget. This request costs $0.001 but you only have $0 remaining. Resets at midnight UTC.",
    "retryAfter": 62606,
    "costUsd": 0.001,
}


def page(*rows: Any, count: Any = 1) -> dict[str, Any]:
    return {"meta": {"count": count}, "results": list(rows), "group_by": []}


def first(row: dict[str, Any]) -> tuple[str, str]:
    (hit,) = asyncio.run(Bench(Openalex(), reply(page(row))).search.search("a", 5)).hits
    return hit.url, hit.snippet


def test_an_abstract_is_put_together_and_the_price_read() -> None:
    bench = Bench(Openalex(Secret("alex-canary")), reply(page(ROW), headers={"x-ratelimit-cost-usd": "0.0015"}))
    result = asyncio.run(bench.search.search("a", 500))
    (hit,) = result.hits
    assert (hit.url, hit.title) == ("https://peerj.com/articles/4375.pdf", "The state of OA")
    assert (hit.snippet, hit.published) == ("Despite growing interest, growing", "2018-02-13")
    assert result.cost.usd == 0.0015
    params = bench.asked.url.params
    assert (params["per_page"], params["api_key"]) == ("100", "alex-canary")
    assert "api_key" not in address_asked(Openalex())


def address_asked(provider: Openalex) -> str:
    bench = Bench(provider, reply(page(ROW)))
    asyncio.run(bench.search.search("a", 5))
    return str(bench.asked.url)


@pytest.mark.parametrize("cost", ["", "-1", "nan", "1e9", "1e309"])
def test_a_price_that_cannot_be_read_is_the_usual_one(cost: str) -> None:
    bench = Bench(Openalex(), reply(page(ROW), headers={"x-ratelimit-cost-usd": cost}))
    assert asyncio.run(bench.search.search("a", 5)).cost.usd == 0.001


def test_fields_may_be_null() -> None:
    bare = {**ROW, "open_access": None, "primary_location": None, "abstract_inverted_index": None}
    assert first(bare) == ("https://doi.org/10.7717/peerj.4375", "")
    assert first({**bare, "doi": None, "abstract_inverted_index": {"a": None, "b": ["1"]}}) == ("https://openalex.org/W1", "")
    assert first({**ROW, "open_access": {"oa_url": None}})[0] == "https://doi.org/x"


def test_a_retracted_work_says_so() -> None:
    assert first({**ROW, "is_retracted": True})[1].startswith("This work was retracted. Despite")


def test_a_spent_day_is_asked_once_and_a_burst_is_waited_out() -> None:
    bench = Bench(Openalex(), lambda: reply(BUDGET, 429))
    for _ in range(2):
        with pytest.raises(ProviderRefused, match="Insufficient budget"):
            asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1
    burst = {"error": "Rate limit exceeded", "message": "Too many requests per second", "retryAfter": 2}
    bench = Bench(Openalex(), reply(burst, 429), reply(page(ROW)))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert bench.clock.slept == [2.0]


def test_a_wrong_key_is_for_good_and_a_wrong_parameter_for_this_search() -> None:
    with pytest.raises(ProviderRefused):
        asyncio.run(Bench(Openalex(), reply({"error": "Invalid API key"}, 401)).search.search("a", 5))
    bench = Bench(Openalex(), reply({"error": "Invalid query parameters error.", "message": "no"}, 400))
    with pytest.raises(SearchFailed, match="no"):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1


def test_nothing_found_and_nothing_understood_are_told_apart() -> None:
    assert asyncio.run(Bench(Openalex(), reply(page(count=0))).search.search("a", 5)).hits == ()
    damaged: tuple[Any, ...] = (page(count=3), {}, {"results": None}, page(None), page({"id": None}))
    for body in damaged:
        with pytest.raises(SearchFailed):
            asyncio.run(Bench(Openalex(), *[reply(body) for _ in range(3)]).search.search("a", 5))
