from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.errors import ProviderRefused, SearchFailed
from pipeline.search.providers.web import Searxng
from tests.search.replies import Bench, reply

BASE = "https://searx.example.org/"
ROW = {"url": "https://e.org/a#b", "title": "A", "content": "C", "engine": "duckduckgo", "publishedDate": "2024-05-06T00:00:00"}
SILENT = [["google", "Suspended: too many requests"], ["brave", "timeout"]]


def page(*rows: Any, silent: Any = ()) -> dict[str, Any]:
    return {"query": "x", "results": list(rows), "unresponsive_engines": silent}


def test_hits_count_though_some_engines_are_silent() -> None:
    bench = Bench(Searxng(BASE), reply(page(ROW, silent=SILENT)))
    result = asyncio.run(bench.search.search("a", 5))
    assert [(hit.url, hit.published) for hit in result.hits] == [("https://e.org/a", "2024-05-06")]
    assert result.cost.usd == 0
    assert str(bench.asked.url).startswith("https://searx.example.org/search?q=a&format=json")


def test_nothing_found_is_an_answer_only_when_no_engine_is_silent() -> None:
    assert asyncio.run(Bench(Searxng(BASE), reply(page())).search.search("a", 5)).hits == ()
    bench = Bench(Searxng(BASE), lambda: reply(page(silent=SILENT)))
    with pytest.raises(SearchFailed, match="google: Suspended: too many requests, brave: timeout"):
        asyncio.run(bench.search.search("a", 5))


@pytest.mark.parametrize("damaged", [None, "google", [None], [[1, None]], {"google": 1}])
def test_silent_engines_of_another_shape_do_no_harm(damaged: Any) -> None:
    assert len(asyncio.run(Bench(Searxng(BASE), reply(page(ROW, silent=damaged))).search.search("a", 5)).hits) == 1


@pytest.mark.parametrize(("status", "body"), [(403, "<h1>Forbidden</h1>"), (200, "<!doctype html><div id='results'></div>")])
def test_a_server_without_json_is_told_what_to_set(status: int, body: str) -> None:
    bench = Bench(Searxng(BASE), reply(body, status))
    with pytest.raises(ProviderRefused) as caught:
        asyncio.run(bench.search.search("a", 5))
    assert "search.formats" in caught.value.hint
    assert bench.hits == 1


def test_words_that_are_commands_to_it_become_plain() -> None:
    bench = Bench(Searxng(BASE), reply(page(ROW)))
    asyncio.run(bench.search.search("!!g :de what is a:b! != c", 5))
    assert bench.asked.url.params["q"] == "g de what is a:b! = c"


def test_a_redirect_is_not_followed() -> None:
    bench = Bench(Searxng(BASE), reply("", 302, {"Location": "https://example.org/?q=x"}))
    with pytest.raises(SearchFailed, match="redirects elsewhere"):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == 1


@pytest.mark.parametrize(
    ("status", "body", "sent"),
    [(429, "Too Many Requests", 3), (500, {"error": "search error"}, 3), (400, {"error": "No query"}, 1)],
)
def test_what_may_pass_is_tried_again(status: int, body: Any, sent: int) -> None:
    bench = Bench(Searxng(BASE), lambda: reply(body, status))
    with pytest.raises(SearchFailed):
        asyncio.run(bench.search.search("a", 5))
    assert bench.hits == sent
