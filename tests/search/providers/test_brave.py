from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.web import Brave
from pipeline.text.redaction import Secret
from tests.search.replies import Bench, reply

KEY = Secret("brave-canary-key", "BRAVE_API_KEY")
ROW: dict[str, Any] = {
    "title": "Private <strong>Search</strong> Engine &amp; more",
    "url": "HTTPS://Example.com?utm_source=b#top",
    "description": "<strong>Brave</strong> Search &lt;b&gt; a &amp; b",
    "page_age": "2023-04-27T00:00:00",
    "extra_snippets": ["one&nbsp;two", None],
}


def page(*rows: Any) -> dict[str, Any]:
    return {"type": "search", "query": {"original": "x"}, "web": {"type": "search", "results": list(rows)}}


def error(code: str, detail: str = "Refused.", plural: bool = False, **more: Any) -> dict[str, Any]:
    body = {"code": code, "detail": detail, **more}
    return {"type": "ErrorResponse", "errors": [body]} if plural else {"type": "ErrorResponse", "error": body}


def test_hits_are_plain_text_under_canonical_addresses_and_each_search_has_its_price() -> None:
    bench = Bench(Brave(KEY), reply(page(ROW, {**ROW, "url": "http://example.com/"})))
    result = asyncio.run(bench.search.search("a b", 5))
    (hit,) = result.hits
    assert (result.provider, result.cost.usd) == ("brave", 0.005)
    assert (hit.url, hit.title, hit.published) == ("https://example.com/", "Private Search Engine & more", "2023-04-27")
    assert hit.snippet == "Brave Search <b> a & b … one two"
    assert bench.asked.headers["x-subscription-token"] == "brave-canary-key"
    assert bench.asked.headers["user-agent"] == "night-research/test"
    assert bench.asked.url.params["count"] == "5"


def test_a_long_query_is_cut_to_what_it_takes() -> None:
    bench = Bench(Brave(KEY), reply(page(ROW)))
    asyncio.run(bench.search.search("wort " * 100, 100))
    assert len(bench.asked.url.params["q"].split()) == 50
    assert bench.asked.url.params["count"] == "20"


def test_no_web_section_is_nothing_found() -> None:
    bench = Bench(Brave(KEY), reply({"type": "search", "query": {}}))
    result = asyncio.run(bench.search.search("a", 5))
    assert (result.hits, result.cost.usd) == ((), 0.005)


DAMAGED = [
    {},
    {"type": "search", "web": None},
    {"type": "search", "web": {"results": None}},
    {"type": "search", "web": {"results": [None, 1]}},
    page({**ROW, "url": None}),
    page({"title": "no address"}),
    {"type": "search", "mixed": {"main": [{"type": "web", "index": 0}]}},
]


@pytest.mark.parametrize("body", DAMAGED)
def test_a_damaged_reply_is_a_failure_and_never_an_empty_result(body: dict[str, Any]) -> None:
    bench = Bench(Brave(KEY), lambda: reply(body))
    with pytest.raises(SearchFailed) as caught:
        asyncio.run(bench.search.search("a", 5))
    assert caught.value.retryable
    assert bench.hits == 3


def test_a_reply_without_a_body_is_a_failure_whatever_its_status() -> None:
    for status in (200, 204):
        with pytest.raises(SearchFailed, match="the body is empty"):
            asyncio.run(Bench(Brave(KEY), *(reply("", status) for _ in range(3))).search.search("a", 5))


FOR_GOOD = [
    (422, error("SUBSCRIPTION_TOKEN_INVALID", meta={"component": "authentication"})),
    (422, error("VALIDATION", meta={"errors": [{"loc": ["header", "x-subscription-token"], "type": "missing"}]})),
    (404, error("SUBSCRIPTION_NOT_FOUND")),
    (429, error("QUOTA_LIMITED", "Request quota limit exceeded for plan.")),
    (429, error("QUOTA_LIMITED", plural=True)),
    (402, {}),
    (401, "<html>no</html>"),
]


@pytest.mark.parametrize(("status", "body"), FOR_GOOD)
def test_a_wrong_key_or_a_spent_month_is_asked_once_and_never_again(status: int, body: Any) -> None:
    bench = Bench(Brave(KEY), lambda: reply(body, status))
    for _ in range(2):
        with pytest.raises(ProviderRefused, match="brave refuses us") as caught:
            asyncio.run(bench.search.search("a", 5))
        assert caught.value.hint
        assert "canary" not in caught.value.message + caught.value.hint
    assert bench.hits == 1


def test_a_wrong_key_is_tried_once_however_many_searches_wait() -> None:
    bench = Bench(Brave(KEY), lambda: reply(error("SUBSCRIPTION_TOKEN_INVALID"), 422))

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*(bench.search.search(str(n), 5) for n in range(8)), return_exceptions=True)

    assert {type(found) for found in asyncio.run(all_at_once())} == {ProviderRefused}
    assert bench.hits == 1


def test_a_parameter_that_it_does_not_take_fails_this_search_alone() -> None:
    invalid = error("VALIDATION", meta={"errors": [{"loc": ["query", "country"], "type": "enum"}]})
    bench = Bench(Brave(KEY), reply(invalid, 422), reply(page(ROW)))
    with pytest.raises(SearchFailed, match=r"Refused\."):
        asyncio.run(bench.search.search("a", 5))
    assert len(asyncio.run(bench.search.search("b", 5)).hits) == 1


def test_the_rate_is_waited_out_and_the_month_is_not() -> None:
    headers = {
        "X-RateLimit-Remaining": "0, 1000",
        "X-RateLimit-Reset": "7, 1419704",
        "X-RateLimit-Policy": "1;w=1, 15000;w=2592000",
    }
    bench = Bench(Brave(KEY), reply(error("RATE_LIMITED"), 429, headers), lambda: reply(page(ROW)))
    assert len(asyncio.run(bench.search.search("a", 5)).hits) == 1
    assert sum(bench.clock.slept) == pytest.approx(7)
    asyncio.run(bench.search.search("b", 5))
    assert bench.hits == 3
    assert sum(bench.clock.slept) < 10


def test_a_search_that_was_lost_may_have_been_billed() -> None:
    bench = Bench(Brave(KEY), lambda: (_ for _ in ()).throw(ConnectionResetError()))
    with pytest.raises(SearchFailed) as caught:
        asyncio.run(bench.search.search("a", 5))
    assert caught.value.cost is not None
    assert caught.value.cost.usd == pytest.approx(0.015)
